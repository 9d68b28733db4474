"""Effort limits, rate limits and soft start of torques."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.spatial import Array


class Saturated(NamedTuple):
    """Torques after clamping, and a mask of the clamped entries."""

    tau: Array  # (..., n) N m or N
    active: Array  # (..., n) bool

    def report(self, joint_names: tuple[str, ...]) -> list[str]:
        """Return the names of the joints at their limit, in any row."""
        rows = self.active.reshape(-1, len(joint_names))
        return [name for name, hits in zip(joint_names, rows.T, strict=True) if hits.any()]


def saturate(tau: ArrayLike, effort_limit: ArrayLike) -> Saturated:
    """Return torques within +-effort_limit.

    Args:
        tau: (..., n) torques.
        effort_limit: (n,) largest magnitude; inf where there is no limit.
    """
    tau, limit = np.asarray(tau, dtype=float), np.asarray(effort_limit, dtype=float)
    return Saturated(np.clip(tau, -limit, limit), np.abs(tau) > limit)


class RateLimiter:
    """Limit the rate of change of torques to `max_rate` [N m/s or N/s].

    The first torque, and the first after `reset`, passes unchanged.
    """

    def __init__(self, max_rate: ArrayLike):
        self.max_rate = np.asarray(max_rate, dtype=float)
        if not (self.max_rate > 0).all():
            raise ValueError(f'max_rate is {self.max_rate}; it must be positive, inf for no limit')
        self._previous: Array | None = None

    def reset(self, tau: ArrayLike | None = None) -> None:
        """Discard the last torque, or start from a given one (n,)."""
        self._previous = None if tau is None else np.array(tau, dtype=float)

    def __call__(self, tau: ArrayLike, dt: float) -> Saturated:
        """Return the limited torques (n,), `dt` seconds after the previous ones.

        A negative dt counts as 0.
        """
        tau = np.array(tau, dtype=float)
        if self._previous is None:
            self._previous = tau
            return Saturated(tau.copy(), np.zeros(tau.shape, dtype=bool))
        # |tau_k - tau_(k-1)| <= max_rate dt; dt = 0 allows no change, even at infinite rate
        step = self.max_rate * dt if dt > 0 else np.zeros_like(self.max_rate)
        wanted = tau - self._previous
        limited = np.abs(wanted) > step
        if limited.any():
            tau = np.where(limited, self._previous + np.clip(wanted, -step, step), tau)
        self._previous = tau
        return Saturated(tau.copy(), limited)


def ramp(elapsed: float, duration: float) -> float:
    """Return the factor of the torque, 0 to 1, during a soft start of `duration` seconds.

    It is smooth at both ends: torque and torque rate are continuous. A duration of 0 s means no
    soft start.
    """
    if duration <= 0 or elapsed >= duration:
        return 1.0
    s = max(elapsed, 0.0) / duration
    # s^2 (3 - 2 s)
    return s * s * (3.0 - 2.0 * s)
