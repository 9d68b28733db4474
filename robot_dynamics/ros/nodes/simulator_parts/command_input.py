# SPDX-License-Identifier: Apache-2.0
"""Commands received by a node: by joint name, or in the order of the parameter `joints`.

They are efforts, or positions of servos. By name these may have velocities and efforts, too.
"""

from __future__ import annotations

from collections.abc import Callable

from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from typing_extensions import override

from robot_dynamics.common.spatial import Array
from robot_dynamics.control.joint_reading import JointDataError, JointMap
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.ros import messages, qos
from robot_dynamics.ros.command_guard import CommandInputGuard
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.parameters import joint_order
from robot_dynamics.ros.part import Part
from robot_dynamics.simulation.joint_models.servo import ServoCommand
from robot_dynamics.simulation.scheduling import ReceivedCommand

EFFORTS = 'joint_effort', 'effort_controller/commands'  # by name, and ordered
POSITIONS = 'joint_command', 'position_controller/commands'


class CommandInput(Part):
    """Part of a node: complete and finite commands.

    A rejected message changes nothing. All are rejected while a topic has several publishers.

    Attributes:
        topics: of the commands by name, and of those in order.
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
        self._positions = node.parameters.takes_positions
        self.topics = POSITIONS if self._positions else EFFORTS
        read = self._read_servo if self._positions else self._read
        ordered = node.subscribe(
            Float64MultiArray, self.topics[1], 'command', self._read_ordered, use, qos.COMMANDS_IN
        )
        named = node.subscribe(JointState, self.topics[0], 'command', read, use, qos.COMMANDS_IN)
        self.guard = node.add(CommandInputGuard(node, [ordered.topic_name, named.topic_name]))

    @override
    def use(self, arm: Dynamics) -> None:
        """Accept commands for this robot."""
        names = arm.model.joint_names
        self._joints = JointMap(names)
        self._order = list(joint_order(self._node.parameters.joints, names))

    def _read(self, message: JointState) -> ReceivedCommand:
        stamp = messages.nanoseconds(message.header.stamp)
        tau = self._complete(self.topics[0], list(message.name), message.effort)
        return ReceivedCommand(tau, stamp, self._clock())

    def _read_servo(self, message: JointState) -> ReceivedCommand:
        stamp, names = messages.nanoseconds(message.header.stamp), list(message.name)
        qd, feedforward = (
            self._joints.complete(names, values, f'{self.topics[0]}, {what}') if values else None
            for what, values in (('velocity', message.velocity), ('effort', message.effort))
        )
        q = self._complete(self.topics[0], names, message.position)
        return ReceivedCommand(ServoCommand(q, qd, feedforward), stamp, self._clock())

    def _read_ordered(self, message: Float64MultiArray) -> ReceivedCommand:
        order = self._order
        if len(message.data) != len(order):
            raise JointDataError(
                f'{len(message.data)} {"positions" if self._positions else "efforts"}; expected '
                f'{len(order)}, in the order '
                f'{", ".join(order)}'
            )
        x = self._complete(self.topics[1], order, message.data)
        return ReceivedCommand(ServoCommand(x) if self._positions else x, None, self._clock())

    def _complete(self, topic: str, names: list[str], values: list[float]) -> Array:
        self.guard.reject_conflict()
        x = self._joints.complete(names, values, topic)
        self._node.health.received()
        return x
