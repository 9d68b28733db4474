"""Publishers of the terms of the equation of motion."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from typing_extensions import override

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.ros import qos
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.part import Part
from robot_dynamics.ros.serialization import joint_state_writer, matrix_writer
from robot_dynamics.spatial import Array


class TermPublishers(Part):
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

    @override
    def use(self, arm: Dynamics) -> None:
        """Write messages for this robot."""
        prefix = self._node.parameters.frame_prefix
        torque, matrix = joint_state_writer(arm.model, prefix), matrix_writer(arm.model, prefix)
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
