# SPDX-License-Identifier: Apache-2.0
"""The canonical tree: the same torques, frames on common normals, base parameters only."""

import math
from dataclasses import replace

import numpy as np
import pytest
import robots
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics.common.errors import FrameNotFound
from robot_dynamics.common.spatial import (
    adjoint,
    axis_rotation,
    inverse_pose,
    pose,
    rotation_rpy,
    spatial_inertia,
)
from robot_dynamics.core.algorithms import crba, gravity_torque, rnea
from robot_dynamics.core.model.builder import build_tree
from robot_dynamics.core.model.canonical import canonical_tree
from robot_dynamics.core.model.inertia import Inertial
from robot_dynamics.core.model.joints import motion_subspace
from robot_dynamics.core.model.robots import planar_2r, random_inertial, random_tree

SEEDS = st.integers(0, 2**32 - 1)


def make(seed, **options):
    rng = np.random.default_rng(seed)
    return random_tree(int(rng.integers(1, 10)), rng, **options)


def poses(model, q):
    """Return the pose of every body, from the model alone."""
    T = []
    for i, p in enumerate(model.parent):
        local = pose(*model.joint_transform(i, q[i]))
        T.append(local if p < 0 else T[p] @ local)
    return T


def mass_matrix(model, q):
    """Return M = sum J_b^T G J_b over the bodies, each J_b in the body's frame."""
    T, M = poses(model, q), np.zeros((model.n, model.n))
    for i in range(model.nb):
        J = np.zeros((6, model.n))
        for j in model.support(i):
            S = motion_subspace(model.axis[j], bool(model.revolute[j]))
            J[:, j] = adjoint(inverse_pose(T[i]) @ T[j]) @ S
        G = spatial_inertia(model.mass[i], model.com[i], model.inertia_com[i])
        M += J.T @ G @ J
    return M


@settings(max_examples=50, deadline=None)
@given(seed=SEEDS)
def test_regrouping_changes_no_torque(seed):
    model = make(seed, prismatic=0.5)
    q = np.random.default_rng(seed).uniform(-2, 2, model.n)
    M, ours = mass_matrix(model, q), np.array(crba(canonical_tree(model), q))
    assert np.abs(ours - M).max() < 1e-14 * (1 + model.nb) * np.abs(M).max()


@settings(max_examples=50, deadline=None)
@given(seed=SEEDS)
def test_frames_stay_where_they_are(seed):
    model = make(seed)
    tree = canonical_tree(model)
    q = np.zeros(model.n)
    T, ours = poses(model, q), []
    for joint in tree.joints:
        angle = joint.offset + joint.quarter_turns * math.pi / 2
        R = np.array(joint.R) @ rotation_rpy(0.0, 0.0, angle)
        local = pose(R, np.array(joint.p))
        ours.append(local if joint.parent < 0 else ours[joint.parent] @ local)
    for name, k in zip(model.frame_names, range(len(model.frame_names)), strict=True):
        place = tree.frame(name)
        here = pose(np.array(place.R), np.array(place.p))
        if place.body >= 0:
            here = ours[place.body] @ here
        body = int(model.frame_body[k])
        expected = model.frame_placement[k] if body < 0 else T[body] @ model.frame_placement[k]
        assert np.abs(here - expected).max() < 1e-13
    for i, place in enumerate(tree.body_frames):
        here = ours[i] @ pose(np.array(place.R), np.array(place.p))
        assert np.abs(here - T[i]).max() < 1e-13


@settings(max_examples=50, deadline=None)
@given(seed=SEEDS)
def test_bodies_keep_base_parameters_only(seed):
    tree = canonical_tree(make(seed))
    for joint, body in zip(tree.joints, tree.bodies, strict=True):
        if joint.revolute:
            assert body.m == body.h[2] == body.Sigma[2][2] == 0.0
            # x of R is normal to both axes.
            assert joint.R[2][0] == 0.0
            assert abs(joint.offset) <= math.pi / 4 + 1e-15
        else:
            assert not np.any(body.Sigma)
            # A slide starts at its parent's origin.
            assert not np.any(joint.p)


def test_origins_lie_on_common_normals():
    tree = canonical_tree(random_tree(6, np.random.default_rng(0), branching=0.0, prismatic=0.0))
    for joint in tree.joints[1:]:
        # Rx(alpha) with p = (a, -d sin(alpha), d cos(alpha)): modified Denavit-Hartenberg
        R, p = np.array(joint.R), np.array(joint.p)
        assert np.abs(R[0] - [1, 0, 0]).max() == 0.0
        assert abs(p[1] * R[2, 2] - p[2] * R[1, 2]) < 1e-14 * (1 + np.abs(p).max())


def test_base_parameters_of_the_planar_elbow():
    l1, (c1, c2), (m1, m2), (I1, I2) = 1.0, (0.5, 0.4), (2.0, 3.0), (0.2, 0.3)
    tree = canonical_tree(planar_2r((l1, 0.8), (c1, c2), (m1, m2), (I1, I2)))
    first, second = tree.bodies
    # I1 + m1 c1^2 + m2 l1^2,   m1 c1 + m2 l1,   I2 + m2 c2^2,   m2 c2:
    # Spong, Hutchinson and Vidyasagar, section 6.4.2
    assert math.isclose(first.Sigma[0][0] + first.Sigma[1][1], I1 + m1 * c1**2 + m2 * l1**2)
    assert first.h == (m1 * c1 + m2 * l1, 0.0, 0.0)
    assert math.isclose(second.Sigma[0][0] + second.Sigma[1][1], I2 + m2 * c2**2)
    assert second.h == (m2 * c2, 0.0, 0.0)


