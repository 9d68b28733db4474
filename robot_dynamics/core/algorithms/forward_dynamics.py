# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics: joint accelerations under torques, from the equation of motion.

M(q) qdd = tau - C(q, qd) qd - g(q), with M by the composite rigid body algorithm, the bias by
recursive Newton-Euler, and the factorization M = L^T D L, which skips the zeros that a branched
robot has in its mass matrix. For arms this takes no more operations than the articulated body
algorithm of `aba.py`, which is linear in the number of joints and used in generated loops.

Eliminating from the tips inwards creates no new non-zeros: two joints are coupled only if one of
them carries the other, and so they stay. Coordinate maps can couple more; then `fill_in` says
which entries to treat as non-zero.

Sources: Lynch and Park, draft section 9.5; Featherstone, Rigid Body Dynamics Algorithms (2008),
chapter 6 and section 6.5 (the L^T D L form).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from robot_dynamics.common.scalars import Scalar
from robot_dynamics.core.algorithms.aba import aba
from robot_dynamics.core.algorithms.crba import crba
from robot_dynamics.core.algorithms.rnea import bias_torque
from robot_dynamics.core.algorithms.vectors import Matrix, Vector
from robot_dynamics.core.model.canonical import CanonicalTree


def forward_dynamics(tree: CanonicalTree, q: Vector, qd: Vector, tau: Vector) -> list[Scalar]:
    """Return the accelerations qdd (n) under the torques tau (n). Others as for `rnea`."""
    if tree.by_kind:
        return aba(tree, q, qd, tau)
    bias = bias_torque(tree, q, qd)
    # qdd = M^-1 (tau - C qd - g)
    M = factorize(crba(tree, q), fill_in(tree))
    return solve(M, [t - b for t, b in zip(tau, bias, strict=True)])


# -- M x = b --------------------------------------------------------------------------------------


class Factors(NamedTuple):
    """M = L^T D L with unit lower triangular L."""

    L: Sequence[Sequence[Scalar]]  # (n, n), below the diagonal, in the places of `coupled` only
    D_inverse: Sequence[Scalar]  # (n)
    coupled: Sequence[Sequence[int]]  # per row, the columns before it that are not zero


def factorize(M: Matrix, coupled: Sequence[Sequence[int]]) -> Factors:
    """Return the factors of a symmetric positive definite M (n, n), from its lower triangle.

    Args:
        M: such as the mass matrix of a tree.
        coupled: per row, the columns before it that are not zero in L, descending: `fill_in` of
            the tree, or `dense`.
    """
    H = [list(row) for row in M]
    D_inverse: list[Scalar] = [0.0] * len(H)
    for k in reversed(range(len(H))):
        D_inverse[k] = 1.0 / H[k][k]
        for place, i in enumerate(coupled[k]):
            a = H[k][i] * D_inverse[k]
            # The columns up to i, as they descend
            for j in coupled[k][place:]:
                # H_ij -= H_ki H_kj / H_kk
                H[i][j] = H[i][j] - a * H[k][j]
        for i in coupled[k]:
            H[k][i] = H[k][i] * D_inverse[k]
    return Factors(H, D_inverse, coupled)


def solve(factors: Factors, b: Vector) -> list[Scalar]:
    """Return x (n) with M x = b."""
    L, D_inverse, coupled = factors
    y = solve_transposed(factors, b)
    x = [a * d for a, d in zip(y, D_inverse, strict=True)]
    # L x = D^-1 y
    for i in range(len(x)):
        for j in coupled[i]:
            x[i] = x[i] - L[i][j] * x[j]
    return x


def solve_transposed(factors: Factors, b: Vector) -> list[Scalar]:
    """Return y (n) with L^T y = b."""
    y = list(b)
    for i in reversed(range(len(y))):
        for j in factors.coupled[i]:
            y[j] = y[j] - factors.L[i][j] * y[i]
    return y


def dense(n: int) -> list[list[int]]:
    """Return, per row of a matrix (n, n) without zeros, the columns before it; descending."""
    return [list(reversed(range(k))) for k in range(n)]


def fill_in(tree: CanonicalTree) -> list[list[int]]:
    """Return, per coordinate, the ones before it whose entries in L are not zero; descending."""
    moved = [[i for i in range(tree.nb) if tree.S[i][j] != 0.0] for j in range(tree.n)]
    # Bodies that some joint of coordinate j carries, or is carried by.
    carriers = [{k for i in moved[j] for k in tree.support(i)} for j in range(tree.n)]
    coupled = [
        {i for i in range(k) if carriers[k] & set(moved[i]) or carriers[i] & set(moved[k])}
        for k in range(tree.n)
    ]
    for k in reversed(range(tree.n)):
        for i in coupled[k]:
            coupled[i] |= {j for j in coupled[k] if j < i}
    return [sorted(columns, reverse=True) for columns in coupled]
