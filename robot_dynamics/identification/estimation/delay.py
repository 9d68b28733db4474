# SPDX-License-Identifier: Apache-2.0
"""Constant delay between the efforts and the motion of recordings.

    effort(t) = model(t - delay)   =>   effort(t) = A x - delay d(A x)/dt

The delay of a joint is the coefficient of the slope of its efforts, as its own least squares A x
predicts them, beside the columns A, with an error from sums over blocks of time. The mean over the
joints, with a variance between them, is removed, and estimated again. Friction with pre-sliding
lags behind the velocity as well, so dry friction of several pre-sliding lengths, constant, by load
and by speed, is among those parameters. Its load is the rigid-body torque of the joint's own fit:
with the load of a wrong description, joints differ by milliseconds. Estimates through several
low-passes, with recorded and with derived velocities, are averaged in the same way: what they
change is part of the error. So is what other models of friction change that leave as small a
residual, and what the halves of the recordings differ by. A delay beyond LONG is removed only if
each half, by a fit of the other, is predicted better with it than without, and than by half of it.

An elastic transmission has a phase of its own, of about damping / stiffness: with friction behind
the spring, efforts are later than the motor's motion; with friction before it, they are earlier
than the link's. Slow motion does not tell it from a delay, and a rigid model is served by removing
both. So the delay is that of the efforts after the measured motion, whatever its cause, and its
error includes MECHANICAL as what may be due to the transmission.

Sources: Golub and Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares
problems whose variables separate", SIAM J. Numerical Analysis 10(2), 1973; DerSimonian and Laird,
"Meta-analysis in clinical trials", Controlled Clinical Trials 7(3), 1986.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.friction.laws import FrictionLaw
from robot_dynamics.identification.estimation.covariance import Pooled, pooled
from robot_dynamics.identification.estimation.equations import Problem, RecordingRows
from robot_dynamics.identification.estimation.friction_choice import LENGTHS, WORTH
from robot_dynamics.identification.estimation.observations import INDEPENDENT
from robot_dynamics.identification.estimation.parameter_fit import (
    FEWEST,
    RANK,
    coefficient,
    joint_columns,
)

CUTOFFS = (0.5, 0.5**0.5, 1.0)  # of the low-pass, relative to that of the fit
STEPS = 4
LONG = 0.02  # s: filters and buses delay less; beyond, motion that is not fitted must confirm it
LONGEST = 0.1  # s
CONFIRMED = 0.95  # of the residual without it, at most, on motion that is not fitted
MECHANICAL = 7e-4  # s, standard deviation of the lag of elastic transmissions with friction
CERTAIN = 4.0  # standard deviations, and
PER_SAMPLE = 0.1  # of the time between samples: less is no delay
TINY = 1e-300


class DryFriction(NamedTuple):
    """Columns of dry friction beside tanh and viscous friction."""

    terms: tuple[str, ...]
    lengths: tuple[float, ...]  # of pre-sliding, rad or m

    @property
    def law(self) -> FrictionLaw:
        """The law of one length."""
        return FrictionLaw('delay', self.terms, memory=True)


# Every second length: friction of the others is nearly a sum of theirs.
WIDEST, *NARROWER = (
    DryFriction(('coulomb', 'load', 'stribeck'), LENGTHS[::2]),
    DryFriction(('coulomb', 'load'), LENGTHS[::2]),
    DryFriction(('coulomb', 'stribeck'), LENGTHS[::2]),
    DryFriction(('coulomb',), LENGTHS[::2]),
    DryFriction(('coulomb',), LENGTHS[:1]),
    DryFriction((), ()),
)


class Delay(NamedTuple):
    """Delay of the efforts after the motion, s."""

    value: float
    error: float  # standard deviation; 0 of a given one
    applied: bool  # the efforts are moved: it is certain, or given
    reason: str = ''  # why, in words

    @property
    def removed(self) -> float:
        """The delay by which the efforts are moved, s."""
        return self.value if self.applied else 0.0


def given(delay: float) -> Delay:
    """Return a delay [s] that is known otherwise."""
    return Delay(delay, 0.0, True, 'removed, as given')


def delay_of(variants: Iterable[Problem]) -> Delay:
    """Return the delay of recordings, from several low-passes and sources of the velocities."""
    found, step = [], np.inf
    best: tuple[float, Problem] | None = None
    for problem in variants:
        found.append(_Fits(problem, WIDEST).mean())
        step = min(step, *(piece.stretch.step for piece in problem.recordings[0].rows.pieces))
        if best is None or found[-1].error < best[0]:
            best = found[-1].error, problem
    values, errors = (np.array([getattr(one, k) for one in found]) for k in ('value', 'error'))
    known = np.isfinite(errors)
    if best is None or not known.any():
        return Delay(0.0, np.inf, False, 'not determined, not removed')
    mean = pooled(values[known], errors[known])
    # The variants share the noise of the recordings: their mean has at least the least error.
    own = max(np.hypot(mean.error, errors.min()), _of_halves(best[1]))
    value = mean.value
    error = float(np.sqrt(own**2 + _between_frictions(best[1]) + MECHANICAL**2))
    if not max(CERTAIN * error, PER_SAMPLE * step) < abs(value) <= LONGEST:
        return Delay(value, error, False, 'not certain, not removed')
    if abs(value) > LONG and not confirmed(best[1], value):
        reason = 'not confirmed by motion that is not fitted, not removed (--delay removes it)'
        return Delay(value, error, False, reason)
    return Delay(value, error, True, 'removed')


def _between_frictions(problem: Problem) -> float:
    """Return the variance of the delay between models of friction of nearly the least residual."""
    fits = [_Fits(problem, friction) for friction in (WIDEST, *NARROWER)]
    values = np.array([one.mean().value for one in fits])
    left = np.log([one.left for one in fits]).mean(axis=1)
    return float(values[left <= left.min() + WORTH].var())


def _of_halves(problem: Problem) -> float:
    """Return the standard deviation of the mean of the delays of both halves, 0 if unknown."""
    halves = [_Fits(replace(problem, recordings=half), WIDEST).mean() for half in _halves(problem)]
    values, errors = (np.array([getattr(one, k) for one in halves]) for k in ('value', 'error'))
    return pooled(values, errors).error if np.isfinite(errors).all() else 0.0


def _halves(problem: Problem) -> list[list[RecordingRows]]:
    """Return the rows of the first and of the second half of each recording."""

    def half(one: RecordingRows, second: bool) -> RecordingRows:
        later = np.arange(len(one.rows.t)) >= len(one.rows.t) // 2
        return one.select(later == second)

    return [[half(one, second) for one in problem.recordings] for second in (False, True)]


def confirmed(problem: Problem, delay: float) -> bool:
    """Return whether a delay predicts each half by a fit of the other, better than a smaller."""
    fits = _Fits(problem, WIDEST)
    fits.mean()
    without, smaller, whole = (fits.held_out(share * delay) for share in (0.0, 0.5, 1.0))
    return whole < CONFIRMED * without and whole < smaller


class _Fits:
    """Least squares of each joint by itself, with one model of dry friction."""

    def __init__(self, problem: Problem, friction: DryFriction):
        start = problem.start
        terms = problem.terms(start)
        self._problem, self._law, self._block = problem, friction.law, terms.block
        self._seen = [rows for rows, *_ in problem.recordings]
        self._directions = [
            [rows.sliding_directions(self._law, length) for rows in self._seen]
            for length in friction.lengths
        ]
        self._own = {
            j: joint_columns(problem, terms, j)
            for j in np.flatnonzero(terms.effort.any(axis=0)).tolist()
        }
        # The load of the friction: of the description at first, then of each joint's own fit.
        self._theta = np.tile(start.theta, (len(start.gain), 1))
        self._rotor = start.rotor.copy()
        self._t = np.concatenate([rows.t for rows in self._seen])
        self._some = np.arange(len(self._t)) % INDEPENDENT == 0
        self.left = np.ones(len(self._own))  # residual of each joint

    def mean(self) -> Pooled:
        """Return the mean of the joints' delays, with a variance between them."""
        total = 0.0
        for step in range(STEPS):
            values, errors = self._estimates(total)
            known = np.isfinite(errors)
            if not known.any():
                return Pooled(0.0, np.inf, 0.0)
            found = pooled(values[known], errors[known])
            total += found.value
            settled = step > 0 and abs(found.value) < 0.1 * found.error
            if settled or abs(total) > LONGEST:
                break
        return found._replace(value=total)

    def held_out(self, delay: float) -> float:
        """Return the residual of each half by a fit of the other (geometric mean of the joints).

        Args:
            delay: of the efforts, s.
        """
        effort, left = self._efforts(delay), []
        second = np.arange(len(self._t)) >= len(self._t) // 2
        for j, A in self._columns().items():
            squares = 0.0
            for out in (second, ~second):
                fitted = self._some & ~out
                x = np.linalg.lstsq(A[fitted], effort[fitted, j], rcond=RANK)[0]
                rest = effort[out, j] - A[out] @ x
                squares += float(rest @ rest)
            left.append(np.log(squares + TINY) / 2)
        return float(np.exp(np.mean(left)))

    def _estimates(self, total: float) -> tuple[Array, Array]:
        """Return delays of the joints beyond a total [s], and errors; the fits are kept."""
        effort, some, estimates = self._efforts(total), self._some, []
        for k, (j, A) in enumerate(self._columns().items()):
            size = np.linalg.norm(A, axis=0)
            size[size == 0.0] = 1.0
            A = A / size
            # effort(t) = model(t - d) = A x - d d(A x)/dt: the slope has no noise of the efforts
            x, _, rank, _ = np.linalg.lstsq(A[some], effort[some, j], rcond=RANK)
            slope = np.gradient(A @ x, self._t)[some]
            value, error = coefficient(slope, A[some], effort[some, j], self._block[some])
            freedom = len(slope) - rank - 1
            if error > 0 and freedom >= FEWEST:
                estimates.append((-value, error * np.sqrt(len(slope) / freedom)))
            rest = effort[some, j] - A[some] @ x
            self.left[k] = np.sqrt(float(rest @ rest) / max(freedom, 1)) + TINY
            self._keep(j, x / size)
        values, errors = np.array(estimates).reshape(-1, 2).T
        return values, errors

    def _efforts(self, delay: float) -> Array:
        return np.concatenate([rows.delayed(delay).effort for rows in self._seen])

    def _columns(self) -> dict[int, Array]:
        """Return the columns (K, p) of each joint, by its number."""
        dry = [
            np.concatenate(
                [
                    rows.features_along(self._law, z, self._theta, self._rotor)
                    for rows, z in zip(self._seen, of_length, strict=True)
                ]
            )
            for of_length in self._directions
        ]
        return {
            j: np.column_stack([own, *(features[:, j] for features in dry)])
            for j, own in self._own.items()
        }

    def _keep(self, j: int, x: Array) -> None:
        """Keep what friction by load needs of the fit of a joint."""
        parameters = self._theta.shape[1]
        self._theta[j] = x[:parameters]
        if self._problem.excited[j]:
            self._rotor[j] = x[self._own[j].shape[1] - 1]
