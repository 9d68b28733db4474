"""Numbers that a user gives per joint."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import ModelError
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.spatial import Array


def per_joint(model: RobotModel, name: str, value: ArrayLike) -> Array:
    """Return one finite value for each joint (n,), 0 or more, from a number for all or (n,).

    Raises ModelError, which names it, for another shape or value.
    """
    array = _at_least_zero(model, name, value)
    if not np.isfinite(array).all():
        raise ModelError(f'{name} is {value!r}; it must be finite')
    return array


def positive_per_joint(model: RobotModel, name: str, value: ArrayLike) -> Array:
    """Return the same, all above zero. Raises ModelError likewise."""
    return _positive(name, value, per_joint(model, name, value))


def limit_per_joint(model: RobotModel, name: str, value: ArrayLike) -> Array:
    """Return the same, all above zero, inf for no limit. Raises ModelError likewise."""
    return _positive(name, value, _at_least_zero(model, name, value))


def _at_least_zero(model: RobotModel, name: str, value: ArrayLike) -> Array:
    array = np.asarray(value, dtype=float)
    if array.shape not in ((), (model.n,)):
        raise ModelError(
            f'{name} has shape {array.shape}; it must be one number or ({model.n},), one per joint'
        )
    if not np.all(array >= 0):
        raise ModelError(f'{name} is {value!r}; it must not be negative')
    return np.array(np.broadcast_to(array, (model.n,)))


def _positive(name: str, value: ArrayLike, array: Array) -> Array:
    if not np.all(array > 0):
        raise ModelError(f'{name} is {value!r}; it must be positive')
    return array
