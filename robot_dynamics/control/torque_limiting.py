# SPDX-License-Identifier: Apache-2.0
"""Effort limit, soft start and rate limit of published torques.

Every torque passes the gate: that of the control law, the gravity torque when joint states are
missing, the last torques when the node is disabled. The first torque begins at zero, later ones at
the torque that was published last, and they change by no more than the rate limit.

Time is the joint states' own, so that the same states give the same torques. A repeated state gets
the same answer.
"""

from __future__ import annotations

import math
from collections import Counter
from copy import deepcopy
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.core.model.robot_model import RobotModel

LONGEST_STEP = 0.02  # s; between two torques the rate limit counts no more time than this
WRENCH_SHARE = 0.5  # of the effort limits, for the torque of a target wrench
TO_FULL_EFFORT = 0.1  # s, of the default rate limit
ANOTHER_CLOCK = 1.0  # s; stamps further back are of another clock, which counts from there


class Limits(NamedTuple):
    """Limits of the torques."""

    effort: Array  # (n,) N m or N; inf for no limit
    rate: Array  # (n,) N m/s or N/s, positive; inf for no limit
    ramp_time: float  # s, of the soft start; 0 for none
    step: Array | float = np.inf  # (n,) N m or N, from one torque to the next, positive

    def clamped(self, tau: Array) -> Array:
        """Return torques (..., n) within the effort limits."""
        # np.clip takes three times as long for a few joints.
        return np.minimum(np.maximum(tau, -self.effort), self.effort)


def torque_limits(
    model: RobotModel, scale: float, rate: Array, step: Array, ramp_time: float
) -> Limits:
    """Return the limits of a robot's torques.

    Args:
        model: for its effort limits.
        scale: fraction of them.
        rate: (n,) N m/s or N/s; negative: full effort in TO_FULL_EFFORT; 0: no limit.
        step: (n,) N m or N, from one torque to the next; 0: no limit.
        ramp_time: s, of the soft start.
    """
    full = model.effort_limit / TO_FULL_EFFORT
    return Limits(
        effort=scale * model.effort_limit,
        rate=np.where(rate > 0, rate, np.where(rate < 0, full, np.inf)),
        ramp_time=ramp_time,
        step=np.where(step > 0, step, np.inf),
    )


class TorqueGate:
    """Limits torques, and keeps the last one.

    Attributes:
        last: the torque (n,) that passed last; zero at first.
        is_open: whether a torque has passed since the gate was made or closed.
    """

    def __init__(self, limits: Limits, counts: Counter[str], last: Array | None = None):
        """Begin at a torque.

        Args:
            limits: see Limits.
            counts: receives how often a limit was active.
            last: (n,) the torque published last, N m or N; zero if None.
        """
        self._counts = counts
        self._saturated = np.zeros(len(limits.effort), dtype=bool)
        self.last = np.zeros(len(limits.effort)) if last is None else np.array(last)
        self.limit(limits)
        self.close()

    def limit(self, limits: Limits) -> None:
        """Continue with other limits. Raises ValueError if a rate or step is not positive."""
        for name, most in (('rate', limits.rate), ('step', limits.step)):
            if not np.all(np.asarray(most) > 0):
                raise ValueError(f'{name} is {most}; it must be positive, inf for no limit')
        self._limits = deepcopy(limits)
        self._has_step = bool(np.isfinite(limits.step).any())
        self._has_rate = bool(np.isfinite(limits.rate).any() or self._has_step)

    def soften(self) -> None:
        """Begin another soft start, from the last torque."""
        self._base: Array | None = self.last  # of the soft start; None once it is over
        self._elapsed = 0.0  # s, of the soft start
        self._stamp = -1  # ns, of the newest state since then

    def begin_with(self, tau: Array) -> bool:
        """Let a soft start begin with another torque (n,); return whether there is one."""
        if self._base is None:
            return False
        self._base = np.array(tau)
        if self._stamp < 0:
            self.last = self._base
        return True

    def close(self) -> None:
        """Count as not open until the next torque, which starts softly from the last one."""
        self.is_open = False
        self.soften()

    def reached(self, tau: Array) -> bool:
        """Return whether the last torque is this one (n,), as far as the effort limits allow."""
        return np.array_equal(self.last, self._limits.clamped(tau))

    def saturated(self) -> Array:
        """Return which joints (n,) were at their effort limit since the last call."""
        joints, self._saturated = self._saturated, np.zeros_like(self._saturated)
        return joints

    def __call__(self, stamp: int, tau: Array) -> Array:
        """Return the torque (n,) to be given for the state with this stamp, ns.

        A step back in time counts as no time, and so does the return to the newest stamp.
        """
        dt = 0.0 if self._stamp < 0 else (stamp - self._stamp) / SECOND
        if self._stamp < 0 or dt > 0 or dt < -ANOTHER_CLOCK:
            self._stamp = stamp
        dt = max(dt, 0.0)
        if self._base is not None:
            self._elapsed += dt
            part = ramp(self._elapsed, self._limits.ramp_time)
            if part == 1.0:
                self._base = None
            else:
                tau = self._base + part * (tau - self._base)
        return self.step(tau, min(dt, LONGEST_STEP))

    def step(self, tau: Array, dt: float) -> Array:
        """Return the torque (n,) to be given `dt` [s] after the last one, without soft start.

        It is the last one instead of one that is not finite. Infinite dt: the limits of rate and
        step do not apply.
        """
        if not all(map(math.isfinite, tau.tolist())):
            self._counts['torque not finite'] += 1
            tau = self.last
        effort, rate = self._limits.effort, self._limits.rate
        beyond = np.abs(tau) > effort
        if np.count_nonzero(beyond):  # a fifth of the time of any()
            tau = self._limits.clamped(tau)
            self._counts['torque at its limit'] += 1
            self._saturated |= beyond
        if self._has_rate:
            # |tau_k - tau_(k-1)| <= rate dt; dt = 0 allows no change, even at infinite rate
            most = rate * dt if dt > 0 else np.zeros_like(rate)
            if self._has_step and dt < np.inf:
                most = np.minimum(most, self._limits.step)
            change = tau - self.last
            too_fast = np.abs(change) > most
            if np.count_nonzero(too_fast):
                tau = np.where(too_fast, self.last + np.clip(change, -most, most), tau)
                self._counts['torque at its rate limit'] += 1
        self.last, self.is_open = tau.copy(), True
        return tau


def largest_factor(F: Array, tau: Array, effort: Array, most: tuple[float, float]) -> float:
    """Return the factor up to which a wrench leaves the arm half of its efforts; maybe inf.

    Args:
        F: (6,) the wrench, angular part first, N m and N.
        tau: (n,) its torque J^T F, N m or N.
        effort: (n,) limits of the torques, N m or N; inf where there are none.
        most: N m and N, largest parts of the wrench if an effort limit is infinite.
    """
    sizes, bounds = np.abs(tau), WRENCH_SHARE * effort
    if np.isinf(effort).any():
        sizes = np.concatenate([sizes, [np.linalg.norm(F[:3]), np.linalg.norm(F[3:])]])
        bounds = np.concatenate([bounds, most])
    acts = sizes > 0
    with np.errstate(over='ignore'):
        # factor |J^T F|_j <= effort_j / 2
        return float((bounds[acts] / sizes[acts]).min(initial=np.inf))


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
