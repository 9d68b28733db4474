# SPDX-License-Identifier: Apache-2.0
"""A run of free motion from which thresholds of contact are learned, checked before they are used.

The thresholds in force stay in force during the run. It is rejected if it is short, has few
motions, or has a torque that they call a collision. A contact does not reject it, since friction
drifts, and is listed. A joint that the run says nothing about keeps its threshold.
"""

from __future__ import annotations

from copy import deepcopy
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.settings import settings_of
from robot_dynamics.common.spatial import Array
from robot_dynamics.control.contact import Contact
from robot_dynamics.control.contact_thresholds import (
    FACTOR,
    ContactThresholds,
    FreeMotion,
    Learned,
    PairThresholds,
)
from robot_dynamics.control.momentum_observer import MomentumObserver

SHORTEST = 30.0  # s of free motion
FEWEST = 3  # motions
# A motion: displacements of at least STEP in each INTERVAL, until they turn by 90 degrees from the
# first one.
INTERVAL, STEP = 0.25, 0.01  # s; rad or m
LISTED = 3  # events in a text
NO_THRESHOLDS = ContactThresholds()


class Event(NamedTuple):
    """A contact during the run, by the thresholds in force, at its largest excess."""

    excess: float  # in multiples of the threshold of contact
    t: float  # s
    joint: int


class ThresholdLearning:
    """A run of an observer in free motion.

    Attributes:
        motions: how many there were.
    """

    def __init__(
        self,
        n: int,
        before: ContactThresholds = NO_THRESHOLDS,
        collision_excess: float = np.inf,
    ):
        """Begin without samples of n joints.

        Args:
            n: number of joints.
            before: the thresholds in force; the default is none.
            collision_excess: excess by them that is a collision.
        """
        self._free, self._before = FreeMotion(n), deepcopy(before)
        self._collision_excess = collision_excess
        self._events: list[Event] = []
        self._touched = False
        self.motions = 0
        self._t, self._q, self._direction = -np.inf, np.zeros(n), np.zeros(n)

    @property
    def seconds(self) -> float:
        """Length of the free motion, s, without gaps."""
        return self._free.seconds

    def add(self, t: float, q: Array, observer: MomentumObserver, contact: Contact) -> None:
        """Add an update of the observer that gave an external torque.

        Args:
            t: its time, s.
            q: (n,) positions, rad or m.
            observer: after it.
            contact: by the thresholds in force.
        """
        self._count(t, q)
        self._free.add(t, observer, self.motions)
        if contact.joint >= 0:
            event = Event(contact.excess, self.seconds, contact.joint)
            if not self._touched:
                self._events.append(event)
            elif event.excess > self._events[-1].excess:
                self._events[-1] = event
        self._touched = contact.joint >= 0

    def _count(self, t: float, q: Array) -> None:
        since, moved = t - self._t, q - self._q
        if 0 <= since < INTERVAL:
            return
        self._t, self._q = t, np.array(q)
        if not 0 <= since < 2 * INTERVAL or np.abs(moved).max() < STEP:
            self._direction = np.zeros(len(q))
        elif moved @ self._direction <= 0:
            self._direction = moved
            self.motions += 1

    @property
    def collision(self) -> Event | None:
        """The largest event if it is a collision, else None."""
        largest = max(self._events, default=None)
        return largest if largest and largest.excess >= self._collision_excess else None

    def rejection(self, joint_names: tuple[str, ...]) -> str:
        """Return why the run gives no thresholds, or ''."""
        reasons = []
        if round(self.seconds, 1) < SHORTEST:
            reasons.append(f'{self.seconds:.1f} s of joint states; expected {SHORTEST:g} or more')
        if self.motions < FEWEST:
            reasons.append(f'{self.motions} motions; expected {FEWEST} or more')
        if self.collision is not None:
            reasons.append(
                f'a collision, {_described(self.collision, joint_names)}; expected free motion '
                '(thresholds.level [0.0] starts afresh)'
            )
        return '; '.join(reasons)

    def events(self, joint_names: tuple[str, ...]) -> str:
        """Return the largest contacts by the thresholds in force, as the end of a text, or ''."""
        largest = sorted(self._events, reverse=True)[:LISTED]
        if not largest:
            return ''
        listed = ', '.join(_described(event, joint_names) for event in largest)
        return f'; {len(self._events)} contacts by the thresholds before, the largest: {listed}'

    def learned(self, contact_factor: float = FACTOR) -> Learned:
        """Return the thresholds, of joints that were not learned those before.

        Args:
            contact_factor: with which they will be used.
        """
        found = self._free.learned(contact_factor)
        new, old = found.thresholds, self._before
        keeps = (np.asarray(new.level) == 0) & (np.asarray(old.level) > 0)
        mixed = {
            name: np.where(keeps, getattr(old, name), getattr(new, name))
            for name in settings_of(PairThresholds)
        }
        return found._replace(
            thresholds=ContactThresholds(**mixed, learned=new.learned),
            missing=tuple(j for j in found.missing if not keeps[j]),
            kept=tuple(np.flatnonzero(keeps).tolist()),
        )


def _described(event: Event, joint_names: tuple[str, ...]) -> str:
    return f'{joint_names[event.joint]} {event.excess:.2f} after {event.t:.1f} s'
