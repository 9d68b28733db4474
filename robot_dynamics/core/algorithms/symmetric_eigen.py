# SPDX-License-Identifier: Apache-2.0
"""Eigenvalues and eigenvectors of a small symmetric matrix, by Jacobi's method.

    A = U diag(values) U^T

A rotation in the plane of two axes p and q makes A_pq zero; a sweep rotates in every plane once.
The number of sweeps is fixed and no rotation branches, so that the method can be recorded. Every
round of a sweep rotates in planes without a common axis, which a processor computes at the same
time.

With d = (A_qq - A_pp) / 2 and h = sqrt(d^2 + A_pq^2) the tangent of the angle, at most 45 degrees,
is sgn(d) A_pq / (|d| + h), and A_pp and A_qq move apart by h - |d| each. Convergence is quadratic
at the end: six sweeps leave errors of 1e-14 of the largest entry in matrices 6 x 6.

`functions_of` applies f(A) = U diag(f(values)) U^T to vectors. Along a direction dA it has the
derivative U (F o (U^T dA U)) U^T with F_ij = (f_i - f_j) / (values_i - values_j), which is smooth
also where two eigenvalues are equal and U is not.

Sources: Golub and Van Loan, Matrix Computations (2013), section 8.5, with parallel ordering;
Daleckii and Krein, see Higham, Functions of Matrices (2008), theorem 3.11.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from robot_dynamics.common.scalars import Scalar, is_zero, maximum, minimum
from robot_dynamics.core.algorithms.dual_numbers import Dual, slope_of, value_of
from robot_dynamics.core.algorithms.vectors import Matrix, Vector, inner

SWEEPS = 6
TINY = 1e-150  # of |d| + h, where both are zero: its square is a normal number
HUGE = 1e200  # d HUGE is beyond 2 unless d is rounding error


class Eigen(NamedTuple):
    """Eigenvalues in no particular order, and their eigenvectors, the columns of U."""

    values: list[Scalar]  # (k)
    U: list[list[Scalar]]  # (k, k)


def symmetric_eigen(A: Matrix, sweeps: int = SWEEPS) -> Eigen:
    """Return the eigenvalues and eigenvectors of a symmetric matrix (k, k), from its lower half.

    Args:
        A: entries of size 1e-100 to 1e100, or zero; of dual numbers, the values.
        sweeps: how often every plane is visited.
    """
    k = len(A)
    B = [[value_of(A[max(i, j)][min(i, j)]) for j in range(k)] for i in range(k)]
    U: list[list[Scalar]] = [[float(i == j) for j in range(k)] for i in range(k)]
    for p, q in [plane for _ in range(sweeps) for plane in _planes(k)]:
        if is_zero(B[p][q]):
            continue
        c, s, step = _rotation(B[p][p], B[q][q], B[p][q])
        B[p][p], B[q][q] = B[p][p] - step, B[q][q] + step
        B[p][q] = B[q][p] = 0.0
        for i in (i for i in range(k) if i not in (p, q)):
            B[i][p], B[i][q] = c * B[i][p] - s * B[i][q], s * B[i][p] + c * B[i][q]
            B[p][i], B[q][i] = B[i][p], B[i][q]
        for row in U:
            row[p], row[q] = c * row[p] - s * row[q], s * row[p] + c * row[q]
    return Eigen([B[i][i] for i in range(k)], U)


class Applied(NamedTuple):
    """A function of a matrix, to be applied to a vector."""

    values: Vector  # f of each eigenvalue
    divided: Callable[[Scalar, Scalar], Scalar]  # F_ij by f_i and f_j
    vector: Vector


def inverse(values: Vector, shift: float, vector: Vector) -> Applied:
    """Return 1 / (x + shift), to be applied to a vector."""
    return Applied([1.0 / (x + shift) for x in values], lambda a, b: -(a * b), vector)


def inverse_root(values: Vector, shift: float, vector: Vector) -> Applied:
    """Return 1 / sqrt(x + shift), to be applied to a vector."""
    roots = [1.0 / (x + shift) ** 0.5 for x in values]
    return Applied(roots, lambda a, b: -(a * b) * (a * b) / (a + b), vector)


def functions_of(A: Matrix, eigen: Eigen, *parts: Applied) -> list[Scalar]:
    """Return the sum of f(A) v over functions f and vectors v.

    Args:
        A: symmetric (k, k), may have dual numbers.
        eigen: of the values of A, without slopes.
        parts: functions of its eigenvalues, and vectors (k).
    """
    columns = list(zip(*eigen.U, strict=True))
    modes: list[Scalar] = [0.0] * len(columns)
    for f, _, v in parts:
        modes = [own + a * inner(u, v) for own, a, u in zip(modes, f, columns, strict=True)]
    if any(isinstance(x, Dual) for row in A for x in row):
        # (U^T dA U)_ij
        turned = [[inner(list(map(slope_of, row)), u) for row in A] for u in columns]
        dA = [[inner(row, u) for u in columns] for row in turned]
        for f, divided, vector in parts:
            v = [inner(u, list(map(value_of, vector))) for u in columns]
            for i, row in enumerate(dA):
                bent = inner(row, [divided(f[i], b) * x for b, x in zip(f, v, strict=True)])
                modes[i] = modes[i] + Dual(0.0, bent)
    return [inner(row, modes) for row in eigen.U]


def _rotation(pp: Scalar, qq: Scalar, pq: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Return cosine and sine of the smaller angle that makes A_pq zero, and A_qq's rise by it."""
    d = 0.5 * (qq - pp)
    sign = maximum(minimum(d * HUGE + 1.0, 1.0), -1.0)
    h = (d * d + pq * pq) ** 0.5
    # c = x / r,  s = y / r
    x, y = abs(d) + h + TINY, sign * pq
    inverse = 1.0 / (x * x + y * y) ** 0.5
    return x * inverse, y * inverse, sign * (h - abs(d))


def _planes(k: int) -> Iterator[tuple[int, int]]:
    """Yield every pair of k axes once; consecutive pairs have no axis in common, as in a round."""
    axes = list(range(k + k % 2))
    for _ in range(len(axes) - 1):
        pairs = zip(axes[: len(axes) // 2], reversed(axes), strict=False)
        yield from ((min(pair), max(pair)) for pair in pairs if max(pair) < k)
        axes = [axes[0], axes[-1], *axes[1:-1]]
