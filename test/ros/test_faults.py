# SPDX-License-Identifier: Apache-2.0
"""Faults around a running node: nothing unsafe is published, the log has the reason, it recovers.

docs/appendices/fault_tests.md names tests for each row; those that fit nowhere else are here.
"""

import importlib.util
import time

import numpy as np
import pytest

pytest.importorskip('rclpy')

import rclpy
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from simulator_view import SimulatorView
from std_msgs.msg import Float64MultiArray, String

from robot_dynamics.common.errors import ModelError
from robot_dynamics.ros import qos
from robot_dynamics.ros.nodes.dynamics_node import DynamicsNode
from robot_dynamics.ros.nodes.feedforward_node import FeedforwardNode
from robot_dynamics.ros.nodes.markers_node import MarkersNode
from robot_dynamics.ros.nodes.momentum_observer_node import MomentumObserverNode
from robot_dynamics.ros.nodes.pybullet_validator_node import PyBulletValidatorNode
from robot_dynamics.ros.nodes.simulator_node import SimulatorNode
from robot_dynamics.ros.nodes.state_publisher_node import StatePublisherNode

LAUGHS = (
    '<!DOCTYPE robot [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    '<robot name="&b;"><link name="base"/></robot>'
)
LINKS = ''.join(f'<link name="l{k}"/>' for k in range(10_000))
HOSTILE = {
    'entity bomb': (LAUGHS, 'DOCTYPE'),
    'deep nesting': ('<robot name="x">' + '<link>' * 100_000, 'more than 64 elements deep'),
    '10,000 links': (f'<robot name="x">{LINKS}</robot>', 'more than 2000 links'),
    'megabytes of nothing': (f'<robot><!--{"x" * 9_000_000}--></robot>', 'has no link'),
    'a name of megabytes': (f'<robot name="{"x" * 9_000_000}"/>', 'at most 256 are read'),
    'half a file': ('<robot name="x"><link', 'not well-formed'),
    'nothing': ('', 'empty'),
}


def joint_states(stamp, q=(0.3, -0.4)):
    message = JointState(name=['shoulder', 'elbow'], position=list(q), velocity=[0.0, 0.0])
    message.header.stamp.sec = stamp
    return message


def gravity_at(graph, publisher, received, stamp):
    """Return what the node answers to a state."""
    before = len(received)
    publisher.publish(joint_states(stamp))
    graph.until(lambda: len(received) > before, 'an answer')
    return dict(zip(received[-1].name, received[-1].effort, strict=True))


@pytest.fixture
def gravity(graph, elbow_urdf):
    """Return a function that asks a running node, and the publisher of its description."""
    description = graph.probe.create_publisher(String, 'robot_description', qos.LATCHED)
    description.publish(String(data=elbow_urdf))
    node = graph.start(DynamicsNode, description='')
    received = graph.listen(JointState, 'dynamics_node/gravity_torque')
    publisher = graph.publisher(JointState, 'joint_states')
    graph.until(lambda: node.arm is not None, 'the robot')
    stamps = iter(range(1, 1000))
    return node, description, lambda: gravity_at(graph, publisher, received, next(stamps))


def scaled(urdf, factor):
    """Return the robot with the forearm's mass multiplied."""
    assert '<mass value="0.7"/>' in urdf
    return urdf.replace('<mass value="0.7"/>', f'<mass value="{0.7 * factor}"/>')


def without_forearm(urdf):
    """Return the robot with a forearm that has no inertial: its elbow moves no mass."""
    head, forearm, tail = urdf.partition('<link name="forearm">')
    _, end, tail = tail.partition('</inertial>')
    assert forearm
    assert end
    return head + forearm + tail


