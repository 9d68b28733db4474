# SPDX-License-Identifier: Apache-2.0
"""Collisions that momentum_observer_node detects."""

from __future__ import annotations

from collections.abc import Callable

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from typing_extensions import override

from robot_dynamics.control.contact import COLLISION
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.ros import qos
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.part import Part

TOPIC = 'momentum_observer_node/contact'


class CollisionInput(Part):
    """Part of a node: calls it once at the beginning of each collision."""

    def __init__(self, node: RobotNode, collided: Callable[[str], None]):
        """Subscribe; `collided` is called with the description of a collision."""
        self._collided = collided
        self._in_collision = False
        node.subscribe(DiagnosticArray, TOPIC, 'contact', self._read, self._take, qos.COMMANDS_IN)

    @override
    def restart(self) -> None:
        """Drop what was received before."""
        self._in_collision = False

    def _read(self, message: DiagnosticArray) -> DiagnosticStatus:
        if len(message.status) != 1:
            raise RobotDynamicsError(f'contact has {len(message.status)} states; expected one')
        return message.status[0]

    def _take(self, contact: DiagnosticStatus) -> None:
        before, self._in_collision = self._in_collision, contact.message == COLLISION
        if self._in_collision and not before:
            joint = next((pair.value for pair in contact.values if pair.key == 'joint'), '')
            self._collided(f'collision, most in joint {joint!r}' if joint else 'collision')
