"""Three-vectors and 3x3 matrices of scalars: plain lists, one formula per function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Scalar = Any
Vector = Sequence[Any]
Matrix = Sequence[Sequence[Any]]

ZERO: Vector = (0.0, 0.0, 0.0)
ZERO_MATRIX: Matrix = (ZERO, ZERO, ZERO)
IDENTITY: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def add(a: Vector, b: Vector) -> Vector:
    """Return a + b."""
    return [a[0] + b[0], a[1] + b[1], a[2] + b[2]]


def sub(a: Vector, b: Vector) -> Vector:
    """Return a - b."""
    return [a[0] - b[0], a[1] - b[1], a[2] - b[2]]


def scaled(s: Scalar, a: Vector) -> Vector:
    """Return s a."""
    return [s * a[0], s * a[1], s * a[2]]


def dot(a: Vector, b: Vector) -> Scalar:
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    """Return a x b."""
    return [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]


def outer(a: Vector, b: Vector) -> Matrix:
    """Return a b^T."""
    return [scaled(x, b) for x in a]


def mat_vec(A: Matrix, v: Vector) -> Vector:
    """Return A v."""
    return [dot(row, v) for row in A]


def transposed(A: Matrix) -> Matrix:
    """Return A^T."""
    return [
        [A[0][0], A[1][0], A[2][0]],
        [A[0][1], A[1][1], A[2][1]],
        [A[0][2], A[1][2], A[2][2]],
    ]


def mat_add(A: Matrix, B: Matrix) -> Matrix:
    """Return A + B."""
    return [add(a, b) for a, b in zip(A, B, strict=True)]


def mat_sub(A: Matrix, B: Matrix) -> Matrix:
    """Return A - B."""
    return [sub(a, b) for a, b in zip(A, B, strict=True)]


def mat_mul(A: Matrix, B: Matrix) -> Matrix:
    """Return A B."""
    columns = transposed(B)
    return [[dot(row, column) for column in columns] for row in A]


def skew(v: Vector) -> Matrix:
    """Return [v], the matrix with [v] u = v x u."""
    return [[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]]


def symmetric(upper: Sequence[Vector]) -> Matrix:
    """Return the symmetric matrix of rows that start at the diagonal: xx xy xz, yy yz, zz."""
    (xx, xy, xz), (yy, yz), (zz,) = upper
    return [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
