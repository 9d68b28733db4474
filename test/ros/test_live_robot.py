# SPDX-License-Identifier: Apache-2.0
"""Gravity, load and friction that change while a node works with the robot."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import InertiaStamped
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.ros import messages, qos
from robot_dynamics.ros.nodes.dynamics_node import DynamicsNode
from robot_dynamics.ros.nodes.feedforward_node import FeedforwardNode
from robot_dynamics.ros.parameters import values

MS = 1_000_000
Q, QD = np.array([0.3, -0.4]), np.array([0.5, 0.7])
NODES = {
    'dynamics_node': (DynamicsNode, 'gravity_torque'),
    'feedforward_node': (FeedforwardNode, 'feedforward_torque'),
}


class Robot:
    """A node, and its outputs for one state at rest."""

    def __init__(self, graph, name, **parameters):
        self.graph, node_class, topic = graph, *NODES[name]
        self.name = name
        hard = {'ramp_time': 0.0, 'max_torque_rate': [0.0]}
        self.node = graph.start(
            node_class, **parameters, **(hard if name == 'feedforward_node' else {})
        )
        self.torques = graph.listen(JointState, f'{name}/{topic}')
        self.states = graph.publisher(JointState, 'joint_states')
        self.stamp = 0

    def torque(self, qd=(0.0, 0.0), topic=None):
        """Return the torque for the next state."""
        self.stamp += MS
        message = JointState(
            name=['shoulder', 'elbow'], position=Q.tolist(), velocity=[float(v) for v in qd]
        )
        message.header.stamp = messages.time_message(self.stamp)
        self.states.publish(message)
        received = self.torques if topic is None else topic
        self.graph.until(
            lambda: received and messages.nanoseconds(received[-1].header.stamp) == self.stamp,
            'an answer',
        )
        return np.array(received[-1].effort)

    def set(self, **changes):
        return self.node.set_parameters_atomically(
            [Parameter(name.replace('__', '.'), value=value) for name, value in changes.items()]
        )


@pytest.fixture(params=NODES)
def robot(graph, request):
    return Robot(graph, request.param)


def loaded(elbow, mass, com=(0.0, 0.0, 0.0), inertia=None):
    return Dynamics(elbow.model.with_payload('forearm', mass, com, inertia))


def test_gravity_may_change(robot, elbow):
    for gravity in ([0.0, 0.0, 0.0], [1.0, 2.0, -3.71]):
        assert robot.set(gravity=gravity).successful
        expected = Dynamics(elbow.model.with_gravity(gravity)).gravity_torque(Q)
        np.testing.assert_allclose(robot.torque(), expected, rtol=1e-12, atol=1e-14)
    assert robot.set(gravity=[0.0, 0.0, -9.81], base_orientation=[0.0, np.pi / 2, 0.0]).successful
    expected = Dynamics(elbow.model.with_gravity([9.81, 0, 0])).gravity_torque(Q)
    np.testing.assert_allclose(robot.torque(), expected, rtol=1e-12, atol=1e-12)


def test_the_payload_may_change(robot, elbow):
    changes = {'payload__link': 'forearm', 'payload__mass': 2.0, 'payload__com': [0.3, 0.1, 0.0]}
    assert robot.set(**changes).successful
    expected = loaded(elbow, 2.0, [0.3, 0.1, 0.0]).gravity_torque(Q)
    np.testing.assert_allclose(robot.torque(), expected, rtol=1e-12)
    assert robot.set(payload__mass=0.0).successful
    np.testing.assert_allclose(robot.torque(), elbow.gravity_torque(Q), rtol=1e-12)


def test_a_payload_at_the_start_is_the_same(graph, elbow):
    robot = Robot(
        graph,
        'dynamics_node',
        payload__link='forearm',
        payload__mass=2.0,
        payload__com=[0.3, 0.1, 0.0],
        payload__inertia=[0.02, 0.001, 0.0, 0.03, 0.0, 0.04],
    )
    tensor = [[0.02, 0.001, 0.0], [0.001, 0.03, 0.0], [0.0, 0.0, 0.04]]
    carrying = loaded(elbow, 2.0, [0.3, 0.1, 0.0], tensor)
    np.testing.assert_allclose(robot.torque(), carrying.gravity_torque(Q), rtol=1e-12)
    np.testing.assert_allclose(robot.node.arm.mass_matrix(Q), carrying.mass_matrix(Q), rtol=1e-12)


def test_friction_may_change(graph, elbow):
    robot = Robot(graph, 'dynamics_node')
    friction = graph.listen(JointState, 'dynamics_node/friction_torque')
    np.testing.assert_allclose(robot.torque(QD, friction), elbow.friction_torque(QD), rtol=1e-12)
    assert robot.set(friction__viscous=[1.0, 2.0], friction__coulomb=[0.0]).successful
    np.testing.assert_allclose(robot.torque(QD, friction), [0.5, 1.4], rtol=1e-12)
    assert robot.set(friction__viscous=[-1.0], friction__coulomb=[-1.0]).successful
    np.testing.assert_allclose(robot.torque(QD, friction), elbow.friction_torque(QD), rtol=1e-12)


NAN = float('nan')


@pytest.mark.parametrize(
    ('changes', 'why'),
    [
        ({'gravity': [0.0, NAN, 0.0]}, 'gravity is nan'),
        ({'gravity': [0.0, 0.0]}, 'gravity has 2 values'),
        ({'payload__mass': 1.0}, 'payload.link must name'),
        ({'payload__mass': -1.0}, 'payload.mass'),
        ({'payload__mass': NAN}, 'payload.mass'),
        ({'payload__link': 'hand', 'payload__mass': 1.0}, "payload.link is 'hand'"),
        ({'payload__link': 'base', 'payload__mass': 1.0}, "payload.link is 'base'"),
        (
            {
                'payload__link': 'forearm',
                'payload__mass': 1.0,
                'payload__inertia': [1.0, 0.0, 0.0, 1.0, 0.0, 5.0],
            },
            'triangle inequality',
        ),
        (
            {
                'payload__link': 'forearm',
                'payload__mass': 1.0,
                'payload__inertia': [-1.0, 0.0, 0.0, 1.0, 0.0, 1.0],
            },
            'not all positive',
        ),
        ({'friction__viscous': [1.0, 2.0, 3.0]}, 'friction.viscous has 3 values'),
        ({'payload__com': [0.0, NAN, 0.0]}, 'payload.com is nan'),
    ],
)
def test_invalid_parameters_are_rejected_and_change_nothing(graph, elbow, changes, why):
    robot = Robot(graph, 'dynamics_node')
    before = values(robot.node.parameters)
    result = robot.set(**changes)
    assert not result.successful
    assert why in result.reason
    assert values(robot.node.parameters) == before
    np.testing.assert_allclose(robot.torque(), elbow.gravity_torque(Q), rtol=1e-12)


def test_a_payload_on_another_link_is_accepted_only_while_inactive(graph, elbow):
    robot = Robot(graph, 'dynamics_node')
    elsewhere = {'payload__link': 'upper_arm', 'payload__mass': 1.0}
    result = robot.set(**elsewhere)
    assert not result.successful
    assert "must stay 'forearm'" in result.reason
    robot.node.trigger_deactivate()
    assert robot.set(**elsewhere).successful
    robot.node.trigger_activate()
    carrying = Dynamics(elbow.model.with_payload('upper_arm', 1.0))
    np.testing.assert_allclose(robot.torque(), carrying.gravity_torque(Q), rtol=1e-12)


def payload(
    frame='forearm', mass=1.5, com=(0.2, 0.0, 0.1), inertia=(0.02, 0.0, 0.0, 0.03, 0, 0.04)
):
    message = InertiaStamped()
    message.header.frame_id = frame
    message.inertia.m = mass
    message.inertia.com.x, message.inertia.com.y, message.inertia.com.z = com
    for name, value in zip(('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'), inertia, strict=True):
        setattr(message.inertia, name, float(value))
    return message


def test_a_message_sets_the_payload_and_another_publishes_it(graph, robot, elbow):
    published = graph.listen(InertiaStamped, f'{robot.name}/payload', qos.LATCHED)
    graph.until(lambda: published, 'the load at the start')
    assert published[0].header.frame_id == 'forearm'
    assert published[0].inertia.m == 0
    commands = graph.publisher(InertiaStamped, f'{robot.name}/set_payload')
    message = payload()
    commands.publish(message)
    graph.until(lambda: published[-1].inertia.m == 1.5, 'the load')
    assert published[-1].inertia == message.inertia
    assert published[-1].header.frame_id == 'forearm'
    tensor = np.diag([0.02, 0.03, 0.04])
    expected = loaded(elbow, 1.5, [0.2, 0.0, 0.1], tensor)
    np.testing.assert_allclose(robot.torque(), expected.gravity_torque(Q), rtol=1e-12)
    np.testing.assert_allclose(robot.node.arm.mass_matrix(Q), expected.mass_matrix(Q), rtol=1e-12)
    assert robot.node.get_parameter('payload.mass').value == 1.5
    # Nothing carried any more; the link stays when none is named.
    commands.publish(payload(frame='', mass=0.0, com=(0.0,) * 3, inertia=(0.0,) * 6))
    graph.until(lambda: published[-1].inertia.m == 0, 'the empty hand')
    np.testing.assert_allclose(robot.torque(), elbow.gravity_torque(Q), rtol=1e-12)


@pytest.mark.parametrize(
    ('bad', 'why'),
    [
        (payload(mass=-1.0), 'payload.mass'),
        (payload(mass=NAN), 'payload.mass'),
        (payload(com=(NAN, 0.0, 0.0)), 'payload.com is nan'),
        (payload(frame='hand'), "'hand'"),
        (payload(inertia=(1.0, 0, 0, 1.0, 0, 9.0)), 'triangle inequality'),
    ],
)
def test_an_invalid_message_is_rejected_with_the_reason(graph, elbow, bad, why, capfd):
    robot = Robot(graph, 'feedforward_node')
    commands = graph.publisher(InertiaStamped, 'feedforward_node/set_payload')
    commands.publish(bad)
    graph.until(lambda: robot.node.health.counts['payload rejected'] == 1, 'the refusal')
    assert why in capfd.readouterr().err
    np.testing.assert_allclose(robot.torque(), elbow.gravity_torque(Q), rtol=1e-12)


def test_another_description_keeps_the_payload(graph, elbow, elbow_urdf):
    from std_msgs.msg import String

    descriptions = graph.probe.create_publisher(String, 'robot_description', qos.LATCHED)
    descriptions.publish(String(data=elbow_urdf))
    node = graph.start(DynamicsNode, description=None, payload__link='forearm', payload__mass=2.0)
    graph.until(lambda: node.arm is not None, 'the robot')
    heavy = elbow_urdf.replace('value="0.7"', 'value="1.4"')
    descriptions.publish(String(data=heavy))
    graph.until(lambda: node.arm.model.mass[1] == pytest.approx(3.4), 'the heavier robot')
    assert node.base.model.mass[1] == 1.4


def test_velocities_that_are_missing_are_differentiated_on_request(graph, elbow):
    graph.start(DynamicsNode, missing_velocity='differentiate')
    coriolis = graph.listen(JointState, 'dynamics_node/coriolis_torque')
    states = graph.publisher(JointState, 'joint_states')
    for k in range(5):
        message = JointState(name=['shoulder', 'elbow'], position=(Q + k * 1e-3 * QD).tolist())
        message.header.stamp = messages.time_message(k * MS)
        states.publish(message)
    graph.until(lambda: len(coriolis) == 4, 'all but the first')
    q = Q + 4e-3 * QD
    np.testing.assert_allclose(coriolis[-1].effort, elbow.coriolis_torque(q, QD), rtol=1e-9)


def test_effort_scale_and_rates_may_change(graph, elbow):
    robot = Robot(graph, 'dynamics_node')
    assert robot.set(
        effort_scale=[2.0, 3.0], publish_rate=100.0, acceleration_cutoff=5.0
    ).successful
    assert not robot.set(effort_scale=[2.0, 3.0, 4.0]).successful
    assert robot.node.parameters.effort_scale == (2.0, 3.0)
