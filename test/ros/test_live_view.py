# SPDX-License-Identifier: Apache-2.0
"""A live robot: its description, joint states and payload from topics of a namespace."""

import time

import numpy as np
import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray
from elbow import ELBOW
from geometry_msgs.msg import InertiaStamped, WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from robot_dynamics import cli
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.ros import messages, qos
from robot_dynamics.ros.graph_client import GraphError
from robot_dynamics.ros.live_robot import LiveRobot
from robot_dynamics.ros.nodes.momentum_observer_node import MomentumObserverNode
from robot_dynamics.urdf.loading import parse_urdf
from robot_dynamics.view.state import ViewState
from robot_dynamics.view.viewed_motion import LATE, Follow

NAMES = ('shoulder', 'elbow')
MODEL = parse_urdf(ELBOW)


@pytest.fixture
def live(graph):
    robots = []

    def live(*arguments):
        robots.append(LiveRobot(*arguments))
        return robots[-1]

    yield live
    for robot in robots:
        robot.close()


def describe(graph, namespace=''):
    publisher = graph.publisher(String, f'{namespace}/robot_description', qos.LATCHED)
    publisher.publish(String(data=ELBOW))
    return publisher


def state(position, stamp=1, names=NAMES):
    message = JointState(name=list(names), position=position)
    message.velocity, message.effort = [0.1, 0.2], [1.0, 2.0]
    message.header.stamp.sec = stamp
    return message


def test_a_robot_in_a_namespace_is_followed(graph, live):
    robot = live('left')
    assert robot.topics == (
        '/left/joint_states',
        '/left/robot_description',
        '/left/momentum_observer_node/external_torque',
    )
    describe(graph, '/left')
    graph.until(lambda: robot._text, 'the description')
    assert robot.description(1.0) == ELBOW
    calls, reports = [], []
    robot.follow(MODEL, lambda: calls.append(1), reports.append)
    states = graph.publisher(JointState, '/left/joint_states')
    # Best effort: the first messages may be lost.
    graph.until(
        lambda: states.publish(state([-0.4, 0.3], names=NAMES[::-1])) or robot.newest(),
        'a joint state',
    )
    reading = robot.newest()
    np.testing.assert_array_equal(reading.q, [0.3, -0.4])
    np.testing.assert_array_equal(reading.effort, [2.0, 1.0])
    assert calls
    # NaN is reported and not shown.
    wrong = state([float('nan'), 0.0], stamp=2)
    graph.until(lambda: states.publish(wrong) or reports, 'a report')
    assert 'position must be finite: shoulder = nan' in reports[0]
    np.testing.assert_array_equal(robot.newest().q, reading.q)
    for _ in range(10):
        states.publish(wrong)
    # What follows on the topic has arrived: the repeated error was reported once.
    later = state([0.5, 0.6], stamp=3)
    graph.until(lambda: states.publish(later) or robot.newest().q[0] == 0.5, 'a valid state')
    assert len(reports) == 1


def test_the_torques_of_a_followed_robot_are_those_of_the_library(graph, live):
    robot = live()
    arm = Dynamics(MODEL)
    robot.follow(MODEL, lambda: None, lambda _: None)
    states = graph.publisher(JointState, '/joint_states')
    graph.until(lambda: states.publish(state([0.3, -0.4])) or robot.newest(), 'a joint state')
    shown = Follow(robot).advance(arm, ViewState.initial(arm.model), 0.1)
    np.testing.assert_array_equal(shown.q, [0.3, -0.4])
    np.testing.assert_array_equal(shown.measured, [1.0, 2.0])


@pytest.mark.parametrize('stamps', [(50, 4, 5), (50, 0, 1), (0, 0, 0)])
def test_stamps_that_go_back_or_stay_at_zero_do_not_freeze_the_view(graph, live, stamps):
    robot = live()
    arm = Dynamics(MODEL)
    follow, shown = Follow(robot), ViewState.initial(arm.model)
    robot.follow(MODEL, lambda: None, lambda _: None)
    states = graph.publisher(JointState, '/joint_states')
    for k, stamp in enumerate(stamps):
        message = state([0.3 + 0.1 * k, -0.4], stamp)

        def is_shown(message=message):
            nonlocal shown
            states.publish(message)
            shown = follow.advance(arm, shown, 0.1)
            return shown.q[0] == message.position[0]

        graph.until(is_shown, f'the state with stamp {stamp}')


