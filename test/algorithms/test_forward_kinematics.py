import pytest

from robot_dynamics.algorithms import forward_kinematics
from robot_dynamics.errors import FrameNotFound


def test_agrees_with_pinocchio(robot, relative):
    for q, _, _ in robot.states:
        for frame in robot.frames:
            ours = forward_kinematics(robot.tree, q.tolist(), frame)
            assert relative(ours, robot.pin.pose(q, frame)) < 1e-13


def test_unknown_frame_is_named(robot):
    with pytest.raises(FrameNotFound, match="no frame 'flange9'; the model has"):
        forward_kinematics(robot.tree, robot.states[0][0], 'flange9')
