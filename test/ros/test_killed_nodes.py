# SPDX-License-Identifier: Apache-2.0
"""Killed without a last word: nodes that are started again, and clients that are not."""

import importlib.util
import itertools
import signal
import time

import numpy as np
import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from feedforward_view import Robot, point, trajectory
from live_nodes import kill, line_with, start_node, start_python
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from visualization_msgs.msg import Marker, MarkerArray

from robot_dynamics.ros import messages, qos
from robot_dynamics.ros.nodes.dynamics_node import DynamicsNode
from robot_dynamics.ros.nodes.feedforward_parts.motor_mode import Mode
from robot_dynamics.ros.nodes.simulator_node import SimulatorNode
from robot_dynamics.validation.engines import ENGINES, installed

pytestmark = pytest.mark.processes

MS = 1_000_000
RATE = 200.0  # N m/s
Q = np.array([0.3, -0.4])
needs_tf = pytest.mark.skipif(
    importlib.util.find_spec('tf2_msgs') is None,
    reason='tf2_msgs comes with a ROS 2 distribution only',
)
needs_engine = pytest.mark.skipif(
    not any(installed(name) for name in ENGINES), reason='no other engine is installed'
)


def state(stamp):
    message = JointState(name=['elbow', 'shoulder'], position=[Q[1], Q[0]], velocity=[0.0, 0.0])
    message.header.stamp = messages.time_message(stamp)
    return message


@pytest.fixture
def processes():
    """Collect processes; in the end none of them is left."""
    started = []
    yield started
    for process in started:
        kill(process)


@pytest.fixture
def node(processes, elbow_urdf, tmp_path):
    """Return a function that starts a node and waits for it to have its robot."""
    urdf = tmp_path / 'elbow.urdf'
    urdf.write_text(elbow_urdf)

    def start(name, *parameters):
        options = [f'robot_description_file:={urdf}', *parameters]
        ros = [argument for option in options for argument in ('-p', option)]
        processes.append(start_node(name, *ros))
        line_with(processes[-1], "robot 'elbow'")
        return processes[-1]

    return start


def lives(
    graph, node, message_type, topic, ask=lambda: None, profile=10, is_word=lambda message: True
):
    """Start a node, kill it and start it again; return its first word in either life.

    Args:
        graph: the probe's.
        node: starts the node.
        message_type: of its word.
        topic: of its word.
        ask: makes it publish something.
        profile: of the topic.
        is_word: of a message that counts.
    """
    received = []
    graph.probe.create_subscription(
        message_type, topic, lambda message: is_word(message) and received.append(message), profile
    )

    def published():
        ask()
        return received

    first = node()
    graph.until(published, f'{topic} in the first life')
    word = received[0]
    kill(first)
    graph.drain(0.1)  # what was on its way
    received.clear()
    for _ in range(20):
        ask()
        graph.drain(0.01)
    assert not received
    node()
    graph.until(published, f'{topic} in the second life')
    return word, received[0]


@pytest.mark.slow
def test_a_restarted_dynamics_node_publishes_the_same_terms(graph, node, elbow):
    states = graph.probe.create_publisher(JointState, 'joint_states', 10)
    for word in lives(
        graph,
        lambda: node('dynamics_node'),
        JointState,
        'dynamics_node/gravity_torque',
        lambda: states.publish(state(5 * MS)),
    ):
        assert word.name == ['shoulder', 'elbow']
        np.testing.assert_allclose(word.effort, elbow.gravity_torque(Q), rtol=1e-14)


@pytest.mark.slow
def test_a_restarted_observer_publishes_the_same_torque(graph, node, elbow):
    states = graph.probe.create_publisher(JointState, 'joint_states', 10)
    stamps = itertools.count(5 * MS, 5 * MS)

    def rest():
        message = state(next(stamps))
        message.effort = elbow.gravity_torque(Q)[::-1].tolist()  # names in this order
        states.publish(message)

    for word in lives(
        graph,
        lambda: node('momentum_observer_node'),
        JointState,
        'momentum_observer_node/external_torque',
        rest,
    ):
        assert word.name == ['shoulder', 'elbow']
        assert np.abs(word.effort).max() < 1e-12


