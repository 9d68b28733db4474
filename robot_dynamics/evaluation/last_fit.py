# SPDX-License-Identifier: Apache-2.0
"""The last fit of causes: values, standard deviations, alternatives.

Small errors of gain, friction and rotor inertia of every joint take part with a narrow prior, and
where the model is inexact or several links are wrong, small errors of every link: the others'
errors allow for them. Alternatives are causes that explain the residual nearly as well; if the
model is inexact, within these small errors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.evaluation.autoregression import Noise
from robot_dynamics.evaluation.cause_equations import Equations
from robot_dynamics.evaluation.hypotheses import (
    Cause,
    cause,
    possible,
    within_limits,
)
from robot_dynamics.evaluation.search_numbers import PRICES
from robot_dynamics.evaluation.selection import Solution


class LastFit:
    """Chosen causes with small errors of every joint."""

    def __init__(
        self,
        equations: Equations,
        noise: Noise,
        chosen: Sequence[int],
        assumed: Sequence[int],
        small: Sequence[int],
    ):
        """Fit.

        Args:
            equations: of all hypotheses.
            noise: that the causes leave.
            chosen: hypotheses.
            assumed: small errors of an inexact model, or none.
            small: those that standard deviations allow for.
        """
        self._model = equations.compared.arm.model
        self.equations, self.chosen = equations, chosen
        self._assumed, self._small = assumed, small
        self._noise, self._regression = noise, equations.regression(noise)
        self.solution = self._fit(chosen)

    def _fit(self, chosen: Sequence[int]) -> Solution:
        every = self.equations.with_small(chosen, self._small)
        return self.equations.spread(self._regression.solution(every), self._noise)

    def torque(self, causes: Sequence[int]) -> Array:
        """Return the torque (G, n) of some causes."""
        zero = np.zeros_like(self.equations.compared.columns.qd)
        return sum((self.equations.torque_of(g, self.solution.x) for g in causes), zero)

    def causes(self, reported: Sequence[int], allowed: Sequence[int]) -> tuple[Cause, ...]:
        """Return causes with their alternatives, ordered by size."""
        found = [
            replace(self._whole(g, allowed), alternatives=self._alternatives(g, allowed))
            for g in reported
        ]
        return tuple(sorted(found, key=lambda one: -one.size))

    def _whole(self, g: int, allowed: Sequence[int]) -> Cause:
        """Return a cause; of a link of an inexact model, with all ten parameters if possible.

        There, no link is wrong in its mass alone.
        """
        found, every = self._cause(g, self.solution), self.equations.hypotheses
        if not self._assumed or every[g].kind != 'inertia' or len(every[g].prior) > 1:
            return found
        others = [other for other in self.chosen if other != g]
        for whole in allowed:
            if every[whole].body == every[g].body and len(every[whole].prior) > 1:
                solution = self._fit([*others, whole])
                if possible(self._model, every[whole], *self.equations.of(whole, solution)):
                    return self._cause(whole, solution)
        return found

    def _cause(self, g: int, solution: Solution) -> Cause:
        h = self.equations.hypotheses[g]
        value, covariance = self.equations.of(g, solution)
        value = within_limits(self._model, h, value, covariance)
        torque = self.equations.torque_of(g, solution.x)
        return cause(self._model, self.equations.compared.link, h, value, covariance, torque)

    def _alternatives(self, g: int, allowed: Sequence[int]) -> tuple[Cause, ...]:
        """Return possible causes that explain the residual nearly as well as one of the chosen."""
        others = [other for other in self.chosen if other != g]
        # Not the small error that the cause replaces: it may be as large as the cause.
        small = self.equations.with_small(self.chosen, self._assumed)[len(self.chosen) :]
        with_it, without = (
            self._regression.log_probability([*some, *small]) for some in (self.chosen, others)
        )
        least = max(with_it - PRICES.ambiguous, without)
        taken = np.asarray(self.equations.exclusive[:, others].any(axis=1))
        instead = {
            other: self._regression.log_probability([*others, other, *small])
            for other in allowed
            if other != g and not taken[other]
        }
        mine = self._cause(g, self.solution)
        found: dict[tuple[str, str], Cause] = {}
        for other in sorted(instead, key=lambda other: -instead[other]):
            if instead[other] < least:
                break
            solution = self._fit([*others, other])
            h = self.equations.hypotheses[other]
            if possible(self._model, h, *self.equations.of(other, solution)):
                one = self._cause(other, solution)
                found.setdefault((one.kind, one.place), one)
        found.pop((mine.kind, mine.place), None)
        return tuple(found.values())

    def delay(self) -> tuple[float, float]:
        """Return the delay of the efforts, s, and its standard deviation."""
        for g, h in enumerate(self.equations.hypotheses):
            if h.kind == 'delay':
                value, covariance = self._of_one_more(g)
                return float(value[0]), math.sqrt(covariance[0, 0])
        return 0.0, math.inf

    def least(self, g: int) -> float:
        """Return the smallest value of a hypothesis of one unknown that is worth its price."""
        h = self.equations.hypotheses[g]
        error = math.sqrt(self._of_one_more(g)[1][0, 0])
        # log probability x^2 / 2 error^2 - log(prior / error) > price, as in `selection`
        return error * math.sqrt(2 * (h.price + max(0.0, math.log(h.prior[0] / error))))

    def _of_one_more(self, g: int) -> tuple[Array, Array]:
        """Return the unknowns of a hypothesis beside the causes, without small errors."""
        solution = self._regression.solution(sorted({*self.chosen, g}))
        return self.equations.of(g, self.equations.spread(solution, self._noise))
