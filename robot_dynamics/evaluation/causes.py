# SPDX-License-Identifier: Apache-2.0
"""Causes of a residual: the most probable errors of a model that explain it.

All residuals are fitted at once, by weighted least squares: a payload at the tip changes the
torque of every joint, and must not be mistaken for seven frictions. The noise of each joint is
the residual that its causes do not explain, estimated anew until the choice of causes no longer
changes. `selection` chooses the causes. Dropped are causes that are certain but small, physically
impossible, within the stated errors of an identified model, or not valid in every block of time: a
fit to the other blocks must predict each one.

A model is either exact but for its causes, or inexact: every joint, and possibly every link, has
small errors as well, with a narrow prior. The most probable of these searches counts, unless the
small errors explain most of the residual. Otherwise a payload and gains that are 1 % off, as those
of an identified model, look like several wrong links. `last_fit` has values, standard deviations
and alternatives; there, a scale multiplies the torque that the other causes correct. The causes
that are reported must explain the residual without those that are not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.joint_values import rms
from robot_dynamics.evaluation.autoregression import Noise
from robot_dynamics.evaluation.cause_columns import (
    OF_JOINTS,
    OF_MOTION,
    OF_TORQUE,
    Comparison,
)
from robot_dynamics.evaluation.cause_equations import BLOCKS, Equations
from robot_dynamics.evaluation.hypotheses import (
    Findings,
    hypotheses,
    inexact,
    inexact_links,
    possible,
)
from robot_dynamics.evaluation.last_fit import LastFit
from robot_dynamics.evaluation.search_numbers import (
    CERTAIN,
    ITERATION,
    MOTION,
    PRICES,
    REPORTED,
    SMALL,
    VALIDITY,
)
from robot_dynamics.evaluation.selection import Regression, Solution
from robot_dynamics.evaluation.sufficient_causes import sufficient
from robot_dynamics.recordings.recording import moves

COMMON = ('offset', 'delay')  # always in the last fit: the others' errors allow for them
VISIBLE = 0.05  # of the effort: an error of this size should be
SHOULD_BE_VISIBLE = ('dry friction', 'Stribeck friction', 'viscous friction', 'scale')


def find_causes(compared: Comparison) -> tuple[Findings, Array]:
    """Return the causes of the residuals, if there is enough motion, and their torque (G, n)."""
    search = _Search(compared)
    if not search.searchable:
        residual = compared.columns.residual
        nothing = np.zeros_like(residual)
        return Findings(False, False, (), rms(residual), (0.0, math.inf), ()), nothing
    return search.findings()


class _Choice(NamedTuple):
    """A choice of hypotheses, its equations and the noise that it leaves."""

    causes: list[int]
    small: list[int]  # small errors, except those that causes replace
    inexact: bool  # small errors are assumed
    regression: Regression
    noise: Noise

    @property
    def chosen(self) -> list[int]:
        """All hypotheses."""
        return [*self.causes, *self.small]


class _Physical(NamedTuple):
    """The choice among causes that are physically possible."""

    choice: _Choice
    allowed: list[int]  # hypotheses that are not found to be impossible
    dropped: bool  # an impossible one exceeds noise


class _Certain(NamedTuple):
    """Causes that exceed the stated errors of the model."""

    large: list[int]  # those that matter
    valid: list[int]  # those that predict every block of time
    several: bool  # several links are wrong
    dropped: bool  # a large one that is not valid exceeds noise


class _Search:
    """Equations of the possible causes and of small errors."""

    def __init__(self, compared: Comparison):
        self._model, self._effort = compared.arm.model, compared.effort
        self._stated = compared.stated
        columns, measured = compared.columns, compared.measured
        rows = moves(columns.qd[columns.rows])
        standing = rows.sum(axis=0) < max(MOTION.samples, MOTION.share * len(rows))
        self.searchable = bool((measured & ~standing).any())  # a single posture fits any cause
        rows[:, standing] = True
        rows[:, ~measured] = False
        determined = np.tile(measured, (len(OF_JOINTS), 1))
        determined[OF_MOTION] &= ~standing
        found = hypotheses(compared, determined)
        self._possible = found
        drives, links = inexact(found), inexact_links(found, SMALL.of_link)
        every = [*found, *drives, *links]
        self._equations = Equations(every, compared, rows)
        ends = len(found), len(found) + len(drives), len(every)
        self._drives, self._links = (list(range(*pair)) for pair in pairwise(ends))
        self._common = [g for g, h in enumerate(found) if h.kind in COMMON]
        (self._one_scale,) = (g for g, h in enumerate(found) if (h.kind, h.place) == ('scale', ''))

    def findings(self) -> tuple[Findings, Array]:
        """Return the causes that remain after all checks, and their torque (G, n)."""
        physical = self._physical()
        found = physical.choice
        causes = found.causes
        found = found._replace(causes=[*causes, *(g for g in self._common if g not in causes)])
        solution = self._equations.spread(found.regression.solution(found.chosen), found.noise)
        certain = self._certain(causes, found, solution)
        fit = self._last_fit(self._equations.with_scale_of(solution.x), found, certain.several)
        named = [g for g in certain.valid if g in certain.large]
        small = [g for g in certain.valid if g not in certain.large]
        reported = self._sufficient(fit, named, small)
        torque = fit.torque(reported)
        result = Findings(
            searched=True,
            doubtful=(
                physical.dropped or certain.dropped or any(g not in reported for g in named)
            ),
            causes=fit.causes(reported, physical.allowed),
            unexplained=rms(self._equations.compared.columns.residual - torque),
            delay=fit.delay(),
            undetermined=self._undetermined(fit, reported),
        )
        return result, torque

    def _physical(self) -> _Physical:
        """Return the most probable choice of causes that are physically possible."""
        allowed, dropped = list(range(len(self._possible))), False
        while True:
            found = self._best(allowed)
            solution = self._equations.spread(found.regression.solution(found.chosen), found.noise)
            impossible = [
                g
                for g in found.causes
                if not possible(self._model, self._possible[g], *self._equations.of(g, solution))
            ]
            if not impossible:
                return _Physical(found, allowed, dropped)
            dropped = dropped or any(self._stands_out(g, found) for g in impossible)
            allowed = [g for g in allowed if g not in impossible]

    def _certain(self, causes: Sequence[int], found: _Choice, solution: Solution) -> _Certain:
        """Return the causes beyond the errors of the model, those that are large, and valid.

        Small causes, and those that are not valid throughout, stay in the fit of the others.

        Args:
            causes: of the choice.
            found: the choice, with the causes that are always fitted.
            solution: of that.
        """
        importance = {g: self._importance(g, solution.x) for g in causes}
        least = 1.0 if len(causes) <= REPORTED.few else REPORTED.of_many
        causes = [g for g in causes if self._beyond_model(g, solution)]
        large = [g for g in causes if importance[g] >= least]
        valid = [g for g in causes if self._valid(g, found)]
        of_links = [importance[g] for g in causes if self._possible[g].body >= 0]
        similar = max([1.0, *(SMALL.similar * one for one in of_links)])
        several = sum(one >= similar for one in of_links) >= SMALL.several
        return _Certain(
            large,
            valid,
            several=several and not {*self._links} & {*found.small},
            dropped=any(self._stands_out(g, found) for g in large if g not in valid),
        )

    def _last_fit(self, equations: Equations, found: _Choice, several: bool) -> LastFit:
        """Return the fit with small errors; larger ones of the links if several are wrong."""
        small = [*self._drives, *self._links] if found.inexact else self._drives
        assumed = small if found.inexact else []
        if several:
            first = len(equations.hypotheses)
            equations = equations.with_hypotheses(inexact_links(self._possible, SMALL.of_several))
            small = [*small, *range(first, len(equations.hypotheses))]
        return LastFit(equations, found.noise, found.causes, assumed, small)

    def _best(self, allowed: Sequence[int]) -> _Choice:
        """Return the most probable choice whose small errors explain the smaller part."""
        apart = [g for g in allowed if g != self._one_scale]
        found = [self._with_large(one, apart, CERTAIN) for one in self._searches(allowed, apart)]
        for one in sorted(found, key=self._log_probability, reverse=True):
            best = self._with_large(one, apart, 0.0)
            if self._minor(best):
                break
        return best

    def _searches(self, allowed: Sequence[int], apart: Sequence[int]) -> list[_Choice]:
        """Return the choices of several searches.

        A few wrong links may explain much of what many drives do, so that one search begins with
        the causes of single joints, and others assume small errors. Scales are those of each
        joint, or in the last search one of all as well.
        """
        noise = self._equations.first_noise()
        of_joints = [g for g in apart if self._possible[g].joint >= 0]
        first = self._converged(of_joints, noise, (), ())
        return [
            self._converged(apart, first.noise, first.causes, ()),
            *(self._converged(apart, noise, (), small) for small in self._kinds_of_small()),
            self._converged(allowed, noise, (), ()),
        ]

    def _kinds_of_small(self) -> list[list[int]]:
        """Return small errors: gains alone, all of the drives, and those of the links as well."""
        gains = [g for g in self._drives if self._equations.hypotheses[g].kind == 'scale']
        return [gains, self._drives, [*self._drives, *self._links]]

    def _log_probability(self, found: _Choice) -> float:
        price = PRICES.cause if found.inexact else 0.0
        return found.regression.log_probability(found.chosen) - price

    def _minor(self, found: _Choice) -> bool:
        """Return whether the small errors of a choice explain the smaller part of a residual."""
        x = found.regression.solution(found.chosen).x
        torque = sum((self._equations.torque_of(g, x) for g in found.small), 0.0 * self._effort)
        unit = np.where(self._effort > 0, self._effort, np.inf)
        sizes = [
            np.linalg.norm(rms(np.atleast_2d(one)) / unit * self._equations.measured)
            for one in (torque, self._equations.compared.columns.residual)
        ]
        return bool(sizes[0] <= SMALL.minor * sizes[1])

    def _converged(
        self,
        allowed: Sequence[int],
        noise: Noise,
        causes: Sequence[int],
        small: Sequence[int],
    ) -> _Choice:
        """Return the chosen hypotheses and the noise that they leave, from a first choice."""
        for _ in range(ITERATION.rounds):
            before, regression = set(causes), self._equations.regression(noise)
            causes = regression.select(allowed, causes, small)
            after = self._equations.noise(regression.solution([*causes, *small]))
            change = np.abs(np.log(after.sigma / noise.sigma)).max()
            noise = after
            if set(causes) == before and change < ITERATION.close:
                break
        return _Choice(
            list(causes), list(small), bool(small), self._equations.regression(noise), noise
        )

    def _with_large(self, found: _Choice, allowed: Sequence[int], least: float) -> _Choice:
        """Return the choice with causes instead of small errors that explain as much as one.

        Args:
            found: the choice.
            allowed: possible causes.
            least: smallest of these errors, in standard deviations of their priors.
        """
        x = found.regression.solution(found.chosen).x
        for b in found.small:
            unknowns = self._equations.groups[b]
            if (np.abs(x[unknowns]) < least * self._equations.hypotheses[b].prior).all():
                continue
            rest = found._replace(small=[other for other in found.small if other != b])
            instead = [g for g in allowed if self._equations.replaces[g] == b]
            gains = found.regression.gains(rest.chosen, instead)
            g = int(np.argmax(gains))
            if gains[g] > 0:
                found = rest._replace(causes=[*rest.causes, g])
        return found

    # -- validity ---------------------------------------------------------------------------

    def _valid(self, g: int, found: _Choice) -> bool:
        """Return whether a cause predicts blocks to which it was not fitted."""
        gains = found.regression.held_out(found.causes, g, found.small)
        gains = gains[np.isfinite(gains)]
        failed = int((gains < CERTAIN**2 / BLOCKS).sum())
        return len(gains) > 2 * VALIDITY.failed and failed <= VALIDITY.failed

    def _stands_out(self, g: int, found: _Choice) -> bool:
        """Return whether an invalid cause exceeds noise, which makes the recording doubtful."""
        gains = np.nan_to_num(found.regression.held_out(found.causes, g, found.small))
        return bool(np.abs(gains).sum() > BLOCKS * CERTAIN**2)

    def _sufficient(
        self, fit: LastFit, reported: Sequence[int], small: Sequence[int]
    ) -> list[int]:
        """Return causes that together make no joint's residual worse."""
        residual = self._equations.compared.columns.residual
        before, measured = self._equations.floored(rms(residual)), self._equations.measured

        def rms_without(torque: Array) -> Array:
            return np.where(measured, rms(residual - torque) / before, 0.0)

        torques = [{g: fit.torque([g]) for g in some} for some in (reported, small)]
        return sufficient(rms_without, *torques)

    def _importance(self, g: int, x: Array) -> float:
        """Return the size of a cause relative to the smallest that is reported."""
        h, value = self._possible[g], x[self._equations.groups[g]]
        share = REPORTED.of_gravity if h.kind == 'gravity' else REPORTED.of_effort
        residual = rms(self._equations.compared.columns.residual)
        least = np.maximum(REPORTED.of_residual * residual, share * self._effort)
        size = rms(self._equations.torque_of(g, x))
        if h.kind in OF_TORQUE:
            size[h.joint] = abs(value[0])
        if h.kind == 'inertia' and len(h.prior) == 1:
            size *= min(1.0, abs(value[0]) / REPORTED.of_mass)
        return float(np.max(size / np.where(least > 0, least, np.inf)))

    def _beyond_model(self, g: int, solution: Solution) -> bool:
        """Return whether a cause exceeds the stated error of what it would correct."""
        h = self._possible[g]
        if h.joint < 0 or h.kind not in self._stated:
            return True
        value, covariance = self._equations.of(g, solution)
        error = np.hypot(self._stated[h.kind][h.joint], np.sqrt(covariance[0, 0]))
        return bool(abs(value[0]) > CERTAIN * error)

    def _undetermined(self, fit: LastFit, reported: Sequence[int]) -> tuple[tuple[str, str], ...]:
        """Return errors that the recording would not show."""
        searched = {(h.kind, h.place): g for g, h in enumerate(self._possible)}
        return tuple(
            (kind, name)
            for kind in SHOULD_BE_VISIBLE
            for j, name in enumerate(self._model.joint_names)
            if (g := searched.get((kind, name))) not in reported
            and (g is None or self._hidden(fit, g, j))
        )

    def _hidden(self, fit: LastFit, g: int, j: int) -> bool:
        kind = self._possible[g].kind
        column = fit.equations.compared.columns.of_joints[OF_JOINTS.index(kind), :, j]
        unit = 1.0 if kind in OF_TORQUE else float(rms(column))
        return fit.least(g) * unit > VISIBLE * float(self._effort[j])
