# SPDX-License-Identifier: Apache-2.0
"""The parameter `on_infeasible` of feedforward_node: follow, reject, slow_down."""

from types import SimpleNamespace

import numpy as np
import pin_model
import pytest
from called_nodes import CalledNode
from feedforward_view import MS, Robot, detail, point, sentence, trajectory
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from robot_dynamics.ros import messages
from robot_dynamics.ros.nodes.feedforward_node import FeedforwardNode

# The shoulder needs 48 N m, of a limit of 50 N m, and 8 N m at rest.
FAST = (point(0.0, (0.2, 0.1)), point(0.15, (0.6, -0.3)))
SCALE = {'torque_limit_scale': 0.5}


def moved(graph, message, **parameters):
    """Return the robot after the message was received, holding before."""
    robot = Robot(graph, **parameters)
    robot.torque(1 * MS)
    robot.trajectories.publish(message)
    return robot


@pytest.mark.slow
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
    assert list(slowed.points[-1].positions) == list(FAST[-1].positions)[::-1]
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


def positions(side=1):
    """Return three points without velocities, at 2 rad/s in the shoulder."""
    rows = [(0.0, (0.2, 0.1)), (0.2, (0.2, 0.1 + 0.4 * side)), (0.4, (0.2, 0.1))]
    return trajectory(*(point(t, q, ()) for t, q in rows))


def test_positions_alone_are_followed_smoothly(graph):
    robot = moved(graph, positions(), on_infeasible='reject')
    graph.until(lambda: robot.filled, 'the trajectory')
    # From rest to rest, and at rest for a moment where the direction changes.
    assert [list(row.velocities) for row in robot.filled[0].points] == [[0.0, 0.0]] * 3
    assert robot.node.health.counts['trajectory infeasible'] == 0


# The shoulder has 1.7 kg m^2: 2 rad/s, and 4 rad/s, in 0.1 s need 34 N m and 68 N m of 50 N m.
@pytest.mark.parametrize('side', [1, -1])
@pytest.mark.parametrize('choice', ['reject', 'slow_down', 'follow'])
def test_corners_between_lines_are_named(graph, choice, side):
    robot = moved(graph, positions(side), on_infeasible=choice, interpolation='linear')
    counts = robot.node.health.counts
    if choice == 'follow':
        graph.until(lambda: counts['trajectory infeasible'], 'the warning')
        robot.wait_for_word('following')
        return
    said = detail(robot.wait_for_event('trajectory rejected'))
    step = f"the velocity of joint 'shoulder' steps by {-4 * side} rad/s"
    assert f'point 1, at 0.2 s, is a corner: {step}' in said
    assert said.endswith('add velocities')
    assert not robot.filled


def test_a_longer_corner_time_allows_lines(graph):
    robot = moved(
        graph, positions(), on_infeasible='reject', interpolation='linear', corner_time=0.2
    )
    robot.wait_for_word('following')
    assert robot.node.health.counts['trajectory infeasible'] == 0


@pytest.mark.parametrize(
    ('choice', 'duration', 'reason'),
    [('follow', 0.02, 'reaches the velocity'), ('reject', 0.15, 'its effort limit is')],
)
def test_a_trajectory_that_is_too_fast_is_rejected_at_any_speed_scale(
    graph, choice, duration, reason
):
    fast = point(duration, (0.6, -0.3))
    robot = moved(graph, trajectory(FAST[0], fast), on_infeasible=choice, speed_scale=0.1, **SCALE)
    said = detail(robot.wait_for_event('trajectory rejected'))
    assert reason in said
    assert said.endswith('; limits apply at speed_scale 1, to which the present 0.1 may return')


def test_a_trajectory_that_is_rejected_for_its_limits_is_not_reported_as_followed(graph):
    robot = moved(graph, trajectory(FAST[0], point(0.15, (0.6, 3.5))), **SCALE)
    robot.wait_for_event("trajectory rejected: joint 'shoulder'")
    assert robot.node.health.counts['trajectory infeasible'] == 0


# -- each setting that torques have, alone -------------------------------------------------------

HANG = np.array([np.pi / 2, 0.0])  # little gravity torque
LOADED = {'payload.link': 'forearm', 'payload.com': [0.0, 0.0, 0.3]}
# From rest to rest past a point in motion; in the order elbow, shoulder
SLOW = trajectory(
    point(0.0, HANG[::-1]),
    point(1.0, HANG[::-1] + 0.2, (0.4, 0.4)),
    point(2.0, HANG[::-1] + 0.4),
)
SETTINGS = [
    ({}, 'effort_offset', [60.0, 0.0]),
    ({}, 'effort_offset', [0.0, -25.0]),
    ({}, 'friction.coulomb', [60.0, 0.02]),
    ({}, 'friction.viscous', [0.1, 60.0]),
    ({}, 'gravity', [80.0, 0.0, 0.0]),
    ({'torque_limit_scale': 0.14}, 'base_orientation', [0.0, -1.5, 0.0]),
    (LOADED, 'payload.mass', 30.0),
    (LOADED | {'payload.mass': 4.0}, 'payload.com', [0.0, 0.0, 1.0]),
]


def efforts(called, **settings):
    """Return the torques (k, n) of a slow motion, or None where it is infeasible."""
    for name, value in settings.items():
        (result,) = called.node.set_parameters([Parameter(name, value=value)])
        assert result.successful, result.reason
    rejected = called.node.health.counts['trajectory rejected']
    called.published.clear()
    called.give('/joint_trajectory', SLOW)
    if not called.published:
        assert called.node.health.counts['trajectory rejected'] == rejected + 1
        return None
    (filled,) = called.published
    return np.array([one.effort for one in filled.points])


@pytest.mark.parametrize(('others', 'name', 'value'), SETTINGS, ids=lambda x: str(x)[:30])
def test_each_setting_alone_decides_about_a_trajectory_and_is_in_its_torques(
    graph, others, name, value
):
    called = CalledNode(graph, FeedforwardNode, on_infeasible='reject', **others)
    called.published = []
    called.node.references._filled_out = SimpleNamespace(
        get_subscription_count=lambda: 1, publish=called.published.append
    )
    state = JointState(name=['shoulder', 'elbow'], position=HANG, velocity=np.zeros(2))
    state.header.stamp = messages.time_message(MS)
    called.answer(state)
    assert efforts(called) is not None
    assert efforts(called, **{name: value}) is None
    node = called.node
    tau = efforts(called, on_infeasible='follow')
    motion = messages.trajectory(SLOW).in_order(('shoulder', 'elbow')).at_waypoints()
    arm, friction = node.parameters.varied(node.base), node.parameters.friction(node.base.model)
    expected = arm.inverse_dynamics(*motion) + node.parameters.effort_offset
    np.testing.assert_allclose(tau, expected + friction.torque(motion.qd), rtol=1e-9, atol=1e-9)
    limit = node.parameters.torque_limit_scale * arm.model.effort_limit
    assert (np.abs(tau) / limit).max() > 1
