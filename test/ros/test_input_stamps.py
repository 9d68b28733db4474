# SPDX-License-Identifier: Apache-2.0
"""The stamp of an input against that of the joint state: it acts within input_timeout of it.

The stamp is the input's own, whenever it is received: also that of the first message.
"""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from called_nodes import CalledNode
from geometry_msgs.msg import Vector3, WrenchStamped
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.ros import messages
from robot_dynamics.ros.nodes.dynamics_node import DynamicsNode
from robot_dynamics.ros.nodes.feedforward_node import FeedforwardNode

MS = 1_000_000
NOW = 5000  # ms
TIMEOUT = 100  # ms, the default of input_timeout
NAMES = ['shoulder', 'elbow']
Q = np.array([0.3, -0.4])


def stamped(message, stamp):
    message.header.stamp = messages.time_message(stamp * MS)
    return message


def wrench():
    message = WrenchStamped()
    message.header.frame_id = 'forearm'
    message.wrench.force = Vector3(x=1.0, z=5.0)
    return message


def acceleration():
    point = JointTrajectoryPoint(
        positions=[0.0] * 2, velocities=[0.0] * 2, accelerations=[1.0, 2.0]
    )
    return JointTrajectory(joint_names=NAMES, points=[point])


def elbow_alone():
    return JointState(name=NAMES[1:], position=[Q[1]], velocity=[0.0])


SPRING = {'control_law': 'cartesian_impedance', 'impedance.frame': 'forearm'}
SPRING |= {'max_torque_rate': [0.0], 'ramp_time': 0.0}
REFERENCE = {'acceleration_source': 'reference'}
# Class and parameters of a node, a message of its input, the joints of its states, and the part of
# its answer that the input changes.
INPUTS = {
    'external_wrench': (DynamicsNode, {}, wrench, NAMES, 'external_torque'),
    'reference': (DynamicsNode, REFERENCE, acceleration, NAMES, 'inertia_torque'),
    'target_wrench': (FeedforwardNode, SPRING, wrench, NAMES, 'tau'),
    'joint_states': (DynamicsNode, {}, elbow_alone, NAMES[:1], 'gravity_torque'),
}


class Input:
    """A node, the messages of one of its inputs, and whether they act."""

    def __init__(self, graph, topic):
        node_class, parameters, self._message, self._names, self._part = INPUTS[topic]
        self._called, self.topic = CalledNode(graph, node_class, **parameters), topic
        self._answer(NOW - 1)  # a target needs a state before it
        self._without = self._answer(NOW)

    def _answer(self, stamp):
        count = len(self._names)
        state = JointState(name=self._names, position=Q[:count], velocity=[0.0] * count)
        return self._called.answer(stamped(state, stamp)).get(self._part)

    def give(self, stamp):
        self._called.give(f'/{self.topic}', stamped(self._message(), stamp))

    def acts(self, stamp):
        """Return whether the input changes the answer to a state."""
        found = self._answer(stamp)
        if found is None or self._without is None:
            return found is not None
        return np.abs(np.subtract(found, self._without)).max() > 0.1


@pytest.fixture(params=INPUTS)
def one(graph, request):
    return Input(graph, request.param)


@pytest.mark.parametrize('age', [-TIMEOUT - 1, -TIMEOUT, 0, TIMEOUT, TIMEOUT + 1, 10 * TIMEOUT])
def test_the_first_message_acts_if_its_own_stamp_is_near_that_of_the_state(one, age):
    one.give(NOW - age)
    assert one.acts(NOW) == (abs(age) <= TIMEOUT)


def test_after_the_clock_was_set_back_messages_of_the_time_before_never_act(one):
    one.give(NOW)
    assert one.acts(NOW)
    back = NOW - 20 * TIMEOUT
    assert not one.acts(back)
    one.give(back + 1)
    assert one.acts(back + 2)
    if one.topic != 'joint_states':  # where it is a jump of the clock
        one.give(NOW + 1)  # sent before
        assert not one.acts(back + 3)
        assert not one.acts(back + 4)


def test_a_message_acts_until_it_is_too_old_and_its_successor_acts_again(one):
    one.give(NOW)
    assert one.acts(NOW + TIMEOUT)
    assert not one.acts(NOW + TIMEOUT + 1)
    one.give(NOW + TIMEOUT + 1)
    assert one.acts(NOW + TIMEOUT + 2)
