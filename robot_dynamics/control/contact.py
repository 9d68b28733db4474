# SPDX-License-Identifier: Apache-2.0
"""Contact, collision and unmodelled payloads, from the external torques of a momentum observer.

Kinds of contact:
    unknown           nothing is known: no thresholds, or no external torque
    none              every joint is as in free motion
    contact           a joint is above contact_factor times its largest torque of free motion,
                      times a margin for how little was learned
    collision         above collision_factor times it
    payload           the external torques since are those of a body on the last link
    possible payload  so far they are, but the arm has not moved: a force down is the same
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.settings import checked, setting, settings_of
from robot_dynamics.common.spatial import Array
from robot_dynamics.control.contact_thresholds import (
    ContactThresholds,
    Debounced,
    PairThresholds,
)
from robot_dynamics.control.momentum_observer import MomentumObserver
from robot_dynamics.control.payload_test import PayloadTest, UnmodelledPayload

FACTOR = (1.0, 1e6)
COLLISION = 'collision'  # kind of contact
TINY = 1e-12  # N m or N
BELOW = 0.999  # of the excess of a collision
UNKNOWN_FRICTION = 2.2  # of the Coulomb friction: threshold where its direction is not known


@dataclass(frozen=True)
class ContactSettings:
    """Settings of the detection of contact."""

    contact_factor: float = setting(
        1.5,
        'Multiple of the largest external torque of free motion, with its margin, that is contact',
        bounds=FACTOR,
    )
    collision_factor: float = setting(
        3.0,
        'Multiple of the largest external torque of free motion that is a collision',
        bounds=FACTOR,
    )


class Contact(NamedTuple):
    """What the environment does to an arm."""

    kind: str  # unknown, none, contact, collision, payload or possible payload
    joint: int = -1  # with the largest excess; -1 of the first two kinds
    excess: float = 0.0  # its torque, in multiples of the threshold of contact
    payload: UnmodelledPayload | None = None


NONE, UNKNOWN = Contact('none'), Contact('unknown')


class ContactDetector:
    """Detector of contact along the updates of a momentum observer.

    Contact ends when all joints are within the torques of free motion again.

    Attributes:
        contact: of the last update; unknown before the first, and without thresholds.
        collision_excess: excess from which on a contact is a collision.
    """

    def __init__(
        self,
        observer: MomentumObserver,
        link: str,
        thresholds: ContactThresholds,
        settings: ContactSettings = ContactSettings(),
        bank: Sequence[PairThresholds] = (),
    ):
        """Begin without contact.

        Args:
            observer: of the arm, with its payload.
            link: that may grasp another one.
            thresholds: of free motion of the arm.
            settings: of the detection.
            bank: thresholds of the pairs of poles of the bank, none or one for each. They find
                contact, and no collision.

        Raises:
            FrameNotFound: the arm has no such link.
            ModelError: a setting is out of range, or the link is fixed to the base.
        """
        self._observer, self._link = observer, link
        n = observer.arm.model.n
        self.thresholds = ContactThresholds(**vars(checked(thresholds, n)))
        self._settings = checked(settings, n)
        pairs = [self.thresholds, *(PairThresholds(**vars(checked(one, n))) for one in bank)]
        used = [pair for pair in pairs[1:] if np.any(pair.level)]
        self._pairs = PairThresholds(
            **{
                name: np.array([getattr(pair, name) for pair in (pairs if used else pairs[:1])])
                for name in settings_of(PairThresholds)
            }
        )
        self._level = np.asarray(self._pairs.level) * np.asarray(self._pairs.margin)
        self.collision_excess = settings.collision_factor / settings.contact_factor
        self.use_arm()

    def use_arm(self) -> None:
        """Begin anew with the arm that the observer has now."""
        self._payloads = PayloadTest(self._observer, self._link)
        self.restart()

    def restart(self) -> None:
        """Begin anew, with the next update."""
        self._debounced = Debounced()
        self.contact = UNKNOWN

    def update(
        self, t: float, q: Array, qd: Array, effort: Array, base: Array | None = None
    ) -> Contact:
        """Return the contact after an update of the observer that gave an external torque.

        Args:
            t: time, s; with the others the arguments of that update.
            q: (n,) positions.
            qd: (n,) velocities.
            effort: (n,) efforts.
            base: (9,) motion of a moving base.
        """
        state = self._observer.state
        assert state is not None  # it has been updated
        if not self._level[0].any():
            return UNKNOWN
        sigma, threshold = self._at(state.p)
        torques = self._observer.prompt_torque
        if len(threshold) > 1:
            torques = np.vstack([torques, self._observer.bank_torques])
        ratios = self._debounced.add(t, torques) / threshold
        # Slow pairs detect small torques, not collisions.
        ratios[1:] = np.minimum(ratios[1:], BELOW * self.collision_excess)
        excess = ratios.max(axis=0)
        j = int(np.argmax(excess))
        touched = self.contact.joint >= 0
        # Contact lasts while a joint is above the torques of free motion.
        if excess[j] < (1 / self._settings.contact_factor if touched else 1.0):
            self.contact = NONE
            return NONE
        if not touched:
            self._payloads.start(t, q)
            found = None
        else:
            found = self._payloads.update(t, q, qd, effort, sigma, base)
        self.contact = Contact(self._kind(float(excess[j]), found), j, float(excess[j]), found)
        return self.contact

    def _kind(self, excess: float, found: UnmodelledPayload | None) -> str:
        if found is not None:
            return 'payload' if found.moved else 'possible payload'
        return COLLISION if excess >= self.collision_excess else 'contact'

    def _at(self, p: Array) -> tuple[Array, Array]:
        """Return standard deviations (n,) and thresholds of contact (pairs, n) at momenta p."""
        sigma = self._pairs.sigma(p, self._observer.unsettled)
        coulomb = self._observer.friction.coefficients['coulomb']
        floor = np.where(self._observer.friction_known, 0.0, UNKNOWN_FRICTION * coulomb)
        threshold = np.maximum(self._settings.contact_factor * self._level * sigma, floor)
        # A joint whose threshold was not learned has no contact.
        return sigma[0], np.where(self._level > 0, np.maximum(threshold, TINY), np.inf)
