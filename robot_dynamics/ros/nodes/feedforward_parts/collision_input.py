# SPDX-License-Identifier: Apache-2.0
"""Contact that momentum_observer_node publishes: its level, and whether it is published."""

from __future__ import annotations

import math

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from typing_extensions import override

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control.contact import COLLISION, UNKNOWN
from robot_dynamics.control.contact_level import ContactLevel
from robot_dynamics.ros import health, messages, qos
from robot_dynamics.ros.health import Status
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.part import Part

TOPIC = 'momentum_observer_node/contact'


class CollisionInput(Part):
    """Part of a node with FeedforwardParameters: the level of contact at its joint states.

    Attributes:
        level: of the messages that were received since the node was activated.
        lost: why no contact is known, a sentence; '' while it is, and without `on_collision`.
    """

    def __init__(self, node: RobotNode):
        """Subscribe."""
        self._node, self.level = node, ContactLevel()
        self._topic = node.resolve_topic_name(TOPIC)
        self.restart()
        node.subscribe(DiagnosticArray, TOPIC, 'contact', self._read, self._take, qos.COMMANDS_IN)

    @override
    def restart(self) -> None:
        """Drop what was received before."""
        self.level.restart()
        self.lost, self._joint, self._unknown = '', '', ''

    def advance(self, stamp: int) -> None:
        """Take the stamp of the next joint state, ns: `level` and `lost` are those at it."""
        parameters, level = self._node.parameters, self.level
        timeout = round(parameters.contact_timeout * SECOND)
        level.advance(stamp, timeout)
        if parameters.on_collision == 'none':
            level.silence = 0
        if level.silence <= timeout:
            self.lost = ''
        elif not self.lost or self._unknown:
            self.lost = self._cause()

    @property
    def collision(self) -> str:
        """Description of a collision that counts and has not been acknowledged, or ''."""
        if not self.level.trips:
            return ''
        return f'collision, most in joint {self._joint!r}' if self._joint else 'collision'

    def acknowledge(self) -> bool:
        """Acknowledge the present collision; return whether there is one."""
        return self.level.acknowledge()

    def _cause(self) -> str:
        """Return why no contact is known."""
        if self._unknown:
            return f'contact is unknown: {self._unknown}'
        if not self._node.count_publishers(self._topic):
            return f'no contact: no node publishes {self._topic}'
        return f'no contact on {self._topic} for {self._node.parameters.contact_timeout:g} s'

    def _read(self, message: DiagnosticArray) -> tuple[int, DiagnosticStatus, float]:
        if len(message.status) != 1:
            raise RobotDynamicsError(f'contact has {len(message.status)} states; expected one')
        (contact,) = message.status
        return messages.nanoseconds(message.header.stamp), contact, _excess(contact)

    def _take(self, content: tuple[int, DiagnosticStatus, float]) -> None:
        stamp, contact, excess = content
        self._unknown = ''
        if contact.message == UNKNOWN.kind:
            self._unknown = _value(contact, 'reason') or 'its publisher gives no reason'
        if contact.message == COLLISION:
            self._joint = _value(contact, 'joint')
        self.level.receive(contact.message, stamp, excess)

    @override
    def status(self) -> Status | None:
        """Return a WARN while no contact is known."""
        return (health.WARN, self.lost) if self.lost else None


def _value(contact: DiagnosticStatus, key: str) -> str:
    return next((str(pair.value) for pair in contact.values if pair.key == key), '')


def _excess(contact: DiagnosticStatus) -> float:
    text = _value(contact, 'excess')
    try:
        excess = float(text or 0.0)
    except ValueError:
        excess = math.nan
    if not math.isfinite(excess):
        raise RobotDynamicsError(f'excess of contact is {text!r}; expected a finite number')
    return excess
