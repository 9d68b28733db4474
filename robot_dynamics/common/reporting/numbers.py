# SPDX-License-Identifier: Apache-2.0
"""Numbers as messages and tables show them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

NEGLIGIBLE = 1e-9  # shown as 0: rounding of sums of numbers near 1
ROUNDING = 4 * np.finfo(float).eps  # relative, of a few operations


def decimals(values: Any, size: float = 0.0) -> np.ndarray:
    """Return numbers without their rounding errors: 0.2 for 0.20000000000000004, 0 for -0.

    Args:
        values: of any shape.
        size: of the numbers that belong together; what is within rounding of it is 0.
    """
    exact = np.asarray(values, dtype=float)
    short = np.array([float(f'{x:.12g}') for x in exact.flat]).reshape(exact.shape)
    with np.errstate(invalid='ignore'):  # infinity minus itself
        same = np.abs(short - exact) <= ROUNDING * np.abs(exact)
    return np.where(np.abs(exact) <= ROUNDING * size, 0.0, np.where(same, short, exact)) + 0.0


def plural(count: int, noun: str, nouns: str = '') -> str:
    """Return a number of things, such as '1 joint' or '7 joints'."""
    return f'{count} {noun if count == 1 else nouns or noun + "s"}'


def percent(share: float) -> str:
    """Return a share as percent, such as '12.5 %'."""
    return f'{100 * share:.4g} %'


def three_digits(value: float) -> str:
    """Return a value with three digits, including trailing zeros; '-' if it is not finite."""
    if not math.isfinite(value):
        return '-'
    return f'{value:#.3g}'.rstrip('.') if abs(value) >= NEGLIGIBLE else '0'


def measured(value: float, error: float, sign: str = '±') -> str:
    """Return a value with its standard deviation, both to two digits of the latter.

    Args:
        value: the value; alone where its error is zero or not finite.
        error: its standard deviation, or a bound.
        sign: between them.
    """
    if not math.isfinite(error) or error <= 0:
        return f'{value:.4g}'
    digits = min(9, max(0, 1 - math.floor(math.log10(error))))
    return f'{value:.{digits}f} {sign} {error:.{digits}f}'
