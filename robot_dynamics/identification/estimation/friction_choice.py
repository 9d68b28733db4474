# SPDX-License-Identifier: Apache-2.0
"""Choice of a friction law, and of its pre-sliding lengths, by the residual held out.

With the rigid-body torque tau of a fit, the effort of each joint is regressed by itself on

    effort = s tau + friction features + r qdd + o,    s, r and coefficients >= 0

The rows are divided into folds of consecutive time; each is predicted by a regression on the
others. A law with more terms, or with memory, is preferred only if it lowers the residuals. All
parameters are fitted again with the choice, which is then repeated once.

Source: Hastie, Tibshirani and Friedman, The Elements of Statistical Learning (2009), section 7.10.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.friction.laws import LAWS, PRESLIDING, FrictionLaw
from robot_dynamics.core.model.joint_values import rms
from robot_dynamics.identification.estimation.equations import Estimate, Problem, Terms
from robot_dynamics.identification.estimation.parameter_fit import estimate

AUTO = 'auto'
CHOICES = ('coulomb', 'load', 'coulomb_memory', 'load_memory')  # of AUTO, the simplest first
FOLDS = 8
# Pre-sliding, rad or m. With steps of 3.3, the residual at rest of a wrist was twice as large, and
# so were its thresholds of contact.
LENGTHS = (1e-4, 1.8e-4, 3e-4, 5.5e-4, 1e-3, 1.8e-3, 3e-3)
WORTH = 0.02  # relative decrease of the residual (geometric mean) by a more complex law
JOINT_WORSE = 0.05  # relative increase of that of one joint, at most
CERTAIN = 2.0  # standard errors over the folds of a decrease that is preferred
ROUNDS = 2  # of choice and fit


def choose_law(
    problem: Problem, names: Sequence[str], progress: Callable[[str], None] = lambda _: None
) -> tuple[Problem, dict[str, float]]:
    """Return the problem with the best law and lengths, and the held-out residual of each law.

    Args:
        problem: with any law.
        names: laws to choose from, the simplest first.
        progress: receives a line per round.

    Returns:
        The problem, and the geometric mean over the joints of the residual of each law, relative
        to that of the first.
    """
    chosen, sizes = with_law(problem, LAWS[names[0]], problem.presliding), {names[0]: 1.0}
    if len(names) == 1 and not chosen.law.memory:
        return chosen, sizes
    for _ in range(ROUNDS):
        progress(f'fit with friction law {chosen.law.name}')
        x, _ = estimate(chosen, chosen.terms(chosen.start))
        progress('residuals held out of friction laws')
        found = [_with_lengths(problem, LAWS[name], x) for name in names]
        chosen, least = found[0]
        for candidate, residual in found[1:]:
            if _lowers(np.log(residual / least)):
                chosen, least = candidate, residual
        pooled = [np.log(rms(residual)).mean() for _, residual in found]
        sizes = dict(zip(names, np.exp(np.array(pooled) - pooled[0]).tolist(), strict=True))
    return chosen, sizes


def _lowers(change: Array) -> bool:
    """Return whether residuals fall by more than their differences between folds explain.

    Args:
        change: (folds, n) of the logarithms of the residuals.
    """

    def with_error(x: Array) -> tuple[Array, Array]:
        return x.mean(axis=0), CERTAIN * x.std(axis=0, ddof=1) / np.sqrt(len(x))

    arm, noise = with_error(change.mean(axis=1))
    joint, of_joint = with_error(change)
    worse = (joint > JOINT_WORSE) & (joint > of_joint)
    return bool(arm < np.log(1 - WORTH) and arm < -noise and not worse.any())


def _with_lengths(problem: Problem, law: FrictionLaw, x: Estimate) -> tuple[Problem, Array]:
    """Return the problem with a law, each joint with its best length; residuals (folds, n)."""
    n = len(problem.excited)
    lengths = LENGTHS if law.memory else (PRESLIDING,)
    tried = [with_law(problem, law, np.full(n, length)) for length in lengths]
    residuals = np.array([held_out(one, one.terms(x), x) for one in tried])
    best = rms(residuals.swapaxes(0, 1)).argmin(axis=0)
    chosen = with_law(problem, law, np.array(lengths)[best])
    return chosen, residuals[best, :, np.arange(n)].T


def with_law(problem: Problem, law: FrictionLaw, presliding: Array) -> Problem:
    """Return the same problem with another friction law; shared coefficients are kept."""
    old = dict(zip(problem.law.terms, problem.start.friction.T, strict=True))
    zero = np.zeros(len(problem.excited))
    friction = np.column_stack([old.get(term, zero) for term in law.terms])
    start = replace(problem.start, friction=friction)
    return replace(problem, law=law, presliding=presliding, start=start)


def held_out(problem: Problem, terms: Terms, x: Estimate) -> Array:
    """Return the root mean squares (folds, n) of the residuals of folds that were not fitted.

    Args:
        problem: with the law.
        terms: its rows.
        x: a fit; its rigid-body torque and its offsets of the recordings are taken.
    """
    from scipy.optimize import lsq_linear

    torque, effort = x.gain * terms.rigid(x), terms.effort - terms.offsets(x)
    fold = np.arange(len(torque)) * FOLDS // len(torque)
    residual = np.empty_like(torque)
    for j in range(torque.shape[1]):
        columns = [np.ones(len(torque)), torque[:, j]]
        if problem.excited[j]:
            columns += [*terms.features[:, j].T]
            columns += [terms.qdd[:, j]] if problem.rotors else []
        A = np.column_stack([*columns, effort[:, j]])
        A /= np.maximum(np.linalg.norm(A, axis=0), 1e-300)
        lower = np.where(np.arange(len(columns)) == 0, -np.inf, 0.0)
        parts = [A[fold == k].T @ A[fold == k] for k in range(FOLDS)]
        for k in range(FOLDS):
            G = sum(parts) - parts[k]
            L = np.linalg.cholesky(G + 1e-12 * np.eye(len(G))).T
            own = lsq_linear(L[:, :-1], L[:, -1], (lower, np.inf), method='bvls').x
            residual[fold == k, j] = A[fold == k] @ np.append(-own, 1.0)
        residual[:, j] *= np.linalg.norm(effort[:, j])
    floor = 1e-9 * np.abs(terms.effort).max(axis=0) + 1e-300
    return np.asarray([rms(residual[fold == k]) for k in range(FOLDS)] + floor)
