# SPDX-License-Identifier: Apache-2.0
"""Certainty of the fitted parameters.

    H^-1 (sum_j c_j v_j A_j^T A_j + sum_b A_b^T A_b D A_b^T A_b + prior) H^-1,
    H = sum_j A_j^T A_j + prior

with the weighted equations A_j of a joint, the mean square v_j of its weighted residuals and the
number c_j of neighbouring rows that count as one. D is the variance of friction between recordings
b, such as of different days: each recording has its own, and the fit their mean.

Sources: Liang and Zeger, "Longitudinal data analysis using generalized linear models", Biometrika
73(1), 1986; DerSimonian and Laird, "Meta-analysis in clinical trials", Controlled Clinical Trials
7(3), 1986.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.identification.estimation.equations import (
    Estimate,
    Problem,
    Terms,
    linear_problem,
    rows_of_joint,
    split,
)
from robot_dynamics.identification.estimation.pseudo_inertia import (
    PRIOR,
    Bodies,
    description_curvature,
)

INEXACT = 0.02  # standard deviation of the scale of a joint's efforts, if it is not estimated


class Pooled(NamedTuple):
    """Mean of several estimates of one value, which differ by more than their errors."""

    value: float
    error: float
    between: float  # variance of the value between the estimates


def pooled(values: Array, errors: Array) -> Pooled:
    """Return the mean of estimates (k,) with standard deviations (k,): DerSimonian and Laird."""
    w = 1 / errors**2
    mean = float(w @ values / w.sum())
    # Q = sum w (x - mean)^2,   between = (Q - (k - 1)) / (sum w - sum w^2 / sum w)
    excess = float(w @ (values - mean) ** 2) - (len(values) - 1)
    scale = float(w.sum() - w @ w / w.sum())
    between = max(0.0, excess / scale) if len(values) > 1 else 0.0
    w = 1 / (errors**2 + between)
    return Pooled(float(w @ values / w.sum()), float(1 / np.sqrt(w.sum())), between)


def covariance_of(
    problem: Problem, terms: Terms, weight: Array, spread: Array, x: Estimate
) -> tuple[Array, Array]:
    """Return the covariance (P, P) of an estimate, and the prior deviations (10 nb,).

    Efforts of a scale that is not estimated are exact but for a factor 1 + INEXACT e of each
    joint, with e of unit variance: the estimate changes with it by H^-1 A_j^T b_j.

    Bounds are disregarded: the errors of coefficients that are 0 are those they would have.
    """
    p, scaled = len(x.theta), problem.scaled
    A, _ = linear_problem(problem, terms, weight, x)
    A = np.column_stack([scaled.columns(A[:, :p]), A[:, p:]])
    H = A.T @ A
    middle = H.copy()
    own = [_equations(problem, terms, weight, x, j) for j in range(len(x.gain))]
    for size, (R, _) in zip(spread, own, strict=True):
        middle += (size - 1) * R.T @ R
    for more in _between_recordings(problem, terms, weight, x):
        middle += more
    # At the description: near a bound the divergence rises steeply, which is no information.
    curvature = description_curvature(PRIOR)
    for i in range(scaled.nb):
        at = slice(10 * i, 10 * i + 10)
        H[at, at] += curvature
        middle[at, at] += curvature
    inverse = _inverse(H, _estimated(problem, H))
    cov = inverse @ middle @ inverse
    by_scale = [INEXACT * R.T @ b for j, (R, b) in enumerate(own) if not problem.unknown[j]]
    if by_scale:
        change = np.array(by_scale) @ inverse
        cov = cov + change.T @ change
    maps = np.zeros_like(H)
    maps[p:, p:] = np.eye(len(H) - p)
    for i, M in enumerate(scaled.maps):
        maps[10 * i : 10 * i + 10, 10 * i : 10 * i + 10] = M
    return maps @ cov @ maps.T, _prior_deviations(scaled, curvature)


def _equations(
    problem: Problem, terms: Terms, weight: Array, x: Estimate, j: int
) -> tuple[Array, Array]:
    """Return the weighted equations of a joint by scaled unknowns: columns, right-hand side."""
    p = len(x.theta)
    R = rows_of_joint(problem, terms, weight, x, j)
    return np.column_stack([problem.scaled.columns(R[:, :p]), R[:, p:-1]]), R[:, -1]


def _between_recordings(
    problem: Problem, terms: Terms, weight: Array, x: Estimate
) -> Iterator[Array]:
    """Yield A_b^T A_b D A_b^T A_b (P, P) of each recording b and joint."""
    numbers = np.unique(terms.recording)
    between = _between(terms, weight, x, numbers)
    for number in numbers:
        rows = terms.recording == number
        for j in np.flatnonzero(between.any(axis=1)).tolist():
            R, _ = _equations(problem, terms.select(rows), weight[rows], x, j)
            of = split(problem, np.arange(R.shape[1]))
            change = R.T @ R[:, of.friction[j]]
            yield change * between[j] @ change.T


def _prior_deviations(scaled: Bodies, curvature: Array) -> Array:
    """Return the standard deviations (10 nb,) of the parameters by the description alone."""
    inverse = np.linalg.inv(curvature)
    return np.concatenate([np.sqrt((M @ inverse @ M.T).diagonal()) for M in scaled.maps])


def _estimated(problem: Problem, H: Array) -> Array:
    """Return the indices of the unknowns that are estimated, by their information H (P, P)."""
    of = split(problem, np.arange(len(H)))
    known = [of.gain[~problem.unknown]]
    known += [of.load if problem.load is None else of.load[~problem.load.unknown]]
    return np.setdiff1d(np.flatnonzero(H.diagonal() > 0), np.concatenate(known))


def _inverse(H: Array, free: Array) -> Array:
    """Return the inverse (P, P) of H for some of the unknowns, scaled to a unit diagonal."""
    unit = np.sqrt(H.diagonal()[free])
    inverse = np.zeros_like(H)
    inverse[np.ix_(free, free)] = np.linalg.pinv(
        H[np.ix_(free, free)] / np.outer(unit, unit), rcond=1e-14, hermitian=True
    ) / np.outer(unit, unit)
    return inverse


def small_sample_factor(blocks: int) -> float:
    """Return the factor of errors after which three of them cover what those of many blocks do.

    A variance from a few blocks is uncertain itself: Student's t with `blocks` - 1 degrees.
    """
    from scipy.stats import norm, t

    return float(t.ppf(norm.cdf(3), blocks - 1) / 3)


def regressed(features: Array, right: Array, weight: Array, block: Array) -> tuple[Array, Array]:
    """Return coefficients (terms,) of features beside an offset, and their standard deviations.

    Args:
        features: (K, terms).
        right: (K,) right-hand side.
        weight: (K,) of the rows.
        block: (K,) number of the block of time; residuals of different blocks are independent.
    """
    F = weight[:, None] * np.column_stack([features, np.ones(len(features))])
    G = np.linalg.pinv(F.T @ F, rcond=1e-10, hermitian=True)
    x = G @ F.T @ (weight * right)
    scores = (F * (weight * right - F @ x)[:, None]).T
    sums = np.array([np.bincount(block, score) for score in scores])
    return x[:-1], np.sqrt((G @ sums @ sums.T @ G).diagonal())[:-1]


def _between(terms: Terms, weight: Array, x: Estimate, recordings: Array) -> Array:
    """Return the variance (n, terms) of the friction coefficients between recordings.

    Those of each recording are estimated by the residual of the fit, with an offset.
    """
    residual, variance = terms.effort - terms.predicted(x), np.zeros_like(x.friction)
    for j in range(len(variance) if len(recordings) > 1 else 0):
        found = []
        for number in recordings:
            rows = terms.recording == number
            columns = terms.features[rows, j], residual[rows, j], weight[rows, j]
            found.append(regressed(*columns, terms.block[rows]))
        values, errors = (np.array(part) for part in zip(*found, strict=True))
        for k in np.flatnonzero((errors > 0).all(axis=0)):
            variance[j, k] = pooled(values[:, k], errors[:, k]).between
    return variance
