"""Another node with this one's full name: ROS 2 starts both, and says nothing.

A request to such a pair (a parameter, a transition, `~/enable`) is answered by one of them, nobody
knows which, and their topics carry the words of both. So a node that finds a namesake says so, in
its diagnostics and once in the log, until it is alone again. A killed namesake stays in the graph
until its lease runs out: 20 s, or 2 s with the profile of `middleware.py`. Of two that command
motors one is silent, see `rivals.py`.
"""

from __future__ import annotations

import time
from typing import Any

from robot_dynamics.ros import diagnostics

PERSISTS = 3.0  # s; a namesake found this long is not just one that makes way


class Namesakes:
    """Looks for nodes of the same name on behalf of a node."""

    def __init__(self, node: Any):
        """Begin before the first look; `node` is an rclpy node."""
        self._node = node
        self._since: float | None = None  # s, when one was first found
        self._said = False

    def added_to(self, level: bytes, message: str) -> tuple[bytes, str]:
        """Look, and return the level and the sentence of a diagnostic with what was found."""
        conflict = self._look(time.monotonic())
        if conflict and not self._said:
            self._node.get_logger().warning(conflict)
        self._said = bool(conflict)
        if not conflict:
            return level, message
        return max(level, diagnostics.WARN), f'{message}; {conflict}'

    def _look(self, now: float) -> str:
        """Return what is wrong at this time, s; empty if nothing is."""
        own = self._node.get_name(), self._node.get_namespace()
        count = self._node.get_node_names_and_namespaces().count(own)
        if count < 2:
            self._since = None
            return ''
        self._since = now if self._since is None else self._since
        if now - self._since < PERSISTS:
            return ''
        return f'{count} nodes are named {self._node.get_fully_qualified_name()}; stop all but one'
