# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics against forward kinematics, from near and from anywhere."""

import dataclasses

import numpy as np
import pytest
from robots import example_robot_data
from tiers import slow

from robot_dynamics.common.errors import RobotDynamicsError, ShapeError
from robot_dynamics.common.resources import bundled_robots
from robot_dynamics.core import kinematics as kin
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.inverse_kinematics import inverse_kinematics
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.urdf.loading import load_urdf


def allowed(robot, rng, size):
    """Return positions (size, n) within the limits, at most half a turn or 0.5 m from 0."""
    far = np.where(robot.angular, np.pi, 0.5)
    return rng.uniform(
        np.maximum(robot.lower, -far), np.minimum(robot.upper, far), (size, robot.n)
    )


def bundled(name):
    """Return a bundled robot and its mirror image in joint space, q -> -q."""
    robot = load_urdf(name)
    mirrored = dataclasses.replace(robot, axis=-robot.axis, lower=-robot.upper, upper=-robot.lower)
    return robot, mirrored


@pytest.mark.parametrize('name', bundled_robots())
def test_poses_are_reached_from_perturbed_starts_within_the_limits(name):
    rng = np.random.default_rng(11)
    for robot in bundled(name):
        arm, frame = Dynamics(robot), robot.moving_links[-1]
        for q in allowed(robot, rng, 6):
            T, start = kin.frame_pose(robot, q, frame), q + rng.normal(scale=0.2, size=robot.n)
            found = inverse_kinematics(arm, frame, T, start)
            reached = kin.frame_pose(robot, found.q, frame)
            assert found.converged
            assert np.abs(reached - T).max() < 1e-9 * np.sqrt(3)  # of angles below 1e-9 each
            assert np.all((robot.lower <= found.q) & (found.q <= robot.upper))


@pytest.mark.parametrize('name', bundled_robots())
def test_a_position_alone_leaves_the_orientation_free(name):
    rng = np.random.default_rng(3)
    for robot in bundled(name):
        frame, (q,) = robot.moving_links[-1], allowed(robot, rng, 1)
        p = kin.frame_pose(robot, q, frame)[:3, 3]
        found = inverse_kinematics(Dynamics(robot), frame, p, q + 0.1)
        assert found.converged
        assert kin.frame_pose(robot, found.q, frame)[:3, 3] == pytest.approx(p, abs=2e-9)


@pytest.mark.parametrize('side', [1, -1])
def test_a_position_out_of_reach_ends_at_the_nearest(side):
    arm = planar_2r(lengths=(0.7, 0.4))
    p = np.array([1.2, side * 0.9, 0.0])
    found = inverse_kinematics(Dynamics(arm), 'tip', p, np.array([0.1, side * 0.5]))
    # The arm is stretched toward the point, which is 1.5 m away.
    assert found.q == pytest.approx([np.arctan2(side * 0.9, 1.2), 0.0], abs=1e-4)
    assert not found.converged
    assert found.error == pytest.approx([0, 0, 0, *(p * (1.5 - 1.1) / 1.5)], abs=1e-7)


def test_descent_beyond_the_limits_ends_where_no_allowed_motion_comes_nearer():
    for robot in bundled('panda'):
        frame = robot.moving_links[-1]
        # Joint 4 bends by 0.07 at least; another posture far away has this pose.
        upright = kin.frame_pose(robot, np.zeros(robot.n), frame)
        middle = (robot.lower + robot.upper) / 2
        found = inverse_kinematics(Dynamics(robot), frame, upright, 0.2 * middle, restarts=0)
        assert np.all((robot.lower <= found.q) & (found.q <= robot.upper))
        assert not found.converged
        at_limit = (found.q == robot.lower) | (found.q == robot.upper)
        assert at_limit.any()
        # The descent J^T e is zero, but for joints whose limit is in its way.
        descent = kin.jacobian(robot, found.q, frame).T @ found.error
        outward = np.where(found.q == robot.upper, descent, -descent)
        scale = np.linalg.norm(found.error)
        assert np.abs(descent[~at_limit]).max() < 1e-4 * scale
        assert outward[at_limit].min() > -1e-4 * scale


