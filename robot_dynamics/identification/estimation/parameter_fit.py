# SPDX-License-Identifier: Apache-2.0
"""Weighted, physically consistent fit of all parameters of an arm to one or more recordings.

    effort_j = g_j (Y_j theta + known_j) + sum_t f_jt phi_jt + o_j + r_j qdd_j

with the drive gains g (1 for torques), the coefficients f of the friction law's features phi, the
offsets o and the rotor inertias r. Rows of a joint are weighted with 1 / (sigma sqrt(c)), those in
motion and those at rest by themselves: sigma is the standard deviation of the residual, and c the
number of neighbouring rows that count as one, since residuals of an arm are not white. Unknown
gains make the problem bilinear: Gauss-Newton steps linearise the product at the last estimate,
and are halved where they do not lower the objective,

    g Y theta  =  g0 Y theta + g (Y theta0) - g0 Y theta0.

Sources: Gautier, Dynamic identification of robots with power model, ICRA 1997 (weights per
joint); Liang and Zeger, "Longitudinal data analysis using generalized linear models", Biometrika
73(1), 1986 (sums over blocks as independent); Gautier and Briot, "Global identification of joint
drive gains and dynamic parameters of robots", J. Dyn. Sys., Meas., Control 136(5), 2014.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from robot_dynamics.friction.laws import FrictionLaw
from robot_dynamics.identification.estimation.observations import Observations
from robot_dynamics.identification.estimation.pseudo_inertia import (
    Bodies,
    closest_consistent,
    divergence_curvature,
)
from robot_dynamics.spatial import Array

PRIOR = 1.0  # lambda: the weight of the description, in independent samples
MAX_STEPS = 10
HALVINGS = (1.0, 0.5, 0.25, 0.125)  # of a step that does not lower the objective
CONVERGED = 1e-3  # relative change of the objective
CERTAIN_GAIN = 5.0  # standard deviations of a drive gain that the description shows
SMALLEST_GAIN = 0.05  # of the one at the start: gains are positive
FEWEST = 10  # rows of a joint at rest, or in motion, with a standard deviation of their own
FLOOR = 1e-4  # of the effort: least standard deviation of a residual
RIDGE = 1e-3  # of a column: fixes what no row determines
INEXACT = 0.02  # standard deviation of the scale of a joint's efforts, if it is not estimated
RANK = 1e-8  # relative: columns below it are dependent


@dataclass(frozen=True, eq=False)
class Estimate:
    """Parameters of an arm and of its drives.

    Attributes:
        theta: (10 nb,) inertial parameters.
        X: (nb, 4, 4) pseudo-inertias relative to the description's.
        friction: (n, terms) coefficients, in units of the effort.
        offset: (n,) in units of the effort.
        rotor: (n,) in units of the effort per rad/s^2 or m/s^2.
        gain: (n,) effort per N m or N.
    """

    theta: Array
    X: Array
    friction: Array
    offset: Array
    rotor: Array
    gain: Array

    def towards(self, other: Estimate, share: float, scaled: Bodies) -> Estimate:
        """Return the estimate on the way to another; share 1 is the other."""
        parts = {
            name: getattr(self, name) + share * (getattr(other, name) - getattr(self, name))
            for name in ('X', 'friction', 'offset', 'rotor', 'gain')
        }
        return Estimate(scaled.theta(parts['X']), **parts)


@dataclass(frozen=True, eq=False)
class Terms:
    """Rows with the features of one friction law: arrays (K, n, ...) of all recordings."""

    Y: Array
    features: Array
    qdd: Array
    known: Array
    effort: Array
    moving: Array
    block: Array

    def select(self, rows: Array) -> Terms:
        """Return some of the rows, by a mask (K,)."""
        return Terms(*(getattr(self, item.name)[rows] for item in fields(self)))

    def rigid(self, x: Estimate) -> Array:
        """Return the torque of the rigid bodies (K, n), N m or N."""
        return np.asarray(self.Y @ x.theta + self.known)

    def predicted(self, x: Estimate) -> Array:
        """Return the efforts (K, n) of an estimate."""
        friction = np.einsum('kjt,jt->kj', self.features, x.friction)
        return np.asarray(x.gain * self.rigid(x) + friction + x.offset + x.rotor * self.qdd)


@dataclass(frozen=True, eq=False)
class Problem:
    """What is fitted.

    Attributes:
        recordings: rows of one or more recordings.
        law: of the friction.
        presliding: (n,) of the law.
        scaled: bodies of the description.
        start: the description; its friction, rotor and gain stay where a joint is not excited.
        excited: (n,) bool: the joint moves.
        rotors: whether efforts are measured before the rotors.
        gains: whether the drive gains are unknown.
    """

    recordings: Sequence[Observations]
    law: FrictionLaw
    presliding: Array
    scaled: Bodies
    start: Estimate
    excited: Array
    rotors: bool
    gains: bool

    def terms(self, theta: Array, recordings: Sequence[Observations] = ()) -> Terms:
        """Return the rows of the problem, or of other recordings.

        The friction's load is that of these inertial parameters (10 nb,).
        """
        parts, first = [], 0
        for seen in recordings or self.recordings:
            phi = seen.friction_features(self.law, self.presliding, theta)
            block = first + seen.block
            first = int(block[-1]) + 1
            parts.append((seen.Y, phi, seen.qdd, seen.known, seen.effort, seen.moving, block))
        return Terms(*(np.concatenate(column) for column in zip(*parts, strict=True)))


@dataclass(frozen=True, eq=False)
class Fit:
    """Result of a fit.

    Attributes:
        problem: what was fitted.
        estimate: its solution.
        terms: the rows.
        weight: (K, n) of the rows.
        spread: (n,) sum_blocks (sum r)^2 / K of the weighted residuals.
        covariance: (P, P) of theta, friction, offset, rotor and gain, in this order; the
            description counts as an observation of theta with the weight PRIOR.
        prior: (10 nb,) standard deviations of theta by the description alone.
    """

    problem: Problem
    estimate: Estimate
    terms: Terms
    weight: Array
    spread: Array
    covariance: Array
    prior: Array


def fit(problem: Problem, progress: Callable[[str], None] = lambda _: None) -> Fit:
    """Return the physically consistent parameters that fit best, with their certainty.

    Raises:
        SolverError: the convex solver is not installed, or fails.
    """
    terms = problem.terms(problem.start.theta)
    x, weight = estimate(problem, terms, progress)
    if 'load' in problem.law.terms:
        terms = problem.terms(x.theta)
    spread = spreads(terms, weight * (terms.effort - terms.predicted(x)))
    covariance, prior = _covariance(problem, terms, weight, spread, x)
    return Fit(problem, x, terms, weight, spread, covariance, prior)


def estimate(
    problem: Problem, terms: Terms, progress: Callable[[str], None] = lambda _: None
) -> tuple[Estimate, Array]:
    """Return the physically consistent parameters that fit best, and the weights (K, n)."""
    x, weight = start(problem, terms), own_weights(problem, terms)
    lower, loaded = lower_bounds(problem, x), 'load' in problem.law.terms
    if loaded:
        terms = problem.terms(x.theta)
    size = _objective(terms, weight, x)
    for step in range(MAX_STEPS):
        progress(f'convex problem {step + 1}')
        A, b = linear_problem(problem, terms, weight, x)
        found = _unpacked(problem, x, *closest_consistent(A, b, problem.scaled, lower, PRIOR))
        if not (problem.gains or loaded):
            return found, weight
        previous = size
        for share in HALVINGS:
            candidate = x.towards(found, share, problem.scaled)
            of_load = problem.terms(candidate.theta) if loaded else terms
            size = _objective(of_load, weight, candidate)
            if size < previous:
                break
        else:
            return x, weight
        x, terms = candidate, of_load
        if previous - size < CONVERGED * size:
            break
    return x, weight


def _objective(terms: Terms, weight: Array, x: Estimate) -> float:
    """Return the weighted squares of the residuals and the divergence from the description."""
    squares = ((weight * (terms.effort - terms.predicted(x))) ** 2).sum()
    divergence = np.trace(x.X, axis1=1, axis2=2) - np.linalg.slogdet(x.X)[1]
    return float(squares + PRIOR * divergence.sum())


def start(problem: Problem, terms: Terms) -> Estimate:
    """Return the description, with the drive gains that fit it best."""
    x = problem.start
    if not problem.gains:
        return x
    return replace(x, gain=gains_of(terms, x, problem.excited)[0])


def gains_of(terms: Terms, x: Estimate, excited: Array) -> tuple[Array, Array]:
    """Return gains (n,) of least squares for given inertial parameters, each joint by itself.

    Returns:
        Positive gains: one that is not certain is the median of the others; and those of least
        squares, of either sign.
    """
    own, error = np.zeros((2, len(excited)))
    tau = terms.rigid(x)
    for j in range(len(own)):
        others = [np.ones((len(tau), 1)), *([terms.features[:, j]] if excited[j] else [])]
        own[j], error[j] = coefficient(
            tau[:, j], np.column_stack(others), terms.effort[:, j], terms.block
        )
    certain = own > CERTAIN_GAIN * error
    known = own[certain] if certain.any() else np.abs(own[own != 0])
    typical = float(np.median(known)) if len(known) else 1.0
    return np.asarray(np.where(certain, own, typical)), own


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


def own_weights(problem: Problem, terms: Terms) -> Array:
    """Return the weights (K, n), from unconstrained least squares of each joint by itself.

        w_j = 1 / (sigma_j sqrt(c)),    c = median over the joints of c_j

    A weight 1 / sqrt(c_j) by joint would take from a joint that the model fits badly, whose
    residuals are correlated, what it tells; its correlation is in the covariance.
    """
    residual = np.empty_like(terms.effort)
    for j in range(residual.shape[1]):
        A = joint_columns(problem, terms, j)
        A = A / np.maximum(np.linalg.norm(A, axis=0), 1e-300)
        b = terms.effort[:, j] - terms.known[:, j] * (not problem.gains)
        x, _, rank, _ = np.linalg.lstsq(A, b, rcond=RANK)
        # Few rows are fitted too well by the unknowns of one joint.
        freedom = max(len(b) - rank, 1) / len(b)
        residual[:, j] = (b - A @ x) / np.sqrt(freedom)
    w = inverse_deviations(terms, residual)
    c = np.maximum(spreads(terms, w * residual), 1.0)[terms.effort.any(axis=0)]
    return np.asarray(w / np.sqrt(np.median(c)))


def joint_columns(problem: Problem, terms: Terms, j: int) -> Array:
    """Return the columns (K, p) of the rows of joint j, by its own unknowns."""
    parts = [terms.Y[:, j], np.ones((len(terms.Y), 1))]
    if problem.gains:
        parts.append(terms.known[:, j, None])
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


# -- one convex problem -----------------------------------------------------------------------


def linear_problem(
    problem: Problem, terms: Terms, weight: Array, x: Estimate
) -> tuple[Array, Array]:
    """Return A (rows, P) and b (rows,), weighted, linearised at x; compressed by QR."""
    n, T = x.friction.shape
    p = len(x.theta)
    R = np.concatenate([_rows_of_joint(problem, terms, weight, x, j) for j in range(n)])
    norms = np.linalg.norm(R[:, p:-1], axis=0)
    ridge = np.zeros((len(norms), R.shape[1]))
    ridge[:, p:-1] = np.diag(RIDGE * np.where(norms > 0, norms, 1.0))
    if problem.gains:  # towards the last gains
        ridge[-n:, -1] = ridge[-n:, p:-1] @ np.concatenate([np.zeros(n * (T + 2)), x.gain])
    R = np.concatenate([R, ridge])
    return R[:, :-1], R[:, -1]


def _rows_of_joint(problem: Problem, terms: Terms, weight: Array, x: Estimate, j: int) -> Array:
    """Return columns of all unknowns and the right-hand side of one joint (P + 1, P + 1)."""
    n, T = x.friction.shape
    p = len(x.theta)
    size = p + n * (T + 2) + (n if problem.gains else 0)
    A = np.zeros((len(terms.Y), size + 1))
    A[:, :p] = x.gain[j] * terms.Y[:, j]
    b = terms.effort[:, j] - x.gain[j] * terms.known[:, j] * (not problem.gains)
    A[:, p + n * T + j] = 1.0
    if problem.excited[j]:
        A[:, p + T * j : p + T * (j + 1)] = terms.features[:, j]
        A[:, p + n * (T + 1) + j] = terms.qdd[:, j] * problem.rotors
    else:
        b = b - terms.features[:, j] @ x.friction[j] - x.rotor[j] * terms.qdd[:, j]
    if problem.gains:
        tau = terms.Y[:, j] @ x.theta
        A[:, p + n * (T + 2) + j] = tau + terms.known[:, j]
        b = b + x.gain[j] * tau
    A[:, -1] = b
    return np.asarray(np.linalg.qr(weight[:, j, None] * A, mode='r'))


def lower_bounds(problem: Problem, x: Estimate) -> Array:
    """Return the lower bounds of friction, offset, rotor and gain, for the gains at the start."""
    n, T = problem.start.friction.shape
    free = [np.zeros(n * T), np.full(n, -np.inf), np.zeros(n)]
    if problem.gains:
        free.append(SMALLEST_GAIN * x.gain)
    return np.concatenate(free)


def _unpacked(problem: Problem, x: Estimate, X: Array, rest: Array) -> Estimate:
    n, T = x.friction.shape
    friction, offset, rotor, gain = np.split(rest, [n * T, n * (T + 1), n * (T + 2)])
    on = problem.excited
    return Estimate(
        theta=problem.scaled.theta(X),
        X=X,
        friction=np.where(on[:, None], np.maximum(friction.reshape(n, T), 0.0), x.friction),
        offset=offset,
        rotor=np.where(on, np.maximum(rotor, 0.0), x.rotor) * problem.rotors,
        gain=gain if problem.gains else x.gain,
    )


# -- certainty --------------------------------------------------------------------------------


def _covariance(
    problem: Problem, terms: Terms, weight: Array, spread: Array, x: Estimate
) -> tuple[Array, Array]:
    """Return the covariance of the estimate, and the prior deviations.

        H^-1 (sum_j c_j v_j A_j^T A_j + prior) H^-1,    H = sum_j A_j^T A_j + prior

    Efforts of a scale that is not estimated are exact but for a factor 1 + INEXACT e of each
    joint, with e of unit variance: the estimate changes with it by the covariance times A^T b of
    this joint's rows.

    Bounds are disregarded: the errors of coefficients that are 0 are those they would have.
    """
    p, scaled = len(x.theta), problem.scaled
    A, _ = linear_problem(problem, terms, weight, x)
    A = np.column_stack([scaled.columns(A[:, :p]), A[:, p:]])
    H = A.T @ A
    middle = H.copy()
    rows = [_rows_of_joint(problem, terms, weight, x, j) for j in range(len(x.gain))]
    for own, R in zip(spread, rows, strict=True):
        of_joint = np.column_stack([scaled.columns(R[:, :p]), R[:, p:-1]])
        middle += (own - 1) * of_joint.T @ of_joint
    # At the description: near a bound the divergence rises steeply, which is no information.
    curvature = PRIOR / 2 * divergence_curvature(np.eye(4)[None])[0]
    maps = np.zeros_like(H)
    maps[p:, p:] = np.eye(len(H) - p)
    prior = np.zeros(p)
    for i, M in enumerate(scaled.maps):
        at = slice(10 * i, 10 * i + 10)
        H[at, at] += curvature
        middle[at, at] += curvature
        maps[at, at] = M
        prior[at] = np.sqrt((M @ np.linalg.inv(curvature) @ M.T).diagonal())
    free = np.flatnonzero(H.diagonal() > 0)
    size = np.sqrt(H.diagonal()[free])
    cov = np.zeros_like(H)
    cov[np.ix_(free, free)] = np.linalg.pinv(
        H[np.ix_(free, free)] / np.outer(size, size), rcond=1e-14, hermitian=True
    ) / np.outer(size, size)
    inverse, cov = cov, cov @ middle @ cov
    if not problem.gains:
        by_scale = np.array([R[:, :-1].T @ R[:, -1] for R in rows])
        by_scale = INEXACT * np.column_stack([scaled.columns(by_scale[:, :p]), by_scale[:, p:]])
        change = by_scale @ inverse
        cov = cov + change.T @ change
    return maps @ cov @ maps.T, prior
