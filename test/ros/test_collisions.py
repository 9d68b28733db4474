# SPDX-License-Identifier: Apache-2.0
"""The parameter `on_collision` of feedforward_node: none, hold, gravity_only."""

import time
from copy import deepcopy

import numpy as np
import pytest
from tiers import soak

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from feedforward_view import MOVE, MS, Q, Robot, close, trajectory, values
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

from robot_dynamics.control.contact import COLLISION
from robot_dynamics.ros import health, messages, qos
from robot_dynamics.ros.joint_state_input import ZEROS
from robot_dynamics.ros.nodes.feedforward_parts.motor_mode import Mode
from robot_dynamics.ros.nodes.momentum_observer_node import LEVELS

KP = 100.0
RATE = 500.0  # N m/s


def contact(robot, kind, stamp=0, **values):
    """Receive what momentum_observer_node publishes."""
    (one,) = (one for one in robot.node.subscriptions if one.topic_name.endswith('/contact'))
    values = {'joint': 'elbow', **values}
    status = DiagnosticStatus(
        message=kind, values=[KeyValue(key=key, value=str(x)) for key, x in values.items()]
    )
    message = DiagnosticArray(status=[status])
    message.header.stamp = messages.time_message(stamp)
    one.callback(serialize_message(message))


def enable(robot):
    (one,) = (one for one in robot.node.services if one.srv_name.endswith('/enable'))
    response = one.callback(SetBool.Request(data=True), SetBool.Response())
    assert response.success
    return response.message


def mirrored(point, side):
    """Return a point on the other side if `side` is -1."""
    point = deepcopy(point)
    point.positions = [side * q for q in point.positions]
    return point


def moving(graph, side, **parameters):
    """Return a node in the middle of a motion, and the arm's position and velocity there."""
    robot = Robot(graph, kp=[KP], kd=[10.0], max_torque_rate=[RATE], ramp_time=0.02, **parameters)
    path = trajectory(*(mirrored(one, side) for one in MOVE))
    reference = messages.trajectory(path).in_order(('shoulder', 'elbow'))
    begin = reference.sample(0.0).q
    robot.torque(0, begin)
    robot.follow(path)
    robot.torque(MS, begin)
    for k in range(2, 400):
        q, qd, _ = reference.sample((k - 1) * 1e-3)
        robot.torque(k * MS, q, qd)
    return robot, q, qd


def follow(robot, q, first, count):
    """Return the torques (count, 2) for an arm that an obstacle stops at q."""
    return np.array([robot.torque((first + k) * MS, q) for k in range(count)])


@pytest.mark.slow
@pytest.mark.parametrize('side', [1.0, *soak([-1.0])], ids=['', 'mirrored'])
@pytest.mark.parametrize('choice', ['hold', 'gravity_only'])
def test_a_collision_ends_the_motion_softly_at_the_arm(graph, elbow, choice, side):
    robot, q, _ = moving(graph, side, on_collision=choice)
    before = robot.torque(400 * MS, q)
    contact(robot, COLLISION)
    tau = follow(robot, q, 401, 300)
    steps = np.abs(np.diff(np.vstack([before, tau]), axis=0))
    assert steps.max() <= RATE * 1e-3 * (1 + 1e-9)
    # The arm stands: nothing presses against what it has met.
    close(tau[-1], elbow.gravity_torque(q))
    assert robot.node.mode is Mode.COLLIDED
    robot.wait_for_word('faulted')
    robot.wait_for_status("joint 'elbow'")
    # Motions wait for ~/enable, which the same collision does not end again.
    robot.trajectories.publish(trajectory(*MOVE))
    further = q + 0.02
    beyond = follow(robot, further, 701, 100)[-1]
    spring = KP * (q - further) if choice == 'hold' else 0.0
    close(beyond, elbow.gravity_torque(further) + spring)
    enable(robot)
    assert robot.node.mode is Mode.COMMANDING
    contact(robot, COLLISION)
    tau = follow(robot, further, 801, 100)
    assert robot.node.mode is Mode.COMMANDING
    assert np.abs(np.diff(np.vstack([beyond, tau]), axis=0)).max() <= RATE * 1e-3 * (1 + 1e-9)
    close(tau[-1], elbow.gravity_torque(further))
    contact(robot, 'none')
    contact(robot, COLLISION)
    robot.torque(901 * MS, further)
    assert robot.node.mode is Mode.COLLIDED


