# SPDX-License-Identifier: Apache-2.0
"""Friction of a fit by regressions of single joints: in other laws, and in unlike motions.

With the rigid-body torque of the fit, and its rotors, kept,

    effort - rigid-body torque - rotor torque = features . coefficients + offset

A friction law is an approximation: its coefficients depend on the motion that they are fitted to.
One recording shows how much they differ between its halves in time, between slow and fast motion,
and between laws with as small a residual. The variance of the mean of two halves, beyond that of
their own errors, and the mean square difference between laws are parts of the standard errors.

Source: DerSimonian and Laird, "Meta-analysis in clinical trials", Controlled Clinical Trials 7(3),
1986.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.friction.laws import LAWS, FrictionLaw
from robot_dynamics.core.model.joint_values import rms
from robot_dynamics.identification.estimation.covariance import pooled, regressed
from robot_dynamics.identification.estimation.friction_choice import WORTH, with_law
from robot_dynamics.identification.estimation.parameter_fit import FEWEST, Fit


def with_unlike_motions(result: Fit) -> Fit:
    """Return a fit whose errors of friction include differences between halves and laws."""
    own = result.problem.law
    laws = [_law_fit(result, law) for law in (own, *(x for x in LAWS.values() if x != own))]
    variance = result.error.friction**2
    for j in np.flatnonzero(result.problem.excited).tolist():
        variance[j] += _of_halves(result, j) + _of_laws(laws, j)
    error = replace(result.error, friction=np.sqrt(variance))
    return replace(result, error=error)


def as_coulomb(result: Fit) -> Array:
    """Return viscous and dry friction (n, 2) that replace a law with further terms, best.

    Files and models without a friction law hold these two alone. They are in units of the effort.
    """
    law, found = LAWS['coulomb'], result.estimate.friction
    if len(result.problem.law.terms) == len(law.terms):
        return found
    own = np.maximum(_law_fit(result, law).coefficients, 0.0)
    return np.where(result.problem.excited[:, None], own, found[:, : len(law.terms)])


def _of_halves(result: Fit, j: int) -> Array:
    """Return the variance (terms,) between halves in time, and between slow and fast motion."""
    terms, x = result.terms, result.estimate
    moving = terms.moving[:, j]
    speed = np.abs(terms.features[:, j, result.problem.law.terms.index('viscous')])
    fast = speed > np.median(speed[moving])
    residual = (terms.effort - terms.predicted(x))[:, j]
    variance = np.zeros_like(x.friction[j])
    for rows, second in ((moving | ~moving, _later(terms.recording)), (moving, fast)):
        halves = [rows & (second == side) for side in (False, True)]
        if min(half.sum() for half in halves) < FEWEST * len(variance):
            continue
        found = [
            regressed(terms.features[at, j], residual[at], result.weight[at, j], terms.block[at])
            for at in halves
        ]
        values, errors = (np.array(part).T for part in zip(*found, strict=True))
        variance += [_of_pair(*pair) for pair in zip(values, errors, strict=True)]
    return np.asarray(variance)


def _later(recording: Array) -> Array:
    """Return a mask (K,) of the second half of each recording, by their numbers (K,)."""
    place = np.arange(len(recording))
    middle = {number: np.median(place[recording == number]) for number in np.unique(recording)}
    return np.asarray(place > np.vectorize(middle.get)(recording))


def _of_pair(values: Array, errors: Array) -> float:
    """Return the variance of the mean of two values beyond that of their errors."""
    return pooled(values, errors).between / 2 if (errors > 0).all() else 0.0


@dataclass(frozen=True, eq=False)
class _LawFit:
    """Regressions of the joints with one law.

    Attributes:
        law: the law.
        coefficients: (n, terms).
        left: (n,) root mean square of the weighted residuals.
    """

    law: FrictionLaw
    coefficients: Array
    left: Array


def _law_fit(result: Fit, law: FrictionLaw) -> _LawFit:
    """Return the regressions with another law, of the same rigid-body torque."""
    problem, x, terms = result.problem, result.estimate, result.terms
    features = with_law(problem, law, problem.presliding).terms(x).features
    own = np.einsum('kjt,jt->kj', terms.features, x.friction)
    right = terms.effort - terms.predicted(x) + own
    found, left = [], []
    for j in range(len(x.gain)):
        w = result.weight[:, j]
        value, _ = regressed(features[:, j], right[:, j], w, terms.block)
        rest = right[:, j] - features[:, j] @ value
        found.append(value)
        left.append(float(rms(w * (rest - np.average(rest, weights=w**2 + 1e-300)))))
    return _LawFit(law, np.array(found), np.array(left))


def _of_laws(laws: list[_LawFit], j: int) -> Array:
    """Return the mean square difference (terms,) to laws with as small a residual.

    Laws with other terms share the viscous coefficient alone.

    Args:
        laws: the law of the fit first.
        j: the joint.
    """
    own, *others = laws
    difference = np.zeros((1, len(own.law.terms)))
    for other in others:
        if other.left[j] > (1 + WORTH) * own.left[j]:
            continue
        values = dict(zip(other.law.terms, other.coefficients[j], strict=True))
        shared = [term == 'viscous' or other.law.terms == own.law.terms for term in own.law.terms]
        value = [values.get(term, 0.0) for term in own.law.terms]
        row = np.where(shared, np.array(value) - own.coefficients[j], 0.0)
        difference = np.vstack([difference, row])
    return np.asarray((difference**2).mean(axis=0))
