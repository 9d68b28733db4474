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
from robot_dynamics.ros.publisher_guard import PublisherGuard
from robot_dynamics.simulation.commands import ExternalWrench
from robot_dynamics.simulation.scheduling import ReceivedCommand

ORDERED, NAMED, WRENCH = 'effort_controller/commands', 'joint_effort', 'external_wrench'
WRENCH_COMPONENTS = ('torque.x', 'torque.y', 'torque.z', 'force.x', 'force.y', 'force.z')


class SimulatorInputs:
    """Subscribes to commands and wrenches for a simulator node."""

    def __init__(
        self,
        node: Any,
        command: Callable[[ReceivedCommand], None],
        wrench: Callable[[ExternalWrench], None],
    ):
        """Subscribe.

        Args:
            node: a RobotNode, with a `clock` of wall time, s.
            command: called with valid commands.
            wrench: called with finite wrenches on existing frames.
        """
        self._node, self._command, self._wrench = node, command, wrench
        ordered = node.create_subscription(
            Float64MultiArray, ORDERED, self._on_ordered, qos.COMMANDS_IN
        )
        named = node.create_subscription(JointState, NAMED, self._on_named, qos.COMMANDS_IN)
        node.create_subscription(WrenchStamped, WRENCH, self._on_wrench, qos.COMMANDS_IN)
        self._of_ordered, self._of_named = PublisherGuard(), PublisherGuard()
        self._guards = {ordered.topic_name: self._of_ordered, named.topic_name: self._of_named}

    def use(self, model: RobotModel, order: tuple[str, ...]) -> None:
        """Accept commands for this robot; those without names are in this order."""
        self._model, self._order = model, order
        self._joints = JointMap(model.joint_names)

    @property
    def conflict(self) -> str:
        """Reason why commands are rejected at present; empty if they are not."""
        return self._of_named.conflict or self._of_ordered.conflict

    def published(self) -> None:
        """Record that a state was published."""
        for guard in self._guards.values():
            guard.published()

    def look(self) -> None:
        """Check the publishers of the command topics."""
        for topic, guard in self._guards.items():
            guard.look(self._node.publishers_of(topic))

    def _on_named(self, message: JointState) -> None:
        if not self._node.active:
            return
        self._of_named.heard()
        try:
            _reject_conflict(self._of_named)
            tau = self._joints.complete(message.name, message.effort, NAMED)
        except RobotDynamicsError as error:
            return self._node.refuse('command', error)
        self._take(tau, messages.nanoseconds(message.header.stamp))

    def _on_ordered(self, message: Float64MultiArray) -> None:
        if not self._node.active:
            return
        self._of_ordered.heard()
        order = self._order
        try:
            _reject_conflict(self._of_ordered)
            if len(message.data) != len(order):
                raise JointDataError(
                    f'{len(message.data)} efforts; expected {len(order)}, in the order '
                    f'{", ".join(order)}'
                )
            tau = self._joints.complete(list(order), message.data, ORDERED)
        except RobotDynamicsError as error:
            return self._node.refuse('command', error)
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
            return self._node.refuse('external wrench', error)
        self._wrench(ExternalWrench(frame, F))


def _reject_conflict(guard: PublisherGuard) -> None:
    if guard.conflict:
        raise JointDataError(guard.conflict)
