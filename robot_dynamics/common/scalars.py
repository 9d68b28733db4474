# SPDX-License-Identifier: Apache-2.0
"""Functions of scalars.

A scalar is a float, a complex number (for complex-step derivatives), a NumPy array (a batch, used
elementwise) or any object with arithmetic and methods `sin`, `cos`, `tanh`, `minimum` and
`maximum`, such as the recording scalars of a tracer. Algorithms never compare scalars, since a
recorded one has no value.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Scalar = Any


def is_zero(x: Scalar) -> bool:
    """Return whether a scalar is the constant 0."""
    return isinstance(x, float | int) and x == 0.0


def sincos(angle: Scalar) -> tuple[Scalar, Scalar]:
    """Return sine and cosine of an angle [rad]."""
    if isinstance(angle, float | int):
        return math.sin(angle), math.cos(angle)
    if hasattr(angle, 'sin'):
        return angle.sin(), angle.cos()
    return np.sin(angle), np.cos(angle)


def tanh(x: Scalar) -> Scalar:
    """Return the hyperbolic tangent."""
    if isinstance(x, float | int):
        return math.tanh(x)
    return x.tanh() if hasattr(x, 'tanh') else np.tanh(x)


def decay(x: Scalar) -> Scalar:
    """Return exp(-x), to rounding relative to 1."""
    # exp(-x) = (1 - t) / (1 + t),   t = tanh(x / 2)
    t = tanh(0.5 * x)
    return (1.0 - t) / (1.0 + t)


def minimum(a: Scalar, b: Scalar) -> Scalar:
    """Return the smaller of two scalars, elementwise; not a number if one of them is not."""
    if hasattr(a, 'minimum'):
        return a.minimum(b)
    return b.minimum(a) if hasattr(b, 'minimum') else np.minimum(a, b)


def maximum(a: Scalar, b: Scalar) -> Scalar:
    """Return the larger of two scalars, elementwise; not a number if one of them is not."""
    if hasattr(a, 'maximum'):
        return a.maximum(b)
    return b.maximum(a) if hasattr(b, 'maximum') else np.maximum(a, b)
