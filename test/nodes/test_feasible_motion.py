"""The parameter `on_infeasible` of feedforward_node: follow, reject, slow_down."""

import numpy as np
import pin_model
import pytest
from feedforward_view import MS, Robot, detail, point, sentence, trajectory

from robot_dynamics.ros import messages

# The shoulder needs 48 N m, of a limit of 50 N m, and 8 N m at rest.
FAST = (point(0.0, (0.2, 0.1)), point(0.15, (0.6, -0.3)))
SCALE = {'torque_limit_scale': 0.5}


def moved(graph, message, **parameters):
    """Return the robot after the message was received, holding before."""
    robot = Robot(graph, **parameters)
    robot.torque(1 * MS)
    robot.trajectories.publish(message)
    return robot


def test_reject_names_joint_time_and_torque(graph):
    robot = moved(graph, trajectory(*FAST), on_infeasible='reject', **SCALE)
    said = detail(robot.wait_for_event('trajectory rejected'))
    assert "joint 'shoulder' needs " in said
    assert ' N m at ' in said
    assert ' s; its effort limit is 25' in said
    assert not robot.filled


def test_slow_down_follows_the_path_within_the_limits(graph):
    robot = moved(graph, trajectory(*FAST), on_infeasible='slow_down', **SCALE)
    graph.until(lambda: robot.filled, 'the slowed trajectory')
    (slowed,) = robot.filled
    end = messages.nanoseconds(slowed.points[-1].time_from_start)
    assert end > 150 * MS
    assert list(slowed.points[-1].positions) == list(FAST[-1].positions)
    model = robot.node.arm.model
    motion = messages.trajectory(slowed).in_order(model.joint_names)
    q, qd, qdd = motion.sample(np.linspace(0.0, motion.duration, 2001))
    other = pin_model.PinRobot(model)
    tau = np.array([other.inverse_dynamics(*row) for row in zip(q, qd, qdd, strict=True)])
    tau += model.viscous * qd + model.coulomb * np.tanh(qd / 1e-2)
    assert (np.abs(tau) / (0.5 * model.effort_limit)).max() == pytest.approx(1.0, abs=1e-4)
    status = robot.wait_for_event('')
    assert 'a trajectory of 0.23' in sentence(status)
    assert robot.node.health.counts['trajectory infeasible'] == 1


def test_gravity_alone_is_rejected_with_the_posture(graph):
    robot = moved(graph, trajectory(*FAST), on_infeasible='slow_down', torque_limit_scale=0.1)
    said = detail(robot.wait_for_event('trajectory rejected'))
    assert 'against gravity alone' in said
    assert 'in the posture [' in said


@pytest.mark.parametrize('choice', ['follow', None])
def test_follow_is_the_default_and_warns(choice, graph):
    chosen = {} if choice is None else {'on_infeasible': choice}
    robot = moved(graph, trajectory(*FAST), **chosen, **SCALE)
    graph.until(lambda: robot.filled, 'the trajectory')
    (filled,) = robot.filled
    assert messages.nanoseconds(filled.points[-1].time_from_start) == 150 * MS
    assert robot.node.health.counts['trajectory infeasible'] == 1


def test_a_trajectory_that_is_rejected_for_its_limits_is_not_reported_as_followed(graph):
    robot = moved(graph, trajectory(FAST[0], point(0.15, (0.6, 3.5))), **SCALE)
    robot.wait_for_event("trajectory rejected: joint 'shoulder'")
    assert robot.node.health.counts['trajectory infeasible'] == 0
