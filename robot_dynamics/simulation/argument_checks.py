# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments that all simulators share."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import ShapeError
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.robot_model import RobotModel, check_vector
from robot_dynamics.simulation.errors import NotFinite


def finite_vector(model: RobotModel, name: str, value: ArrayLike) -> Array:
    """Return a float copy of an argument, once it is (n,) and finite.

    Raises:
        ShapeError: it is not (n,).
        NotFinite: an entry is NaN or infinite; the message names the joint.
    """
    array = np.array(value, dtype=float)
    # Called at every step: details are checked only if something is wrong.
    if array.shape != (model.n,):
        check_vector(model, **{name: array})
    if not np.isfinite(array).all():
        j = int(np.argmin(np.isfinite(array)))
        raise NotFinite(
            f'{name} of joint {model.joint_names[j]!r} is {array[j]}; it must be finite'
        )
    return array


def finite_wrench(frame: str, value: ArrayLike) -> Array:
    """Return a float copy of a wrench on a frame, once it is (6,) and finite.

    Raises:
        ShapeError: it is not (6,).
        NotFinite: an entry is NaN or infinite.
    """
    F = np.array(value, dtype=float)
    if F.shape != (6,):
        raise ShapeError(f'wrench on {frame!r} has shape {F.shape}; it must be (6,)')
    if not np.isfinite(F).all():
        raise NotFinite(f'wrench on {frame!r} is {F}; it must be finite')
    return F


def protect(*arrays: Array) -> None:
    """Make arrays read-only, so that a caller cannot change a state through a result."""
    for array in arrays:
        array.setflags(write=False)


def checked_period(name: str, value: int) -> int:
    """Return a number that must be an integer of 1 or more. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f'{name} is {value!r}; it must be an integer, 1 or more')
    return int(value)


def low_pass_share(cutoff: ArrayLike, period: float) -> Array:
    """Return the share a of x' = x + a (u - x), a first-order low-pass of held inputs.

    Args:
        cutoff: Hz; inf: none, a = 1.
        period: s.
    """
    return np.asarray(-np.expm1(-2 * np.pi * np.asarray(cutoff) * period))
