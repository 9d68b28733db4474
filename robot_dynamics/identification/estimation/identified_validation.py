# SPDX-License-Identifier: Apache-2.0
"""Residuals before and after identification, on data that were not fitted.

Both are low-passed as the fitted data, and their delay is removed. In currents without a scale the
description is given the drive gains that fit it best: otherwise it predicts nothing.

The change of the residual has an interval, from its differences between blocks of time. A verdict
is given where the interval supports it; a motion that is too short for one cannot tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.friction.laws import LAWS
from robot_dynamics.core.model.joint_values import rms
from robot_dynamics.identification.estimation.equations import RecordingRows
from robot_dynamics.identification.estimation.friction_choice import with_law
from robot_dynamics.identification.estimation.observations import BLOCK
from robot_dynamics.identification.estimation.parameter_fit import (
    FLOOR,
    Fit,
    gains_of,
    inverse_deviations,
    joint_columns,
    spreads,
)

WORTH = 0.02  # relative change of the residual (geometric mean): less is no difference
JOINT_WORSE = 0.1  # relative, of one joint, beyond the noise
BETTER, SAME, WORSE = 'better', 'no better', 'worse'
UNKNOWN = 'cannot tell'  # whether the model is better
CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class Validation:
    """Measured and predicted efforts; arrays (n,) or (K, n), in `unit`.

    Attributes:
        source: 'last third', 'test', or 'blocks': each predicted by a fit of the others.
        unit: of the efforts: 'SI' (N m, N), or 'as recorded'.
        t: (K,) s.
        effort: (K, n) measured.
        before: (K, n) predicted by the description.
        after: (K, n) predicted by the identified model.
        moving: (K, n) bool.
        noise: (n,) root mean square of the noise of the measured efforts.
    """

    source: str
    unit: str
    t: Array
    effort: Array
    before: Array
    after: Array
    moving: Array
    noise: Array

    @property
    def effort_rms(self) -> Array:
        """(n,) root mean square of the efforts."""
        return rms(self.effort)

    @property
    def before_rms(self) -> Array:
        """(n,) of the residual of the description."""
        return rms(self.effort - self.before)

    @property
    def after_rms(self) -> Array:
        """(n,) of the residual of the identified model."""
        return rms(self.effort - self.after)

    def rms_where(self, moving: bool) -> tuple[Array, Array]:
        """Return the residuals (n,) before and after, in motion or at rest; NaN without rows."""
        rows = self.moving == moving
        return rms(self.effort - self.before, rows), rms(self.effort - self.after, rows)

    def scaled(self, factor: Array) -> Validation:
        """Return the same in SI units, by a factor (n,)."""
        arrays = {
            name: factor * getattr(self, name) for name in ('effort', 'before', 'after', 'noise')
        }
        return replace(self, unit='SI', **arrays)

    @property
    def ratio(self) -> float:
        """Geometric mean over the measured joints of the residual after, relative to before.

        Residuals below FLOOR of the effort count as equal.
        """
        measured = self.effort.any(axis=0)
        least = FLOOR * self.effort_rms + 1e-300
        ratios = np.maximum(self.after_rms, least) / np.maximum(self.before_rms, least)
        return float(np.exp(np.log(ratios[measured]).mean()))

    @property
    def interval(self) -> tuple[float, float]:
        """Interval of the ratio that holds it with the probability CONFIDENCE."""
        measured = self.effort.any(axis=0)
        sums, number = self._by_block([self.effort - self.before, self.effort - self.after])
        # log ratio = mean_j (log sum_b A_bj - log sum_b B_bj) / 2: changes by one block
        shares = sums / np.maximum(sums.sum(axis=1, keepdims=True), 1e-300)
        change = 0.5 * (shares[1] - shares[0])[:, measured].mean(axis=1)
        if number < 2:
            return 0.0, float('inf')
        error = float(np.sqrt(number / (number - 1) * (change @ change)))
        wide = float(np.exp(_quantile(number) * error))
        return self.ratio / wide, self.ratio * wide

    def _by_block(self, residuals: Sequence[Array]) -> tuple[Array, int]:
        """Return the squares of residuals (m, B, n) by block of time, and the number B."""
        _, block = np.unique(self.t // BLOCK, return_inverse=True)
        number = int(block.max()) + 1
        return np.array(
            [
                np.stack([np.bincount(block, column, number) for column in (x**2).T], axis=1)
                for x in residuals
            ]
        ), number

    @property
    def worse_joints(self) -> Array:
        """(n,) bool: the residual has grown, beyond the noise."""
        growth = self.after_rms - self.before_rms
        least = np.maximum(0.5 * self.noise, FLOOR * self.effort_rms)
        grows = (growth > JOINT_WORSE * self.before_rms) & (growth > least)
        return np.asarray(grows & self.effort.any(axis=0))

    @property
    def growth(self) -> Array:
        """(2, n) growth of the residual, and its standard error from blocks of time."""
        # a - b = (a^2 - b^2) / (a + b); the squares of different blocks are independent
        (after, before), number = self._by_block(
            [self.effort - self.after, self.effort - self.before]
        )
        sums = after - before
        spread = sums.std(axis=0, ddof=1) if number > 1 else np.full(sums.shape[1], np.inf)
        total = np.stack([sums.sum(axis=0), np.sqrt(number) * spread])
        size = len(self.t) * (self.after_rms + self.before_rms)
        return np.asarray(np.divide(total, size, out=np.zeros_like(total), where=size > 0))

    @property
    def certainly_worse(self) -> Array:
        """(n,) bool: the residual has grown by more than the standard error of its growth."""
        growth, error = self.growth
        least = FLOOR * self.effort_rms
        return np.asarray((growth > error + least) & self.effort.any(axis=0))

    @property
    def harmless(self) -> bool:
        """Whether the model is better, or not seen to be worse, on no joint either."""
        if self.verdict == BETTER:
            return True
        return self.ratio <= 1 + WORTH and not self.certainly_worse.any()

    @property
    def improves(self) -> bool:
        """Whether the residual has fallen on the whole."""
        return self.ratio <= 1 - WORTH

    @property
    def verdict(self) -> str:
        """BETTER, SAME or WORSE, or UNKNOWN where the interval does not exclude another one.

        SAME also if the whole has fallen and a joint has certainly grown.
        """
        lowest, highest = self.interval
        if self.ratio > 1 + WORTH:
            return WORSE if lowest > 1 else UNKNOWN
        if not self.improves:
            return SAME if lowest > 1 - WORTH else UNKNOWN
        if not self.worse_joints.any():
            return BETTER if highest < 1 else UNKNOWN
        growth, error = self.growth
        grown = growth > _quantile(len(np.unique(self.t // BLOCK))) * error
        return SAME if (self.worse_joints & grown).any() else UNKNOWN


def _quantile(number: int) -> float:
    """Return the half width of the interval of a mean over independent blocks, in its errors."""
    from scipy.stats import t

    return float(t.ppf(0.5 + CONFIDENCE / 2, number - 1)) if number > 1 else float('inf')


class Drift(NamedTuple):
    """Change over the recording: arrays (n,)."""

    friction: Array  # relative change of the friction torque; NaN where it is not excited
    friction_error: Array
    offset: Array  # in units of the effort
    offset_error: Array
    duration: float  # s

    @property
    def significant(self) -> Array:
        """(n,) bool: friction changes by more than 4 standard deviations and 3 %."""
        with np.errstate(invalid='ignore'):
            return np.asarray(
                (np.abs(self.friction) > 4 * self.friction_error) & (np.abs(self.friction) > 0.03)
            )


def validate(folds: Sequence[tuple[Fit, Sequence[RecordingRows]]], source: str) -> Validation:
    """Return the prediction of rows by fits of others, one fold after the other."""
    parts, end = [], 0.0
    for result, held_out in folds:
        problem, x = result.problem, result.estimate
        described = with_law(problem, LAWS['coulomb'], problem.presliding)
        start = described.start
        if problem.gains:
            gain, _ = gains_of(described.terms(start), start, problem.excited)
            gain = np.where(problem.unknown, gain, start.gain)
            start = replace(start, gain=gain, friction=gain[:, None] * start.friction)
        for seen in held_out:
            terms, t = problem.terms(x, [seen]), seen.rows.t
            t = t + max(0.0, end - t[0])
            before = described.terms(start, [seen]).predicted(start)
            parts.append((t, terms.effort, before, terms.predicted(x), seen.rows.moving))
            end = float(2 * t[-1] - t[-2])
    t, effort, before, after, moving = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    unit = 'as recorded' if folds[0][0].problem.gains else 'SI'
    noise = rms(np.array([seen.rows.noise for _, held_out in folds for seen in held_out]))
    return Validation(source, unit, t, effort, before, after, moving, noise)


def drift_of(result: Fit, seen: RecordingRows) -> Drift:
    """Return the change of friction and offset from the beginning to the end of a recording."""
    problem, x = result.problem, result.estimate
    terms = problem.terms(x, [seen])
    residual = terms.effort - terms.predicted(x)
    friction = np.einsum('kjt,jt->kj', terms.features, x.friction)
    duration = float(seen.rows.t[-1] - seen.rows.t[0])
    u = (seen.rows.t - seen.rows.t.mean()) / max(duration, 1e-300)
    w = inverse_deviations(terms, residual)
    wide = np.sqrt(np.maximum(spreads(terms, w * residual), 1.0))
    n = len(problem.excited)
    value, error = np.full((n, 2), np.nan), np.full((n, 2), np.nan)
    for j in range(n):
        # The identified parameters may have absorbed a part of the drift: they are fitted again.
        others = joint_columns(problem, terms, j)
        A = w[:, j, None] * np.column_stack([u * friction[:, j], u, others])
        keep = np.linalg.norm(A, axis=0) > 0
        size = np.linalg.norm(A[:, keep], axis=0)
        inverse = np.linalg.pinv(A[:, keep] / size, rcond=1e-6)
        found = np.zeros(A.shape[1])
        deviation = np.full(A.shape[1], np.nan)
        found[keep] = inverse @ (w[:, j] * residual[:, j]) / size
        deviation[keep] = wide[j] * np.linalg.norm(inverse, axis=1) / size
        value[j], error[j] = found[:2], deviation[:2]
        if not keep[0]:
            value[j, 0] = np.nan
    return Drift(value[:, 0], error[:, 0], value[:, 1], error[:, 1], duration)
