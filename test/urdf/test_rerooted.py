# SPDX-License-Identifier: Apache-2.0
"""The same robot with links in frames fixed to those of their joints: equal dynamics."""

import numpy as np
import pytest
from elbow import ELBOW
from rerooted import rerooted

from robot_dynamics.common.spatial import inverse_pose
from robot_dynamics.core import kinematics
from robot_dynamics.core.model.coordinates import with_coordinates
from robot_dynamics.core.model.robots import random_tree
from robot_dynamics.formulations.newton_euler_link_frame import inverse_dynamics
from robot_dynamics.urdf.loading import parse_urdf
from robot_dynamics.urdf.writing import to_urdf

EPS = np.finfo(float).eps
MEANT = 'ignore::UserWarning', 'ignore::robot_dynamics.InertialWarning'
pytestmark = [pytest.mark.filterwarnings(one) for one in MEANT]


def tree():
    """Return a branched tree with prismatic joints, and one that follows another."""
    S = np.eye(6)[:, :5]
    S[5, 2] = -0.7
    return to_urdf(with_coordinates(random_tree(6, np.random.default_rng(3)), S, [0.0] * 6))


@pytest.fixture(scope='module', params=[lambda: ELBOW, tree], ids=['elbow', 'tree'])
def texts(request):
    plain = request.param()
    return plain, rerooted(plain, np.random.default_rng(1)).decode()


def assert_same_torques(one, other):
    rng = np.random.default_rng(0)
    assert one.joint_names == other.joint_names
    for q, qd, qdd in rng.uniform(-1, 1, (5, 3, one.n)):
        tau = inverse_dynamics(one, q, qd, qdd)
        found = inverse_dynamics(other, q, qd, qdd)
        np.testing.assert_allclose(found, tau, rtol=0, atol=1e3 * EPS * (1 + np.abs(tau).max()))


def test_torques_and_places_are_the_same(texts):
    one, other = map(parse_urdf, texts)
    assert_same_torques(one, other)
    np.testing.assert_allclose(other.com, one.com, atol=1e-13)
    np.testing.assert_allclose(other.inertia_com, one.inertia_com, atol=1e-13)
    q = np.random.default_rng(0).uniform(-1, 1, one.n)
    for link in one.moving_links:
        T = kinematics.frame_pose(one, q, link)
        np.testing.assert_allclose(kinematics.frame_pose(other, q, f'{link}_frame'), T, atol=1e-13)
        J = kinematics.jacobian(one, q, link)
        np.testing.assert_allclose(kinematics.jacobian(other, q, f'{link}_frame'), J, atol=1e-13)


def test_parts_of_the_robot_are_the_same(texts):
    """Up to a link, with a locked joint."""
    one = parse_urdf(texts[0])
    choices = [{'tip_link': link} for link in one.moving_links]
    choices += [{'locked_joints': {joint: 0.4}} for joint in one.joint_names[:2]]
    for choice in choices:
        assert_same_torques(*(parse_urdf(text, **choice) for text in texts))


def test_a_payload_is_in_the_frame_of_its_link(texts):
    one, other = map(parse_urdf, texts)
    link, com = one.moving_links[-1], np.array([0.1, -0.2, 0.3])
    A = np.random.default_rng(2).normal(size=(3, 3))
    tensor = A @ A.T + 10 * np.eye(3)
    T = inverse_pose(other.frame_placement[other.frame_index(link)])
    T = T @ one.frame_placement[one.frame_index(link)]
    R, p = T[:3, :3], T[:3, 3]
    assert np.abs(p).max() > 0.01
    assert_same_torques(
        one.with_payload(link, 1.7, com, tensor),
        other.with_payload(link, 1.7, R @ com + p, R @ tensor @ R.T),
    )
