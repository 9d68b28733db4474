"""Functions of one scalar, whatever the scalar is.

The algorithms only add, multiply and divide; what they need beyond that is here.
A scalar may be a float, a complex number (for complex-step derivatives), a NumPy array (a batch,
used elementwise) or any object with methods `sin` and `cos`, such as the recording scalars of a
tracer. No algorithm compares scalars, since a recorded one has no value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

Scalar = Any
Item = TypeVar('Item')
Result = TypeVar('Result')


def is_zero(x: Scalar) -> bool:
    """Tell whether a scalar is known to be zero, whatever the state: a number that is 0."""
    return isinstance(x, float | int) and x == 0.0


def sincos(angle: Scalar) -> tuple[Scalar, Scalar]:
    """Return sine and cosine of an angle [rad]."""
    if isinstance(angle, float | int):
        return math.sin(angle), math.cos(angle)
    if hasattr(angle, 'sin'):
        return angle.sin(), angle.cos()
    return np.sin(angle), np.cos(angle)


def together(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Return the function of every item: what is computed for all of them in the same way.

    Recording scalars with lanes record it once, for as many items at a time as there are lanes.

    Args:
        function: from an item to nested tuples or lists of scalars.
        items: nested tuples or lists of scalars, of one form.
    """
    recorded = [x for item in items for x in _leaves(item) if hasattr(x, 'abreast')]
    lanes = recorded[0].lanes if recorded else 1
    if lanes == 1 or len(items) == 1:
        return [function(item) for item in items]
    if len(items) > lanes:
        return together(function, items[:-lanes]) + together(function, items[-lanes:])
    alike = zip(*map(_leaves, items), strict=True)
    result = function(_like(items[0], (recorded[0].abreast(scalars) for scalars in alike)))
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
