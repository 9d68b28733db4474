# SPDX-License-Identifier: Apache-2.0
"""Speed of a motion, scaled while it goes on.

The path q(s) is run through at the rate r = ds/dt, 0 <= r <= 1:

    qd = q'(s) r,    qdd = q''(s) r^2 + q'(s) dr/dt,

so that velocities and accelerations are those of the scaled motion. The rate changes within
the acceleration limits of every joint, and by at most FASTEST.

Source: Hollerbach, Dynamic scaling of manipulator trajectories, ASME J. Dyn. Syst. 106 (1984).
"""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control.motions import ReferenceMotion
from robot_dynamics.control.trajectory import Reference

FASTEST = 4.0  # 1/s, change of the rate: 0.25 s from rest to full speed
MARGIN = 0.9  # of the acceleration limit, for the change within a step
STEP, STEPS = 0.005, 200  # s, longest step of a change; unless there would be more than STEPS


class SpeedOverride:
    """Rate of a motion's time.

    Attributes:
        target: the rate that is approached, 0 to 1.
        rate: the present one.
    """

    def __init__(self) -> None:
        self.target = self.rate = 1.0
        self._slope = 0.0  # 1/s, present change of the rate

    @property
    def is_on(self) -> bool:
        """Whether the rate is, or will be, other than 1."""
        return not self.target == self.rate == 1.0

    @property
    def remark(self) -> str:
        """Second half of the reason why a trajectory is rejected that is too fast, or ''."""
        if self.target == 1.0:
            return ''
        return f'; limits apply at speed_scale 1, to which the present {self.target:g} may return'

    def reset(self) -> None:
        """Begin a motion that is not scaled: a stop, a hold, a stream."""
        self.rate, self._slope = 1.0, 0.0

    def begin(self, start: Reference) -> None:
        """Begin a trajectory; from rest it has the target rate at once."""
        if not start.qd.any():
            self.rate, self._slope = self.target, 0.0

    def scaled(self, path: Reference) -> Reference:
        """Return the reference (n,) of a point of the path, with derivatives to s."""
        r = self.rate
        if not self.is_on:
            return path
        return Reference(path.q, path.qd * r, path.qdd * r**2 + path.qd * self._slope)

    def unscaled(self, reference: Reference) -> Reference:
        """Return the derivatives to s of a reference (n,), the inverse of `scaled`."""
        if self.rate == 0.0:
            return Reference(reference.q, np.zeros_like(reference.q), np.zeros_like(reference.q))
        qd = reference.qd / self.rate
        return Reference(reference.q, qd, (reference.qdd - qd * self._slope) / self.rate**2)

    def advance(
        self, motion: ReferenceMotion, now: int, elapsed: float, most: Array
    ) -> ReferenceMotion:
        """Return the motion, delayed by what the rate is below 1.

        Args:
            motion: as it was `elapsed` ago.
            now: time, ns.
            elapsed: s.
            most: (n,) acceleration limits.
        """
        left, s = elapsed, (now - motion.start) / SECOND - elapsed
        while left > 0 and self.rate != self.target:
            h = min(left, max(STEP, elapsed / STEPS))
            self._slope = self._change(motion.path.sample(s), most)
            reached = abs(self._slope) * h >= abs(self.target - self.rate)
            rate = self.target if reached else self.rate + self._slope * h
            s += (self.rate + rate) / 2 * h
            self.rate, left = rate, left - h
        if self.rate == self.target:
            self._slope = 0.0
        delay = (now - motion.start) / SECOND - (s + self.rate * left)
        return motion._replace(start=motion.start + round(delay * SECOND))

    def _change(self, path: Reference, most: Array) -> float:
        """Return dr/dt towards the target at a point of the path."""
        along = path.qdd * self.rate**2 * np.sign(path.qd)
        with np.errstate(divide='ignore', invalid='ignore'):
            # |q'' r^2 + q' dr/dt| <= most
            low = np.where(path.qd != 0, (-MARGIN * most - along) / np.abs(path.qd), -math.inf)
            high = np.where(path.qd != 0, (MARGIN * most - along) / np.abs(path.qd), math.inf)
        if self.target > self.rate:
            return float(np.clip(high.min(), 0.0, FASTEST))
        if (np.abs(along) > most).any():  # a path beyond the limits can always be slowed down
            return -FASTEST
        return float(np.clip(low.max(), -FASTEST, 0.0))
