# SPDX-License-Identifier: Apache-2.0
"""Constant delay between the efforts and the motion of a recording.

    effort(t) = model(t - delay)   =>   effort(t + d) - A x = (d - delay) d(effort)/dt

Each joint's efforts are projected onto what no parameters of its own can explain; the delay is the
one unknown that all joints share. It is applied, and estimated again. Friction with pre-sliding
lags behind the velocity as well, so friction of several pre-sliding lengths is among those
parameters.

Source: Golub and Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares
problems whose variables separate", SIAM J. Numerical Analysis 10(2), 1973.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.friction.laws import LAWS
from robot_dynamics.identification.estimation.friction_choice import LENGTHS
from robot_dynamics.identification.estimation.observations import Observations
from robot_dynamics.identification.estimation.parameter_fit import (
    RANK,
    Problem,
    inverse_deviations,
    joint_columns,
)
from robot_dynamics.spatial import Array

STEPS = 4
LONGEST = 0.1  # s
CERTAIN = 4.0  # standard deviations, and
PER_SAMPLE = 0.1  # of the time between samples: less is no delay


class Delay(NamedTuple):
    """Delay of the efforts after the motion, s."""

    value: float
    error: float  # standard deviation


def delay_of(problem: Problem) -> Delay:
    """Return the delay of the first recording of a problem; 0 if it is not certain."""
    seen = problem.recordings[0]
    lags = np.concatenate(
        [
            seen.friction_features(LAWS['load_memory'], length, problem.start.theta)
            for length in LENGTHS
        ],
        axis=2,
    )
    total, error = 0.0, np.inf
    for _ in range(STEPS):
        change, error = _step(problem, seen.delayed(total), lags)
        total += change
        if abs(change) < 0.1 * error or abs(total) > LONGEST:
            break
    least = max(CERTAIN * error, PER_SAMPLE * seen.pieces[0].stretch.step)
    certain = least < abs(total) <= LONGEST
    return Delay(total if certain else 0.0, error)


def _step(problem: Problem, seen: Observations, lags: Array) -> tuple[float, float]:
    terms = problem.terms(problem.start.theta, [seen])
    rest, slope = np.empty_like(terms.effort), np.empty_like(terms.effort)
    for j in range(rest.shape[1]):
        A = np.column_stack([joint_columns(problem, terms, j), lags[:, j]])
        A = A / np.maximum(np.linalg.norm(A, axis=0), 1e-300)
        both = np.column_stack([terms.effort[:, j] - terms.known[:, j], seen.slope[:, j]])
        both = both - A @ np.linalg.lstsq(A, both, rcond=RANK)[0]
        rest[:, j], slope[:, j] = both.T
    w = inverse_deviations(terms, rest)
    information = float(((w * slope) ** 2).sum())
    if information == 0:
        return 0.0, np.inf
    # effort(t + d) = effort(t) + d slope: the residual is least for -<rest, slope> / |slope|^2
    return -float((w**2 * rest * slope).sum()) / information, 1 / np.sqrt(information)
