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
change is part of the error.

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
from typing import NamedTuple

import numpy as np

from robot_dynamics.friction.laws import FrictionLaw
from robot_dynamics.identification.estimation.covariance import Pooled, pooled
from robot_dynamics.identification.estimation.equations import Problem
from robot_dynamics.identification.estimation.friction_choice import LENGTHS
from robot_dynamics.identification.estimation.observations import INDEPENDENT
from robot_dynamics.identification.estimation.parameter_fit import (
    FEWEST,
    RANK,
    coefficient,
    joint_columns,
)

DRY = FrictionLaw('delay', ('coulomb', 'load', 'stribeck'), memory=True)
CUTOFFS = (0.5, 0.5**0.5, 1.0)  # of the low-pass, relative to that of the fit
STEPS = 4
LONGEST = 0.1  # s
MECHANICAL = 7e-4  # s, standard deviation of the lag of elastic transmissions with friction
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
    own = np.hypot(mean.error, errors.min())
    value, error = mean.value, float(np.hypot(own, MECHANICAL))
    certain = max(CERTAIN * error, PER_SAMPLE * step) < abs(value) <= LONGEST
    return Delay(value, error, certain)


def _of_variant(problem: Problem) -> Pooled:
    """Return the mean of the joints' delays, with a variance between them."""
    terms, start = problem.terms(problem.start), problem.start
    seen = [rows for rows, *_ in problem.recordings]
    # Every second length: friction of the others is nearly a sum of theirs.
    directions = [
        [rows.sliding_directions(DRY, length) for rows in seen] for length in LENGTHS[::2]
    ]
    columns = {
        j: joint_columns(problem, terms, j)
        for j in np.flatnonzero(terms.effort.any(axis=0)).tolist()
    }
    # The load of the friction: of the description at first, then of each joint's own fit.
    theta, rotor = np.tile(start.theta, (len(start.gain), 1)), start.rotor.copy()
    t = np.concatenate([rows.t for rows in seen])
    some = np.arange(len(t)) % INDEPENDENT == 0
    total = 0.0
    for step in range(STEPS):
        dry = [
            np.concatenate(
                [
                    rows.features_along(DRY, z, theta, rotor)
                    for rows, z in zip(seen, of_length, strict=True)
                ]
            )
            for of_length in directions
        ]
        effort = np.concatenate([rows.delayed(total).effort for rows in seen])
        estimates = []
        for j, own in columns.items():
            A = np.column_stack([own, *(features[:, j] for features in dry)])
            size = np.linalg.norm(A, axis=0)
            size[size == 0.0] = 1.0
            A = A / size
            # effort(t) = model(t - d) = A x - d d(A x)/dt: the slope has no noise of the efforts
            x, _, rank, _ = np.linalg.lstsq(A[some], effort[some, j], rcond=RANK)
            slope = np.gradient(A @ x, t)[some]
            value, error = coefficient(slope, A[some], effort[some, j], terms.block[some])
            freedom = len(slope) - rank - 1
            if error > 0 and freedom >= FEWEST:
                estimates.append((-value, error * np.sqrt(len(slope) / freedom)))
            x = x / size
            theta[j] = x[: len(start.theta)]
            if problem.excited[j]:
                rotor[j] = x[own.shape[1] - 1]
        values, errors = np.array(estimates).reshape(-1, 2).T
        known = np.isfinite(errors)
        if not known.any():
            return Pooled(0.0, np.inf, 0.0)
        found = pooled(values[known], errors[known])
        total += found.value
        settled = step > 0 and abs(found.value) < 0.1 * found.error
        if settled or abs(total) > LONGEST:
            break
    return found._replace(value=total)
