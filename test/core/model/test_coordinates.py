# SPDX-License-Identifier: Apache-2.0
"""Linear coordinate maps: virtual work, composition, limits, and transformed quantities."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.common.errors import ModelError
from robot_dynamics.core.algorithms import forward_dynamics, rnea, terms
from robot_dynamics.core.model.canonical import canonical_tree
from robot_dynamics.core.model.coordinates import (
    body_positions,
    body_rates,
    generalized_forces,
    generalized_matrix,
    with_coordinates,
)
from robot_dynamics.core.model.robot_model import RATE_LIMITS
from robot_dynamics.core.model.robots import planar_2r, random_tree

# The second motor sits at the base: p2 is the absolute angle of the second link.
REMOTE = np.array([[1.0, 0.0], [-1.0, 1.0]])


def test_equations_follow_from_virtual_work():
    rng = np.random.default_rng(0)
    model = random_tree(5, rng)
    S, s0 = rng.normal(size=(5, 3)), rng.normal(size=5)
    tree, other = canonical_tree(model), canonical_tree(with_coordinates(model, S, s0))
    p, pd = rng.normal(size=(2, 3))
    M, C, g = map(np.array, terms(tree, S @ p + s0, S @ pd))
    M_p, C_p, g_p = map(np.array, terms(other, p, pd))
    assert np.abs(M_p - S.T @ M @ S).max() < 1e-13 * np.abs(M_p).max()
    assert np.abs(C_p - S.T @ C @ S).max() < 1e-13 * np.abs(C_p).max()
    assert np.abs(g_p - S.T @ g).max() < 1e-13 * np.abs(g).max()


def test_remote_drive_of_the_elbow_has_no_coriolis_force():
    # Spong, Hutchinson and Vidyasagar, section 6.4, up to (6.99):
    # d_22 is constant and d_12 depends on p2 - p1 alone.
    model = with_coordinates(planar_2r(masses=(2.0, 3.0), com=(0.5, 0.4)), REMOTE)
    m2, l1, c2, I2 = 3.0, 1.0, 0.4, 1 / 12
    p, pd = np.array([0.3, 1.2]), np.array([0.7, -0.4])
    M, C, _ = map(np.array, terms(canonical_tree(model), p, pd))
    assert abs(M[0, 1] - m2 * l1 * c2 * np.cos(p[1] - p[0])) < 1e-14
    assert abs(M[1, 1] - (I2 + m2 * c2**2)) < 1e-14
    # Centrifugal forces stay, Coriolis products p1d p2d vanish.
    centrifugal = -m2 * l1 * c2 * np.sin(p[1] - p[0])
    expected = centrifugal * np.array([pd[1] ** 2, -(pd[0] ** 2)])
    assert np.abs(C @ pd - expected).max() < 1e-14


def test_maps_compose():
    model = random_tree(3, np.random.default_rng(1))
    A, a = np.array([[1.0, 2.0], [0.0, -1.0], [3.0, 0.5]]), np.array([0.1, 0.2, 0.3])
    B, b = np.array([[2.0], [-1.0]]), np.array([0.4, -0.5])
    twice = with_coordinates(with_coordinates(model, A, a), B, b)
    once = with_coordinates(model, A @ B, A @ b + a)
    assert np.allclose(twice.S, once.S, rtol=0, atol=1e-15)
    assert np.allclose(twice.s0, once.s0, rtol=0, atol=1e-15)


def test_inverse_and_forward_dynamics_agree_in_other_coordinates():
    rng = np.random.default_rng(2)
    tree = canonical_tree(with_coordinates(random_tree(6, rng), rng.normal(size=(6, 4))))
    p, pd, pdd = rng.normal(size=(3, 4))
    back = forward_dynamics(tree, p, pd, rnea(tree, p, pd, pdd))
    assert np.abs(np.subtract(back, pdd)).max() < 1e-10


def test_limits_and_drives_are_carried_through_single_joints():
    model = random_tree(2, np.random.default_rng(3)).with_actuation(
        gear_ratio=2.0, rotor_inertia=[0.1, 0.2], viscous=[1.0, 2.0], coulomb=[0.5, 0.6]
    )
    limits = {
        'lower': np.array([-1.0, -2.0]),
        'upper': np.array([1.0, 3.0]),
        **{name: np.array([4.0, 5.0]) for name in RATE_LIMITS},
        'effort_limit': np.array([6.0, 7.0]),
    }
    # q1 = p + 0.5, q2 = -2 p: one drive moves both.
    other = with_coordinates(replace(model, **limits), [[1.0], [-2.0]], [0.5, 0.0])
    assert other.lower == [-1.5]
    assert other.upper == [0.5]
    assert [getattr(other, name) for name in RATE_LIMITS] == [[2.5]] * 4
    assert other.effort_limit == [6.0 + 2 * 7.0]
    assert np.allclose(other.viscous, [1.0 + 4 * 2.0])
    assert np.allclose(other.coulomb, [0.5 + 2 * 0.6])
    assert np.allclose(other.reflected_inertia, [0.4 + 4 * 0.8])
    assert other.joint_names == ('p1',)


def test_limits_without_an_equivalent_must_be_given():
    model = replace(planar_2r(), upper=np.array([1.0, 2.0]))
    with pytest.raises(ModelError, match=r"upper of joint 'joint2', 2.0, depends on several"):
        with_coordinates(model, REMOTE)
    other = with_coordinates(model, REMOTE, upper=[1.0, 2.5], joint_names=['shoulder', 'elbow'])
    assert other.upper.tolist() == [1.0, 2.5]
    assert other.joint_names == ('shoulder', 'elbow')


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ({'S': np.eye(3)}, r'S has shape \(3, 3\); 2 joints need \(2, k\)'),
        ({'S': [[1.0, 2.0], [2.0, 4.0]]}, 'dependent columns'),
        ({'S': np.eye(2), 's0': [0.0]}, r's0 has shape \(1,\)'),
        ({'S': np.eye(2), 'joint_names': ['a']}, 'joint_names has 1 names; S has 2 columns'),
        ({'S': np.eye(2), 'stiffness': [1.0, 2.0]}, r"unknown settings \['stiffness'\]"),
    ],
)
def test_bad_maps_are_rejected(arguments, message):
    with pytest.raises(ModelError, match=message):
        with_coordinates(planar_2r(), **arguments)


def test_transformed_quantities_equal_matrix_products():
    rng = np.random.default_rng(5)
    S = rng.normal(size=(5, 3)) * (rng.random((5, 3)) < 0.6)
    S[0] = 0.0
    q, M = rng.normal(size=3), rng.normal(size=(5, 5))
    s0, tau = rng.normal(size=(2, 5))
    assert np.allclose(body_positions(S, s0, q), S @ q + s0, rtol=0, atol=1e-14)
    assert np.allclose(body_rates(S, q), S @ q, rtol=0, atol=1e-14)
    assert np.allclose(generalized_forces(S, tau), S.T @ tau, rtol=0, atol=1e-14)
    assert np.allclose(generalized_matrix(S, M), S.T @ M @ S, rtol=0, atol=1e-13)


def test_zeros_of_the_map_cost_nothing():
    class Untouchable:
        """A value that no arithmetic may reach."""

    assert body_rates([[1.0, 0.0]], [2.0, Untouchable()]) == [2.0]
    assert generalized_forces([[1.0], [0.0]], [3.0, Untouchable()]) == [3.0]


def test_other_coordinates_have_no_start_posture():
    model = replace(planar_2r(), home={'joint1': 0.1, 'joint2': 0.2})
    assert with_coordinates(model, REMOTE).home == {}
    assert model.with_payload('link2', 1.0).home == {'joint1': 0.1, 'joint2': 0.2}
