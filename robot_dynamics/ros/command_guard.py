# SPDX-License-Identifier: Apache-2.0
"""Detects other publishers on command topics.

The efforts of two nodes for the same motors would add up. The ROS graph
lists the node behind each publisher of a topic, and with it this follows:

- Another node (another full name) that was there first blocks this one until it is gone.
- Another node that comes later is an error of its own; this node continues and reports it.
- A publisher with the same full name never blocks: a killed node stays in the graph until its
  lease runs out. `Diagnostics` warns of duplicate node names.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import Any

from typing_extensions import override

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.ros import health
from robot_dynamics.ros.health import Status
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.part import Part

POLL = 0.1  # s, between two polls of the graph
# s after the start of a node, until which publishers that are found count as there before. Without
# the profile of `middleware.py` Fast DDS takes up to 3 s to discover them.
DISCOVERY = 4.0
UNKNOWN_NODE = '_NODE_NAME_UNKNOWN_'  # while a publisher is discovered and its node is not


class ConflictError(RobotDynamicsError, RuntimeError):
    """Several nodes publish on a topic that has one command."""


def publishing_nodes(node: Any, topic: str) -> list[str]:
    """Return the full names of the nodes that publish on a topic, sorted, each once."""
    return sorted(
        {
            f'{info.node_namespace.rstrip("/")}/{info.node_name}'
            for info in node.get_publishers_info_by_topic(topic)
            if info.node_name != UNKNOWN_NODE
        }
    )


class CommandGuard(Part):
    """Part of a node that publishes commands: blocks while another node has the motors.

    Attributes:
        others: the full names of other nodes that publish on the command topics.
        blocked: whether this node must not command the motors.
    """

    def __init__(
        self,
        node: RobotNode,
        publishers: Collection[Any],
        on_change: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ):
        """Poll the graph from now on.

        Args:
            node: that commands.
            publishers: of its commands.
            on_change: called when a poll changes whether the node is blocked.
            clock: s, that does not jump.
        """
        self._node, self._publishers, self._on_change = node, publishers, on_change
        self._clock, self._created = clock, clock()
        self.others: list[str] = []
        self.blocked = False
        node.create_steady_timer(POLL, self._on_timer)

    def enable(self) -> None:
        """Enable commands, unless another node commands the motors."""
        self.blocked = False
        self.poll(enabling=True)

    def _on_timer(self) -> None:
        if self._node.active:
            self.poll()

    def poll(self, enabling: bool = False) -> None:
        """Look for other publishers."""
        own = self._node.get_fully_qualified_name()
        names = {
            name
            for publisher in self._publishers
            # Counting is ten times faster than reading names.
            if self._node.count_publishers(publisher.topic_name) > 1
            for name in publishing_nodes(self._node, publisher.topic_name)
        }
        self.others = sorted(names - {own})
        were_there = enabling or self._clock() - self._created < DISCOVERY
        before = self.blocked
        self.blocked = bool(self.others) and (self.blocked or were_there)
        if self.blocked != before:
            self._on_change()

    @property
    def conflict(self) -> str:
        """A sentence that names the other nodes, or ''."""
        if not self.others:
            return ''
        consequence = ': no torque is published until it stops' if self.blocked else ''
        return f'{", ".join(self.others)} commands the same motors{consequence}'

    @override
    def status(self) -> Status | None:
        """Return an ERROR while there are other publishers."""
        return (health.ERROR, self.conflict) if self.conflict else None


class CommandInputGuard(Part):
    """Part of a node that receives commands: reports topics with several publishers.

    Attributes:
        conflict: a sentence that names the nodes, for a topic with more than one; else ''.
    """

    def __init__(self, node: RobotNode, topics: Collection[str]):
        """Poll the graph from now on; `topics` are full names."""
        self._node, self._topics = node, topics
        self.conflict = ''
        node.create_steady_timer(POLL, self.poll)

    def poll(self) -> None:
        """Look for topics with several publishers."""
        self.conflict = ''
        for topic in self._topics:
            names = publishing_nodes(self._node, topic)
            if len(names) > 1:
                self.conflict = f'{", ".join(names)} all send commands; stop all but one'

    def reject_conflict(self) -> None:
        """Raise a ConflictError while there is a conflict."""
        if self.conflict:
            raise ConflictError(self.conflict)

    @override
    def status(self) -> Status | None:
        """Return an ERROR while there is a conflict."""
        return (health.ERROR, self.conflict) if self.conflict else None
