"""Publishers of torques and of the terms of the equation of motion."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from rclpy.duration import Duration
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.ros import qos
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.serialization import MatrixWriter, torque_writer
from robot_dynamics.spatial import Array

LAST_ACKNOWLEDGEMENT = Duration(seconds=0.1)  # for the last torque, before the publisher goes


class TermPublishers:
    """Part of a node: one publisher for each term, named `~/` and the term."""

    def __init__(self, node: RobotNode, torques: Iterable[str], matrices: Iterable[str]):
        """Create the publishers of torques (JointState) and matrices (Float64MultiArray)."""
        self._node = node
        self._torques = {
            name: node.create_publisher(JointState, f'~/{name}', qos.STREAM_OUT)
            for name in torques
        }
        self._matrices = {
            name: node.create_publisher(Float64MultiArray, f'~/{name}', qos.STREAM_OUT)
            for name in matrices
        }
        self._outputs: dict[str, tuple[Any, Any]] = {}  # publisher and writer

    def use(self, arm: Dynamics) -> None:
        """Write messages for this robot."""
        torque = torque_writer(arm.model, self._node.parameters.frame_prefix)
        matrix = MatrixWriter(arm.model.n)
        self._outputs = {name: (publisher, torque) for name, publisher in self._torques.items()}
        self._outputs |= {name: (publisher, matrix) for name, publisher in self._matrices.items()}

    def publish(self, stamp: int, terms: Mapping[str, Array]) -> None:
        """Publish terms, in their order, with a stamp [ns]; count those that are not finite."""
        for name, values in terms.items():
            publisher, writer = self._outputs[name]
            # A sum is finite only if all its terms are, and faster than a test of each.
            if math.isfinite(sum(values.ravel().tolist())):
                publisher.publish(writer.fill(stamp, values))
            else:
                self._node.health.counts['not finite, not published'] += 1


class TorqueOutput:
    """Publishers of a node that commands motors.

    `~/feedforward_torque`, and as a bridge to ros2_control `effort_controller/commands`, a
    Float64MultiArray in the order of the parameter `joints`, as forward_command_controller takes
    it.
    """

    def __init__(self, node: RobotNode, bridge: bool):
        """Create the publishers, that to ros2_control if `bridge`."""
        self._frame_prefix = node.parameters.frame_prefix
        self._torque = node.create_publisher(JointState, '~/feedforward_torque', qos.STREAM_OUT)
        self._commands = (
            node.create_publisher(Float64MultiArray, 'effort_controller/commands', qos.STREAM_OUT)
            if bridge
            else None
        )

    @property
    def publishers(self) -> list[Any]:
        """Of torques and, with the bridge, of commands."""
        return [self._torque] if self._commands is None else [self._torque, self._commands]

    def use(self, model: RobotModel, order: list[int]) -> None:
        """Write messages for this robot; `order` is that of the commands."""
        self._writer, self._order = torque_writer(model, self._frame_prefix), order

    def publish(self, stamp: int, tau: Array) -> None:
        """Publish a torque (n,) for the state with this stamp, ns."""
        self._torque.publish(self._writer.fill(stamp, tau))
        if self._commands is not None:
            self._commands.publish(Float64MultiArray(data=tau[self._order].tolist()))

    def wait_for_acknowledgement(self) -> None:
        """Wait at most 0.1 s until the subscribers have received the last torque."""
        for publisher in self.publishers:
            publisher.wait_for_all_acked(LAST_ACKNOWLEDGEMENT)
