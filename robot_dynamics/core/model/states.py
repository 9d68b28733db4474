# SPDX-License-Identifier: Apache-2.0
"""Joint ranges and random joint states within the limits of a robot.

Where a joint has no range of positions (a limit is missing, or the lower one is not below the
upper one), or one wider than a turn or 100 m, the range is half a turn or half a metre in either
direction: half a turn in either direction is every posture of a revolute joint.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.common.errors import ShapeError
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.robot_model import RobotModel

UNLIMITED_TURN = np.pi  # rad
UNLIMITED_SLIDE = 0.5  # m
WIDEST_TURN, WIDEST_SLIDE = 2 * np.pi, 100.0  # rad, m: a wider range counts as missing
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

    Random ones, zero, the middle and random corners of `position_range`.
    """
    lower, upper = position_range(model)
    rng = np.random.default_rng(0)
    corners = np.where(rng.random((CORNERS, model.n)) < 0.5, lower, upper)
    middle = np.stack([np.clip(0.0 * lower, lower, upper), (lower + upper) / 2])
    return np.concatenate([rng.uniform(lower, upper, (POSTURES, model.n)), middle, corners])


def position_range(model: RobotModel) -> tuple[Array, Array]:
    """Return lower and upper bounds (n,) of positions, rad or m, finite and apart."""
    reach = np.where(model.angular, UNLIMITED_TURN, UNLIMITED_SLIDE)
    blank = without_range(model) | (model.upper <= model.lower)
    return np.where(blank, -reach, model.lower), np.where(blank, reach, model.upper)


def without_range(model: RobotModel) -> Array:
    """Return whether each coordinate (n,) has no limit on one side, or limits too far apart."""
    widest = np.where(model.angular, WIDEST_TURN, WIDEST_SLIDE)
    # Written so that infinite limits have none.
    return np.asarray(~(model.upper - model.lower <= widest))
