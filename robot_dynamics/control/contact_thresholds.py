# SPDX-License-Identifier: Apache-2.0
"""Thresholds of contact, learned from free motion.

In free motion the estimated external torques r are what the model, the drives and the sensors do
not get right, and grow with the momentum p, not with the speed alone:

    r_j^2 ~ sigma_0j^2 + sigma_1j^2 p_j^2,    rho_j = |r_j| / sigma_j(p_j),    lambda_j = max rho_j

by non-negative least squares. |r| is the smallest of the last `DEBOUNCE`, without single peaks.
Contact is a rho_j above a multiple of lambda_j. How large that has to be follows from the largest
rho / lambda of each `BLOCK`, whose distribution is that of Gumbel. It extrapolates what was
learned, not motion of another kind: a joint that creeps within its pre-sliding range, where the
memory of friction errs by up to the Coulomb friction c_j, may exceed it. Joints with a factor
c_j / (lambda_j sigma_0j) above 1 are named, with that factor.

An error of a time stamp changes all joint positions by qd times the error, and r along the
momentum: learning reports how much of r is.

Source: Gumbel, "Statistics of Extremes", Columbia University Press 1958.
"""

from __future__ import annotations

from array import array
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.settings import EFFORT, TIME, joint_setting, setting
from robot_dynamics.common.spatial import Array
from robot_dynamics.control.momentum_observer import MomentumObserver

DEBOUNCE = 2.5e-3  # s: three samples at 1 kHz, one at 250 Hz
BLOCK = 10.0  # s
TINY = 1e-12  # N m or N
FEWEST_BLOCKS = 12
CLEAN = 0.9  # probability of an hour without a false contact
ENOUGH = 600.0  # s of free motion to learn from
ALONG = (
    0.4  # share of the torques along the momentum, beyond that of chance, of stamps that jitter
)
# 1/s: poles where stamps jitter, and those along the momentum and of forces. On an arm with the
# errors of a real one, forces are known to 8 % after 50 ms; with 60 1/s to 25 %, and false
# contacts are as many. With poles of 150 1/s steps of torque are found 2 ms later.
FAST_POLES, SLOW_POLES = 200.0, 100.0
SLOW_FACTOR = 1.7  # of contact with those poles; the default is that without
KEPT = np.float32
MOST_SAMPLES = 2_000_000


@dataclass(frozen=True)
class ContactThresholds:
    """External torques of free motion; one number for all joints, or one each."""

    noise: ArrayLike = joint_setting(
        0.0,
        'Standard deviation of the external torques of free motion at rest',
        'N m or N',
        EFFORT,
    )
    noise_per_momentum: ArrayLike = joint_setting(
        0.0, 'Their further standard deviation per momentum of the joint', '1/s', EFFORT
    )
    level: ArrayLike = joint_setting(
        0.0,
        'Largest external torque of free motion, in standard deviations',
        bounds=(0.0, 1e6),
        zero='not learned, no contact is detected',
    )
    learned: float = setting(0.0, 'Length of the free motion they were learned from', 's', TIME)
    forced: bool = setting(
        False, 'They are from a recording that was rejected, written by thresholds --force'
    )

    def sigma(self, p: ArrayLike) -> Array:
        """Return the standard deviations (..., n) at momenta p (..., n)."""
        slope = np.asarray(self.noise_per_momentum) * np.asarray(p)
        return np.asarray(np.hypot(self.noise, slope))


class Debounced:
    """The smallest of the last values |x| (n,) of `DEBOUNCE`."""

    def __init__(self) -> None:
        """Begin without values."""
        self._recent: deque[tuple[float, Array]] = deque()

    def add(self, t: float, x: Array) -> Array:
        """Return the smallest values, with those of the time t [s] as the last."""
        recent = self._recent
        if recent and not 0 < t - recent[-1][0] <= DEBOUNCE:
            recent.clear()
        recent.append((t, np.abs(x)))
        while recent[0][0] < t - DEBOUNCE:
            recent.popleft()
        return np.asarray(np.minimum.reduce([value for _, value in recent]))


class Learned(NamedTuple):
    """Thresholds, and what free motion says about them."""

    thresholds: ContactThresholds
    factor: float  # of contact that leaves 90 % of hours clean; NaN from less than two minutes
    correlation: float  # of the external torques with the momentum, 0 to 1
    missing: tuple[int, ...]  # joints that did not move enough to learn from
    slow_along: bool  # the observer had slower poles along the momentum
    creep: Array  # (n,) factor that friction alone may reach within the pre-sliding range
    kept: tuple[int, ...] = ()  # others that were not learned: those before stay

    @property
    def stamps_jitter(self) -> bool:
        """Whether slower poles along the momentum suppress most of the external torques."""
        # Of n independent joints 1 / n is along any direction.
        chance = 1 / np.size(self.thresholds.level)
        return self.correlation**2 > chance + ALONG * (1 - chance)

    @property
    def creeping(self) -> tuple[int, ...]:
        """Joints whose pre-sliding friction may exceed what was learned."""
        return tuple(np.flatnonzero(self.creep > 1).tolist())

    def text(self, joint_names: tuple[str, ...], contact_factor: float) -> str:
        """Return in a sentence how far the thresholds can be relied on."""
        seconds = self.thresholds.learned
        parts = [f'learned from {seconds:.0f} s of free motion']
        if np.isfinite(self.factor):
            margin = 100 * (contact_factor / self.factor - 1)
            parts.append(
                f'{100 * CLEAN:.0f} % of hours are clean at the factor {self.factor:.2f}; the '
                f'margin of {contact_factor:g} is {margin:.0f} %'
            )
            creeping = [f'{joint_names[j]} {self.creep[j]:.2f}' for j in self.creeping]
            if creeping:
                parts.append(
                    'a joint that creeps within its pre-sliding range may reach the factor '
                    f'{", ".join(creeping)} by friction alone'
                )
        if seconds < ENOUGH:
            parts.append(f'learn for {(ENOUGH - seconds) / 60:.1f} more minutes')
        if self.missing:
            parts.append(f'no thresholds for {_listed(joint_names, self.missing)}: move them')
        if self.kept:
            names = _listed(joint_names, self.kept)
            parts.append(f'thresholds of {names} as before: move them')
        parts.append(f'correlation with the momentum {self.correlation:.2f}')
        if self.stamps_jitter:
            wanted = {'detection.contact_factor': SLOW_FACTOR}
            if not self.slow_along:
                wanted['observer.poles'] = FAST_POLES
                wanted['observer.poles_along_momentum'] = SLOW_POLES
            applied = self.slow_along and contact_factor >= SLOW_FACTOR
            parts.append(
                'as of stamps that jitter: slower poles along the momentum suppress it'
                if applied
                else 'as of stamps that jitter: expected '
                + ', '.join(f'{name} {value:g}' for name, value in wanted.items())
            )
        return '; '.join(parts)


