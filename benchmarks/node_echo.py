# SPDX-License-Identifier: Apache-2.0
"""Echo node: publishes constants for each joint state.

It has the topics, message sizes and executor of the dynamics node and computes nothing. It
receives and publishes message objects, as nodes usually do, so its latency is the cost of ROS 2
and Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics.ros import executable as _main
from robot_dynamics.ros import messages, qos
from robot_dynamics.ros.health import Health
from robot_dynamics.ros.serialization import JointStateWriter, MatrixWriter

# Outputs of the dynamics node for a state without efforts, in its order.
MATRICES = ('mass_matrix', 'coriolis_matrix')
TORQUES = (
    'gravity_torque',
    'coriolis_torque',
    'friction_torque',
    'inertia_torque',
    'inverse_dynamics_torque',
)


class EchoNode(Node):
    """Publishes constants for each joint state."""

    failure = None
    active = True

    def __init__(self, **kwargs: Any):
        super().__init__('dynamics_node', **kwargs)
        self.health = Health()
        joints = tuple(self.declare_parameter('joints', ['']).value)
        n = len(joints)
        writer = MatrixWriter(n, messages.matrix_label(joints, 'base'))
        matrix = writer.fill(0, np.zeros((n, n)))
        torque = JointStateWriter(joints, 'base', ('effort',)).fill(0, np.zeros(n))
        self._matrix = deserialize_message(matrix, Float64MultiArray)
        self._torque = deserialize_message(torque, JointState)
        self._matrices_out = [self._publisher(Float64MultiArray, name) for name in MATRICES]
        self._torques_out = [self._publisher(JointState, name) for name in TORQUES]
        self.create_subscription(
            JointState,
            'joint_states',
            self._on_state,
            **qos.overridable(qos.JOINT_STATES_IN),
        )

    def _publisher(self, kind: type, name: str) -> Any:
        return self.create_publisher(kind, f'~/{name}', qos.STREAM_OUT)

    def _on_state(self, message: JointState) -> None:
        stamp = message.header.stamp
        self._matrix.layout.dim[0].label = f'rows; stamp {stamp.sec}.{stamp.nanosec:09d}'
        for publisher in self._matrices_out:
            publisher.publish(self._matrix)
        self._torque.header.stamp = stamp
        for publisher in self._torques_out:
            publisher.publish(self._torque)

    def end(self) -> None:
        """Do nothing: there is no last output."""


if __name__ == '__main__':
    _main.main(EchoNode)
