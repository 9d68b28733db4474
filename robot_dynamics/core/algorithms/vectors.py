# SPDX-License-Identifier: Apache-2.0
"""Arithmetic of three-vectors and 3x3 matrices: plain lists of scalars, see `scalars`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from robot_dynamics.common.scalars import Scalar, is_zero

Vector = Sequence[Any]
Matrix = Sequence[Sequence[Any]]
Item = TypeVar('Item')
Result = TypeVar('Result')

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


def inner(a: Vector, b: Vector) -> Scalar:
    """Return a . b of any length, without the terms in which a scalar is the constant 0."""
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        if not (is_zero(x) or is_zero(y)):
            total = total + x * y
    return total


def map_traced(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Return the function of every item, computed in the same way for all.

    Recording scalars with lanes record it once, for as many items at a time as there are lanes.

    Args:
        function: from an item to nested tuples or lists of scalars.
        items: nested tuples or lists of scalars, of one form.
    """
    recorded = [x for item in items for x in _leaves(item) if hasattr(x, 'pack')]
    lanes = recorded[0].lanes if recorded else 1
    if lanes == 1 or len(items) == 1:
        return [function(item) for item in items]
    if len(items) > lanes:
        return map_traced(function, items[:-lanes]) + map_traced(function, items[-lanes:])
    alike = zip(*map(_leaves, items), strict=True)
    result = function(_like(items[0], (recorded[0].pack(scalars) for scalars in alike)))
    return [
        _like(result, (x.lane(k) if hasattr(x, 'lane') else x for x in _leaves(result)))
        for k in range(lanes - len(items), lanes)
    ]


def _leaves(item: Any) -> Iterator[Scalar]:
    """Yield the scalars of nested tuples and lists."""
    if not isinstance(item, tuple | list):
        yield item
        return
    for part in item:
        yield from _leaves(part)


def _like(item: Any, leaves: Iterator[Scalar]) -> Any:
    """Return an item of the same form with other scalars."""
    if not isinstance(item, tuple | list):
        return next(leaves)
    parts = [_like(part, leaves) for part in item]
    return type(item)(*parts) if hasattr(item, '_fields') else parts
