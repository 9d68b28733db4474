# SPDX-License-Identifier: Apache-2.0
"""Payloads set for one node, for all of them, or by one node for another."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import InertiaStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from visualization_msgs.msg import MarkerArray

from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.ros import messages, qos
from robot_dynamics.ros.nodes.dynamics_node import DynamicsNode
from robot_dynamics.ros.nodes.feedforward_node import FeedforwardNode
from robot_dynamics.ros.nodes.markers_node import MarkersNode
from robot_dynamics.ros.nodes.momentum_observer_node import MomentumObserverNode
from robot_dynamics.ros.nodes.pybullet_validator_node import PyBulletValidatorNode
from robot_dynamics.urdf.loading import parse_urdf
from robot_dynamics.validation.engines import ENGINES, installed

NODES = {
    'dynamics_node': DynamicsNode,
    'feedforward_node': FeedforwardNode,
    'momentum_observer_node': MomentumObserverNode,
    'markers_node': MarkersNode,
    'pybullet_validator_node': PyBulletValidatorNode,
}
ALL = {'pybullet_validator_node': 'dynamics_node/payload'}  # else: payload
Q = [0.3, -0.4]

each_node = pytest.mark.parametrize('name', NODES)


def load(mass, x=0.0, link='forearm'):
    message = InertiaStamped()
    message.header.frame_id = link
    message.inertia.m, message.inertia.com.x = mass, x
    return message


def loaded(urdf, mass, x=0.0):
    return Dynamics(parse_urdf(urdf).with_payload('forearm', mass, (x, 0.0, 0.0)))


def latched(graph, topic, message):
    publisher = graph.probe.create_publisher(InertiaStamped, topic, qos.LATCHED)
    publisher.publish(message)
    return publisher


@each_node
def test_a_payload_for_all_nodes_is_used_and_published_by_each(graph, elbow_urdf, name):
    node = graph.start(NODES[name])
    published = graph.listen(InertiaStamped, f'{name}/payload', qos.LATCHED)
    graph.until(lambda: published, 'what it carries at the start')
    assert (published[-1].inertia.m, published[-1].header.frame_id) == (0.0, 'forearm')
    latched(graph, ALL.get(name, 'payload'), load(2.0, 0.1))
    graph.until(lambda: published[-1].inertia.m == 2.0, 'the load')
    assert published[-1].inertia.com.x == 0.1
    assert node.get_parameter('payload.mass').value == 2.0
    expected = loaded(elbow_urdf, 2.0, 0.1).gravity_torque(Q)
    np.testing.assert_allclose(node.arm.gravity_torque(Q), expected, rtol=1e-12)


@each_node
def test_a_payload_received_before_the_robot_is_applied(graph, elbow_urdf, name):
    latched(graph, ALL.get(name, 'payload'), load(2.0))
    node = graph.start(NODES[name], description='')
    graph.until(lambda: node.payload.pending is not None, 'the load')
    descriptions = graph.probe.create_publisher(String, 'robot_description', qos.LATCHED)
    descriptions.publish(String(data=elbow_urdf))
    graph.until(lambda: node.active, 'the robot')
    expected = loaded(elbow_urdf, 2.0).gravity_torque(Q)
    np.testing.assert_allclose(node.arm.gravity_torque(Q), expected, rtol=1e-12)


@each_node
def test_an_inconsistent_payload_is_rejected(graph, elbow, name):
    node = graph.start(NODES[name])
    set_payload = graph.publisher(InertiaStamped, f'{name}/set_payload')
    for count, wrong in enumerate((load(-1.0), load(np.nan), load(1.0, link='hand')), start=1):
        set_payload.publish(wrong)
        graph.until(
            lambda n=count: node.health.counts['payload rejected'] == n, f'refusal {count}'
        )
    assert node.parameters.payload__mass == 0.0
    np.testing.assert_allclose(node.arm.gravity_torque(Q), elbow.gravity_torque(Q), rtol=1e-12)


def test_programs_of_another_link_are_compiled_with_the_payload(graph, elbow_urdf, monkeypatch):
    """And not when the first state waits for an answer."""
    node = graph.start(DynamicsNode, autostart=False)
    node.trigger_configure()
    prepared, prepare = [], node.prepare
    monkeypatch.setattr(node, 'prepare', lambda arm: (prepared.append(arm), prepare(arm)))
    set_payload = graph.publisher(InertiaStamped, 'dynamics_node/set_payload')
    set_payload.publish(load(2.0))
    graph.until(lambda: node.parameters.payload__mass == 2.0, 'the load')
    assert not prepared
    set_payload.publish(load(2.0, link='upper_arm'))
    graph.until(lambda: node.parameters.payload__link == 'upper_arm', 'the other link')
    assert prepared == [node.arm]
    model = parse_urdf(elbow_urdf).with_payload('upper_arm', 2.0)
    np.testing.assert_allclose(
        node.arm.gravity_torque(Q), Dynamics(model).gravity_torque(Q), rtol=1e-12
    )


def test_a_repeated_payload_changes_nothing(graph):
    node = graph.start(DynamicsNode)
    before = node.arm
    set_payload = latched(graph, 'payload', load(0.0))
    graph.until(set_payload.get_subscription_count, 'the node')
    graph.drain()
    assert node.arm is before


def test_markers_follow_the_payload_of_another_node(graph):
    graph.start(DynamicsNode)
    node = graph.start(MarkersNode, remap=['payload:=dynamics_node/payload'])
    drawings = graph.listen(MarkerArray, 'markers_node/markers')
    states = graph.publisher(JointState, 'joint_states')
    stamps = iter(range(1, 1000))

    def weight():
        """Return the length of the forearm's weight, as drawn, in N."""
        message = JointState(name=['shoulder', 'elbow'], position=Q)
        message.header.stamp.sec = stamp = next(stamps)
        states.publish(message)
        graph.until(
            lambda: drawings and drawings[-1].markers[0].header.stamp.sec == stamp, 'a drawing'
        )
        arrow = next(m for m in drawings[-1].markers if (m.ns, m.id) == ('weight', 1))
        return (arrow.points[0].z - arrow.points[1].z) / node.parameters.force_scale

    graph.until(node.markers_out.get_subscription_count, 'the listener')
    assert weight() == pytest.approx(0.7 * 9.81)
    graph.publisher(InertiaStamped, 'dynamics_node/set_payload').publish(load(2.0))
    graph.until(lambda: weight() == pytest.approx(2.7 * 9.81), 'the load')