@pytest.mark.parametrize(
    ('choice', 'kind'), [('none', COLLISION), ('hold', 'contact'), ('hold', 'payload')]
)
def test_only_collisions_end_a_motion_and_only_if_wanted(graph, choice, kind):
    robot, q, qd = moving(graph, 1.0, on_collision=choice)
    contact(robot, kind)
    robot.torque(400 * MS, q, qd)
    assert robot.node.mode is Mode.COMMANDING
    assert robot.node.references.follower.moving


def test_a_contact_without_a_state_is_rejected(graph):
    robot = Robot(graph, on_collision='hold')
    robot.torque(0)
    (one,) = (one for one in robot.node.subscriptions if one.topic_name.endswith('/contact'))
    one.callback(serialize_message(DiagnosticArray()))
    assert robot.node.health.counts['contact rejected'] == 1
    assert robot.node.mode is Mode.COMMANDING


def test_the_observer_has_the_kind_that_the_node_waits_for():
    assert COLLISION in LEVELS


def silent(robot, q, first=401, qd=(0.0, 0.0)):
    """Send states without contacts for longer than the timeout; return the last torque."""
    return [robot.torque((first + 10 * k) * MS, q, qd) for k in range(8)][-1]


def diagnosed(robot):
    return robot.node.diagnostics.fault()


@pytest.mark.parametrize('when', ['waiting', 'disabled', 'before the first state', 'choice none'])
def test_a_collision_that_begins_without_commands_counts_at_the_first_one(graph, when):
    robot = Robot(graph, on_collision='none' if when == 'choice none' else 'hold')
    node = robot.node
    if when != 'before the first state':
        robot.torque(MS)
    if when == 'waiting':
        node.watch.silent, node.mode = 'no joint states', Mode.WAITING
    if when == 'disabled':
        node.mode = Mode.DISABLED
    contact(robot, COLLISION, 2 * MS)
    if when == 'disabled':
        node.mode = Mode.WAITING
    if when == 'choice none':
        robot.torque(3 * MS)
        assert node.mode is Mode.COMMANDING
        assert node.set_parameters([Parameter('on_collision', value='hold')])[0].successful
    robot.torque(900 * MS)
    assert node.mode is Mode.COLLIDED
    assert node.health.counts['collision'] == 1
    assert diagnosed(robot)[0] == health.ERROR


def test_enable_acknowledges_a_contact_also_of_a_disabled_node(graph):
    robot = Robot(graph, on_collision='hold', start_enabled=False)
    robot.send(MS)
    contact(robot, COLLISION, MS, excess=3.0)
    enable(robot)
    robot.torque(2 * MS)
    assert robot.node.mode is Mode.COMMANDING
    contact(robot, COLLISION, 3 * MS, excess=4.4)
    robot.torque(3 * MS)
    assert robot.node.mode is Mode.COMMANDING
    contact(robot, COLLISION, 4 * MS, excess=4.6)
    robot.torque(4 * MS)
    assert robot.node.mode is Mode.COLLIDED


@pytest.mark.parametrize('excess', ['nan', 'much'])
def test_an_excess_that_is_no_number_is_rejected(graph, excess):
    robot = Robot(graph, on_collision='hold')
    contact(robot, COLLISION, excess=excess)
    assert robot.node.health.counts['contact rejected'] == 1


@pytest.mark.parametrize('restart', ['activated again', 'reset of the time'])
def test_contacts_of_the_time_before_do_not_count(graph, restart):
    robot = Robot(graph, on_collision='hold')
    robot.torque(900 * MS)
    contact(robot, COLLISION, 900 * MS)
    if restart == 'activated again':
        robot.node.trigger_deactivate()
        robot.node.trigger_activate()
    robot.torque(901 * MS if restart == 'activated again' else MS)
    assert robot.node.mode is Mode.COMMANDING
    assert not robot.node.contact.lost