def test_the_payload_of_a_prefixed_link_is_received(graph, live):
    robot = live('', 'left/')
    payloads = graph.publisher(InertiaStamped, '/payload', qos.LATCHED)
    message = InertiaStamped()
    message.header.frame_id, message.inertia.m, message.inertia.com.z = 'left/forearm', 2.0, 0.1
    payloads.publish(message)
    graph.until(lambda: robot.payload(), 'the payload')
    assert robot.payload() == ('forearm', 2.0, (0.0, 0.0, 0.1))


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_what_the_observer_estimates_is_shown(graph, live, sign):
    """The node, under a known force at the forearm: torques, force, and contact in words."""
    parameters = {'frame_prefix': 'left/', 'contact_frame': 'forearm', 'contact_model': 'force'}
    thresholds = {'thresholds__noise': [0.1], 'thresholds__level': [2.0]}
    smooth = {'friction__viscous': [0.0], 'friction__coulomb': [0.0]}
    graph.start(MomentumObserverNode, **parameters, **thresholds, **smooth)
    robot, arm = live('', 'left/'), Dynamics(parse_urdf(ELBOW))
    reports = []
    robot.follow(MODEL, lambda: None, reports.append)
    states = graph.publisher(JointState, '/joint_states')
    assert robot.external() == (None, None)
    q = sign * np.array([0.3, -0.4])
    J = arm.jacobian(q, 'forearm')[3:]
    force = sign * 4.0 * J[:, 0]
    push, stamp = J.T @ force, 0

    def contact():
        nonlocal stamp
        stamp += 1_000_000
        message = state(q.tolist())
        message.velocity = [0.0, 0.0]
        message.effort = (arm.gravity_torque(q) - push * (stamp > 50_000_000)).tolist()
        message.header.stamp = messages.time_message(stamp)
        states.publish(message)
        estimated, true = robot.external()
        assert true is None
        return stamp > 200_000_000 and estimated is not None and 'threshold' in estimated.text

    graph.until(contact, 'a contact')
    shown = Follow(robot).advance(arm, ViewState.initial(arm.model), 0.1).estimated
    np.testing.assert_allclose(shown.torque, push, atol=1e-3 * np.abs(push).max())
    R = arm.forward_kinematics(q, 'forearm')[:3, :3]
    explained = J.T @ (R @ shown.wrench[3:])
    assert np.abs(explained - push).max() < 0.02 * np.abs(push).max()
    assert shown.frame == 'forearm'
    joint = NAMES[int(np.argmax(np.abs(push)))]
    assert f' times the threshold of {joint}' in shown.text
    assert reports == []


def test_an_observer_that_has_ended_and_wrong_torques_are_not_shown(graph, live, monkeypatch):
    robot, reports = live(), []
    robot.follow(MODEL, lambda: None, reports.append)
    topic = '/momentum_observer_node/external_'
    torques = graph.publisher(JointState, f'{topic}torque')
    wrenches = graph.publisher(WrenchStamped, f'{topic}wrench')
    contacts = graph.publisher(DiagnosticArray, '/momentum_observer_node/contact')
    contacts.publish(DiagnosticArray())  # no status, no contact

    def estimated():
        torques.publish(JointState(name=NAMES[::-1], effort=[2.0, 1.0]))
        wrenches.publish(WrenchStamped())
        return robot.external()[0]

    found = graph.until(estimated, 'an estimate') or robot.external()[0]
    np.testing.assert_array_equal(found.torque, [1.0, 2.0])
    wrong = JointState(name=NAMES, effort=[float('nan'), 0.0])
    graph.until(lambda: torques.publish(wrong) or reports, 'a report')
    assert 'external torque must be finite: shoulder = nan' in reports[0]
    now = time.monotonic()
    monkeypatch.setattr(time, 'monotonic', lambda: now + 2 * LATE)
    assert robot.external() == (None, None)


def test_another_description_is_reported(graph, live):
    robot = live()
    publisher = describe(graph)
    graph.until(lambda: robot._text, 'the description')
    reports = []
    robot.follow(MODEL, lambda: None, reports.append)
    publisher.publish(String(data=ELBOW + ' '))
    graph.until(lambda: reports, 'a report')
    assert reports == ['robot_description has changed: start the view again']


def test_without_a_description_the_topic_is_named(graph, live):
    began = time.monotonic()
    with pytest.raises(GraphError, match=r'no robot_description on /a/robot_description wit'):
        live('a').description(0.2)
    assert time.monotonic() - began > 0.2


@pytest.mark.parametrize('namespace', ['1 2', 'a//b', '-'])
def test_an_invalid_namespace_is_rejected_in_one_line(graph, namespace, capsys):
    assert cli.main(['view', '--live', f'--namespace={namespace}', '--timeout', '0.1']) == 2
    errors = capsys.readouterr().err
    assert f'--namespace is {namespace!r}' in errors
    assert errors.count('\n') == 1