def _listed(joint_names: tuple[str, ...], joints: tuple[int, ...]) -> str:
    return ', '.join(joint_names[j] for j in joints)


class FreeMotion:
    """Samples of an observer in free motion."""

    def __init__(self, n: int):
        """Begin without samples of n joints."""
        self._n, self._debounced = n, Debounced()
        self._samples = array('f')  # t, |r|, p, and r behind one pole: (3 n + 1) per sample
        self._slow_along, self._remembered = False, np.zeros(n)
        self.seconds = 0.0
        self._last = -np.inf

    def add(self, t: float, observer: MomentumObserver) -> None:
        """Add the last update of an observer, at the time t [s]."""
        state = observer.state
        assert state is not None  # it has been updated
        if 0 < t - self._last <= observer.settings.max_gap:
            self.seconds += t - self._last
        self._last = t
        settings = observer.settings
        self._slow_along = settings.poles_along_momentum < settings.poles
        friction = observer.friction
        self._remembered = friction.law.memory * friction.coefficients['coulomb']
        r = self._debounced.add(t, observer.prompt_torque)
        if len(self._samples) >= MOST_SAMPLES * (3 * self._n + 1):
            return
        known = np.where(observer.friction_known, r, np.nan)
        fast = state.along + state.across
        row = np.concatenate([[self.seconds], known, state.p, fast], dtype=KEPT)
        self._samples.frombytes(row.tobytes())

    def learned(self) -> Learned:
        """Return the thresholds."""
        table = np.array(self._samples, dtype=float).reshape(-1, 3 * self._n + 1)
        t, (r, p, fast) = table[:, 0], np.split(table[:, 1:], 3, axis=1)
        used = np.isfinite(r)
        fits = [_fit(r[used[:, j], j], p[used[:, j], j]) for j in range(self._n)]
        noise, slope = np.array(fits).T
        learned = ContactThresholds(noise, slope, 0.0, self.seconds)
        sigma = learned.sigma(p)
        rho = np.where(used & (sigma > 0), r, 0.0) / np.where(sigma > 0, sigma, 1.0)
        level = rho.max(axis=0, initial=0.0)
        missing = tuple(np.flatnonzero(level == 0).tolist())
        excess = (rho / np.where(level > 0, level, 1.0)).max(axis=1, initial=0.0)
        return Learned(
            ContactThresholds(noise, slope, level, self.seconds),
            _factor(t, excess),
            _correlation(fast, p),
            missing,
            self._slow_along,
            np.where(level > 0, self._remembered, 0.0) / np.maximum(level * noise, TINY),
        )


def _fit(r: Array, p: Array) -> tuple[float, float]:
    """Return sigma_0 and sigma_1 of a joint, each not negative."""
    if not len(r):
        return 0.0, 0.0
    from scipy.optimize import nnls

    size = max(float(np.max(p**2)), 1e-300)
    X = np.column_stack([np.ones_like(p), p**2 / size])
    # The sums of squares are all that least squares needs.
    R = np.asarray(np.linalg.qr(np.column_stack([X, r**2]), 'r'))
    variance, slope = nnls(R[:, :2], R[:, 2])[0]
    return float(np.sqrt(variance)), float(np.sqrt(slope / size))


def _correlation(d: Array, p: Array) -> float:
    """Return the share of torques d (k, n), in the units of their size, along p; its root."""
    size = np.maximum(np.sqrt(np.mean(d**2, axis=0)), 1e-300) if len(d) else 1.0
    d, p = d / size, p / size
    # (d . p)^2 / |p|^2
    along = (d * p).sum(axis=1) ** 2 / np.maximum((p**2).sum(axis=1), 1e-300)
    return float(np.sqrt(along.sum() / max(float((d**2).sum()), 1e-300)))


def _factor(t: Array, excess: Array) -> float:
    """Return the multiple of the largest excess that leaves 90 % of hours clean, by blocks."""
    blocks = (t / BLOCK).astype(int)
    edges = np.flatnonzero(np.diff(blocks)) + 1
    largest = np.array([x.max() for x in np.split(excess, edges)[:-1]])
    if len(largest) < FEWEST_BLOCKS:
        return float('nan')
    # Moments of Gumbel's distribution: mean mu + gamma beta, standard deviation pi beta / sqrt 6
    beta = largest.std() * np.sqrt(6) / np.pi
    mu = largest.mean() - np.euler_gamma * beta
    # N exp(-(x - mu) / beta) = -ln 0.9,  N blocks per hour
    return float(mu + beta * (np.log(3600.0 / BLOCK) - np.log(-np.log(CLEAN))))
