# SPDX-License-Identifier: Apache-2.0
"""The parameter `on_collision` of feedforward_node: none, hold, gravity_only."""

from copy import deepcopy

import numpy as np
import pytest
from tiers import soak

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from feedforward_view import MOVE, MS, Robot, close, trajectory
from rclpy.serialization import serialize_message
from std_srvs.srv import SetBool

from robot_dynamics.control.contact import COLLISION
from robot_dynamics.nodes.momentum_observer_node import LEVELS
from robot_dynamics.ros import messages
from robot_dynamics.ros.motor_mode import Mode

KP = 100.0
RATE = 500.0  # N m/s


def contact(robot, kind):
    """Receive what momentum_observer_node publishes."""
    (one,) = (one for one in robot.node.subscriptions if one.topic_name.endswith('/contact'))
    status = DiagnosticStatus(message=kind, values=[KeyValue(key='joint', value='elbow')])
    one.callback(serialize_message(DiagnosticArray(status=[status])))


def enable(robot):
    (one,) = (one for one in robot.node.services if one.srv_name.endswith('/enable'))
    assert one.callback(SetBool.Request(data=True), SetBool.Response()).success


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
    assert robot.node.mode is Mode.COMMANDING
    tau = follow(robot, further, 801, 100)
    assert np.abs(np.diff(np.vstack([beyond, tau]), axis=0)).max() <= RATE * 1e-3 * (1 + 1e-9)
    close(tau[-1], elbow.gravity_torque(further))
    contact(robot, 'none')
    contact(robot, COLLISION)
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
