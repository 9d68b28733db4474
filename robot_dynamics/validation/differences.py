"""Derivatives by differences, and the size of an error: what the identities measure with.

The differences are central and of eighth order. Poses, inertias and energies are sines and cosines
of joint angles, for which that is right to about 1e-13, without any derivation to trust.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# f'(0) = sum_k w_k (f(k h) - f(-k h)) / h, with an error of h^8 f^(9) / 630
DIFFERENCE_WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
STEP = 0.02  # rad: the best balance of that error and rounding for the sine of twice an angle


def scaled(difference: Any, *sizes: Any) -> float:
    """Return the largest entry of a difference, relative to the largest of what it compares."""
    error = float(np.max(np.abs(difference), initial=0.0))
    size = max(float(np.max(np.abs(x), initial=0.0)) for x in sizes)
    return error / max(size, float(np.finfo(float).tiny))


def derivative(f: Callable[[float], Any], speed: float) -> Any:
    """Return f'(0), where the joints of f(t) move by `speed` [rad or m] in all per unit of t."""
    h = STEP / speed if speed > 0 else STEP
    return sum(w * (f(k * h) - f(-k * h)) / h for k, w in enumerate(DIFFERENCE_WEIGHTS, start=1))