needs_engine = pytest.mark.skipif(
    not any(map(installed, ENGINES)), reason='no other engine is installed'
)


class Judged:
    """A dynamics node whose load changes, before a validator."""

    def __init__(self, graph, **options):
        self.graph, self.stamp = graph, 0
        graph.start(DynamicsNode)
        self.node = graph.start(
            PyBulletValidatorNode, random_states=12, check_rate=50.0, **options
        )
        self.residuals = graph.listen(JointState, 'pybullet_validator_node/residual')
        self.states = graph.publisher(JointState, 'joint_states')
        self.set_payload = graph.publisher(InertiaStamped, 'dynamics_node/set_payload')
        self.live(3)

    def live(self, count):
        """Wait for so many more residuals of an arm in motion."""
        self.residuals.clear()

        def moved():
            self.stamp += 10_000_000
            t = self.stamp / 1e9
            message = JointState(name=['shoulder', 'elbow'])
            message.position = np.sin([3 * t, 5 * t]).tolist()
            message.velocity = ([3, 5] * np.cos([3 * t, 5 * t])).tolist()
            message.header.stamp = messages.time_message(self.stamp)
            self.states.publish(message)
            self.graph.drain(0.01)
            return len(self.residuals) >= count

        self.graph.until(moved, 'residuals')

    @property
    def verdict(self):
        return self.node.figures()['verdict']


@pytest.mark.slow
@needs_engine
def test_the_validator_compares_with_the_payload_of_the_dynamics_node(graph, capfd):
    """No verdict about a loaded robot is one about an unloaded one."""
    validated = Judged(graph)
    for mass in (2.0, 0.5, 0.0):
        validated.set_payload.publish(load(mass, 0.1))
        graph.until(lambda m=mass: validated.node.parameters.payload__mass == m, 'the load')
        validated.live(5)
        assert validated.verdict == 'PASS'
        for residual in validated.residuals:
            np.testing.assert_allclose(residual.effort, 0.0, atol=1e-9)
    assert 'FAIL' not in capfd.readouterr().err


@needs_engine
def test_a_validator_without_the_payload_diagnoses_it(graph):
    validated = Judged(graph, remap=['dynamics_node/payload:=unused'])
    validated.set_payload.publish(load(2.0, 0.1))
    graph.until(lambda: validated.live(1) or validated.verdict == 'FAIL', 'the verdict')
    graph.until(lambda: validated.live(1) or validated.node._report.cause, 'the cause')
    assert 'forearm' in validated.node._report.cause
