# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.common.errors import FrameNotFound
from robot_dynamics.core.algorithms import forward_kinematics, jacobian, jacobian_dot

STEP = 1e-30


def test_agrees_with_pinocchio(robot, relative):
    for q, _, _ in robot.states:
        for frame in robot.frames:
            ours = jacobian(robot.tree, q.tolist(), frame)
            assert relative(ours, robot.pin.jacobian(q, frame)) < 1e-13


def test_rate_agrees_with_pinocchio(robot, relative):
    for q, qd, _ in robot.states:
        for frame in robot.frames:
            theirs = robot.pin.jacobian_dot(q, qd, frame)
            ours = jacobian_dot(robot.tree, q.tolist(), qd.tolist(), frame)
            assert relative(ours, theirs, np.abs(qd).max()) < 1e-12


def test_is_the_derivative_of_the_pose(robot):
    q, qd, _ = robot.states[0]
    frame = robot.frames[-1]
    # d/dt T(q) = Im T(q + i h qd) / h
    T = np.array(forward_kinematics(robot.tree, q + 1j * STEP * qd, frame))
    turning = np.imag(T[:3, :3]) / STEP @ np.real(T[:3, :3]).T
    w = [turning[2, 1], turning[0, 2], turning[1, 0]]
    V = [*w, *np.imag(T[:3, 3]) / STEP]
    J = np.array(jacobian(robot.tree, q, frame))
    assert np.abs(J @ qd - V).max() < 1e-13 * (1 + np.abs(V).max())


def test_rate_is_the_derivative_of_the_jacobian(robot):
    q, qd, _ = robot.states[1]
    frame = robot.frames[-1]
    rate = np.imag(jacobian(robot.tree, q + 1j * STEP * qd, frame)) / STEP
    ours = np.array(jacobian_dot(robot.tree, q, qd, frame))
    assert np.abs(ours - rate).max() < 1e-13 * robot.model.nb * (1 + np.abs(rate).max())


def test_a_frame_on_the_base_does_not_move(robot):
    q, qd, _ = robot.states[0]
    assert not np.any(jacobian(robot.tree, q, robot.frames[0]))
    assert not np.any(jacobian_dot(robot.tree, q, qd, robot.frames[0]))


def test_pose_agrees_with_pinocchio(robot, relative):
    for q, _, _ in robot.states:
        for frame in robot.frames:
            ours = forward_kinematics(robot.tree, q.tolist(), frame)
            assert relative(ours, robot.pin.pose(q, frame)) < 1e-13


def test_unknown_frame_is_named(robot):
    with pytest.raises(FrameNotFound, match="no frame 'flange9'; the model has"):
        forward_kinematics(robot.tree, robot.states[0][0], 'flange9')
