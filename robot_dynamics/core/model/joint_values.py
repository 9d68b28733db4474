# SPDX-License-Identifier: Apache-2.0
"""Values per joint: one number for all joints or one each, and their units.

A coordinate is an angle [rad] or a length [m]; every other unit follows from that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import ModelError, ShapeError
from robot_dynamics.common.spatial import Array

# Units of rotation, and those of translation in their place
TRANSLATION = {
    'rad': 'm',
    'rad/s': 'm/s',
    'N m': 'N',
    'N m s/rad': 'N s/m',
    'kg m^2': 'kg',
    '1': '1',
}


def unit_of(angular: bool, unit: str = 'N m') -> str:
    """Return the unit of a quantity of a coordinate.

    Args:
        angular: the coordinate is an angle.
        unit: a key of TRANSLATION: that of the quantity of an angle, by default of torques.
    """
    return unit if angular else TRANSLATION[unit]


def units_of(angular: Array, unit: str = 'N m') -> tuple[str, ...]:
    """Return the units of a quantity of each coordinate; see `unit_of`."""
    return tuple(unit_of(bool(one), unit) for one in angular)


def per_joint(name: str, value: ArrayLike, joint_names: Sequence[str]) -> Array:
    """Return one number per joint (n,).

    Args:
        name: for the message.
        value: one number for all joints, or (n,).
        joint_names: n.

    Raises:
        ShapeError: there is neither one number nor one for each joint.
    """
    array, n = np.asarray(value, dtype=float), len(joint_names)
    if array.shape not in ((), (1,), (n,)):
        given = f'{array.size} values' if array.ndim == 1 else f'shape {array.shape}'
        raise ShapeError(f'{name} has {given}; expected one, or {n} for {", ".join(joint_names)}')
    return np.array(np.broadcast_to(array, (n,)))


def words_of(text: str) -> list[str]:
    """Return the numbers of a text, such as '0 1', '0, 1' or a list in Python, '[0, 1]'."""
    return re.sub(r'[][(),]', ' ', text).split()


def at_least_zero(name: str, value: ArrayLike, joint_names: Sequence[str]) -> Array:
    """As `per_joint`. Raises ModelError unless all are finite and not negative."""
    array = per_joint(name, value, joint_names)
    if not np.all(np.isfinite(array) & (array >= 0)):
        raise ModelError(f'{name} is {value!r}; it must be finite and not negative')
    return array


def rms(x: Array, rows: Array | None = None) -> Array:
    """Return the root mean square over the first axis.

    Args:
        x: (k, ...) values.
        rows: bool, as x: those that count, all by default; without any the result is NaN.
    """
    used = np.ones(x.shape, dtype=bool) if rows is None else rows
    counts, squares = used.sum(axis=0), np.where(used, x**2, 0.0).sum(axis=0)
    return np.where(counts > 0, np.sqrt(squares / np.maximum(counts, 1)), np.nan)
