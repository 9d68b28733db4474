"""Can this robot follow this trajectory? Positions and velocities against the model's limits.

The extremes are those of the polynomials themselves, not of samples: a cubic that overshoots
between two harmless points is found however short its excursion.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robot_dynamics.control import spline
from robot_dynamics.control.trajectory import Trajectory
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.spatial import Array

# Published limits are rounded, and so are the points that planners put on them.
TOLERANCE = 1e-6


def violations(trajectory: Trajectory, model: RobotModel) -> list[str]:
    """Return why the robot cannot follow the trajectory, one sentence each; [] if it can.

    Args:
        trajectory: joints of the model, in any order.
        model: its lower, upper and velocity_limit, infinite where there are none.

    Raises:
        TrajectoryError: the trajectory is for other joints.
    """
    trajectory = trajectory.in_order(model.joint_names)
    # lower == upper == 0 is how descriptions say that no one filled in the limits.
    unlimited = (model.lower == 0) & (model.upper == 0)
    lower = np.where(unlimited, -np.inf, model.lower) - TOLERANCE
    upper = np.where(unlimited, np.inf, model.upper) + TOLERANCE
    fast = model.velocity_limit * (1 + TOLERANCE)
    found = []
    for j, low, high in _excursions(trajectory, 0, lower, upper):
        name = model.joint_names[j]
        if low < lower[j]:
            found.append(f'joint {name!r} goes down to {low:.6g}; its limit is {model.lower[j]:g}')
        if high > upper[j]:
            found.append(f'joint {name!r} goes up to {high:.6g}; its limit is {model.upper[j]:g}')
    for j, low, high in _excursions(trajectory, 1, -fast, fast):
        name, limit = model.joint_names[j], model.velocity_limit[j]
        found.append(
            f'joint {name!r} reaches the velocity {max(-low, high):.6g}; its limit is {limit:g}'
        )
    return found + _moving_end(trajectory)


def _excursions(
    trajectory: Trajectory, rate: int, lower: Array, upper: Array
) -> Iterator[tuple[int, float, float]]:
    """Yield (joint, lowest, highest) of every joint that leaves its limits.

    Args:
        trajectory: in the model's order.
        rate: 0 for positions, 1 for velocities.
        lower: (n,) limits.
        upper: (n,) limits.
    """
    points = np.stack([trajectory.at_waypoints()[rate]] * 2)  # as bounds, (2, m, n)
    pieces, T = trajectory.polynomials[rate], np.diff(trajectory.times)
    low, high = spline.hull(pieces, T)
    # Only where the cheap bounds leave the limits are the exact extremes worth their roots.
    for k, j in zip(*np.nonzero((low < lower) | (high > upper)), strict=True):
        low[k, j], high[k, j] = spline.extremes(pieces[k, :, j], T[k])
    lowest = np.concatenate([points[0], low]).min(axis=0)
    highest = np.concatenate([points[1], high]).max(axis=0)
    for j in np.flatnonzero((lowest < lower) | (highest > upper)):
        yield int(j), float(lowest[j]), float(highest[j])


def _moving_end(trajectory: Trajectory) -> list[str]:
    """Return a sentence for each joint that would have to stop dead at the last point."""
    velocity = trajectory.waypoints[-1].qd
    if velocity is None:
        return []
    return [
        f'joint {name!r} ends with the velocity {speed:.6g}; the last point must be at rest'
        for name, speed in zip(trajectory.joint_names, velocity, strict=True)
        if abs(speed) > TOLERANCE
    ]
