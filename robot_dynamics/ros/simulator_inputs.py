"""What moves the simulated arm: commands to its motors, and wrenches that press on it.

A message is checked whole before any of it counts; one that is refused changes nothing, is counted
and, now and then, complained of. Two commanders of one topic are refused both.
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
from robot_dynamics.simulation.commands import Push
from robot_dynamics.simulation.scheduling import Command

ORDERED, NAMED, WRENCH = 'effort_controller/commands', 'joint_effort', 'external_wrench'
WRENCH_COMPONENTS = ('torque.x', 'torque.y', 'torque.z', 'force.x', 'force.y', 'force.z')


class SimulatorInputs:
    """Hears commands and wrenches on behalf of a simulator node."""

    def __init__(
        self, node: Any, command: Callable[[Command], None], push: Callable[[Push], None]
    ):
        """Begin to listen.

        Args:
            node: a RobotNode, with a `clock` of wall time, s.
            command: takes what is in order.
            push: takes wrenches on frames that exist.
        """
        self._node, self._command, self._push = node, command, push
        ordered = node.create_subscription(
            Float64MultiArray, ORDERED, self._on_ordered, qos.COMMANDS_IN
        )
        named = node.create_subscription(JointState, NAMED, self._on_named, qos.COMMANDS_IN)
        node.create_subscription(WrenchStamped, WRENCH, self._on_wrench, qos.COMMANDS_IN)
        self._of_ordered, self._of_named = PublisherGuard(), PublisherGuard()
        self._guards = {ordered.topic_name: self._of_ordered, named.topic_name: self._of_named}

    def use(self, model: RobotModel, order: tuple[str, ...]) -> None:
        """Hear commands for this robot; those without names come in this order."""
        self._model, self._order = model, order
        self._joints = JointMap(model.joint_names)

    @property
    def conflict(self) -> str:
        """Why commands are refused at present."""
        return self._of_named.conflict or self._of_ordered.conflict

    def published(self) -> None:
        """Note that a state went out that a commander may answer."""
        for guard in self._guards.values():
            guard.published()

    def look(self) -> None:
        """See who commands."""
        for topic, guard in self._guards.items():
            guard.look(self._node.publishers_of(topic))

    def _on_named(self, message: JointState) -> None:
        if not self._node.active:
            return
        self._of_named.heard()
        try:
            _refuse_conflict(self._of_named)
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
            _refuse_conflict(self._of_ordered)
            if len(message.data) != len(order):
                raise JointDataError(
                    f'{len(message.data)} efforts; there must be {len(order)}, in the order '
                    f'{", ".join(order)}'
                )
            tau = self._joints.complete(list(order), message.data, ORDERED)
        except RobotDynamicsError as error:
            return self._node.refuse('command', error)
        self._take(tau, None)

    def _take(self, tau: Any, stamp: int | None) -> None:
        self._node.health.received()
        self._command(Command(tau, stamp, self._node.clock()))

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
        self._push(Push(frame, F))


def _refuse_conflict(guard: PublisherGuard) -> None:
    if guard.conflict:
        raise JointDataError(guard.conflict)
