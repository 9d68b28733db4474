# SPDX-License-Identifier: Apache-2.0
"""Inputs that protect an arm, and that their silence is no health: docs/reference/nodes.md.

The silence of joint states is in test_faults.py, that of contacts in test_collisions.py.
"""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from feedforward_view import MS, Robot
from geometry_msgs.msg import InertiaStamped
from rclpy.parameter import Parameter

from robot_dynamics.ros import health, messages, qos
from robot_dynamics.ros.nodes.dynamics_node import DynamicsNode
from robot_dynamics.ros.wrench_input import StampedWrench, WrenchInput

FORCE = np.array([0.0, 0.0, 0.0, 1.0, -2.0, 0.0])


@pytest.mark.parametrize('sign', [1.0, -1.0])
@pytest.mark.parametrize('what', ['external_wrench', 'target_wrench'])
def test_a_wrench_that_stops_is_a_warning_until_the_next_one_or_zero(graph, what, sign):
    node = graph.start(DynamicsNode) if what[0] == 'e' else Robot(graph).node
    (wrench,), q = (p for p in node.parts if isinstance(p, WrenchInput)), np.array([0.1, 0.2])
    assert wrench.joint_torque(node.arm, q, 0) is None
    assert wrench.status() is None  # there was none
    for F, late in ((sign * FORCE, True), (0.0 * FORCE, False), (sign * FORCE, True)):
        wrench.newest = StampedWrench(0, node.arm.model.link_names[-1], F)
        assert wrench.joint_torque(node.arm, q, 100 * MS) is not None
        assert wrench.status() is None
        assert wrench.joint_torque(node.arm, q, 101 * MS) is None
        found = wrench.status()
        assert found == ((health.WARN, f'{what} has stopped: it counts as zero') if late else None)
    wrench.restart()
    assert wrench.status() is None


def test_a_payload_counts_after_its_publisher_has_gone_and_is_published(graph):
    robot = Robot(graph)
    present = graph.listen(InertiaStamped, 'feedforward_node/payload', qos.LATCHED)
    publisher = graph.publisher(InertiaStamped, 'payload', qos.LATCHED)
    message = messages.inertia_message(
        messages.time_message(0), 'forearm', 0.5, [0.1, 0.0, 0.0], [0.0] * 6
    )
    publisher.publish(message)
    graph.until(lambda: present and present[-1].inertia.m == 0.5, 'the payload')
    loaded = robot.torque(MS)
    graph.probe.destroy_publisher(publisher)
    np.testing.assert_array_equal(robot.torque(2 * MS), loaded)
    assert robot.node.parameters.payload__mass == 0.5


def test_a_look_at_other_publishers_that_fails_is_a_warning(graph, monkeypatch):
    robot = Robot(graph)
    robot.torque(MS)

    def fails(*_):
        raise RuntimeError('the graph is not known')

    monkeypatch.setattr(robot.node, 'count_publishers', fails)
    before = robot.node.health.counts.copy()
    for one in robot.node.timers:
        one.callback()
    news = robot.node.health.counts - before
    assert [name for name in news if 'CommandGuard' in name and name.endswith('rejected')]


def test_velocities_that_stop_are_a_warning(graph):
    robot = Robot(graph)
    robot.torque(MS)
    robot.torque(200 * MS, qd=None)
    assert robot.node.health.counts['joint state without velocity'] == 1
    assert robot.node.health.news()['joint state without velocity'] == 1  # a WARN


def test_a_speed_scale_is_a_state_that_stays(graph):
    robot = Robot(graph)
    robot.node.set_parameters([Parameter('speed_scale', value=0.3)])
    robot.torque(MS)
    robot.torque(60_000 * MS)
    assert robot.node.references.follower.speed.target == 0.3
