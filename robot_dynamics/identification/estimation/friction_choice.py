# SPDX-License-Identifier: Apache-2.0
"""Choice of a friction law, and of its pre-sliding lengths, by the residual held out.

The rows are divided into folds of consecutive time; each fold is predicted by a fit of the others.
A law with more terms, or with memory, is preferred only if it lowers the residuals.

Source: Hastie, Tibshirani and Friedman, The Elements of Statistical Learning (2009), section 7.10.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from robot_dynamics.friction.laws import LAWS, PRESLIDING, FrictionLaw
from robot_dynamics.identification.estimation.parameter_fit import (
    Problem,
    own_weights,
    quadratic_fit,
)
from robot_dynamics.model.joint_values import rms
from robot_dynamics.spatial import Array

AUTO = 'auto'
FOLDS = 4
LENGTHS = (1e-4, 3e-4, 1e-3)  # pre-sliding, rad or m
WORTH = 0.01  # relative decrease of the residual (geometric mean) by a more complex law


def choose_law(
    problem: Problem, names: Sequence[str], progress: Callable[[str], None] = lambda _: None
) -> tuple[Problem, dict[str, float]]:
    """Return the problem with the best law and lengths, and the held-out residual of each law.

    Args:
        problem: with any law.
        names: laws to choose from, the simplest first.
        progress: receives a line per law.

    Returns:
        The problem, and the geometric mean over the joints of the residual of each law, relative
        to that of the first.
    """
    best, least, sizes = problem, np.inf, {}
    for name in names:
        progress(f'friction law {name}')
        candidate, size = _with_lengths(problem, LAWS[name])
        sizes[name] = size
        if size < (1 - WORTH) * least:
            best, least = candidate, size
    first = sizes[names[0]]
    return best, {name: float(size / first) for name, size in sizes.items()}


def _with_lengths(problem: Problem, law: FrictionLaw) -> tuple[Problem, float]:
    """Return the problem with a law, each joint with its best length; and its residual."""
    n = len(problem.excited)
    lengths = LENGTHS if law.memory else (PRESLIDING,)
    tried = [with_law(problem, law, np.full(n, length)) for length in lengths]
    residuals = np.array([held_out(one) for one in tried])  # (lengths, n)
    best = residuals.argmin(axis=0)
    chosen = with_law(problem, law, np.array(lengths)[best])
    return chosen, float(np.exp(np.log(residuals.min(axis=0)).mean()))


def with_law(problem: Problem, law: FrictionLaw, presliding: Array) -> Problem:
    """Return the same problem with another friction law; shared coefficients are kept."""
    old = dict(zip(problem.law.terms, problem.start.friction.T, strict=True))
    zero = np.zeros(len(problem.excited))
    friction = np.column_stack([old.get(term, zero) for term in law.terms])
    start = replace(problem.start, friction=friction)
    return replace(problem, law=law, presliding=presliding, start=start)


def held_out(problem: Problem) -> Array:
    """Return the root mean square (n,) of the residuals of folds that were not fitted."""
    terms = problem.terms(problem.start.theta)
    weight = own_weights(problem, terms)
    fold = np.arange(len(terms.block)) * FOLDS // len(terms.block)
    residual = np.empty_like(terms.effort)
    for k in range(FOLDS):
        x = quadratic_fit(problem, terms.select(fold != k), weight[fold != k])
        out = terms.select(fold == k)
        residual[fold == k] = out.effort - out.predicted(x)
    floor = 1e-9 * np.abs(terms.effort).max(axis=0) + 1e-300
    return np.asarray(rms(residual) + floor)
