# SPDX-License-Identifier: Apache-2.0
"""Linear regression with the most probable groups of unknowns.

Unknowns x of the chosen groups have independent normal priors of mean zero; the others are zero.
With the residual r = X x + noise, A = X^T W X and b = X^T W r, where each unknown is relative to
its prior standard deviation, the logarithm of the probability of the data increases by

    b^T (A + 1)^-1 b / 2  -  log det(A + 1) / 2

with the chosen groups. The second term is the price of unknowns that the data determine; those
that they do not determine stay near zero and cost nothing, so that columns may depend linearly on
each other. Each group costs a price in addition: of many possible groups, few are expected.

Groups are added one by one, then exchanged and removed, as long as the probability rises. The
equations are stored by block of time: `held_out` fits all blocks but one, and predicts it.

A is positive semidefinite, but where the noise of the columns has been subtracted from it, an
estimate of it need not be: eigenvalues of A + 1 below 1 are those of unknowns that the data do not
determine. They count as 1, so that no variance exceeds its prior, and none is negative.

Source: Bishop, Pattern Recognition and Machine Learning (2006), section 3.4 (evidence); Hastie,
Tibshirani and Friedman, The Elements of Statistical Learning (2009), section 7.10.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.evaluation.search_numbers import ITERATION, VALIDITY

TINY = 1e-9

Group = Sequence[int]  # unknowns that are chosen together


class Solution(NamedTuple):
    """Values (P,), zero for unknowns that are not chosen, and their covariance (P, P)."""

    x: Array
    covariance: Array


class _Normal(NamedTuple):
    """Inverse of A + 1 (k, k), and log det(A + 1)."""

    inverse: Array
    log_determinant: float


def _normal(A: Array) -> _Normal:
    """Return the inverse of A + 1 of a nearly positive semidefinite A (k, k)."""
    values, V = np.linalg.eigh(A)
    values = 1 + np.maximum(values, 0.0)
    return _Normal((V / values) @ V.T, float(np.log(values).sum()))


class Regression:
    """Normal equations for any subset of the groups."""

    def __init__(
        self,
        A: Array,
        b: Array,
        of_noise: float,
        prior: Array,
        groups: Sequence[Group],
        price: Array,
        exclusive: Array,
    ):
        """Store the equations (B, P, P) and (B, P) of B blocks of time.

        Args:
            A: X^T W X, with W the inverse covariance of the noise.
            b: X^T W r.
            of_noise: log probability of the data without any group.
            prior: (P,) standard deviations of the unknowns.
            groups: indices of unknowns, by group; G groups.
            price: (G,) of each group, in log probability.
            exclusive: (G, G) bool: not chosen together.
        """
        self._of_noise, self._prior = of_noise, prior
        self._groups, self._price, self._exclusive = groups, price, exclusive
        self._blocks = A * np.outer(prior, prior), b * prior
        self._A, self._b = (x.sum(axis=0) for x in self._blocks)
        self._single = np.array([len(group) == 1 for group in groups])
        self._first = np.array([group[0] for group in groups])

    def log_probability(self, chosen: Sequence[int]) -> float:
        """Return that of the data with these groups, but for a constant."""
        at = self._unknowns(chosen)
        S = _normal(self._A[np.ix_(at, at)])
        rise = self._b[at] @ S.inverse @ self._b[at] - S.log_determinant
        return self._of_noise + 0.5 * float(rise) - float(self._price[list(chosen)].sum())

    def select(
        self, allowed: Sequence[int], start: Sequence[int] = (), given: Sequence[int] = ()
    ) -> list[int]:
        """Return the chosen groups, by their indices.

        Args:
            allowed: groups to choose from.
            start: first choice.
            given: groups that are chosen beside these.
        """
        chosen = list(start)
        for _ in range(ITERATION.steps):
            gains = self.gains([*given, *chosen], allowed)
            best = int(np.argmax(gains))
            if gains[best] > 0:
                chosen.append(best)
            elif (better := self._exchanged(chosen, allowed, given)) is not None:
                chosen = better
            else:
                break
        return chosen

    def _exchanged(
        self, chosen: list[int], allowed: Sequence[int], given: Sequence[int]
    ) -> list[int] | None:
        """Return the best set with one group removed or exchanged, None if none is better."""
        best, result = TINY, None
        for one in chosen:
            others = [g for g in chosen if g != one]
            gains = self.gains([*given, *others], allowed)
            other = int(np.argmax(gains))
            rise = max(0.0, gains[other]) - gains[one]
            if rise > best:
                best, result = rise, others + ([other] if gains[other] > 0 else [])
        return result

    def gains(self, chosen: Sequence[int], allowed: Sequence[int]) -> Array:
        """Return the rise of the log probability by each group, -inf unless it is allowed."""
        at = self._unknowns(chosen)
        W = _normal(self._A[np.ix_(at, at)]).inverse @ self._A[at]
        A, b = self._A - self._A[:, at] @ W, self._b - self._b[at] @ W
        own = 1 + np.maximum(A.diagonal(), 0)
        of_single = 0.5 * (b**2 / own - np.log(own))
        gains = np.full(len(self._groups), -np.inf)
        taken = np.asarray(self._exclusive[:, list(chosen)].any(axis=1))
        for g in (g for g in allowed if not taken[g]):
            if self._single[g]:
                gains[g] = of_single[self._first[g]] - self._price[g]
            else:
                here = list(self._groups[g])
                S = _normal(A[np.ix_(here, here)])
                rise = b[here] @ S.inverse @ b[here] - S.log_determinant
                gains[g] = 0.5 * rise - self._price[g]
        return gains

    def solution(self, chosen: Sequence[int]) -> Solution:
        """Return the estimates with these groups."""
        at = self._unknowns(chosen)
        x, covariance = np.zeros_like(self._b), np.zeros_like(self._A)
        inverse = _normal(self._A[np.ix_(at, at)]).inverse
        x[at] = inverse @ self._b[at]
        covariance[np.ix_(at, at)] = inverse
        return Solution(x * self._prior, covariance * np.outer(self._prior, self._prior))

    def held_out(self, chosen: Sequence[int], group: int, given: Sequence[int] = ()) -> Array:
        """Return the decrease of the squares of omitted blocks (B,) by one of the chosen groups.

        Each block is predicted by a fit of the other blocks, with the group and without it. NaN
        where a block does not excite the group.

        Args:
            chosen: groups.
            group: one of them.
            given: further groups, which stay as a fit of all groups and all blocks has them.
        """
        fixed = self.solution([*given, *chosen]).x / self._prior
        fixed[self._unknowns(chosen)] = 0.0
        b_chosen = self._blocks[1] - self._blocks[0] @ fixed
        sets = [self._unknowns([g for g in chosen if g != group]), self._unknowns(chosen)]
        here = list(self._groups[group])
        gains = np.full(len(self._blocks[0]), np.nan)
        for k, (A, b) in enumerate(zip(self._blocks[0], b_chosen, strict=True)):
            share = A.diagonal()[here] / np.maximum(self._A.diagonal()[here], TINY)
            if share.max() * len(gains) > VALIDITY.excited:
                squares = []
                for at in sets:
                    H = _normal((self._A - A)[np.ix_(at, at)])
                    x = H.inverse @ (b_chosen.sum(axis=0) - b)[at]
                    squares.append(x @ (A[np.ix_(at, at)] @ x - 2 * b[at]))
                gains[k] = squares[0] - squares[1]
        return gains

    def _unknowns(self, chosen: Sequence[int]) -> list[int]:
        return [unknown for g in chosen for unknown in self._groups[g]]
