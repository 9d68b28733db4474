"""What a torque passes on its way to the motors: soft start, effort limit, rate limit. No ROS.

Time is the joint states' own, so that the same states give the same torques. A state said again
gets the same answer.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from robot_dynamics.control import RateLimiter, ramp, saturate
from robot_dynamics.spatial import Array

SECOND = 1e9  # ns
LONGEST_STEP = 0.1  # s; after a silence the torque changes by no more than this much time allows


class Limits(NamedTuple):
    """What the motors may be asked for."""

    effort: Array  # (n,) N m or N; inf for no limit
    rate: Array  # (n,) N m/s or N/s; inf for no limit
    ramp_time: float  # s, of the soft start


class TorqueGate:
    """Lets torques through as far as the limits allow."""

    def __init__(self, limits: Limits, counts: Counter[str]):
        """Begin closed: the first torque starts the soft start.

        Args:
            limits: see Limits.
            counts: where it is counted that a limit was felt.
        """
        self._counts = counts
        self._saturated = np.zeros(len(limits.effort), dtype=bool)
        self.limit(limits)
        self.reset()

    def limit(self, limits: Limits) -> None:
        """Go on under other limits."""
        last = getattr(self, '_last', None)
        self._limits = limits
        self._limiter = RateLimiter(limits.rate) if np.isfinite(limits.rate).any() else None
        if self._limiter is not None:
            self._limiter.reset(last)

    def reset(self) -> None:
        """Forget the last torque, and start softly again."""
        self._last: Array | None = None
        self._opened: int | None = None
        self._stamp = 0
        if self._limiter is not None:
            self._limiter.reset()

    @property
    def is_open(self) -> bool:
        """Whether a torque has passed since the last reset."""
        return self._last is not None

    def clamp(self, tau: Array) -> Array:
        """Return a torque (n,) within the effort limit."""
        tau, active = saturate(tau, self._limits.effort)
        if active.any():
            self._counts['torque at its limit'] += 1
            self._saturated |= active
        return tau

    def saturated(self) -> Array:
        """Return which joints (n,) were at their effort limit since the last call."""
        joints, self._saturated = self._saturated, np.zeros_like(self._saturated)
        return joints

    def __call__(self, stamp: int, tau: Array) -> Array:
        """Return the torque (n,) to be given for the state with this stamp, ns."""
        if self._opened is None or stamp < self._stamp:
            self._opened = stamp
        part = ramp((stamp - self._opened) / SECOND, self._limits.ramp_time)
        tau = self.clamp(tau if part == 1.0 else part * tau)
        if self._limiter is not None:
            dt = min((stamp - self._stamp) / SECOND, LONGEST_STEP)
            tau, active = self._limiter(tau, dt)
            self._counts['torque at its rate limit'] += bool(active.any())
        self._stamp, self._last = stamp, tau
        return tau
