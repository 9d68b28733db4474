"""Weighted least squares with the fewest groups of unknowns.

Groups are added one by one, each time the one that lowers the Bayesian information criterion

    BIC = (weighted squares of the residual) + (unknowns) log(samples)

most, as long as one does; then groups are removed without which it is lower.

The equations are stored by block of time: `held_out` fits all blocks but one, and predicts it.

Source: Hastie, Tibshirani and Friedman, The Elements of Statistical Learning (2009), section 3.3.2
(stepwise selection), section 7.7 (the criterion), section 7.10 (cross-validation).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.spatial import Array

RANK = 1e-10  # relative, of squared columns: smaller is rounding
EXCITED = 0.05  # of the mean share of a squared column per block: less is no excitation


class Group(NamedTuple):
    """Unknowns that are added together, by their indices."""

    kind: str
    joint: int  # -1 for the whole robot
    unknowns: list[int]


class Solution(NamedTuple):
    """Chosen groups; values and standard deviations (P,), zero for the others."""

    groups: list[Group]
    x: Array
    error: Array

    def find(self, kind: str) -> tuple[Array, Array] | None:
        """Return values and errors of a group by its kind, if it was chosen."""
        return self.of(kind) if any(group.kind == kind for group in self.groups) else None

    def of(self, kind: str) -> tuple[Array, Array]:
        """Return values and errors of a group by its kind, which was chosen."""
        unknowns = next(group.unknowns for group in self.groups if group.kind == kind)
        return self.x[unknowns], self.error[unknowns]


class NormalEquations:
    """A x = b of least squares, for any subset of the P unknowns."""

    def __init__(self, A: Array, b: Array, samples: int):
        """Store X^T W X (B, P, P) and X^T W r (B, P) of B blocks, with their number of samples."""
        size = np.sqrt(A.sum(axis=0).diagonal())
        self._size = np.where(size > 0, size, 1.0)
        self._blocks = A / np.outer(self._size, self._size), b / self._size
        self._A, self._b = (x.sum(axis=0) for x in self._blocks)
        self._price = float(np.log(samples))

    def select(self, groups: list[Group]) -> list[Group]:
        """Return the groups chosen by the criterion."""
        return self._remove(self._add(groups))

    def _add(self, groups: list[Group]) -> list[Group]:
        chosen: list[Group] = []
        rest = list(groups)
        while rest:
            gains = self._gains(_unknowns(chosen), rest)
            best = int(np.argmax(gains))
            if gains[best] <= 0:
                break
            chosen.append(rest.pop(best))
        return chosen

    def _remove(self, chosen: list[Group]) -> list[Group]:
        while chosen:
            gains = [
                self._gains(_unknowns([g for g in chosen if g is not one]), [one])[0]
                for one in chosen
            ]
            worst = int(np.argmin(gains))
            if gains[worst] > 0:
                break
            del chosen[worst]
        return chosen

    def solution(self, chosen: list[Group]) -> Solution:
        """Return the least squares of these groups."""
        at = _unknowns(chosen)
        inverse = _inverse(self._A[np.ix_(at, at)])
        x, error = np.zeros_like(self._b), np.zeros_like(self._b)
        x[at] = inverse @ self._b[at]
        error[at] = np.sqrt(inverse.diagonal())
        return Solution(chosen, x / self._size, error / self._size)

    def held_out(self, chosen: list[Group], group: Group) -> Array:
        """Return the decrease of the squares of omitted blocks (B,) by one of the chosen groups.

        Each block is predicted by a fit of the other blocks, with the group and without it. NaN
        where a block does not excite the group.
        """
        with_it, without = _unknowns(chosen), _unknowns([g for g in chosen if g is not group])
        gains = np.full(len(self._blocks[0]), np.nan)
        for k, (A, b) in enumerate(zip(*self._blocks, strict=True)):
            share = A.diagonal()[group.unknowns].max()  # of all blocks together: 1
            if share * len(gains) > EXCITED:
                squares = [
                    x @ (A[np.ix_(at, at)] @ x - 2 * b[at])
                    for at in (without, with_it)
                    for x in [_inverse((self._A - A)[np.ix_(at, at)]) @ (self._b - b)[at]]
                ]
                gains[k] = squares[0] - squares[1]
        return gains

    def _gains(self, at: list[int], groups: list[Group]) -> list[float]:
        """Return the decrease of the criterion by each group, given these unknowns."""
        A, b = self._A, self._b
        inverse = _inverse(A[np.ix_(at, at)])
        gains = []
        for group in groups:
            to = A[np.ix_(group.unknowns, at)] @ inverse
            # Schur complement: A_gg - A_ga A_aa^-1 A_ag, and the same of b.
            here = group.unknowns
            own = _inverse(A[np.ix_(here, here)] - to @ A[np.ix_(at, here)])
            c = b[here] - to @ b[at]
            gains.append(float(c @ own @ c) - self._price * int((own.diagonal() > 0).sum()))
        return gains


def _unknowns(groups: list[Group]) -> list[int]:
    return [unknown for group in groups for unknown in group.unknowns]


def _inverse(A: Array) -> Array:
    """Return the pseudo-inverse of a symmetric matrix whose diagonal is 1 at most."""
    values, vectors = np.linalg.eigh(A)
    kept = values > RANK
    return np.asarray((vectors[:, kept] / values[kept]) @ vectors[:, kept].T)
