# SPDX-License-Identifier: Apache-2.0
"""Constant delay between the efforts and the motion of recordings.

    effort(t) = model(t - delay)   =>   effort(t) = A x - delay d(A x)/dt

The delay of a joint is the coefficient of the slope of its efforts, as its own least squares A x
predicts them, beside the columns A, with an error from sums over blocks of time. The mean over the
joints, with a variance between them, is removed, and estimated again. Friction with pre-sliding
lags behind the velocity as well, so friction of several pre-sliding lengths is among those
parameters. Estimates through several low-passes, with recorded and with derived velocities, are
averaged in the same way: what they change is part of the error.

Sources: Golub and Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares
problems whose variables separate", SIAM J. Numerical Analysis 10(2), 1973; DerSimonian and Laird,
"Meta-analysis in clinical trials", Controlled Clinical Trials 7(3), 1986.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from robot_dynamics.friction.laws import LAWS
from robot_dynamics.identification.estimation.covariance import Pooled, pooled
from robot_dynamics.identification.estimation.equations import Problem
from robot_dynamics.identification.estimation.friction_choice import LENGTHS
from robot_dynamics.identification.estimation.observations import INDEPENDENT
from robot_dynamics.identification.estimation.parameter_fit import (
    RANK,
    coefficient,
    joint_columns,
)

CUTOFFS = (0.5, 0.5**0.5, 1.0)  # of the low-pass, relative to that of the fit
STEPS = 4
LONGEST = 0.1  # s
CERTAIN = 4.0  # standard deviations, and
PER_SAMPLE = 0.1  # of the time between samples: less is no delay


class Delay(NamedTuple):
    """Delay of the efforts after the motion, s."""

    value: float
    error: float  # standard deviation
    applied: bool  # the efforts are moved: it is certain

    @property
    def removed(self) -> float:
        """The delay by which the efforts are moved, s."""
        return self.value if self.applied else 0.0


def delay_of(variants: Iterable[Problem]) -> Delay:
    """Return the delay of recordings, from several low-passes and sources of the velocities."""
    found, step = [], np.inf
    for problem in variants:
        found.append(_of_variant(problem))
        step = min(step, *(piece.stretch.step for piece in problem.recordings[0].rows.pieces))
    values, errors = (np.array([getattr(one, k) for one in found]) for k in ('value', 'error'))
    known = np.isfinite(errors)
    if not known.any():
        return Delay(0.0, np.inf, applied=False)
    mean = pooled(values[known], errors[known])
    # The variants share the noise of the recordings: their mean has at least the least error.
    value, error = mean.value, float(np.hypot(mean.error, errors.min()))
    certain = max(CERTAIN * error, PER_SAMPLE * step) < abs(value) <= LONGEST
    return Delay(value, error, certain)


def _of_variant(problem: Problem) -> Pooled:
    """Return the mean of the joints' delays, with a variance between them."""
    terms, start = problem.terms(problem.start), problem.start
    lags = [
        np.concatenate(
            [
                rows.friction_features(LAWS['load_memory'], length, start.theta, start.rotor)
                for rows, *_ in problem.recordings
            ]
        )
        for length in LENGTHS
    ]
    joints = np.flatnonzero(terms.effort.any(axis=0)).tolist()
    columns = []
    for j in joints:
        A = np.column_stack([joint_columns(problem, terms, j), *(lag[:, j] for lag in lags)])
        columns.append(A / np.maximum(np.linalg.norm(A, axis=0), 1e-300))
    t = np.concatenate([rows.t for rows, *_ in problem.recordings])
    some = np.arange(len(t)) % INDEPENDENT == 0
    total, found = 0.0, Pooled(0.0, np.inf, 0.0)
    for _ in range(STEPS):
        effort = np.concatenate([rows.delayed(total).effort for rows, *_ in problem.recordings])
        own = []
        for j, A in zip(joints, columns, strict=True):
            # effort(t) = model(t - d) = A x - d d(A x)/dt: the slope has no noise of the efforts
            model = A @ np.linalg.lstsq(A[some], effort[some, j], rcond=RANK)[0]
            slope = np.gradient(model, t)[some]
            own.append(coefficient(slope, A[some], effort[some, j], terms.block[some]))
        values, errors = np.array(own).reshape(-1, 2).T
        known = np.isfinite(errors) & (errors > 0)
        if not known.any():
            return Pooled(0.0, np.inf, 0.0)
        found = pooled(-values[known], errors[known])
        total += found.value
        if abs(found.value) < 0.1 * found.error or abs(total) > LONGEST:
            break
    return found._replace(value=total)
