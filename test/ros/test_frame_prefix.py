# SPDX-License-Identifier: Apache-2.0
"""`frame_prefix`: the same prefix in every frame that a node publishes or receives."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import InertiaStamped, WrenchStamped
from sensor_msgs.msg import JointState
from visualization_msgs.msg import MarkerArray

from robot_dynamics.ros import qos
from robot_dynamics.ros.nodes.dynamics_node import TORQUES, DynamicsNode
from robot_dynamics.ros.nodes.feedforward_node import FeedforwardNode
from robot_dynamics.ros.nodes.markers_node import MarkersNode
from robot_dynamics.ros.nodes.pybullet_validator_node import PyBulletValidatorNode
from robot_dynamics.ros.nodes.simulator_node import SimulatorNode
from robot_dynamics.validation.engines import ENGINES, installed

Q = [0.3, -0.4]


class Driver:
    """Joint states with everything, until something is received."""

    def __init__(self, graph):
        self.graph, self.stamp = graph, 0
        self.states = graph.publisher(JointState, 'joint_states')

    def until(self, condition, what):
        def is_received():
            self.stamp += 1
            message = JointState(name=['shoulder', 'elbow'], position=Q)
            message.velocity, message.effort = [0.1, 0.2], [1.0, 2.0]
            message.header.stamp.nanosec = self.stamp * 1_000_000
            self.states.publish(message)
            self.graph.drain(0.01)
            return condition()

        self.graph.until(is_received, what)


def wrench_at(frame):
    message = WrenchStamped()
    message.header.frame_id, message.wrench.force.z = frame, 3.0
    return message


@pytest.mark.parametrize('prefix', ['', 'left/'])
def test_every_torque_is_seen_from_the_root_of_its_robot(graph, elbow, prefix):
    graph.start(DynamicsNode, frame_prefix=prefix, input_timeout=1000.0)
    topics = {name: graph.listen(JointState, f'dynamics_node/{name}') for name in TORQUES}
    wrenches = graph.publisher(WrenchStamped, 'external_wrench')
    wrenches.publish(wrench_at(f'{prefix}forearm'))
    Driver(graph).until(lambda: all(topics.values()), 'every torque')
    for received in topics.values():
        assert {message.header.frame_id for message in received} == {f'{prefix}base'}
    # The wrench presses where it was published to.
    R = elbow.forward_kinematics(Q, 'forearm')[:3, :3]
    F = np.concatenate([np.zeros(3), R @ [0, 0, 3.0]])
    np.testing.assert_allclose(
        topics['external_torque'][-1].effort, elbow.wrench_torque(Q, F, 'forearm'), rtol=1e-12
    )


def test_the_torque_of_the_controller(graph):
    graph.start(FeedforwardNode, frame_prefix='left/')
    received = graph.listen(JointState, 'feedforward_node/feedforward_torque')
    Driver(graph).until(lambda: received, 'a torque')
    assert received[-1].header.frame_id == 'left/base'


def test_frames_of_the_simulator_states_and_wrenches(graph):
    node = graph.start(SimulatorNode, frame_prefix='left/', start_paused=True)
    received = graph.listen(JointState, 'joint_states')
    graph.until(lambda: received, 'a state')
    assert received[-1].header.frame_id == 'left/base'
    graph.publisher(WrenchStamped, 'external_wrench').publish(wrench_at('left/forearm'))
    graph.until(lambda: 'forearm' in node.loop.plant.wrenches, 'the wrench')


def test_markers(graph):
    node = graph.start(MarkersNode, frame_prefix='left/')
    received = graph.listen(MarkerArray, 'markers_node/markers')
    graph.until(node.markers_out.get_subscription_count, 'the listener')
    Driver(graph).until(lambda: received and received[-1].markers[0].ns, 'a drawing')
    assert {marker.header.frame_id for marker in received[-1].markers} == {'left/base'}


@pytest.mark.skipif(not any(map(installed, ENGINES)), reason='no other engine is installed')
def test_the_residual_of_the_validator(graph):
    graph.start(DynamicsNode)
    graph.start(PyBulletValidatorNode, frame_prefix='left/', random_states=2, check_rate=50.0)
    received = graph.listen(JointState, 'pybullet_validator_node/residual')
    Driver(graph).until(lambda: received, 'a residual')
    assert received[-1].header.frame_id == 'left/base'


@pytest.mark.parametrize('frame', ['left/forearm', 'forearm'])
def test_a_payload_frame_is_accepted_with_or_without_the_prefix_and_published_with_it(
    graph, frame
):
    node = graph.start(DynamicsNode, frame_prefix='left/')
    published = graph.listen(InertiaStamped, 'dynamics_node/payload', qos.LATCHED)
    message = InertiaStamped()
    message.header.frame_id, message.inertia.m = frame, 2.0
    graph.publisher(InertiaStamped, 'dynamics_node/set_payload').publish(message)
    graph.until(lambda: published and published[-1].inertia.m == 2.0, 'the load')
    assert published[-1].header.frame_id == 'left/forearm'
    assert node.parameters.payload__link == 'forearm'
