# SPDX-License-Identifier: Apache-2.0
"""Posture in which a robot is shown first.

The posture has the smallest shortfall of five measures from the values that suffice, or from the
best ones found: height of the tip and of the lowest joint above the base, distance from the
position limits, torque left by gravity, and distance from a singularity. Postures near the neutral
one, in which each joint is at zero or as near to it as the margin of its limits allows, are
preferred.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.kinematics import body_poses, point_jacobian
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.core.model.states import position_range

MARGIN = 0.1  # of the range, from either limit
# What suffices
HEIGHT = 0.25  # of the extent of the robot, of the tip above the base
ROOM = 0.2  # of half the range, from the nearest limit
TORQUE_LEFT = 0.5  # of the effort limit
# Smallest singular value of the tip's Jacobian, lengths relative to the extent, relative to the
# largest one found
SINGULAR = 0.5
DEPARTURE = 0.3  # weight of the mean distance from the neutral posture, in half ranges
STEPS = 24  # of a turn: positions that are tried, since round ones are easily read
ROUNDS, POSTURES = 6, 40  # of the search
LEAST = 1e-9


def start_posture(arm: Dynamics) -> Array:
    """Return positions (n,), rad or m, the same in each call.

    They are those of the description where it has one for each joint, within the limits.

    Joints that do not move the tip, the last moving link, are at their neutral positions, unless
    gravity exceeds their effort limits there.
    """
    model = arm.model
    lower, upper = position_range(model)
    if model.home.keys() >= {*model.joint_names}:
        return np.clip([model.home[name] for name in model.joint_names], lower, upper)
    low, high = lower + MARGIN * (upper - lower), upper - MARGIN * (upper - lower)
    neutral = np.clip(0.0, low, high)
    tip = int(model.frame_body[model.frame_index(model.moving_links[-1])])
    moved = model.S[list(model.support(tip))].any(axis=0)
    moved |= np.abs(arm.gravity_torque(neutral)) > model.effort_limit
    rng = np.random.default_rng(0)
    step = np.where(model.angular, 2 * np.pi / STEPS, (upper - lower) / STEPS)
    postures, measured = neutral[None], _measures(arm, neutral[None], tip)
    best = neutral
    for _ in range(ROUNDS):
        # Vary the positions of some joints of the best posture; return each to neutral.
        other = step * np.round(rng.uniform(low, high, (POSTURES, model.n)) / step)
        changed = moved & (rng.random(other.shape) < rng.random((POSTURES, 1)))
        tried = np.where(changed, np.clip(other, low, high), best)
        tried = np.concatenate([tried, np.where(np.eye(model.n)[moved], neutral, best)])
        postures = np.concatenate([postures, tried])
        measured = np.concatenate([measured, _measures(arm, tried, tip)])
        best = postures[np.argmax(_scores(model, postures, measured, neutral))]
    return np.asarray(best)


def _scores(model: RobotModel, q: Array, measured: Array, neutral: Array) -> Array:
    """Return the scores (k,) of postures (k, n) with their measures (k, m)."""
    lower, upper = position_range(model)
    half = (upper - lower) / 2
    room = 1 - np.abs(q - (lower + upper) / 2) / half
    height, floor, left, *values = measured.T
    # The last singular value that differs from zero in any posture
    singular = next((value for value in reversed(values) if value.max() > LEAST), values[0])
    shortfall = [
        _shortfall(height, HEIGHT),
        _shortfall(floor, HEIGHT),
        _shortfall(room.min(axis=1), ROOM),
        _shortfall(left, TORQUE_LEFT),
        _shortfall(singular, max(SINGULAR * singular.max(), LEAST)),
    ]
    return np.asarray(
        -np.max(shortfall, axis=0) - DEPARTURE * np.mean(np.abs(q - neutral) / half, 1)
    )


def _shortfall(measure: Array, enough: float) -> Array:
    """Return how far measures (k,) are below what suffices, or the best one, per what suffices."""
    return np.asarray(np.maximum(min(enough, measure.max()) - measure, 0) / enough)


def _measures(arm: Dynamics, q: Array, tip: int) -> Array:
    """Return, for postures (k, n), an array (k, m).

    Height of the tip, and of the lowest joint where it is below the base, of the extent; torque
    left by gravity, of the effort limit; singular values of the tip's Jacobian, that of its
    velocity alone where fewer than six joints move it.
    """
    model = arm.model
    with np.errstate(invalid='ignore', divide='ignore'):
        load = np.nan_to_num(np.abs(arm.gravity_torque(q)) / model.effort_limit)
    # The origin of many last links is on their joint
    origin = model.frame_placement[model.frame_index(model.moving_links[-1])][:3, 3]
    offset = max(origin, model.com[tip], key=np.linalg.norm)
    rows = []
    for posture, share in zip(q, load, strict=True):
        poses = body_poses(model, posture)
        point = poses[tip, :3, :3] @ offset + poses[tip, :3, 3]
        points = np.concatenate([poses[:, :3, 3], point[None]])
        extent = max(float(np.linalg.norm(points, axis=1).max()), LEAST)
        J = point_jacobian(model, poses, tip, point) @ model.S
        J[3:] /= extent
        J = J if np.count_nonzero(J.any(axis=0)) >= len(J) else J[3:]
        heights = points[:, 2] / extent
        values = np.linalg.svd(J, compute_uv=False)
        rows.append((heights[-1], min(heights.min(), 0), 1 - share.max(), *values))
    return np.array(rows)