@pytest.mark.parametrize(('text', 'why'), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_description_does_not_reach_a_running_node(graph, gravity, capfd, text, why):
    node, description, ask = gravity
    before = ask()
    description.publish(String(data=text))
    graph.until(lambda: node.health.counts['robot_description rejected'], 'the refusal')
    assert ask() == before
    log = capfd.readouterr().err
    assert 'robot_description rejected, the last one is kept' in log
    assert why in log


def test_huge_numbers_in_a_description_give_no_torque_that_is_not_finite(
    graph, gravity, elbow_urdf
):
    node, description, ask = gravity
    before = ask()
    description.publish(String(data=elbow_urdf.replace('value="0.7"', 'value="1e400"')))
    graph.until(lambda: node.health.counts['robot_description rejected'], 'the refusal')
    assert ask() == before


def test_a_description_sent_twice_changes_nothing(graph, gravity, elbow_urdf):
    node, description, ask = gravity
    arm, before = node.arm, ask()
    for _ in range(2):
        description.publish(String(data=elbow_urdf))
        graph.drain()
    assert node.arm is arm
    assert ask() == before


def test_a_valid_description_is_used_after_a_rejected_one(graph, gravity, elbow_urdf):
    node, description, ask = gravity
    before, first = ask(), node.arm
    description.publish(String(data='<robot'))
    graph.until(lambda: node.health.counts['robot_description rejected'], 'the refusal')
    description.publish(String(data=scaled(elbow_urdf, 2)))
    graph.until(lambda: node.arm is not first, 'the new robot')
    # The elbow carries the forearm only: twice the mass, twice the torque.
    np.testing.assert_allclose(ask()['elbow'], 2 * before['elbow'], rtol=1e-12)


def test_commands_with_the_wrong_quality_of_service_are_named(graph, capfd):
    """The arm stays in its brakes: a best-effort publisher is not received by a reliable topic."""
    node = graph.start(SimulatorNode)
    states = graph.listen(JointState, 'joint_states')
    best_effort = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
    publisher = graph.probe.create_publisher(
        Float64MultiArray, 'effort_controller/commands', best_effort
    )
    graph.until(lambda: graph.probe.count_subscribers('effort_controller/commands'), 'a listener')
    for _ in range(20):
        publisher.publish(Float64MultiArray(data=[5.0, 5.0]))
        graph.drain(0.02)
    count = len(states)
    graph.until(lambda: len(states) > count + 10, 'states')
    assert set(states[-1].effort) == {0.0}
    assert list(states[-1].position) == list(states[0].position)
    assert 'incompatible QoS' in capfd.readouterr().err
    assert node.failure is None


def test_a_flood_of_states_is_answered_without_falling_behind(graph, gravity):
    node, _, ask = gravity
    ask()
    publisher = graph.publisher(JointState, 'joint_states')
    end = time.monotonic() + 0.5
    stamp = 5000
    while time.monotonic() < end:
        for _ in range(50):
            stamp += 1
            publisher.publish(joint_states(stamp))
        graph.executor.spin_once(timeout_sec=0.0)
    # What does not fit the queue is lost at the sender's side; the newest state is answered.
    received = graph.listen(JointState, 'dynamics_node/gravity_torque')
    publisher.publish(joint_states(stamp + 1))
    graph.until(
        lambda: received and received[-1].header.stamp.sec == stamp + 1, 'the newest state'
    )
    assert node.failure is None


# -- every node, and a description that it cannot use ---------------------------------------

NODES = {
    'dynamics_node': DynamicsNode,
    'feedforward_node': FeedforwardNode,
    'simulator_node': SimulatorNode,
    'pybullet_validator_node': PyBulletValidatorNode,
    'momentum_observer_node': MomentumObserverNode,
    'markers_node': MarkersNode,
    'state_publisher_node': StatePublisherNode,
}
needs_tf = pytest.mark.skipif(
    importlib.util.find_spec('tf2_msgs') is None,
    reason='tf2_msgs comes with a ROS 2 distribution only',
)
each_node = pytest.mark.parametrize(
    'name', [pytest.param(n, marks=needs_tf if n.startswith('state') else ()) for n in NODES]
)


@each_node
def test_every_node_keeps_its_robot_when_an_invalid_one_is_received(
    graph, elbow_urdf, capfd, name
):
    descriptions = graph.probe.create_publisher(String, 'robot_description', qos.LATCHED)
    descriptions.publish(String(data=elbow_urdf))
    node = graph.start(NODES[name], description='', locked_joints=['shoulder'])
    graph.until(lambda: node.active, 'the robot')
    before = node.arm
    renamed = elbow_urdf.replace('name="shoulder"', 'name="hip"')  # no joint to lock
    for count, bad in enumerate(('<robot', LAUGHS, elbow_urdf + '<', renamed), start=1):
        descriptions.publish(String(data=bad))
        graph.until(
            lambda n=count: node.health.counts['robot_description rejected'] == n, 'the refusal'
        )
        assert node.arm is before
        assert node.active
        assert node.failure is None
    log = capfd.readouterr().err
    assert log.count('robot_description rejected, the last one is kept') == 4
    assert "'shoulder'" in log
    descriptions.publish(String(data=scaled(elbow_urdf, 2)))
    graph.until(lambda: node.arm is not before, 'the heavier robot')
    assert node.arm.model.mass[-1] == 1.4


def test_a_joint_that_moves_no_mass_is_named_and_the_known_terms_are_published(
    graph, elbow_urdf, capfd
):
    node = graph.start(DynamicsNode, description=without_forearm(elbow_urdf))
    assert "links 'forearm' move but carry no mass" in capfd.readouterr().err
    received = graph.listen(JointState, 'dynamics_node/gravity_torque')
    torque = gravity_at(graph, graph.publisher(JointState, 'joint_states'), received, 1)
    # The weight of what is left: its centre of mass is at (0.25, 0, 0.01) of the upper arm.
    arm = 0.25 * np.cos(0.3) + 0.01 * np.sin(0.3)
    assert torque == {'shoulder': pytest.approx(-1.5 * 9.81 * arm), 'elbow': 0.0}
    assert node.failure is None


def test_a_joint_that_moves_no_mass_cannot_be_simulated(graph, elbow_urdf):
    """M is singular: there is no acceleration to integrate, and locking the joint is the way."""
    text = without_forearm(elbow_urdf)
    with pytest.raises(ModelError, match=r"joint 'elbow' moves no inertia.*lock it"):
        graph.start(SimulatorNode, description=text)
    node = graph.start(SimulatorNode, description=text, locked_joints=['elbow'])
    assert node.active


def test_a_singular_robot_does_not_replace_the_one_that_is_simulated(graph, elbow_urdf):
    descriptions = graph.probe.create_publisher(String, 'robot_description', qos.LATCHED)
    descriptions.publish(String(data=elbow_urdf))
    node = graph.start(SimulatorNode, description='')
    graph.until(lambda: node.active, 'the robot')
    descriptions.publish(String(data=without_forearm(elbow_urdf)))
    graph.until(lambda: node.health.counts['robot_description rejected'], 'the refusal')
    steps = node.loop.steps
    graph.until(lambda: node.loop.steps > steps + 20, 'time to go on')
    assert node.arm.model.mass[1] == 0.7


@each_node
def test_strict_inertials_reject_instead_of_warning(graph, elbow_urdf, name):
    with pytest.raises(ModelError, match="'forearm' move but carry no mass"):
        graph.start(NODES[name], description=without_forearm(elbow_urdf), strict_inertials=True)


def test_torques_of_a_huge_mass_stay_within_the_effort_limits(graph, elbow_urdf):
    hard = {'ramp_time': 0.0, 'max_torque_rate': [0.0]}
    node = graph.start(FeedforwardNode, description=scaled(elbow_urdf, 1e25), **hard)
    received = graph.listen(JointState, 'feedforward_node/feedforward_torque')
    states = graph.publisher(JointState, 'joint_states')
    torque = gravity_at(graph, states, received, 1)
    assert {joint: abs(tau) for joint, tau in torque.items()} == {'shoulder': 50.0, 'elbow': 20.0}
    assert node.health.counts['torque at its limit'] == 1


@pytest.mark.slow
def test_a_description_that_is_not_latched_is_named_and_not_waited_for_in_vain(
    graph, elbow_urdf, capfd
):
    descriptions = graph.probe.create_publisher(String, 'robot_description', 1)
    node = graph.start(DynamicsNode, description='', description_timeout=1.0)
    descriptions.publish(String(data=elbow_urdf))
    graph.until(lambda: node.failure is not None, 'the end of patience')
    assert "'robot_description', requesting incompatible QoS" in capfd.readouterr().err
    assert 'no robot_description on /robot_description' in str(node.failure)


# -- one name, two commanders ---------------------------------------------------------------


def test_a_second_commander_of_the_same_name_does_not_block(graph):
    """A killed node stays in the graph until its lease runs out, and must not block itself."""
    view = SimulatorView(graph)
    twin = rclpy.create_node('probe', context=graph.context)
    second = twin.create_publisher(JointState, 'joint_effort', 10)
    graph.until(second.get_subscription_count, 'the simulator')
    graph.drain(0.2)
    view.command([1.0, 1.0])
    graph.until(lambda: not view.node.loop.plant.braked, 'a motion')
    assert not view.node.commands.guard.conflict
    twin.destroy_node()
