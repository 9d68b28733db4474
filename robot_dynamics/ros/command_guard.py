"""Who else commands the motors of a node: seen in the graph, and heard on its topics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from robot_dynamics.ros import qos
from robot_dynamics.ros.publisher_guard import NamesakeGuard, RivalGuard


class Rivals:
    """Whether a node may command its motors, or has to leave them to somebody else."""

    def __init__(self, node: Any, publishers: list[Any], several: Callable[[str], list[str]]):
        """Begin before the first look.

        Args:
            node: who commands.
            publishers: of its commands.
            several: returns the nodes behind the publishers of a topic, if there is more than one.
        """
        self._node, self._publishers, self._several = node, publishers, several
        self._own = node.get_fully_qualified_name()
        self._strangers, self._namesakes = RivalGuard(self._own), NamesakeGuard(self._own)
        self._ears: list[Any] = []  # subscriptions to what namesakes say

    @property
    def waits(self) -> bool:
        """Whether somebody else has the motors."""
        return self._strangers.waits or self._namesakes.waits

    @property
    def conflict(self) -> str:
        """What is wrong, for people; empty if nothing is."""
        return self._strangers.conflict or self._namesakes.conflict

    def switch_on(self, now: float) -> None:
        """Begin at this time, s."""
        self._strangers.switch_on(now)
        self._namesakes.switch_on(now)

    def look(self, now: float) -> None:
        """Look at the graph at this time, s."""
        names = [self._several(publisher.topic_name) for publisher in self._publishers]
        self._strangers.look([name for listed in names for name in listed], now)
        namesakes = [max(0, listed.count(self._own) - 1) for listed in names]
        self._namesakes.look(max(namesakes), now)
        if self._namesakes.listens != bool(self._ears):
            self._listen(self._publishers[namesakes.index(max(namesakes))])

    def asked(self, now: float) -> bool:
        """Return whether a state that has come at this time, s, is to be answered."""
        return self._namesakes.asked(now) and not self._strangers.waits

    def _listen(self, publisher: Any) -> None:
        """Begin to hear what is said where this publisher speaks, or stop it."""
        while self._ears:
            self._node.destroy_subscription(self._ears.pop())
        if self._namesakes.listens:
            self._ears.append(
                self._node.create_subscription(
                    publisher.msg_type,
                    publisher.topic_name,
                    lambda _: self._namesakes.heard(),
                    # Nobody who is killed while it listens shall keep a writer waiting.
                    qos.JOINT_STATES_IN,
                    raw=True,
                )
            )
