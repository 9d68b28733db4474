# SPDX-License-Identifier: Apache-2.0
"""What the feed-forward node publishes for other programs: states of the joints, and status."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from feedforward_view import MOVE, MS, Q, Robot, close, point, sentence, trajectory, values
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control import Reference
from robot_dynamics.ros import messages
from robot_dynamics.ros.nodes.feedforward_parts import state_output

TOPICS = ('desired_state', 'measured_state', 'state_error')
WHOLE = messages.trajectory(trajectory(*MOVE)).in_order(('shoulder', 'elbow'))


def listen(graph):
    return [graph.listen(JointState, f'feedforward_node/{topic}') for topic in TOPICS]


# -- states -------------------------------------------------------------------------------------


def test_desired_and_measured_states_and_their_difference(graph):
    robot = Robot(graph, kp=[100.0], state_publish_rate=0.0)
    received = listen(graph)
    robot.torque(0)
    robot.follow(trajectory(*MOVE))
    robot.torque(1 * MS)
    q, qd = np.array([0.11, 0.22]), np.array([0.3, -0.1])
    tau = robot.torque(61 * MS, q, qd)
    graph.until(lambda: all(len(topic) == 3 for topic in received), 'three states')
    desired, measured, error = (topic[-1] for topic in received)
    for message in (desired, measured, error):
        assert message.name == ['shoulder', 'elbow']
        assert message.header.frame_id == 'base'
        assert messages.nanoseconds(message.header.stamp) == 61 * MS
    wanted = WHOLE.sample(0.06)
    close(desired.position, wanted.q)
    close(desired.velocity, wanted.qd)
    close(desired.effort, tau)
    close(measured.position, q)
    close(measured.velocity, qd)
    assert np.isnan(measured.effort).all()  # the driver sent none
    close(error.position, wanted.q - q)
    close(error.velocity, wanted.qd - qd)


def test_measured_efforts_are_torques_of_the_drives(graph):
    robot = Robot(graph, state_publish_rate=0.0, effort_scale=[2.0, 3.0])
    (measured,) = listen(graph)[1:2]
    robot.states.publish(
        JointState(name=['shoulder', 'elbow'], position=Q, velocity=0 * Q, effort=[0.5, 1.0])
    )
    graph.until(lambda: measured, 'the state')
    assert list(measured[-1].effort) == [1.0, 3.0]
    robot.node.set_parameters([Parameter('effort_scale', value=[4.0])])
    robot.torque(MS)
    later = JointState(name=['shoulder', 'elbow'], position=Q, velocity=0 * Q, effort=[0.5, 1.0])
    later.header.stamp = messages.time_message(2 * MS)
    robot.states.publish(later)
    graph.until(lambda: list(measured[-1].effort) == [2.0, 4.0], 'the other scale')


def test_a_scale_for_other_joints_is_rejected(graph):
    robot = Robot(graph, effort_scale=[2.0, 3.0])
    (result,) = robot.node.set_parameters([Parameter('effort_scale', value=[1.0, 2.0, 3.0])])
    assert not result.successful
    assert 'effort_scale' in result.reason
    assert robot.node.parameters.effort_scale == (2.0, 3.0)


def test_states_have_a_rate_of_their_own(graph):
    robot = Robot(graph, state_publish_rate=100.0)
    received = listen(graph)
    for k in range(1000, 1041):
        robot.torque(k * MS)

    def stamps(topic):
        return [messages.nanoseconds(message.header.stamp) for message in topic]

    graph.until(lambda: all(1040 * MS in stamps(topic) for topic in received), 'the last states')
    for topic in received:
        assert stamps(topic) == [1000 * MS, 1010 * MS, 1020 * MS, 1030 * MS, 1040 * MS]


def test_the_rate_of_the_states_may_change_any_time(graph):
    robot = Robot(graph, state_publish_rate=1.0)
    received = listen(graph)
    robot.torque(1000 * MS)
    graph.until(lambda: all(received), 'the first states')
    assert robot.node.set_parameters([Parameter('state_publish_rate', value=0.0)])[0].successful
    for k in (1001, 1002):
        robot.torque(k * MS)
    graph.until(lambda: all(len(topic) == 3 for topic in received), 'every state')


def test_states_are_published_while_the_node_is_disabled(graph):
    robot = Robot(graph, start_enabled=False)
    received = listen(graph)
    robot.send(0)
    graph.until(lambda: all(received), 'the states')
    assert np.isnan(received[0][-1].effort).all()
    close(received[0][-1].position, Q)
    assert not robot.torques


def stand_in(*fields):
    return SimpleNamespace(header=Header(), joint_names=[], **dict.fromkeys(fields))


@pytest.mark.parametrize(
    'fields',
    [
        ('desired', 'actual', 'error'),
        ('desired', 'actual', 'error', 'reference', 'feedback', 'output'),
        ('reference', 'feedback', 'error', 'output', 'speed_scaling_factor'),
    ],
    ids=['before Humble', 'Humble', 'later'],
)
def test_the_message_of_joint_trajectory_controller_is_filled(fields):
    """Its package is not installed here: by an object with the same fields."""
    q, qd, qdd, tau = np.arange(8.0).reshape(4, 2)
    rows = (q, qd, tau), (q + 1, qd + 1, tau), (q - 1, qd - 1)
    message = state_output.controller_state(
        stand_in(*fields),
        ('a', 'b'),
        3 * 10**9 + 5,
        Reference(q, qd, qdd),
        *rows,
        elapsed=1.25,
        speed=0.3,
    )
    assert vars(message).get('speed_scaling_factor', 0.3) == 0.3
    assert messages.nanoseconds(message.header.stamp) == 3 * 10**9 + 5
    assert message.joint_names == ['a', 'b']
    names = [('reference', 'desired'), ('feedback', 'actual'), ('error',)]
    for row, of_row in zip(rows, names, strict=True):
        for name in set(of_row) & set(fields):
            close(getattr(message, name).positions, row[0])
            close(getattr(message, name).velocities, row[1])
            time = getattr(message, name).time_from_start
            assert messages.nanoseconds(time) == 1_250_000_000
    if 'output' in fields:
        close(message.output.effort, tau)
    desired = message.reference if 'reference' in fields else message.desired
    close(desired.accelerations, qdd)
    assert set(vars(message)) == {'header', 'joint_names', *fields}


def test_the_state_of_the_controller_is_published_where_its_message_is_installed(
    graph, monkeypatch
):
    # Any message that ROS can publish, with `filled` replaced: what is tested is the connection.
    package = SimpleNamespace(JointTrajectoryControllerState=Float64MultiArray)
    monkeypatch.setitem(sys.modules, 'control_msgs.msg', package)
    monkeypatch.setattr(
        state_output,
        'controller_state',
        lambda message, names, stamp, reference, *rows, elapsed, speed: Float64MultiArray(
            data=[*reference.q, *rows[1][0], elapsed, speed]
        ),
    )
    robot = Robot(graph, state_publish_rate=0.0)
    received = graph.listen(Float64MultiArray, 'feedforward_node/controller_state')
    robot.torque(0)
    graph.until(lambda: received, 'the state')
    close(received[0].data, [*Q, *Q, 0.0, 1.0])
    robot.follow(trajectory(*MOVE))
    robot.torque(1 * MS)
    robot.torque(51 * MS)
    graph.until(lambda: len(received) == 3, 'the state of the motion')
    assert received[-1].data[4] == pytest.approx(0.05)


# -- status -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_status_has_one_word_for_what_the_node_does(graph):
    robot = Robot(graph, kp=[100.0], silence_timeout=1.0)
    robot.wait_for_word('waiting')
    robot.torque(0)
    robot.wait_for_word('holding')
    robot.follow(trajectory(*MOVE))
    robot.torque(1 * MS)
    for k in range(51, 602, 50):
        robot.torque(k * MS, WHOLE.sample((k - 1) / 1e3).q)
    graph.call(Trigger, 'feedforward_node/stop')
    robot.wait_for_word('stopping')
    for k in range(651, 1002, 50):
        robot.torque(k * MS, WHOLE.sample(0.7).q)
    robot.wait_for_word('holding')
    robot.wait_for_word('waiting')  # the joint states have stopped
    assert robot.status[-1].level == DiagnosticStatus.WARN
    assert values(robot.status[-1])['detail'] == 'no joint states, stop'
    graph.call(SetBool, 'feedforward_node/enable', SetBool.Request(data=False))
    robot.torque(1002 * MS, WHOLE.sample(0.7).q)
    robot.wait_for_word('idle')
    assert {message.name for message in robot.status} == {'/feedforward_node: motion'}
    assert {message.hardware_id for message in robot.status} == {'elbow'}


@pytest.mark.parametrize('choice', ['stop', 'hold', 'gravity'])
def test_a_disabled_node_is_idle_though_joint_states_have_stopped(graph, choice):
    robot = Robot(graph, silence_timeout=0.05, on_timeout=choice)
    robot.torque(0)
    robot.wait_for_word('waiting')
    assert graph.call(SetBool, 'feedforward_node/enable', SetBool.Request(data=False)).success
    robot.wait_for_word('idle')
    graph.until(lambda: not any(robot.torques[-1].effort), 'the last torque')


def test_the_status_has_the_progress_of_a_motion(graph):
    robot = Robot(graph)
    robot.torque(0)
    robot.wait_for_word('holding')
    assert values(robot.status[-1])['progress'] == ''
    robot.follow(trajectory(*MOVE))
    robot.torque(1 * MS)
    for k in range(51, 502, 50):
        robot.torque(k * MS, WHOLE.sample((k - 1) / 1e3).q)
    graph.until(lambda: values(robot.status[-1])['progress'] == '0.250', 'a quarter')
    assert robot.status[-1].message == 'following'


def outcome(robot):
    return values(robot.status[-1])['outcome']


def test_the_status_has_the_outcome_of_the_last_trajectory(graph):
    robot = Robot(graph)
    robot.torque(0)
    robot.wait_for_word('holding')
    assert outcome(robot) == ''
    robot.follow(trajectory(*MOVE))
    robot.torque(1 * MS)
    robot.wait_for_word('following')
    assert outcome(robot) == ''
    for k in range(51, 2202, 50):
        robot.torque(k * MS, WHOLE.sample((k - 1) / 1e3).q)
    robot.wait_for_word('holding')
    assert outcome(robot) == 'succeeded'
    robot.follow(trajectory(point(1.0, (0.25, 0.15))))
    robot.torque(2251 * MS, WHOLE.sample(2.0).q)
    robot.wait_for_word('following')
    assert outcome(robot) == ''
    robot.torque(2301 * MS, WHOLE.sample(2.0).q)
    graph.call(Trigger, 'feedforward_node/stop')
    graph.until(lambda: outcome(robot) == 'cancelled: stopped by ~/stop', 'the outcome')


def test_a_rejected_motion_names_the_joint(graph):
    robot = Robot(graph)
    robot.torque(0)
    robot.trajectories.publish(trajectory(MOVE[0], point(1.0, (0.2, 3.5))))
    robot.wait_for_word('rejected')
    assert values(robot.status[-1])['joint'] == 'shoulder'
    assert robot.status[-1].level == DiagnosticStatus.WARN
    assert sentence(robot.status[-1]).endswith('; holding')


def test_another_node_that_commands_the_motors_is_a_fault(graph):
    import rclpy

    other = rclpy.create_node('other', context=graph.context)
    other.create_publisher(Float64MultiArray, 'effort_controller/commands', 10)
    robot = Robot(graph, publish_commands=True)
    robot.wait_for_word('faulted')
    assert '/other commands' in values(robot.status[-1])['detail']
    other.destroy_node()
    robot.wait_for_word('waiting')


# -- tolerances ---------------------------------------------------------------------------------


def follow_part(robot, end):
    robot.torque(0)
    robot.follow(trajectory(*MOVE))
    robot.torque(1 * MS)
    for k in range(51, end, 50):
        robot.torque(k * MS, WHOLE.sample((k - 1) / 1e3).q)


def test_an_arm_that_leaves_its_path_decelerates_and_is_held(graph):
    robot = Robot(graph, constraints__trajectory=[0.0, 0.05])
    follow_part(robot, 602)
    before = WHOLE.sample(0.6)
    robot.torque(611 * MS, before.q + np.array([0.09, 0.0]))  # the shoulder has no tolerance
    now = WHOLE.sample(0.62)
    robot.torque(621 * MS, now.q - np.array([0.0, 0.06]), now.qd)
    status = robot.wait_for_event("joint 'elbow' is 0.06")
    assert (status.message, status.level) == ('faulted', DiagnosticStatus.ERROR)
    assert values(status)['joint'] == 'elbow'
    assert values(status)['motion'] == 'stopping'
    for k in range(651, 952, 50):
        robot.torque(k * MS, WHOLE.sample(0.65).q)
    graph.until(lambda: values(robot.status[-1])['motion'] == 'holding', 'the end of the stop')
    assert robot.status[-1].message == 'faulted'
    assert values(robot.status[-1])['detail'] == values(status)['detail']


@pytest.mark.parametrize('end', ['trajectory', 'stream', 'enable'])
def test_a_violation_stays_visible_until_the_next_motion(graph, end):
    limits = {'constraints__trajectory': [0.05], 'silence_timeout': 60.0}
    robot = Robot(graph, diagnostics_period=0.1, **limits)
    diagnostics = graph.listen(DiagnosticArray, '/diagnostics')
    follow_part(robot, 602)
    robot.torque(621 * MS, WHOLE.sample(0.62).q - np.array([0.06, 0.0]))
    reason = values(robot.wait_for_event("joint 'shoulder' is 0.06"))['detail']
    for k in range(651, 2952, 100):
        held = WHOLE.sample(0.62).q - np.array([0.06, 0.0])
        robot.torque(k * MS, held)
    diagnostics.clear()
    graph.until(lambda: len(diagnostics) > 3, 'later diagnostics')
    health = diagnostics[-1].status[0]
    assert (health.level, health.message) == (DiagnosticStatus.ERROR, reason)
    assert values(health)['tolerance violated'] == '1'
    assert robot.status[-1].message == 'faulted'
    assert values(robot.status[-1])['detail'] == reason
    graph.call(Trigger, 'feedforward_node/stop')  # no motion
    robot.torque(2960 * MS, held)
    assert robot.status[-1].message == 'faulted'
    if end == 'trajectory':
        robot.follow(trajectory(point(1.0, held[::-1])))
    elif end == 'stream':
        references = graph.publisher(JointTrajectory, 'reference')
        references.publish(trajectory(point(0.0, held[::-1])))
        robot.wait_for_word('following')
    else:
        for enabled in (False, True):
            graph.call(SetBool, 'feedforward_node/enable', SetBool.Request(data=enabled))
            robot.torque((2970 + enabled) * MS, held)
    robot.torque(2990 * MS, held)
    graph.until(lambda: robot.status[-1].message in ('following', 'holding'), 'the next word')
    diagnostics.clear()
    graph.until(lambda: len(diagnostics) > 1, 'later diagnostics')
    assert diagnostics[-1].status[0].level != DiagnosticStatus.ERROR


SHORT = trajectory(point(0.0, (0.2, 0.1)), point(0.2, (0.25, 0.1)))
GOAL = np.array([0.1, 0.25])


def arrive(robot, q, qd=(0.0, 0.0)):
    robot.torque(0)
    robot.follow(SHORT)
    for k in (1, 101, 201):
        robot.torque(k * MS, GOAL)
    for k in (211, 301, 391):
        robot.torque(k * MS, q, qd)


def test_a_goal_is_awaited_and_reached(graph):
    robot = Robot(graph, constraints__goal=[0.01], constraints__stopped_velocity_tolerance=0.02)
    arrive(robot, GOAL + 0.02)
    assert robot.node.references.follower.moving
    robot.torque(441 * MS, GOAL, (0.0, 0.05))
    assert robot.node.references.follower.moving
    robot.torque(451 * MS, GOAL)
    robot.wait_for_word('holding')
    assert robot.node.references.follower.execution.outcome.value == 'succeeded'


@pytest.mark.parametrize(('off', 'qd'), [(0.02, 0.0), (0.0, 0.3)], ids=['distance', 'velocity'])
def test_a_goal_that_is_not_reached_in_time_is_a_fault(graph, off, qd):
    robot = Robot(
        graph,
        constraints__goal=[0.01],
        constraints__stopped_velocity_tolerance=0.02,
        constraints__goal_time=0.2,
    )
    arrive(robot, GOAL + off, (qd, 0.0))
    assert robot.node.references.follower.moving
    robot.torque(421 * MS, GOAL + off, (qd, 0.0))
    status = robot.wait_for_event("joint 'shoulder' is")
    assert status.message == 'faulted'
    assert values(status)['motion'] == ('stopping' if qd else 'holding')
