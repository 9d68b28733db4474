# SPDX-License-Identifier: Apache-2.0
"""What a run of free motion says about thresholds of contact: level, margin and held-out rates.

The largest of a few blocks of time is smaller than the largest of an hour. So a threshold is the
contact factor f times the largest rho of the run, lambda, times a margin

    m = max(1, x / (f lambda)) (1 + 3 / sqrt(N)) max(1, c)

of N blocks of `BLOCK` seconds. x is what rho exceeds once an hour, extrapolated by Gumbel's
distribution of the maxima of blocks; c is the largest rho of a fold of motions, in thresholds of
the other folds. (1 + 3 / sqrt(N)) was found on recordings of three real arms: with it, 30 s of an
arm whose residual drifts gave no false contact in the rest of the recording, without it 110 an
hour.

Rates of false contacts are nested: each fold is compared with thresholds that the others give,
their margin included. Motions of another kind, load or temperature are not part of them.

Sources: Gumbel, "Statistics of Extremes", Columbia University Press 1958; Garwood, "Fiducial
limits for the Poisson distribution", Biometrika 28, 1936.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array

BLOCK = 2.0  # s
FEWEST_BLOCKS = 8  # for Gumbel's distribution
PER_BLOCK = 3.0  # of the margin, by the root of their number
FOLDS = 4
HOUR = 3600.0  # s
CONFIDENCE = 0.95
# Least part of the mean of r^2 that is noise at rest: with almost none there, the largest ratio
# would be that of a standstill, and the threshold of motion without bound.
FLOOR = 0.02
TINY = 1e-300
RIDGE = 1e-9  # of columns that are equal, such as p^2 at constant speed

Noise = tuple[Array, Array, Array]


class FreeSamples(NamedTuple):
    """Samples of free motion.

    Attributes:
        seconds: (k,) of free motion before each, without gaps.
        motion: (k,) number of its motion.
        r: (k, n) size of the external torques, N m or N; NaN: not used.
        p: (k, n) momenta.
        unsettled: (k, n) of the observer, 0 to 1.
    """

    seconds: Array
    motion: Array
    r: Array
    p: Array
    unsettled: Array


class FalseContacts(NamedTuple):
    """Contacts of free motion that was not learned from."""

    number: int
    seconds: float

    def text(self) -> str:
        """Return the number, and the rate as an interval."""
        if not self.seconds:
            return 'none held out'
        low, high = (HOUR / self.seconds * x for x in poisson_interval(self.number))
        seen = f'{self.number or "none"} in {self.seconds:.0f} s'
        rate = f'{low:.3g} to {high:.3g}' if self.number else f'fewer than {high:.3g}'
        return f'{seen}, {rate} an hour ({100 * CONFIDENCE:.0f} %)'


def poisson_interval(count: int) -> tuple[float, float]:
    """Return bounds of the mean of a Poisson variable; without events the upper one is 3.0."""
    from scipy.stats import chi2

    if not count:
        return 0.0, float(-np.log(1 - CONFIDENCE))
    outside = (1 - CONFIDENCE) / 2
    low, high = chi2.ppf(outside, 2 * count) / 2, chi2.isf(outside, 2 * count + 2) / 2
    return float(low), float(high)


class Thresholds(NamedTuple):
    """Noise of the joints and the largest rho, with its margin: (n,) each."""

    noise: Array
    noise_per_momentum: Array
    noise_unsettled: Array
    level: Array
    margin: Array


def deviation(noise: Any, per_momentum: Any, at_reversal: Any, p: Array, unsettled: Any) -> Array:
    """Return sigma (..., n) at momenta p (..., n)."""
    # sigma^2 = sigma_0^2 + sigma_1^2 p^2 + sigma_u^2 u
    squares = np.square(noise) + np.square(per_momentum * p) + np.square(at_reversal) * unsettled
    return np.asarray(np.sqrt(squares))


class HeldOut(NamedTuple):
    """Thresholds of a run, and what the thresholds of its parts say about the other parts."""

    thresholds: Thresholds
    false_contacts: FalseContacts
    of_joints: Array  # (n,) number of false contacts of each joint
    opposed: Array  # (n,) mean of the thresholds plus |r| of samples held out, N m or N
    largest: Array  # (N, n) rho of each block
    where: Array  # (N, n) samples of these


def held_out(samples: FreeSamples, factor: float) -> HeldOut:
    """Return the thresholds of a run, and how many contacts its folds have by those of the others.

    Args:
        samples: at least one.
        factor: of contact.
    """
    return _Run(samples, factor).held_out()


class _Run:
    """A run whose blocks of time are divided into folds of motions."""

    def __init__(self, samples: FreeSamples, factor: float):
        self._factor, self._samples = factor, samples
        edges = np.flatnonzero(np.diff((samples.seconds / BLOCK).astype(int))) + 1
        self._first = np.concatenate([[0], edges])
        self._fold = folds_of(samples, self._first)
        self._used = np.isfinite(samples.r)
        self._sums = self._squares()
        self._kept: dict[frozenset[int], tuple[Thresholds, Array, Array]] = {}

    def held_out(self) -> HeldOut:
        folds = frozenset(self._fold.tolist())
        rule = self._rule(folds)
        number, seconds = 0, 0.0
        of_joints, opposed = np.zeros(len(rule.level), dtype=int), []
        for fold in folds if len(folds) > 2 else ():
            inside = np.repeat(self._fold == fold, self._counts())
            limit, r = self._limits(self._rule(folds - {fold}), inside)
            over: Array = np.greater(r, np.where(limit > 0, limit, np.inf))
            number += _rises(np.reshape(over.any(axis=1), (-1, 1))).sum()
            of_joints += _rises(over)
            opposed.append((limit + r).mean(axis=0))
            seconds += float(np.diff(self._samples.seconds, prepend=0.0)[inside].sum())
        _, largest, where = self._of(folds)
        mean = np.mean(opposed, axis=0) if opposed else np.full(len(rule.level), np.inf)
        found = FalseContacts(int(number), seconds)
        return HeldOut(rule, found, of_joints, mean, largest, where)

    def _rule(self, folds: frozenset[int]) -> Thresholds:
        """Return the thresholds of some folds, with the margin that they have among themselves."""
        found, *_ = self._of(folds)
        if len(folds) < 2:
            return found
        ratio = np.ones(len(found.level))
        for fold in folds:
            other, largest, _ = self._of(folds - {fold})
            limit = self._factor * other.level * other.margin
            out = largest[self._fold == fold].max(axis=0, initial=0.0)
            ratio = np.maximum(
                ratio, np.where(limit > 0, out, 0.0) / np.where(limit > 0, limit, 1)
            )
        return found._replace(margin=found.margin * ratio)

    def _of(self, folds: frozenset[int]) -> tuple[Thresholds, Array, Array]:
        """Return thresholds of folds alone, and the largest rho of every block by their noise."""
        if folds not in self._kept:
            inside = np.isin(self._fold, list(folds))
            noise = _noise(self._sums[inside].sum(axis=0))
            largest, where = self._largest(noise)
            own = largest[inside]
            level = own.max(axis=0, initial=0.0)
            margin = _margin(own, level, self._factor)
            self._kept[folds] = Thresholds(*noise, level, margin), largest, where
        return self._kept[folds]

    def _largest(self, noise: Noise) -> tuple[Array, Array]:
        rho = self._rho(noise)
        largest = np.maximum.reduceat(rho, self._first, axis=0)
        ends = np.append(self._first[1:], len(rho))
        parts = zip(self._first.tolist(), ends.tolist(), strict=True)
        return largest, np.array([start + rho[start:end].argmax(axis=0) for start, end in parts])

    def _rho(self, noise: Noise) -> Array:
        sigma = deviation(*noise, self._samples.p, self._samples.unsettled)
        known = self._used & (sigma > 0)
        return np.where(known, self._samples.r, 0.0) / np.where(sigma > 0, sigma, 1.0)

    def _limits(self, limits: Thresholds, inside: Array) -> tuple[Array, Array]:
        """Return the thresholds, and |r| where it is used, at some samples (k, n) each."""
        p, unsettled = self._samples.p[inside], self._samples.unsettled[inside]
        sigma = deviation(*limits[:3], p, unsettled)
        r = np.where(self._used[inside], self._samples.r[inside], 0.0)
        return self._factor * limits.level * limits.margin * sigma, r

    def _counts(self) -> Array:
        return np.diff(np.append(self._first, len(self._samples.seconds)))

    def _squares(self) -> Array:
        """Return of each block (N, n, 4, 4) the sums of x x^T, x = (1, p^2, u, r^2)."""
        used = self._used.astype(float)
        r = np.where(self._used, self._samples.r, 0.0)
        x = used, used * self._samples.p**2, used * self._samples.unsettled, r**2
        sums = np.empty((len(self._first), r.shape[1], 4, 4))
        for i, j in zip(*np.tril_indices(4), strict=True):
            product = np.add.reduceat(x[i] * x[j], self._first, axis=0)
            sums[..., i, j] = sums[..., j, i] = product
        return sums


def _rises(over: Array) -> Array:
    """Return how often each column (k, n) becomes true (n,)."""
    return np.asarray((np.diff(over.astype(int), axis=0, prepend=0) > 0).sum(axis=0))


def folds_of(samples: FreeSamples, first: Array) -> Array:
    """Return the fold (N,) of each block, with edges where motions begin if there are enough.

    Args:
        samples: of the run.
        first: (N,) the first sample of each block.
    """
    motion, blocks = samples.motion[first], np.arange(len(first))
    begins = np.flatnonzero(np.diff(motion, prepend=motion[0] - 1))
    wanted = len(first) * np.arange(1, FOLDS) / FOLDS
    nearest = [int(begins[np.abs(begins - edge).argmin()]) for edge in wanted]
    # Of too few motions, or none: by time.
    edges = nearest if nearest[0] > 0 and len(set(nearest)) == len(nearest) else wanted
    return np.asarray(np.searchsorted(edges, blocks, side='right'))


def _noise(sums: Array) -> Noise:
    """Return sigma_0, sigma_1, sigma_u, (n,) each, by least squares from sums (n, 4, 4)."""
    at_rest, per_momentum, unsettled = np.sqrt(np.array([_fit(one) for one in sums]).T)
    return at_rest, per_momentum, unsettled


def _fit(sums: Array) -> Array:
    """Return a, at least `FLOOR` of the mean of r^2, and b, c >= 0 of r^2 ~ a + b p^2 + c u.

    Args:
        sums: (4, 4) of x x^T, x = (1, p^2, u, r^2).
    """
    from scipy.optimize import nnls

    count, least = sums[0, 0], np.zeros(3)
    if not count:
        return least
    least[0] = FLOOR * sums[0, 3] / count
    # A^T A [a - least; b; c] = A^T (r^2 - least), each column of A divided by its norm
    norm = np.sqrt(np.maximum(np.diag(sums)[:3], TINY))
    normal = sums[:3, :3] / np.outer(norm, norm)
    L = np.linalg.cholesky(normal + RIDGE * np.eye(3))
    wanted = (sums[:3, 3] - sums[:3, 0] * least[0]) / norm
    found, _ = nnls(L.T, np.linalg.solve(L, wanted))
    return np.asarray(least + found / norm)


def _margin(largest: Array, level: Array, factor: float) -> Array:
    """Return the margin (n,) of the largest rho (N, n) of blocks without those of other folds."""
    count = len(largest)
    margin = np.ones(len(level))
    if count >= FEWEST_BLOCKS:
        # Moments of Gumbel's distribution: mean mu + gamma beta, deviation pi beta / sqrt 6.
        beta = largest.std(axis=0) * np.sqrt(6) / np.pi
        mu = largest.mean(axis=0) - np.euler_gamma * beta
        # Exceeded once an hour: (HOUR / BLOCK) exp(-(x - mu) / beta) = 1
        once = mu + beta * np.log(HOUR / BLOCK)
        margin = np.maximum(1.0, once / np.maximum(factor * level, TINY))
    margin = np.where(level > 0, margin, 1.0)
    return np.asarray(margin * (1 + PER_BLOCK / np.sqrt(max(count, 1))))
