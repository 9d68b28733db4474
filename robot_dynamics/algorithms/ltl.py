"""M x = b by M = L^T L, skipping the zeros that a branched robot leaves in its mass matrix.

Eliminating from the tips inwards creates no new non-zeros: two joints are coupled only if one of
them carries the other, and so they stay. Coordinate maps can couple more; then `fill_in` says
which entries to treat as non-zero.

Source: Featherstone, Rigid Body Dynamics Algorithms (2008), section 6.5 (the L^T D L form).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from robot_dynamics.algorithms.scalars import Scalar
from robot_dynamics.algorithms.vectors import Matrix, Vector
from robot_dynamics.model.canonical import CanonicalTree


class Factors(NamedTuple):
    """M = L^T D L with unit lower triangular L."""

    L: Sequence[Sequence[Scalar]]  # (n, n), below the diagonal, in the places of `coupled` only
    D_inverse: Sequence[Scalar]  # (n)
    coupled: Sequence[Sequence[int]]  # per row, the columns before it that are not zero


def factorize(tree: CanonicalTree, M: Matrix) -> Factors:
    """Return the factors of the mass matrix M (n, n) of a tree."""
    coupled = fill_in(tree)
    H = [list(row) for row in M]
    D_inverse: list[Scalar] = [0.0] * tree.n
    for k in reversed(range(tree.n)):
        D_inverse[k] = 1.0 / H[k][k]
        for i in coupled[k]:
            a = H[k][i] * D_inverse[k]
            for j in coupled[k]:
                if j <= i:
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