@pytest.mark.slow
def test_a_restarted_feedforward_node_holds_the_arm(graph, node, elbow):
    """The motion that the first one followed is forgotten: it has to be sent again."""
    states = graph.probe.create_publisher(JointState, 'joint_states', 10)
    for word in lives(
        graph,
        lambda: node(
            'feedforward_node', 'kp:=[100.0]', 'ramp_time:=0.0', 'max_torque_rate:=[0.0]'
        ),
        JointState,
        'feedforward_node/feedforward_torque',
        lambda: states.publish(state(5 * MS)),
    ):
        np.testing.assert_allclose(word.effort, elbow.gravity_torque(Q), rtol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize('fault', [signal.SIGSTOP, signal.SIGKILL], ids=['stopped', 'killed'])
def test_an_arm_in_motion_is_held_softly_when_its_observer_is_gone(graph, node, elbow, fault):
    robot = Robot(
        graph, kp=[100.0], max_torque_rate=[RATE], on_collision='hold', on_contact_lost='hold'
    )
    observer = node('momentum_observer_node', 'thresholds.noise:=[0.1]', 'thresholds.level:=[9.0]')
    contacts = graph.listen(DiagnosticArray, 'momentum_observer_node/contact')
    path = trajectory(point(0.0, Q[::-1]), point(20.0, Q[::-1] + 1.0))
    reference = messages.trajectory(path).in_order(('shoulder', 'elbow'))
    stamps, torques = itertools.count(1000, 5), []

    def step(t=None):
        """Send a state on the path, or at rest where the arm is, and its efforts."""
        k = next(stamps)
        q, qd, qdd = reference.sample(max(t, 0.0)) if t is not None else (where, 0 * Q, 0 * Q)
        message = JointState(name=['shoulder', 'elbow'], position=q.tolist(), velocity=qd.tolist())
        message.effort = elbow.inverse_dynamics(q, qd, qdd).tolist()
        message.header.stamp = messages.time_message(k * MS)
        robot.states.publish(message)
        graph.until(lambda: robot.answers(k * MS), f'the torque for {k} ms')
        torques.append(robot.answers(k * MS)[-1].effort)
        time.sleep(5e-3)
        return q

    where = step(0.0)

    def knows():
        step()
        return contacts and contacts[-1].status[0].message == 'none'

    graph.until(knows, 'contacts')
    enable = 'feedforward_node/enable'
    graph.call(SetBool, enable, SetBool.Request(data=True))  # contacts may have been late
    robot.follow(path)
    for k in range(200):
        where = step(5e-3 * k)
    assert robot.node.mode is Mode.COMMANDING
    observer.send_signal(fault)
    for k in range(200, 320):
        where = step(5e-3 * k) if robot.node.mode is Mode.COMMANDING else step()
    assert robot.node.mode is Mode.COLLIDED
    assert 'no contact' in robot.node.contact.lost
    for _ in range(100):
        step()
    np.testing.assert_allclose(torques[-1], elbow.gravity_torque(where), atol=0.5)
    assert np.abs(np.diff(torques, axis=0)).max() <= RATE * 5e-3 * (1 + 1e-9)
    if fault == signal.SIGSTOP:
        observer.send_signal(signal.SIGCONT)
        graph.until(lambda: bool(step().any()) and not robot.node.contact.lost, 'contacts')
        graph.call(SetBool, enable, SetBool.Request(data=True))
        step()
        assert robot.node.mode is Mode.COMMANDING


@pytest.mark.slow
def test_a_restarted_simulator_holds_the_arm_with_brakes(graph, node):
    for word in lives(
        graph,
        lambda: node('simulator_node', f'initial_positions:={Q.tolist()}'),
        JointState,
        'joint_states',
    ):
        assert list(word.position) == Q.tolist()
        assert set(word.velocity) == set(word.effort) == {0.0}


@pytest.mark.slow
@needs_engine
def test_a_restarted_validator_reaches_the_same_verdict(graph, node):
    for word in lives(
        graph,
        lambda: node('pybullet_validator_node', 'random_states:=12'),
        DiagnosticArray,
        'pybullet_validator_node/report',
        profile=qos.LATCHED,
    ):
        assert word.status[0].level == DiagnosticStatus.OK
        assert word.status[0].message.startswith('PASS: elbow')


@pytest.mark.slow
def test_a_restarted_markers_node_replaces_its_markers(graph, node):
    states = graph.probe.create_publisher(JointState, 'joint_states', 10)
    first, second = lives(
        graph,
        lambda: node('markers_node', 'publish_rate:=0.0'),
        MarkerArray,
        'markers_node/markers',
        lambda: states.publish(state(5 * MS)),
        # At first it clears the screen.
        is_word=lambda message: message.markers[0].action == Marker.ADD,
    )
    assert first == second
    assert {marker.ns for marker in first.markers} >= {'weight', 'joint_torque'}


@needs_tf
def test_a_restarted_state_publisher_publishes_the_same_frames(graph, node):
    from tf2_msgs.msg import TFMessage

    states = graph.probe.create_publisher(JointState, 'joint_states', 10)
    first, second = lives(
        graph,
        lambda: node('state_publisher_node', 'publish_frequency:=0.0'),
        TFMessage,
        '/tf',
        lambda: states.publish(state(5 * MS)),
    )
    assert first == second
    assert {frame.child_frame_id for frame in first.transforms} == {'upper_arm', 'forearm'}


# -- clients --------------------------------------------------------------------------------

CALLER = """
import rclpy
from std_srvs.srv import SetBool, Trigger
rclpy.init()
node = rclpy.create_node('caller')
clients = [node.create_client(Trigger, f'simulator_node/{verb}') for verb in ('pause', 'resume')]
while True:
    for client in clients:
        client.wait_for_service()
        rclpy.spin_until_future_complete(node, client.call_async(Trigger.Request()), timeout_sec=9)
        print('answered')
"""
LISTENER = """
import rclpy
from sensor_msgs.msg import JointState
rclpy.init()
node = rclpy.create_node('listener')
node.create_subscription(
    JointState, 'dynamics_node/gravity_torque', lambda _: print('received'), 10)
while True:
    rclpy.spin_once(node, timeout_sec=0.1)
"""


def test_a_client_killed_during_a_request_has_no_effect(graph, processes):
    simulator = graph.start(SimulatorNode)
    processes.append(start_python('-c', CALLER))
    calls = []
    request = simulator.request
    simulator.request = lambda change: calls.append(1) or request(change)
    graph.until(lambda: len(calls) > 3, 'requests')
    # Now, while it waits for an answer.
    kill(processes[0])
    graph.drain(0.1)
    assert graph.call(Trigger, 'simulator_node/pause').success
    assert graph.call(Trigger, 'simulator_node/resume').success
    steps = simulator.loop.steps
    graph.until(lambda: simulator.loop.steps > steps + 50, 'time to go on')
    assert simulator.failure is None


def test_a_killed_subscriber_does_not_block_the_others(graph, processes):
    """It stays in the graph for its lease, as a reliable reader that acknowledges nothing."""
    graph.start(DynamicsNode)
    received = graph.listen(JointState, 'dynamics_node/gravity_torque', 100)
    states = graph.publisher(JointState, 'joint_states')
    processes.append(start_python('-c', LISTENER))
    node = graph.nodes[0]
    graph.until(
        lambda: node.count_subscribers('/dynamics_node/gravity_torque') == 2, 'the listener'
    )
    kill(processes[0])
    for k in range(200):
        states.publish(state(k * MS))
        graph.until(
            lambda k=k: received and messages.nanoseconds(received[-1].header.stamp) == k * MS,
            'an answer',
        )
    assert node.count_subscribers('/dynamics_node/gravity_torque') == 2
    assert len(received) == 200
