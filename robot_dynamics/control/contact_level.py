# SPDX-License-Identifier: Apache-2.0
"""Contact as a level: what a momentum observer has published, as it counts at each joint state.

A collision counts from the first message on until another kind has been published for `SETTLED`,
whether or not torques are commanded then. The kind `unknown` is no information: it ends no
collision, and an observer that publishes nothing else counts as absent.

All times are stamps of joint states, ns.
"""

from __future__ import annotations

from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control.contact import COLLISION, UNKNOWN

SETTLED = SECOND // 10  # ns of other kinds after which a collision is over
RISE = 1.5  # of the excess, beyond which an acknowledged collision counts again


class ContactLevel:
    """Whether a collision counts, and for how long no contact was known.

    Attributes:
        collides: whether a collision counts, acknowledged or not.
        silence: time of the joint states without a known kind of contact, ns.
    """

    def __init__(self) -> None:
        """Begin without contact and without messages."""
        self.restart()

    def restart(self) -> None:
        """Drop what was received before."""
        self.collides = False
        self.silence = 0
        self._now: int | None = None
        self._known: int | None = None  # stamp of a known kind since the last state
        self._other: int | None = None  # stamp of the first other kind since the collision
        self._excess = 0.0
        self._acknowledged: float | None = None  # excess of the collision that was acknowledged

    def receive(self, kind: str, stamp: int = 0, excess: float = 0.0) -> None:
        """Take a message of the observer.

        Args:
            kind: of contact.
            stamp: of the joint state it is about, ns; 0: the last one.
            excess: its torque, in multiples of the threshold of contact.
        """
        if kind == UNKNOWN.kind:
            return
        stamp = self._known = stamp or self._now or 0
        if kind != COLLISION:
            self._other = stamp if self._other is None else min(self._other, stamp)
            self.collides &= stamp - self._other < SETTLED
            return
        has_risen = self._acknowledged is not None and excess > RISE * self._acknowledged
        if self._other is not None or has_risen:
            self._acknowledged = None
        self.collides, self._other, self._excess = True, None, excess

    def advance(self, stamp: int, timeout: int) -> None:
        """Take the stamp of the next joint state; a gap counts as half of the timeout [ns]."""
        if self._now is not None:
            self.silence += min(max(stamp - self._now, 0), timeout // 2)
        if self._known is not None:  # a message may come before its state
            self.silence = min(self.silence, abs(stamp - self._known))
        self._now, self._known = stamp, None

    @property
    def trips(self) -> bool:
        """Whether a collision counts that has not been acknowledged."""
        return self.collides and self._acknowledged is None

    def acknowledge(self) -> bool:
        """Acknowledge the present collision; return whether there is one.

        It trips again after a change to another kind and back, or once its excess has risen by
        half.
        """
        if self.collides:
            self._acknowledged = self._excess
        return self.collides