@pytest.mark.parametrize(
    ('cause', 'text'),
    [
        ('no observer', 'no node publishes /momentum_observer_node/contact'),
        ('in another namespace', 'no node publishes /momentum_observer_node/contact'),
        ('publishes nothing', 'no contact on /momentum_observer_node/contact for 0.05 s'),
        ('unknown', 'contact is unknown: no thresholds'),
        ('stopped', 'no contact on /momentum_observer_node/contact for 0.05 s'),
    ],
)
def test_absent_contacts_are_a_warning_until_they_come_again(graph, cause, text):
    robot = Robot(graph, on_collision='hold', contact_timeout=0.05)
    topic = 'momentum_observer_node/contact'
    if cause == 'in another namespace':
        graph.probe.create_publisher(DiagnosticArray, f'left/{topic}', qos.STREAM_OUT)
    elif cause != 'no observer':
        graph.publisher(DiagnosticArray, topic)
    robot.torque(MS)
    assert diagnosed(robot) is None
    if cause in ('unknown', 'stopped'):
        contact(robot, 'unknown' if cause == 'unknown' else 'none', MS, reason='no thresholds')
    robot.trajectories.publish(trajectory(*MOVE))
    silent(robot, Q, 2)
    assert robot.node.mode is Mode.COMMANDING
    level, message = diagnosed(robot)
    assert (level, text in message) == (health.WARN, True)
    robot.wait_for_status(text)
    assert robot.status[-1].level >= health.WARN
    assert text in enable(robot)
    contact(robot, 'none', 72 * MS)
    robot.torque(73 * MS)
    assert diagnosed(robot) is None
    robot.wait_for_event('contacts are back')
    assert robot.node.health.counts['contact lost'] == 1


@pytest.mark.parametrize('choice', ['hold', 'gravity_only'])
def test_an_arm_without_contacts_is_held_if_wanted_until_they_come_and_enable(
    graph, elbow, choice
):
    robot = Robot(
        graph, kp=[KP], on_collision=choice, on_contact_lost='hold', contact_timeout=0.05
    )
    robot.torque(0)
    tau = silent(robot, Q, 1)
    assert robot.node.mode is Mode.COLLIDED
    robot.wait_for_word('faulted')
    assert values(robot.status[-1])['motion'] == 'held without contacts'
    beyond = robot.torque(80 * MS, Q + 0.02)
    close(beyond, elbow.gravity_torque(Q + 0.02) - KP * 0.02)
    close(tau, elbow.gravity_torque(Q))
    enable(robot)  # while there are none
    robot.torque(81 * MS)
    assert robot.node.mode is Mode.COLLIDED
    contact(robot, 'none', 82 * MS)
    robot.torque(82 * MS)
    assert robot.node.mode is Mode.COLLIDED
    enable(robot)
    robot.torque(83 * MS)
    assert robot.node.mode is Mode.COMMANDING


def test_a_collision_after_lost_contacts_has_its_own_reaction(graph, elbow):
    robot = Robot(
        graph,
        kp=[KP],
        on_collision='gravity_only',
        on_contact_lost='hold',
        contact_timeout=0.05,
    )
    robot.torque(0)
    silent(robot, Q, 1)
    contact(robot, COLLISION, 80 * MS)
    close(robot.torque(80 * MS, Q + 0.02), elbow.gravity_torque(Q + 0.02))
    assert robot.node.mode is Mode.COLLIDED
    assert robot.node.health.counts['collision'] == 1


@pytest.mark.parametrize('choice', ['warn', 'hold'])
def test_without_on_collision_contacts_are_not_missed(graph, choice):
    robot = Robot(graph, on_contact_lost=choice, contact_timeout=0.05)
    robot.torque(0)
    silent(robot, Q, 1)
    assert robot.node.mode is Mode.COMMANDING
    assert diagnosed(robot) is None


def test_without_stamps_the_silence_of_contacts_is_that_of_the_wall_clock(graph):
    robot = Robot(graph, on_collision='hold', contact_timeout=0.05)
    (states,) = (one for one in robot.node.subscriptions if one.topic_name == '/joint_states')
    zero = JointState(name=['shoulder', 'elbow'], position=[0.1, 0.2], velocity=[0.0, 0.0])
    for _ in range(ZEROS + 2):
        states.callback(serialize_message(zero))
    assert not robot.node.contact.lost
    for _ in range(4):
        time.sleep(0.02)
        states.callback(serialize_message(zero))
    assert robot.node.contact.lost
