"""Inputs of the simulator node: effort commands and external wrenches.

A message is checked as a whole before it is used. A rejected one changes nothing; it is counted,
and logged at a limited rate. Two publishers of one command topic are both rejected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics.control.joint_state import JointDataError, JointMap, finite
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.ros import messages, qos
from robot_dynamics.ros.command_guard import CommandInputGuard
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.simulation.commands import ExternalWrench
from robot_dynamics.simulation.scheduling import ReceivedCommand

ORDERED, NAMED, WRENCH = 'effort_controller/commands', 'joint_effort', 'external_wrench'
WRENCH_COMPONENTS = ('torque.x', 'torque.y', 'torque.z', 'force.x', 'force.y', 'force.z')


class SimulatorInputs:
    """Subscribes to commands and wrenches for a simulator node.

    Attributes:
        topics: full names of the command topics.
        guard: rejects commands while a topic has several publishers.
    """

    guard: CommandInputGuard

    def __init__(
        self,
        node: RobotNode,
        command: Callable[[ReceivedCommand], None],
        wrench: Callable[[ExternalWrench], None],
    ):
        """Subscribe.

        Args:
            node: with a `clock` of wall time, s.
            command: called with valid commands.
            wrench: called with finite wrenches on existing frames.
        """
        self._node, self._command, self._wrench = node, command, wrench
        ordered = node.create_subscription(
            Float64MultiArray, ORDERED, self._on_ordered, qos.COMMANDS_IN
        )
        named = node.create_subscription(JointState, NAMED, self._on_named, qos.COMMANDS_IN)
        node.create_subscription(WrenchStamped, WRENCH, self._on_wrench, qos.COMMANDS_IN)
        self.topics = ordered.topic_name, named.topic_name

    def use(self, model: RobotModel, order: tuple[str, ...]) -> None:
        """Accept commands for this robot; those without names are in this order."""
        self._model, self._order = model, order
        self._joints = JointMap(model.joint_names)

    def _on_named(self, message: JointState) -> None:
        if not self._node.active:
            return
        try:
            self._reject_conflict()
            tau = self._joints.complete(message.name, message.effort, NAMED)
        except RobotDynamicsError as error:
            return self._node.reject('command', error)
        self._take(tau, messages.nanoseconds(message.header.stamp))

    def _on_ordered(self, message: Float64MultiArray) -> None:
        if not self._node.active:
            return
        order = self._order
        try:
            self._reject_conflict()
            if len(message.data) != len(order):
                raise JointDataError(
                    f'{len(message.data)} efforts; expected {len(order)}, in the order '
                    f'{", ".join(order)}'
                )
            tau = self._joints.complete(list(order), message.data, ORDERED)
        except RobotDynamicsError as error:
            return self._node.reject('command', error)
        self._take(tau, None)

    def _take(self, tau: Any, stamp: int | None) -> None:
        self._node.health.received()
        self._command(ReceivedCommand(tau, stamp, self._node.clock()))

    def _on_wrench(self, message: WrenchStamped) -> None:
        if not self._node.active:
            return
        frame = self._node.own_frame(message.header.frame_id)
        F = messages.wrench(message.wrench)
        try:
            self._model.frame_index(frame)
            finite(F, WRENCH_COMPONENTS, WRENCH)
        except RobotDynamicsError as error:
            return self._node.reject('external wrench', error)
        self._wrench(ExternalWrench(frame, F))

    def _reject_conflict(self) -> None:
        if self.guard.conflict:
            raise JointDataError(self.guard.conflict)
