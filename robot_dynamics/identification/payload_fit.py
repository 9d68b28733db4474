"""Least squares of a payload and of the drives that move it, with standard errors.

    effort_j - model_j = Y_j theta + f_j . friction features + o_j + s_j (model_j + Y_j theta)

with the ten parameters theta of the payload, and of each joint friction f, an offset o and the
error s of the scale of its efforts. Scales are not exact: their errors have a normal prior, of the
standard deviation that makes the data most probable, 2 % at most.

Errors are those of the jackknife, blocks of time left out one after the other, so that coloured
noise and friction that follows another law count as well; and those of the scales, as far as their
prior determines them.

Sources: Efron and Stein, "The jackknife estimate of variance", Annals of Statistics 9(3), 1981;
Bishop, Pattern Recognition and Machine Learning (2006), section 3.5 (priors from the data).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.identification.parameter_fit import INEXACT
from robot_dynamics.spatial import Array

BLOCKS = 24  # of time, left out one after the other
ENOUGH_SAMPLES = 200  # of a moving joint: fewer determine no friction
WEIGHTINGS = 3
INEXACTS = INEXACT * np.geomspace(0.025, 1, 9)  # standard deviations of scales that are tried
FLOOR = 1e-4  # of the effort: lowest standard deviation of a residual
RANK = 1e-5  # relative, of scaled columns: combinations below are not determined
ROUNDING = 1e-12  # relative: a column that is smaller is zero
LOOSE = 1e-3  # part of a parameter in a combination that is not determined


class Rows(NamedTuple):
    """Low-passed samples of a motion."""

    excess: Array  # (k, n) effort minus model
    Y: Array  # (k, n, 10) torques of unit parameters of the payload
    model: Array  # (k, n) torques of the model
    features: Array  # (k, n, f) of friction and offset; none: they are known
    moving: Array  # (k, n) bool: samples that are used


class PayloadFit(NamedTuple):
    """Ten payload parameters, then the unknowns of each joint; the last is its scale."""

    theta: Array  # (P,)
    left_out: Array  # (BLOCKS, P) without one block of time each
    by_scale: Array  # (n, P) changes by one standard deviation of each scale's prior
    free: Array  # (P, f) directions that are not determined
    residual: Array  # (n,) root mean square

    @property
    def value(self) -> Array:
        """m, c and the tensor about c (10,)."""
        return _values(self.theta)

    @property
    def error(self) -> Array:
        """Their standard errors (10,), infinite where they are not determined."""
        noise = _jackknife(np.array([_values(theta) for theta in self.left_out]))
        changes = [_values(self.theta + change) - self.value for change in self.by_scale]
        error = np.sqrt(noise**2 + (np.array(changes) ** 2).sum(axis=0))
        return np.asarray(np.where(_undetermined(self.free[:10]), np.inf, error))

    @property
    def scales(self) -> tuple[Array, Array]:
        """Factors (n,) between efforts and model, and their standard errors; 1 if not fitted."""
        n = len(self.residual)
        if not len(self.by_scale):
            return np.ones(n), np.zeros(n)
        at = _scales(len(self.theta), n)
        noise = _jackknife(self.left_out[:, at])
        return 1 + self.theta[at], np.hypot(noise, np.linalg.norm(self.by_scale[:, at], axis=0))


def fit_payload(rows: Rows) -> PayloadFit:
    """Return the payload, by weighted least squares; some joint has to move."""
    excess, Y, model, features, moving = rows
    n, blocks = excess.shape[1], np.array_split(np.arange(len(excess)), BLOCKS)
    own = features.shape[2] + 1 if features.shape[2] else 0
    P = 10 + own * n
    moving = moving & (moving.sum(axis=0) >= ENOUGH_SAMPLES)
    sigma, theta = np.ones(n), np.zeros(P)
    for _ in range(WEIGHTINGS):
        torque = (model + Y @ theta[:10])[..., None]
        columns = np.concatenate([features, torque], axis=2) if own else features
        A, b = np.zeros((BLOCKS, P, P)), np.zeros((BLOCKS, P))
        for j in range(n):
            at = [*range(10), *range(10 + own * j, 10 + own * (j + 1))]
            X = np.hstack([Y[:, j], columns[:, j]]) / sigma[j]
            for k, block in enumerate(blocks):
                used = block[moving[block, j]]
                A[np.ix_([k], at, at)] += X[used].T @ X[used]
                b[k, at] += X[used].T @ (excess[used, j] / sigma[j])
        scales = _scales(P, n) if own else np.zeros(0, dtype=int)
        prior = np.zeros((P, P))
        if own:
            inexact = _inexact(A.sum(axis=0), b.sum(axis=0), scales)
            prior[scales, scales] = 1 / inexact**2
        theta, free = _solution(A.sum(axis=0) + prior, b.sum(axis=0))
        of_joints = np.einsum('kjf,jf->kj', columns, theta[10:].reshape(n, own))
        rest = (excess - Y @ theta[:10] - of_joints) * moving
        residual = np.sqrt((rest**2).sum(axis=0) / np.maximum(moving.sum(axis=0), 1))
        # Neighbouring samples are not independent: c of them count as one.
        sums = np.array([rest[block].sum(axis=0) for block in blocks])
        c = (sums**2).sum(axis=0) / np.maximum((rest**2).sum(axis=0), 1e-300)
        least = FLOOR * np.abs(excess).max() + 1e-12
        sigma = np.sqrt(np.maximum(c, 1)) * np.maximum(residual, least)
    whole, right = A.sum(axis=0) + prior, b.sum(axis=0)
    left_out = [_solution(whole - A[k], right - b[k])[0] for k in range(BLOCKS)]
    unit = np.sqrt(prior[scales])
    by_scale = [_solution(whole, one)[0] for one in unit]
    return PayloadFit(theta, np.array(left_out), np.array(by_scale), free, residual)


def _scales(unknowns: int, n: int) -> Array:
    """Return the indices (n,) of the scales, the last unknown of each joint."""
    own = (unknowns - 10) // n
    return np.arange(10 + own - 1, unknowns, own)


def _inexact(A: Array, b: Array, scales: Array) -> float:
    """Return the standard deviation of the scales' errors that makes the data most probable.

    With the other unknowns eliminated, and s the deviation, the probability of the data is

        log p = b^T (A + 1 / s^2)^-1 b / 2 - log det(1 + s^2 A) / 2 + const
    """
    others = np.setdiff1d(np.arange(len(b)), scales)
    share = np.array([_solution(A[np.ix_(others, others)], A[others, k])[0] for k in scales])
    own = A[np.ix_(scales, scales)] - share @ A[np.ix_(others, scales)]
    values, axes = np.linalg.eigh((own + own.T) / 2)
    values = np.maximum(values, 0.0)
    along = axes.T @ (b[scales] - share @ b[others])
    s2 = INEXACTS[:, None] ** 2
    log_p = (s2 * along**2 / (1 + s2 * values) - np.log1p(s2 * values)).sum(axis=1)
    return float(INEXACTS[np.argmax(log_p)])


def _jackknife(left_out: Array) -> Array:
    """Return standard errors (...) from values (BLOCKS, ...) without one block each."""
    spread = left_out - left_out.mean(axis=0)
    return np.asarray(_few(BLOCKS) * np.sqrt((BLOCKS - 1) / BLOCKS * (spread**2).sum(axis=0)))


def _few(blocks: int) -> float:
    """Return the factor of errors after which three of them cover what those of many blocks do."""
    from scipy.stats import norm, t

    return float(t.ppf(norm.cdf(3), blocks - 1) / 3)


def _solution(A: Array, b: Array) -> tuple[Array, Array]:
    """Return the least squares of normal equations, and the free directions (P, f)."""
    size = np.sqrt(A.diagonal())
    size = np.where(size > ROUNDING * size.max(), size, np.inf)
    values, vectors = np.linalg.eigh(A / np.outer(size, size))
    kept = values > RANK**2
    x = vectors[:, kept] @ ((vectors[:, kept].T @ (b / size)) / values[kept])
    return x / size, vectors[:, ~kept]


def _undetermined(free: Array) -> Array:
    """Return which of m, c and the tensor (10,) change along free directions (10, f)."""
    loose = np.asarray((np.abs(free) > LOOSE).any(axis=1))
    loose[1:4] |= loose[0]
    loose[4:] |= loose[:4].any()
    return loose


def _values(theta: Array) -> Array:
    """Return m, c and the tensor about c (10,) of the parameters m, m c and tensor."""
    m, h = theta[0], theta[1:4]
    c = h / m if m != 0 else np.zeros(3)
    about_c = m * (c @ c * np.eye(3) - np.outer(c, c))
    return np.array([m, *c, *(theta[4:10] - about_c[np.triu_indices(3)])])
