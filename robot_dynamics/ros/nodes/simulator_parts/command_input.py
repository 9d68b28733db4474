# SPDX-License-Identifier: Apache-2.0
"""Effort commands received by a node: by joint name, or in the order of the parameter `joints`."""

from __future__ import annotations

from collections.abc import Callable

from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from typing_extensions import override

from robot_dynamics.control.joint_reading import JointDataError, JointMap
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.ros import messages, qos
from robot_dynamics.ros.command_guard import CommandInputGuard
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.parameters import joint_order
from robot_dynamics.ros.part import Part
from robot_dynamics.simulation.scheduling import ReceivedCommand

ORDERED, NAMED = 'effort_controller/commands', 'joint_effort'


class CommandInput(Part):
    """Part of a node: complete and finite commands.

    A rejected message changes nothing. All are rejected while a topic has several publishers.
    """

    def __init__(
        self,
        node: RobotNode,
        clock: Callable[[], float],
        use: Callable[[ReceivedCommand], None],
    ):
        """Subscribe.

        Args:
            node: whose robot is commanded.
            clock: returns the wall time, s.
            use: called with each valid command.
        """
        self._node, self._clock = node, clock
        ordered = node.subscribe(
            Float64MultiArray, ORDERED, 'command', self._read_ordered, use, qos.COMMANDS_IN
        )
        named = node.subscribe(JointState, NAMED, 'command', self._read, use, qos.COMMANDS_IN)
        self.guard = node.add(CommandInputGuard(node, [ordered.topic_name, named.topic_name]))

    @override
    def use(self, arm: Dynamics) -> None:
        """Accept commands for this robot."""
        names = arm.model.joint_names
        self._joints = JointMap(names)
        self._order = list(joint_order(self._node.parameters.joints, names))

    def _read(self, message: JointState) -> ReceivedCommand:
        stamp = messages.nanoseconds(message.header.stamp)
        return self._complete(NAMED, list(message.name), message.effort, stamp)

    def _read_ordered(self, message: Float64MultiArray) -> ReceivedCommand:
        order = self._order
        if len(message.data) != len(order):
            raise JointDataError(
                f'{len(message.data)} efforts; expected {len(order)}, in the order '
                f'{", ".join(order)}'
            )
        return self._complete(ORDERED, order, message.data, None)

    def _complete(
        self, topic: str, names: list[str], efforts: list[float], stamp: int | None
    ) -> ReceivedCommand:
        self.guard.reject_conflict()
        tau = self._joints.complete(names, efforts, topic)
        self._node.health.received()
        return ReceivedCommand(tau, stamp, self._clock())
