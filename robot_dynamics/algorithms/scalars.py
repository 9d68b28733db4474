"""Functions of one scalar, whatever the scalar is.

The algorithms only add, multiply and divide; what they need beyond that is here.
A scalar may be a float, a complex number (for complex-step derivatives), a NumPy array (a batch,
used elementwise) or any object with methods `sin` and `cos`, such as the recording scalars of a
tracer. No algorithm compares scalars, since a recorded one has no value.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Scalar = Any


def sincos(angle: Scalar) -> tuple[Scalar, Scalar]:
    """Return sine and cosine of an angle [rad]."""
    if isinstance(angle, float | int):
        return math.sin(angle), math.cos(angle)
    if hasattr(angle, 'sin'):
        return angle.sin(), angle.cos()
    return np.sin(angle), np.cos(angle)
