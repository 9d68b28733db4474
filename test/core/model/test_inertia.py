# SPDX-License-Identifier: Apache-2.0
"""Inertia of rigid bodies, against clouds of point masses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.spatial import pose
from robot_dynamics.core.model.inertia import (
    Inertial,
    combined,
    consistent,
    from_parameters,
    inconsistency,
    parallel_axis,
    pseudo_inertia,
    second_moment,
    to_parameters,
    transformed,
)
from robot_dynamics.core.model.robots import random_inertial

EPS = np.finfo(float).eps
ATOL = 256 * EPS
seeds = st.integers(0, 2**32 - 1)


def cloud(rng, n=6):
    """Return n point masses, (n,), and their positions, (n, 3)."""
    return rng.uniform(0.1, 1, n), rng.normal(size=(n, 3))


def body_of(masses, points):
    """Return the rigid body that the point masses form, by the definitions."""
    com = masses @ points / masses.sum()
    tensor = np.zeros((3, 3))
    for m, r in zip(masses, points - com, strict=True):
        # I = sum m [r]^T [r]
        x, y, z = r
        tensor += m * np.array(
            [[y * y + z * z, -x * y, -x * z], [-x * y, x * x + z * z, -y * z],
             [-x * z, -y * z, x * x + y * y]]
        )  # fmt: skip
    return Inertial(masses.sum(), com, tensor)


def assert_same(one, other, atol=ATOL):
    assert one.mass == pytest.approx(other.mass, rel=atol)
    np.testing.assert_allclose(one.com, other.com, rtol=0, atol=atol)
    np.testing.assert_allclose(one.inertia_com, other.inertia_com, rtol=0, atol=atol)


@given(seeds)
def test_bodies_combine_as_their_points_do(seed):
    rng = np.random.default_rng(seed)
    a, b = cloud(rng), cloud(rng)
    both = body_of(np.append(a[0], b[0]), np.concatenate([a[1], b[1]]))
    assert_same(combined([body_of(*a), body_of(*b)]), both)


@given(seeds)
def test_bodies_move_as_their_points_do(seed):
    rng = np.random.default_rng(seed)
    masses, points = cloud(rng)
    R, p = Rotation.random(random_state=seed).as_matrix(), rng.normal(size=3)
    moved = body_of(masses, points @ R.T + p)
    assert_same(transformed(body_of(masses, points), pose(R, p)), moved)


def test_no_bodies_combine_to_zero_inertia():
    assert_same(combined([]), Inertial())
    assert_same(combined([Inertial(), Inertial()]), Inertial())


@given(seeds)
def test_a_massless_body_changes_nothing(seed):
    body = random_inertial(np.random.default_rng(seed))
    assert_same(combined([body, Inertial()]), body)


def test_steiners_term_is_a_point_mass():
    offset = np.array([1.0, 2.0, 3.0])
    point = body_of(np.array([2.0]), offset[None])
    np.testing.assert_array_equal(point.inertia_com, np.zeros((3, 3)))
    np.testing.assert_allclose(np.diag(parallel_axis(2.0, offset)), [26, 20, 10])


@given(seeds)
def test_ten_parameters_and_back(seed):
    body = random_inertial(np.random.default_rng(seed))
    assert_same(from_parameters(to_parameters(body)), body)


@given(seeds)
def test_ten_parameters_are_sums_over_points(seed):
    masses, points = cloud(np.random.default_rng(seed))
    x, y, z = points.T
    expected = [
        masses.sum(), *(masses @ points),
        masses @ (y**2 + z**2), -masses @ (x * y), -masses @ (x * z),
        masses @ (x**2 + z**2), -masses @ (y * z), masses @ (x**2 + y**2),
    ]  # fmt: skip
    np.testing.assert_allclose(to_parameters(body_of(masses, points)), expected, atol=ATOL)


def test_parameters_without_mass():
    assert_same(from_parameters(np.zeros(10)), Inertial())
    with pytest.raises(ModelError, match='mass is 0 with first moment'):
        from_parameters(np.array([0.0, 1, 0, 0, 0, 0, 0, 0, 0, 0]))


@given(seeds)
def test_pseudo_inertia_is_the_matrix_of_second_moments(seed):
    masses, points = cloud(np.random.default_rng(seed))
    # J = sum m (r, 1)(r, 1)^T
    homogeneous = np.column_stack([points, np.ones(len(points))])
    expected = (masses[:, None] * homogeneous).T @ homogeneous
    np.testing.assert_allclose(pseudo_inertia(body_of(masses, points)), expected, atol=ATOL)


@given(seeds)
def test_second_moment_and_tensor_determine_each_other(seed):
    tensor = random_inertial(np.random.default_rng(seed)).inertia_com
    sigma = second_moment(tensor)
    np.testing.assert_allclose(np.trace(sigma) * np.eye(3) - sigma, tensor, atol=ATOL)


@given(seeds)
def test_point_masses_form_a_consistent_body(seed):
    rng = np.random.default_rng(seed)
    for n in (1, 2, 3, 6):
        assert inconsistency(body_of(*cloud(rng, n))) is None


@pytest.mark.parametrize(
    ('mass', 'moments', 'reason'),
    [
        (1, (1, 1, 2), None),  # a flat plate, on the edge
        (1, (0, 1, 1), None),  # a rod
        (1, (0, 0, 0), None),  # a point
        (0, (0, 0, 0), None),
        (1, (1, 1, 2 + 1e-9), None),  # rounded
        (1, (1, 1, 2.001), 'violate the triangle inequality'),
        (1, (0, 0, 1), 'violate the triangle inequality'),
        (1, (-0.1, 1, 1), 'are not all positive'),
        (0, (1, 1, 1), 'it has no mass, but principal moments'),
    ],
)
def test_inconsistent_bodies(mass, moments, reason):
    R = Rotation.random(random_state=4).as_matrix()
    for tensor in (np.diag(moments), R @ np.diag(moments) @ R.T):
        answer = inconsistency(Inertial(mass, np.ones(3), tensor))
        assert answer is None if reason is None else reason in answer


@given(seeds)
def test_consistency_is_semidefiniteness_of_the_pseudo_inertia(seed):
    rng = np.random.default_rng(seed)
    tensor = rng.normal(size=(3, 3))
    body = Inertial(1.0, rng.normal(size=3), tensor @ tensor.T)
    smallest = np.linalg.eigvalsh(second_moment(body.inertia_com))[0]
    if abs(smallest) > 1e-5 * np.linalg.norm(body.inertia_com):
        possible = np.linalg.eigvalsh(pseudo_inertia(body))[0] > 0
        assert (inconsistency(body) is None) == possible


def test_the_repaired_tensor_is_consistent_and_nearest():
    rng = np.random.default_rng(3)
    clamped = set()
    for _ in range(60):
        A = rng.standard_normal((3, 3))
        wrong = A + A.T - rng.uniform(0, 3) * np.eye(3)
        near = consistent(Inertial(1.0, np.zeros(3), wrong)).inertia_com
        assert inconsistency(Inertial(1.0, np.zeros(3), near), ATOL) is None
        clamped.add(int((np.linalg.eigvalsh(second_moment(near)) < 1e-5).sum()))
        for _ in range(50):
            B = rng.standard_normal((3, 3)) * rng.uniform(0, 2)
            sigma = B @ B.T
            other = np.trace(sigma) * np.eye(3) - sigma
            slack = 1e-4 * np.linalg.norm(wrong)
            assert np.linalg.norm(near - wrong) <= np.linalg.norm(other - wrong) + slack
    assert clamped >= {1, 2, 3}


def test_a_consistent_body_is_kept_and_one_without_mass_has_no_tensor():
    body = random_inertial(np.random.default_rng(0))
    assert consistent(body) is body
    assert not consistent(Inertial(0.0, np.zeros(3), np.eye(3))).inertia_com.any()
