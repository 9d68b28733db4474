"""What the drives allow: torques clamped to their limits, changes to a rate, and a soft start."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.spatial import Array


class Saturated(NamedTuple):
    """Torques after clamping, and where the clamp was felt."""

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
    """Let torques change by no more than `max_rate` [N m/s or N/s] per second.

    The first torque passes unchanged: there is nothing to compare it with. `reset` forgets.
    """

    def __init__(self, max_rate: ArrayLike):
        self.max_rate = np.asarray(max_rate, dtype=float)
        if not (self.max_rate > 0).all():
            raise ValueError(f'max_rate is {self.max_rate}; it must be positive, inf for no limit')
        self._previous: Array | None = None

    def reset(self, tau: ArrayLike | None = None) -> None:
        """Forget the last torque, or start from a given one (n,)."""
        self._previous = None if tau is None else np.array(tau, dtype=float)

    def __call__(self, tau: ArrayLike, dt: float) -> Saturated:
        """Return the torques (n,) that may be applied `dt` seconds after the previous ones.

        A step back in time counts as no time at all.
        """
        tau = np.array(tau, dtype=float)
        if self._previous is None:
            self._previous = tau
            return Saturated(tau.copy(), np.zeros(tau.shape, dtype=bool))
        # |tau_k - tau_(k-1)| <= max_rate dt; without time nothing changes, even at infinite rate
        step = self.max_rate * dt if dt > 0 else np.zeros_like(self.max_rate)
        wanted = tau - self._previous
        limited = np.abs(wanted) > step
        if limited.any():
            tau = np.where(limited, self._previous + np.clip(wanted, -step, step), tau)
        self._previous = tau
        return Saturated(tau.copy(), limited)


def ramp(elapsed: float, duration: float) -> float:
    """Return the part of the torque, 0 to 1, that a soft start of `duration` seconds gives.

    It is smooth at both ends, so that neither torque nor its rate jumps. Without a duration, 0 s,
    there is no soft start.
    """
    if duration <= 0 or elapsed >= duration:
        return 1.0
    s = max(elapsed, 0.0) / duration
    # s^2 (3 - 2 s)
    return s * s * (3.0 - 2.0 * s)
