# SPDX-License-Identifier: Apache-2.0
"""Weighted, physically consistent fit of all parameters of an arm: `equations` has the unknowns.

Rows of a joint are weighted with 1 / (sigma sqrt(c)), those in motion and those at rest by
themselves: sigma is the standard deviation of the residual of the joint's own least squares, and c
the number of neighbouring rows that count as one, since residuals of an arm are not white. Where
the scale of a joint's efforts is given, but not exactly, joints disagree about the links that they
share: sigma includes what the fit leaves for it, as far as that scale explains it. With unknown
gains the problem is solved by Gauss-Newton steps, which are halved where they do not lower the
objective.

Sources: Gautier, Dynamic identification of robots with power model, ICRA 1997 (weights per
joint); Liang and Zeger, "Longitudinal data analysis using generalized linear models", Biometrika
73(1), 1986 (sums over blocks as independent).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.identification.estimation.covariance import (
    INEXACT,
    covariance_of,
    small_sample_factor,
)
from robot_dynamics.identification.estimation.equations import (
    Estimate,
    Problem,
    Terms,
    linear_problem,
    lower_bounds,
    split,
    unpacked,
)
from robot_dynamics.identification.estimation.pseudo_inertia import PRIOR, closest_consistent

MAX_STEPS = 10
WEIGHTINGS = 3  # fits with weights that include what inexact scales leave
HALVINGS = (1.0, 0.5, 0.25, 0.125)  # of a step that does not lower the objective
CONVERGED = 1e-3  # relative change of the objective
CERTAIN_GAIN = 5.0  # standard deviations of a drive gain that the description shows
FEWEST = 10  # rows of a joint at rest, or in motion, with a standard deviation of their own
LEAST_BLOCKS = 3  # of which a variance is known at all
FLOOR = 1e-4  # of the effort: least standard deviation of a residual
LONG, MANY = 8, 10  # blocks of time: a longer one, at most, and the least number of longer ones
RANK = 1e-8  # relative: columns below it are dependent


@dataclass(frozen=True, eq=False)
class Fit:
    """Result of a fit.

    Attributes:
        problem: what was fitted.
        estimate: its solution.
        terms: the rows.
        weight: (K, n) of the rows.
        spread: (n,) sum_blocks (sum r)^2 / K of the weighted residuals, times `lasting`,
            with the factor of a few blocks.
        error: standard deviations, in the fields of an estimate; the description counts as an
            observation of theta with the weight PRIOR.
        prior: (10 nb,) standard deviations of theta by the description alone.
    """

    problem: Problem
    estimate: Estimate
    terms: Terms
    weight: Array
    spread: Array
    error: Estimate
    prior: Array


def fit(problem: Problem, progress: Callable[[str], None] = lambda _: None) -> Fit:
    """Return the physically consistent parameters that fit best, with their certainty.

    Raises:
        SolverError: the convex solver is not installed, or fails.
    """
    terms = problem.terms(problem.start)
    x, weight = estimate(problem, terms, progress)
    if 'load' in problem.law.terms:
        terms = problem.terms(x)
    residual = weight * (terms.effort - terms.predicted(x))
    spread = lasting(terms, residual) * spreads(terms, residual)
    # Friction, rotor inertia and offset of a joint take up some of its blocks.
    own = len(problem.law.terms) + 2
    spread *= small_sample_factor(max(len(np.unique(terms.block)) - own, LEAST_BLOCKS)) ** 2
    covariance, prior = covariance_of(problem, terms, weight, spread, x)
    variance = np.maximum(covariance.diagonal(), 0.0)
    return Fit(problem, x, terms, weight, spread, split(problem, np.sqrt(variance)), prior)


def estimate(
    problem: Problem, terms: Terms, progress: Callable[[str], None] = lambda _: None
) -> tuple[Estimate, Array]:
    """Return the physically consistent parameters that fit best, and the weights (K, n)."""
    own, alike = own_weights(problem, terms)
    x, weight = start(problem, terms), own / np.sqrt(alike)
    x, terms = _weighted_estimate(problem, terms, weight, x, progress)
    for _ in range(0 if problem.gains else WEIGHTINGS):
        weight = own / np.sqrt(alike * (1 + inexact_part(terms, own, x)))
        x, terms = _weighted_estimate(problem, terms, weight, x, progress)
    return x, weight


def inexact_part(terms: Terms, own: Array, x: Estimate) -> Array:
    """Return the variance (n,) that inexact scales add to the weighted residuals of each joint.

    It is bounded, so that a joint that the model fits badly for another reason keeps its weight:

        min(v_j - 1, INEXACT^2 mean (w_j effort_j)^2),    v_j = mean (w_j r_j)^2

    Args:
        terms: the rows.
        own: (K, n) weights by which the residuals of each joint's own fit have variance 1.
        x: the fit of all joints.
    """
    left = (own**2 * (terms.effort - terms.predicted(x)) ** 2).mean(axis=0) - 1
    largest = INEXACT**2 * (own**2 * terms.effort**2).mean(axis=0)
    return np.asarray(np.clip(left, 0.0, largest))


def _weighted_estimate(
    problem: Problem,
    terms: Terms,
    weight: Array,
    x: Estimate,
    progress: Callable[[str], None],
) -> tuple[Estimate, Terms]:
    """Return the solution for given weights, from an estimate; and the rows with its load."""
    lower, loaded = lower_bounds(x), 'load' in problem.law.terms
    if loaded:
        terms = problem.terms(x)
    size = _objective(problem, terms, weight, x)
    for step in range(MAX_STEPS):
        progress(f'convex problem {step + 1}')
        A, b = linear_problem(problem, terms, weight, x)
        found = unpacked(problem, x, *closest_consistent(A, b, problem.scaled, lower, PRIOR))
        if not (problem.gains or loaded):
            return found, terms
        previous = size
        for share in HALVINGS:
            candidate = x.towards(found, share, problem.scaled)
            of_load = problem.terms(candidate) if loaded else terms
            size = _objective(problem, of_load, weight, candidate)
            if size < previous:
                break
        else:
            break
        x, terms = candidate, of_load
        if previous - size < CONVERGED * size:
            break
    return x, terms


def _objective(problem: Problem, terms: Terms, weight: Array, x: Estimate) -> float:
    """Return the weighted squares of the residuals and the divergence from the description."""
    squares = ((weight * (terms.effort - terms.predicted(x))) ** 2).sum()
    if (load := problem.load) is not None:
        on = load.unknown
        squares += (((x.load - load.value)[on] / load.deviation[on]) ** 2).sum()
    divergence = np.trace(x.X, axis1=1, axis2=2) - np.linalg.slogdet(x.X)[1]
    return float(squares + PRIOR * divergence.sum())


def start(problem: Problem, terms: Terms) -> Estimate:
    """Return the description, with the drive gains that fit it best."""
    x = problem.start
    if not problem.gains:
        return x
    gain, _ = gains_of(terms, x, problem.excited)
    return replace(x, gain=np.where(problem.unknown, gain, x.gain))


def gains_of(terms: Terms, x: Estimate, excited: Array) -> tuple[Array, Array]:
    """Return gains (n,) of least squares for given inertial parameters, each joint by itself.

    Returns:
        Positive gains: one that is not certain is the median of the others; and those of least
        squares, of either sign.
    """
    own, error = np.zeros((2, len(excited)))
    tau = terms.rigid(x)
    for j in range(len(own)):
        others = [terms.of_recordings(), *([terms.features[:, j]] if excited[j] else [])]
        own[j], error[j] = coefficient(
            tau[:, j], np.column_stack(others), terms.effort[:, j], terms.block
        )
    certain = own > CERTAIN_GAIN * error
    known = own[certain] if certain.any() else np.abs(own[own != 0])
    typical = float(np.median(known)) if len(known) else 1.0
    return np.asarray(np.where(certain, own, typical)), own


def scales_beside_drives(terms: Terms, x: Estimate, excited: Array) -> tuple[Array, Array]:
    """Return factors (n,) from rigid torques to efforts, each joint by itself, and their errors.

    Friction, rotor and offset are fitted beside them: they are not part of the torque of a
    description. 0 with an infinite error where the motion does not tell.
    """
    factor, error = np.zeros(len(excited)), np.full(len(excited), np.inf)
    tau = terms.rigid(x)
    for j in np.flatnonzero(excited & terms.effort.any(axis=0)):
        others = [terms.of_recordings(), terms.features[:, j], terms.qdd[:, j, None]]
        factor[j], error[j] = coefficient(
            tau[:, j], np.column_stack(others), terms.effort[:, j], terms.block
        )
    return factor, error


def coefficient(a: Array, others: Array, b: Array, block: Array) -> tuple[float, float]:
    """Return the coefficient of a column beside others, and its standard deviation.

    Args:
        a: (K,) the column.
        others: (K, p) further columns.
        b: (K,) right-hand side.
        block: (K,) number of the block of time; residuals of different blocks are independent.
    """
    others = others / np.maximum(np.linalg.norm(others, axis=0), 1e-300)
    both = np.column_stack([a, b])
    both = both - others @ np.linalg.lstsq(others, both, rcond=RANK)[0]
    own, right = both.T
    square = float(own @ own)
    if square <= RANK * float(a @ a):
        return 0.0, np.inf
    x = float(own @ right) / square
    scores = np.bincount(block, own * (right - x * own))
    return x, float(np.linalg.norm(scores)) / square


def own_weights(problem: Problem, terms: Terms) -> tuple[Array, float]:
    """Return 1 / sigma_j (K, n), from unconstrained least squares of each joint by itself, and c.

        w_j = 1 / (sigma_j sqrt(c)),    c = median over the joints of c_j

    A weight 1 / sqrt(c_j) by joint would take from a joint that the model fits badly, whose
    residuals are correlated, what it tells; its correlation is in the covariance.
    """
    residual = np.empty_like(terms.effort)
    for j in range(residual.shape[1]):
        A = joint_columns(problem, terms, j)
        A = A / np.maximum(np.linalg.norm(A, axis=0), 1e-300)
        b = terms.effort[:, j]
        x, _, rank, _ = np.linalg.lstsq(A, b, rcond=RANK)
        # Few rows are fitted too well by the unknowns of one joint.
        freedom = max(len(b) - int(rank), 1) / len(b)
        residual[:, j] = (b - A @ x) / np.sqrt(freedom)
    w = inverse_deviations(terms, residual)
    c = np.maximum(spreads(terms, w * residual), 1.0)[terms.effort.any(axis=0)]
    return w, float(np.median(c))


def joint_columns(problem: Problem, terms: Terms, j: int) -> Array:
    """Return the columns (K, p) of the rows of joint j, by its own unknowns."""
    parts = [terms.Y[:, j], terms.of_recordings()]
    if problem.load is not None:
        parts.append(terms.load[:, j])
    if problem.excited[j]:
        parts += [terms.features[:, j], terms.qdd[:, j, None]]
    return np.column_stack(parts)


def inverse_deviations(terms: Terms, residual: Array) -> Array:
    """Return 1 / sigma (K, n), of the rows in motion and of those at rest."""
    result = np.zeros_like(residual)
    for j in np.flatnonzero(terms.effort.any(axis=0)):  # others are not measured
        moving = terms.moving[:, j]
        for rows in (moving, ~moving):
            if rows.sum() < FEWEST:
                rows = np.ones_like(moving) if moving.sum() < FEWEST else rows
            if rows.any():
                r = residual[rows, j]
                floor = FLOOR**2 * (terms.effort[:, j] ** 2).mean()
                result[rows, j] = 1 / np.sqrt(max(float(r @ r) / len(r) + floor, 1e-300))
    return result


def spreads(terms: Terms, weighted: Array) -> Array:
    """Return sum_blocks (sum r)^2 / K (n,) of weighted residuals (K, n): c_j v_j.

    That is their mean square v_j times the number c_j of neighbouring rows that count as one.
    """
    sums = [np.bincount(terms.block, column) for column in weighted.T]
    return np.array([float(s @ s) / len(weighted) for s in sums])


def lasting(terms: Terms, weighted: Array) -> float:
    """Return by how much correlation beyond one block of time raises the spreads, 1 or more.

    Residuals of real arms, of what the model lacks, are alike for seconds. It is the mean over the
    joints: there are few longer blocks. A recording too short for MANY of them does not tell: 1.
    """
    long = min(LONG, len(np.unique(terms.block)) // MANY)
    measured = terms.effort.any(axis=0)
    if long < 2 or not measured.any():
        return 1.0
    longer = replace(terms, block=terms.block // long)
    ratio = spreads(longer, weighted)[measured] / spreads(terms, weighted)[measured]
    return max(1.0, float(ratio.mean()))
