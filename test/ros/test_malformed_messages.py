# SPDX-License-Identifier: Apache-2.0
"""Bytes that are no message, on every subscription of every node: dropped, counted, survived."""

import contextlib
import importlib
import itertools
import random
import zlib

import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray
from every_node import NODES, node_class
from geometry_msgs.msg import InertiaStamped
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint, MultiDOFJointTrajectoryPoint
from visualization_msgs.msg import MarkerArray

from robot_dynamics.ros import messages, qos
from robot_dynamics.ros.nodes.dynamics_node import DynamicsNode
from robot_dynamics.ros.robot_source import DescriptionTimeout

RCLError = rclpy_implementation.RCLError
NAMES = ['shoulder', 'elbow']
# What each node publishes while it works; the validator first has to find an engine.
OUTPUTS = {
    'dynamics_node': (JointState, 'dynamics_node/gravity_torque'),
    'feedforward_node': (JointState, 'feedforward_node/feedforward_torque'),
    'simulator_node': (JointState, 'joint_states'),
    'momentum_observer_node': (JointState, 'momentum_observer_node/external_torque'),
    'markers_node': (MarkerArray, 'markers_node/markers'),
    'state_publisher_node': (MultiDOFJointTrajectoryPoint, '/tf'),
}
# Which every subscription matches, a latched one too.
LATCHED = QoSProfile(depth=1, durability=qos.LATCHED.durability)
FLIPS = 60


def joint_state(stamp=0):
    state = JointState(name=NAMES, position=[0.1, 0.2], velocity=[0.0, 0.0], effort=[1.0, 2.0])
    state.header.stamp = messages.time_message(stamp)
    return state


def sample(message_type):
    """Return a message of a type that has strings and sequences where the type has them."""
    known = {
        JointState: joint_state(),
        JointTrajectory: JointTrajectory(
            joint_names=NAMES, points=[JointTrajectoryPoint(positions=[0.1, 0.2])]
        ),
        Float64MultiArray: Float64MultiArray(data=[1.0, 2.0]),
        String: String(data='<robot/>'),
        InertiaStamped: InertiaStamped(),
        Clock: Clock(),
    }
    message = known.get(message_type, message_type())
    if message_type is InertiaStamped:
        message.header.frame_id = 'forearm'
    if message_type is Float64MultiArray:
        message.layout.dim = [MultiArrayDimension(label='rows', size=2, stride=2)]
    return message


def malformed(message_type):
    """Return bytes that are no message of this type, or one with other contents."""
    data = bytes(serialize_message(sample(message_type)))
    cases = [b'\0', b'\x12\x34\0\0' + b'\0' * 40, b'\0\1\0\0']
    cases += [data[:length] for length in range(1, len(data), max(1, len(data) // 20))]
    rng = random.Random(zlib.crc32(message_type.__name__.encode()))
    for _ in range(FLIPS):
        flipped = bytearray(data)
        for _ in range(rng.randint(1, 6)):
            flipped[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        cases.append(bytes(flipped))
    return cases


def type_named(name):
    package, _, kind = name.split('/')
    return getattr(importlib.import_module(f'{package}.msg'), kind)


def subscriptions(graph, name):
    """Return the types by topic of what a node, or a second node it made, subscribes to."""
    nodes = [n for n in graph.probe.get_node_names() if n.startswith(name)]
    found = {}
    for node in nodes:
        for topic, types in graph.probe.get_subscriber_names_and_types_by_node(node, '/'):
            found[topic] = type_named(types[0])
    return found


def rejected(node):
    return sum(n for what, n in node.health.counts.items() if what.endswith('rejected'))


@pytest.mark.parametrize('name', NODES)
def test_no_bytes_on_any_topic_end_a_node(graph, name, monkeypatch):
    options = {'diagnostics_period': 0.1, 'use_sim_time': True}
    if name == 'dynamics_node':
        options['acceleration_source'] = 'reference'
    node = graph.start(node_class(name, monkeypatch), **options)
    reports = graph.listen(DiagnosticArray, '/diagnostics')
    graph.until(lambda: '/clock' in subscriptions(graph, name), 'the graph')
    topics = subscriptions(graph, name)
    assert 'robot_description' in {topic.strip('/') for topic in topics}
    for topic, message_type in topics.items():
        before = rejected(node)
        out = graph.publisher(message_type, topic, LATCHED)
        for data in malformed(message_type):
            # The middleware sends no bytes longer than a message of a fixed size.
            with contextlib.suppress(RCLError):
                out.publish(data)
            graph.executor.spin_once(timeout_sec=0.002)

        # The first case is no message of any type.
        def counted(out=out, before=before):
            out.publish(b'\0')
            return rejected(node) > before

        graph.until(counted, f'{topic}: the count')
        graph.probe.destroy_publisher(out)
    assert node.failure is None
    assert node.active
    # It continues, and its diagnostics count what was dropped.
    states = graph.probe.create_publisher(JointState, 'joint_states', 10)
    output = OUTPUTS.get(name)
    published = graph.listen(*output) if output else [True]
    stamps = itertools.count(10**12, 10**6)

    def works():
        states.publish(joint_state(next(stamps)))
        mine = [r.status[0] for r in reports if r.status[0].name == f'/{name}: health']
        counts = {v.key: v.value for v in mine[-1].values} if mine else {}
        return published and any(key.endswith('rejected') for key in counts)

    graph.until(works, f'{output} and the diagnostics')


def test_a_malformed_description_is_dropped_while_it_is_waited_for(graph, elbow_urdf):
    node = graph.start(DynamicsNode, description=None, autostart=False, description_timeout=0.3)
    out = graph.publisher(String, 'robot_description', LATCHED)
    out.publish(b'\0')
    node.trigger_configure()
    assert isinstance(node.configure_error, DescriptionTimeout)
    assert node.health.counts['robot_description rejected'] == 1
    out.publish(String(data=elbow_urdf))
    node.trigger_configure()
    assert node.configure_error is None
