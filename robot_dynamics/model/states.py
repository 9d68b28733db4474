# SPDX-License-Identifier: Apache-2.0
"""Joint ranges and random joint states within the limits of a robot.

A missing position limit, or one that leaves no range, is replaced by a quarter turn or
half a metre in either direction.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.errors import ShapeError
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.spatial import Array

UNLIMITED_TURN = np.pi / 2  # rad
UNLIMITED_SLIDE = 0.5  # m
WIDEST = 2 * np.pi  # rad or m; a wider range counts as missing
FASTEST = 3.0  # rad/s or m/s; PyBullet clamps joints at 100
ACCELERATION = 5.0  # rad/s^2 or m/s^2
POSTURES = 64  # cover the extremes of an arm's mass matrix to a few percent
CORNERS = 32  # of the limits, where long slides are


class States(NamedTuple):
    """Joint states, (k, n) each."""

    q: Array  # rad or m
    qd: Array
    qdd: Array


def chosen_states(model: RobotModel, states: States | int, rng: np.random.Generator) -> States:
    """Return the given states, or that number of random ones.

    Raises:
        ShapeError: the states are not (k, n) each, or there are none.
    """
    if isinstance(states, int):
        if states < 1:
            raise ShapeError(f'states is {states}; expected at least 1')
        return random_states(model, states, rng)
    rows = np.shape(states.q)[:1]
    for name, array in zip(states._fields, states, strict=True):
        if np.shape(array) != (*rows, model.n) or rows == (0,):
            raise ShapeError(
                f'{name} of the states has shape {np.shape(array)}; all three must be '
                f'(k, {model.n}), k at least 1'
            )
    return states


def random_states(model: RobotModel, count: int, rng: np.random.Generator) -> States:
    """Return `count` random states within the position and velocity limits of the model."""
    lower, upper = position_range(model)
    speed = np.minimum(model.velocity_limit, FASTEST)
    shape = (count, model.n)
    return States(
        rng.uniform(lower, upper, shape),
        rng.uniform(-speed, speed, shape),
        rng.uniform(-ACCELERATION, ACCELERATION, shape),
    )


def random_postures(model: RobotModel, count: int = POSTURES, seed: int = 0) -> Array:
    """Return positions within the limits, drawn with a seed: shape (count, n), rad or m."""
    lower, upper = position_range(model)
    return np.random.default_rng(seed).uniform(lower, upper, (count, model.n))


def extreme_postures(model: RobotModel) -> Array:
    """Return postures (k, n) that cover the extremes of an arm's mass matrix, rad or m.

    Random ones, zero, the middle and random corners of the limits; a joint without limits turns
    by pi, or slides by half a metre, in either direction.
    """
    reach = np.where(model.angular, np.pi, UNLIMITED_SLIDE)
    blank = ~(np.isfinite(model.lower) & np.isfinite(model.upper) & (model.lower < model.upper))
    lower, upper = np.where(blank, -reach, model.lower), np.where(blank, reach, model.upper)
    rng = np.random.default_rng(0)
    corners = np.where(rng.random((CORNERS, model.n)) < 0.5, lower, upper)
    middle = np.stack([np.clip(0.0 * lower, lower, upper), (lower + upper) / 2])
    return np.concatenate([rng.uniform(lower, upper, (POSTURES, model.n)), middle, corners])


def position_range(model: RobotModel) -> tuple[Array, Array]:
    """Return lower and upper bounds (n,) of positions, always finite."""
    reach = np.where(model.angular, UNLIMITED_TURN, UNLIMITED_SLIDE)
    width = model.upper - model.lower
    blank = ~np.isfinite(width) | (width <= 0) | (width > WIDEST)
    return np.where(blank, -reach, model.lower), np.where(blank, reach, model.upper)
