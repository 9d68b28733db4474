# SPDX-License-Identifier: Apache-2.0
"""Normal equations of hypotheses on a residual, and the noise that they leave.

The noise of each joint is an autoregressive process, whose innovations weight the equations.

Noise of the motion is noise of the columns, which biases their products: with errors E of the
columns X, the mean of (X + E)^T (X + E) is X^T X + E^T E. The same noise is therefore added to
the motion once more, with either sign, and the change of the products is subtracted.

Sources: Gautier, Dynamic identification of robots with power model, ICRA 1997 (weights); Cook and
Stefanski, Simulation-extrapolation estimation in parametric measurement error models, J. American
Statistical Association 89, 1994 (noise added to the columns); White, Maximum likelihood
estimation of misspecified models, Econometrica 50, 1982 (errors from scores).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.evaluation.autoregression import (
    ORDER,
    Noise,
    noise_of,
    whitened,
    whitened_rows,
)
from robot_dynamics.evaluation.cause_columns import OF_JOINTS, Comparison
from robot_dynamics.evaluation.hypotheses import Hypothesis, exclusive
from robot_dynamics.evaluation.selection import Regression, Solution

FLOOR = 1e-3  # of the effort: lowest standard deviation of a residual
TOGETHER = 5  # successive samples whose scores are added
BLOCKS = 6  # of time, each predicted by a fit of the others
TINY = 1e-30


class Equations:
    """Residuals, the columns of hypotheses, and the samples that are used."""

    def __init__(self, hypotheses: Sequence[Hypothesis], compared: Comparison, used: Array):
        """Store the columns.

        Args:
            hypotheses: G possible causes.
            compared: efforts and model.
            used: (R, n) bool, of the independent rows.
        """
        self.hypotheses, self.compared = hypotheses, compared
        self._effort, self._used = compared.effort, used
        self._directions = np.concatenate([h.directions for h in hypotheses])
        ends = np.cumsum([0, *(len(h.prior) for h in hypotheses)])
        self.groups = [range(*pair) for pair in pairwise(ends)]
        self.exclusive = exclusive(hypotheses)
        small = {(h.kind, h.joint): g for g, h in enumerate(hypotheses) if h.small}
        # Of each cause of one joint, the small error of the same kind.
        self.replaces = [
            small.get((h.kind, h.joint)) if h.joint >= 0 and not h.small else None
            for h in hypotheses
        ]
        count = len(compared.perturbed)
        self._stacks = [
            (2.0 if count else 1.0, compared.columns.stacked()),
            *((-1.0 / count, one.stacked()) for one in compared.perturbed),
        ]

    def with_hypotheses(self, more: Sequence[Hypothesis]) -> Equations:
        """Return the equations of further hypotheses as well."""
        return Equations([*self.hypotheses, *more], self.compared, self._used)

    def with_scale_of(self, x: Array) -> Equations:
        """Return equations with scales of the torque that x corrects, not of the model's."""
        compared = self.compared.with_scale_of(*self._errors(x))
        return Equations(self.hypotheses, compared, self._used)

    def with_small(self, chosen: Sequence[int], small: Sequence[int]) -> list[int]:
        """Return the chosen hypotheses, and the small errors that they do not replace."""
        replaced = {self.replaces[g] for g in chosen}
        return [*chosen, *(g for g in small if g not in replaced)]

    def regression(self, noise: Noise) -> Regression:
        """Return the normal equations, whitened, without the columns' noise."""
        size = self._directions.shape[1]
        A, b, of_noise = np.zeros((BLOCKS, size, size)), np.zeros((BLOCKS, size)), 0.0
        edges = np.linspace(0, len(self._used) - ORDER, BLOCKS + 1).astype(int)
        for j, at, count, stacks in self._whitened(self._stacks, noise):
            of_noise -= count * float(np.log(noise.sigma[j]))
            for weight, Z in stacks:
                for k in range(BLOCKS):
                    X = Z[edges[k] : edges[k + 1]]
                    products = weight * X.T @ X
                    A[np.ix_([k], at, at)] += products[:-1, :-1]
                    b[k, at] += products[:-1, -1]
                    of_noise -= 0.5 * float(products[-1, -1])
        D = self._directions
        return Regression(
            D @ A @ D.T,
            b @ D.T,
            of_noise,
            np.concatenate([h.prior for h in self.hypotheses]),
            self.groups,
            np.array([h.price for h in self.hypotheses]),
            self.exclusive,
        )

    def _whitened(
        self, stacks: Sequence[tuple[float, Array]], noise: Noise
    ) -> Iterator[tuple[int, list[int], int, list[tuple[float, Array]]]]:
        """Yield the measured joints: number, errors that act on it, samples, whitened stacks."""
        n, own = len(self._effort), len(OF_JOINTS)
        size = self._directions.shape[1]
        for j in np.flatnonzero(self.measured):
            used = whitened_rows(self._used[:, j])
            factor = used[:, None] / noise.sigma[j]
            yield (
                int(j),
                [*range(j, own * n, n), *range(own * n, size)],
                int(used.sum()),
                [(w, whitened(data[j], noise.coefficients[:, j]) * factor) for w, data in stacks],
            )

    @property
    def measured(self) -> Array:
        """Whether samples of a joint are used (n,)."""
        return np.asarray(self._used.any(axis=0))

    def first_noise(self) -> Noise:
        """Return white noise of the size of the residual."""
        rest = self._rest(self.compared.columns.residual)
        rms = np.sqrt((rest**2).sum(axis=0) / np.maximum(1, self._used.sum(axis=0)))
        return Noise(self.floored(rms), np.zeros((ORDER, len(self._effort))))

    def noise(self, solution: Solution) -> Noise:
        """Return the noise that a solution leaves."""
        rest = self._rest(self.compared.columns.residual - self.torque(solution.x))
        noise = noise_of(rest, self._used, int(np.count_nonzero(solution.x)))
        return noise._replace(sigma=self.floored(noise.sigma))

    def _rest(self, residual: Array) -> Array:
        """Return a residual at the independent rows (R, n), zero where unused."""
        return np.where(self._used, residual[self.compared.columns.rows], 0.0)

    def floored(self, sigma: Array) -> Array:
        """Return standard deviations (n,) that are not below the floor."""
        return np.sqrt(sigma**2 + (FLOOR * self._effort) ** 2 + TINY)

    def spread(self, solution: Solution, noise: Noise) -> Solution:
        """Return the solution with errors at least as large as the scores of the samples vary.

        The score of a sample is its gradient of the log likelihood, X^T r for whitened columns X
        and rest r. Its variation accounts for noise that is larger in some samples, and common to
        several joints; the weights do not.
        """
        x, C = solution
        chosen = np.flatnonzero(C.diagonal())  # the others' covariance is zero
        scores = np.zeros((len(self._used) - ORDER, len(chosen)))
        for _, at, _, ((_, Z),) in self._whitened(self._stacks[:1], noise):
            D = self._directions[chosen][:, at]
            rest = Z[:, -1] - Z[:, :-1] @ (x[chosen] @ D)
            scores += rest[:, None] * (Z[:, :-1] @ D.T)
        together = np.add.reduceat(scores, np.arange(0, len(scores), TOGETHER), axis=0)
        C_chosen, more = C[np.ix_(chosen, chosen)], np.ones(len(x))
        varied = ((together @ C_chosen) ** 2).sum(axis=0)
        more[chosen] = np.sqrt(np.maximum(1.0, varied / C_chosen.diagonal()))
        return Solution(x, C * np.outer(more, more))

    def of(self, g: int, solution: Solution) -> tuple[Array, Array]:
        """Return the unknowns of a hypothesis, and their covariance."""
        here = list(self.groups[g])
        return solution.x[here], solution.covariance[np.ix_(here, here)]

    def torque_of(self, g: int, x: Array) -> Array:
        """Return the torque (G, n) of one hypothesis."""
        only = np.zeros_like(x)
        only[self.groups[g]] = x[self.groups[g]]
        return self.torque(only)

    def torque(self, x: Array) -> Array:
        """Return the torque (G, n) of all unknowns."""
        return self.compared.columns.torque(*self._errors(x))

    def _errors(self, x: Array) -> tuple[Array, Array]:
        """Return the errors of joints (6, n) and of the robot (P,)."""
        errors, n = x @ self._directions, len(self._effort)
        own = len(OF_JOINTS) * n
        return errors[:own].reshape(-1, n), errors[own:]