def right_angle_arm(angle):
    """Return an arm whose neighbouring axes include the given angle."""
    rng = np.random.default_rng(0)
    T = pose(rotation_rpy(angle, 0.0, 0.0), np.array([0.0, 0.0, 0.3]))
    z = np.array([0.0, 0.0, 1.0])
    return build_tree(
        'right_angles',
        [-1, 0, 1, 2],
        [True] * 4,
        [z] * 4,
        [T] * 4,
        [random_inertial(rng) for _ in range(4)],
    )


def entries(tree):
    return np.concatenate([np.ravel(joint.R) for joint in tree.joints])


def test_right_angles_become_exact_only_on_request():
    model = right_angle_arm(1.57079632679)
    exact, snapped = canonical_tree(model), canonical_tree(model, snap=1e-11)
    assert np.any((np.abs(entries(exact)) > 0) & (np.abs(entries(exact)) < 1e-11))
    assert set(entries(snapped)) <= {0.0, 1.0, -1.0}
    q, qd, qdd = np.random.default_rng(1).uniform(-2, 2, (3, 4))
    a, b = np.array(rnea(exact, q, qd, qdd)), np.array(rnea(snapped, q, qd, qdd))
    assert 0 < np.abs(a - b).max() < 1e-10 * np.abs(a).max()


def test_rounding_of_right_angles_always_disappears():
    assert set(entries(canonical_tree(right_angle_arm(math.pi / 2)))) <= {0.0, 1.0, -1.0}
    offsets = [joint.offset for joint in canonical_tree(right_angle_arm(math.pi / 2)).joints]
    assert offsets[:3] == [0.0] * 3


@pytest.mark.parametrize('sine', [0.0, 3e-16, 1e-12, 1e-9, 1e-5, 0.02, 0.0999, 0.1001])
@pytest.mark.parametrize('axis', [(0.0, 0.0, 1.0), (0.1, -0.7, 0.4), (-0.3, 0.2, -0.9)])
def test_nearly_parallel_axes_lose_no_digits(sine, axis):
    """Also of axes in no direction of a frame, of which the common normal has rounding errors."""
    rng = np.random.default_rng(4)
    z = np.array(axis) / np.linalg.norm(axis)
    across = np.cross(z, [0.0, 1.0, 0.0])
    turn = axis_rotation(across / np.linalg.norm(across), math.asin(sine))
    T = pose(turn @ axis_rotation(z, 0.3), np.array([0.4, -0.2, 0.1]))
    bodies = [random_inertial(rng) for _ in range(3)]
    model = build_tree('parallel', [-1, 0, 1], [True] * 3, [z] * 3, [T] * 3, bodies)
    q = rng.uniform(-2, 2, 3)
    M = mass_matrix(model, q)
    assert np.abs(crba(canonical_tree(model), q) - M).max() < 1e-13 * np.abs(M).max()


def test_axes_that_nearly_meet_share_an_origin():
    # The right angles of this robot have eleven digits.
    model = robots.load('kuka_iiwa')
    tree = canonical_tree(model)
    assert [any(joint.p) for joint in tree.joints] == [True, False, True, False, True, False, True]
    assert all(0 < abs(joint.R[1][1]) < 1e-11 for joint in tree.joints[1:])
    # Exactly the same robot.
    q = np.linspace(-1.0, 2.0, 7)
    M = mass_matrix(model, q)
    assert np.abs(np.array(crba(tree, q)) - M).max() < 1e-15 * model.nb * np.abs(M).max()


@pytest.mark.parametrize('axis', [(0, 0, 1), (0, 0, -1), (0, 1, 0), (-1, 0, 0), (0.6, 0, -0.8)])
def test_any_axis_of_a_single_joint(axis):
    body = Inertial(2.0, np.zeros(3), np.diag([0.1, 0.2, 0.3]))
    axis = np.array(axis, dtype=float)
    model = build_tree('single', [-1], [True], [axis], [np.eye(4)], [body])
    M = crba(canonical_tree(model), [0.4])[0][0]
    assert math.isclose(M, axis @ body.inertia_com @ axis, rel_tol=1e-15)


def test_mass_moves_to_the_base_without_changing_weight():
    model = replace(planar_2r(), gravity=np.array([0.0, 0.0, -9.81]))
    # Both axes vertical: gravity is carried by the base alone.
    assert gravity_torque(canonical_tree(model), [0.3, -0.2]) == [0.0, 0.0]


def test_frames_are_found_by_name():
    tree = canonical_tree(planar_2r())
    assert tree.frame('link2').body == 1
    assert tree.frame('base').body == -1
    with pytest.raises(FrameNotFound, match='the model has base, link1, link2'):
        tree.frame('hand')


def test_everything_is_plain_numbers():
    def leaves(value):
        if isinstance(value, dict):
            value = tuple(value.values())
        return [x for v in value for x in leaves(v)] if isinstance(value, tuple) else [value]

    tree = canonical_tree(robots.load('panda'))
    fields = (tree.joints, tree.bodies, tree.gravity, tree.S, tree.s0, tree.reflected_inertia)
    for value in leaves((*fields, tree.frames, tree.body_frames, tree.base_moment)):
        assert type(value) in (float, int, bool)