def test_targets_of_inverse_kinematics_are_checked():
    arm = Dynamics(planar_2r())
    with pytest.raises(ShapeError, match=r'target has shape \(2,\); it must be \(4, 4\)'):
        inverse_kinematics(arm, 'link2', np.zeros(2), np.zeros(2))
    with pytest.raises(ShapeError, match='must be finite'):
        inverse_kinematics(arm, 'link2', np.array([0.1, np.nan, 0.0]), np.zeros(2))
    with pytest.raises(ShapeError, match='no rotation matrix'):
        inverse_kinematics(arm, 'link2', 2 * np.eye(4), np.zeros(2))
    with pytest.raises(ShapeError, match='q0 has shape'):
        inverse_kinematics(arm, 'link2', np.eye(4), np.zeros(3))
    with pytest.raises(RobotDynamicsError, match=r'arm is a RobotModel; .* Dynamics\(model\)'):
        inverse_kinematics(planar_2r(), 'link2', np.eye(4), np.zeros(2))


SIX_AND_SEVEN = {
    'panda': 'panda_description/urdf/panda.urdf',
    'ur10': 'ur_description/urdf/ur10_robot.urdf',
    'xarm7': 'xarm_description/urdf/xarm7.urdf',
}


@pytest.mark.parametrize('name', SIX_AND_SEVEN)
@pytest.mark.parametrize('size', [150, *slow([1000])])
def test_reachable_poses_are_reached_from_anywhere(name, size):
    """Descent from one posture ends beside half of them."""
    robot = load_urdf(example_robot_data() / SIX_AND_SEVEN[name])
    arm, frame, rng = Dynamics(robot), robot.moving_links[-1], np.random.default_rng(5)
    targets = arm.forward_kinematics(allowed(robot, rng, size), frame)
    reached = 0
    for T, start in zip(targets, allowed(robot, rng, size), strict=True):
        found = inverse_kinematics(arm, frame, T, start)
        again = inverse_kinematics(arm, frame, T, start)
        assert again.q.tolist() == found.q.tolist()
        assert np.all((robot.lower <= found.q) & (found.q <= robot.upper))
        near = np.abs(kin.frame_pose(robot, found.q, frame) - T).max() < 2e-9
        assert near == found.converged
        reached += near
    assert reached >= 0.97 * size


def test_a_target_half_a_turn_away_is_not_taken_for_reached():
    """The logarithm of a half turn has two signs."""
    arm, q = Dynamics(load_urdf('puma560')), np.array([0.3, -0.8, 0.4, 0.2, 0.7, -0.5])
    T = arm.forward_kinematics(q, 'link6')
    for signs in ((1, -1, -1), (-1, 1, -1), (-1, -1, 1)):
        turned = T @ np.diag([*signs, 1.0])
        found = inverse_kinematics(arm, 'link6', turned, q)
        reached = np.abs(arm.forward_kinematics(found.q, 'link6') - turned).max() < 2e-9
        assert found.converged == reached
    assert found.converged  # about the axis of the last joint
    nothing = inverse_kinematics(arm, 'link6', turned, q, steps=0, restarts=0)
    assert not nothing.converged
    assert np.linalg.norm(nothing.error[:3]) == pytest.approx(np.pi, abs=1e-7)


def test_without_restarts_the_solution_stays_near():
    arm = Dynamics(load_urdf('panda'))
    rng, frame = np.random.default_rng(2), arm.model.moving_links[-1]
    for q in allowed(arm.model, rng, 20):
        T = arm.forward_kinematics(q, frame)
        for restarts in (0, 3):
            found = inverse_kinematics(arm, frame, T, q + 0.01, restarts=restarts)
            assert found.converged
            assert np.abs(found.q - q).max() < 0.2
