# SPDX-License-Identifier: Apache-2.0
"""Check of trajectories and references against the limits of a robot.

The extremes of position, velocity and acceleration are those of the polynomials, not of samples: a
cubic that overshoots between two points is found however short the excursion.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from robot_dynamics.common.errors import TrajectoryError
from robot_dynamics.common.spatial import Array
from robot_dynamics.control import spline
from robot_dynamics.control.joint_reading import state_bounds
from robot_dynamics.control.trajectory import Reference, Trajectory
from robot_dynamics.core.model.robot_model import RobotModel

# Tolerance for the rounding of published limits and of trajectory points on a limit.
TOLERANCE = 1e-6
# Where a description has no acceleration limit, a joint may reach its velocity limit in this
# time, s.
TO_FULL_SPEED = 0.1
USUAL_SPEED = 3.0  # rad/s or m/s, for models without a velocity limit


def violations(
    trajectory: Trajectory, model: RobotModel, present: Sequence[Array] = ()
) -> list[str]:
    """Return the reasons why the robot cannot follow the trajectory; [] if it can.

    Args:
        trajectory: joints of the model, in any order.
        model: its lower, upper and velocity_limit, infinite where there are none.
        present: measured positions (n,). If one is beyond a position limit, the trajectory may
            start there, but go no further.

    Raises:
        TrajectoryError: the trajectory has other joints.
    """
    trajectory = trajectory.in_order(model.joint_names)
    return limit_violations(trajectory, model, present) + _moving_end(trajectory)


def limit_violations(
    trajectory: Trajectory,
    model: RobotModel,
    present: Sequence[Array] = (),
    *,
    acceleration: bool = False,
) -> list[str]:
    """Return the limits that a trajectory exceeds, one sentence each; it may end in motion.

    Args:
        trajectory: joints in the model's order.
        model: the robot.
        present: as for `violations`.
        acceleration: whether accelerations are checked against `acceleration_limit` also where
            the description has no limit of them.
    """
    lower, upper = position_limits(model, present)
    found = []
    for j, low, high in excursions(trajectory, 0, lower - TOLERANCE, upper + TOLERANCE):
        name = model.joint_names[j]
        if low < lower[j] - TOLERANCE:
            found.append(f'joint {name!r} goes down to {low:.6g}; its limit is {lower[j]:g}')
        if high > upper[j] + TOLERANCE:
            found.append(f'joint {name!r} goes up to {high:.6g}; its limit is {upper[j]:g}')
    qdd = acceleration_limit(model) if acceleration else described(model)
    limits = {1: velocity_limit(model), 2: qdd, 3: model.jerk_limit}
    return found + [reason for _, reason in exceeded(trajectory, limits)]


def exceeded(trajectory: Trajectory, limits: Mapping[int, Array]) -> Iterator[tuple[float, str]]:
    """Yield the share of the speed at which a joint keeps a limit that it exceeds, and a sentence.

    Args:
        trajectory: in the order of the limits.
        limits: (n,) by the order of the derivative: 1 velocity, 2 acceleration, 3 jerk.
    """
    for rate, most in limits.items():
        if np.isinf(most).all():
            continue
        bound = most * (1 + TOLERANCE)
        for j, low, high in excursions(trajectory, rate, -bound, bound):
            largest, quantity = max(-low, high), ('velocity', 'acceleration', 'jerk')[rate - 1]
            sentence = (
                f'joint {trajectory.joint_names[j]!r} reaches the {quantity} {largest:.6g}; '
                f'its limit is {most[j]:g}'
            )
            # Derivatives scale with powers of the speed.
            yield float(most[j] / largest) ** (1 / rate), sentence


def reference_violations(
    reference: Reference, model: RobotModel, present: Sequence[Array] = ()
) -> list[str]:
    """Return the limits that a single reference (n,) exceeds, with acceleration limits."""
    lower, upper = position_limits(model, present)
    speed, acceleration = velocity_limit(model), acceleration_limit(model)
    ranges = [
        ('position', reference.q, lower, upper),
        ('velocity', reference.qd, -speed, speed),
        ('acceleration', reference.qdd, -acceleration, acceleration),
    ]
    return [
        reason
        for quantity, value, least, most in ranges
        for reason in range_violations(quantity, np.asarray(value), least, most, model.joint_names)
    ]


def range_violations(
    quantity: str, values: Array, lower: Array, upper: Array, joint_names: tuple[str, ...]
) -> list[str]:
    """Return the limits (n,) that the values (n,) of a quantity exceed, one sentence each."""
    # Lists take less time than arrays for the few joints of an arm.
    rows = values.tolist(), lower.tolist(), upper.tolist()
    return [
        f'the {quantity} of joint {name!r} is {value:.6g}; its limit is '
        f'{most if value > most else least:g}'
        for name, value, least, most in zip(joint_names, *rows, strict=True)
        if value < least - TOLERANCE or value > most + TOLERANCE
    ]


def position_limits(model: RobotModel, present: Sequence[Array] = ()) -> tuple[Array, Array]:
    """Return lower and upper limits (n,), extended to positions that are beyond them.

    Where the model has none, they are the bounds of what may be measured.
    """
    lower, upper = _known_limits(model)
    for q in present:
        lower, upper = np.minimum(lower, q), np.maximum(upper, q)
    return lower, upper


@functools.lru_cache(maxsize=8)
def _known_limits(model: RobotModel) -> tuple[Array, Array]:
    bounds = state_bounds(model)
    lower, upper = np.maximum(model.lower, bounds.lower), np.minimum(model.upper, bounds.upper)
    return _read_only(lower), _read_only(upper)


@functools.lru_cache(maxsize=8)
def velocity_limit(model: RobotModel) -> Array:
    """Return the largest velocity (n,) of a reference: the limit, or what may be measured."""
    return _read_only(np.minimum(model.velocity_limit, state_bounds(model).speed))


@functools.lru_cache(maxsize=8)
def acceleration_limit(model: RobotModel) -> Array:
    """Return the largest acceleration (n,) of a reference, of either sign.

    It is the described one; where there is none, it reaches the velocity limit in TO_FULL_SPEED.
    """
    own = described(model)
    speed = np.where(np.isfinite(model.velocity_limit), model.velocity_limit, USUAL_SPEED)
    return _read_only(np.where(np.isfinite(own), own, speed / TO_FULL_SPEED))


def _read_only(limits: Array) -> Array:
    limits.setflags(write=False)
    return limits


def described(model: RobotModel) -> Array:
    """Return the acceleration limit (n,) of the description, inf where it has none.

    It is the smaller one of those for motions that speed up and that slow down.
    """
    return np.minimum(model.acceleration_limit, model.deceleration_limit)


def check_distance(
    q: Array, present: Array, tolerance: Array, joint_names: tuple[str, ...], what: str
) -> None:
    """Raise TrajectoryError if positions (n,) are further than a tolerance (n,) from others."""
    far = np.abs(q - present) > tolerance
    if np.count_nonzero(far):  # a fifth of the time of any()
        j = int(np.argmax(far))
        raise TrajectoryError(
            f'{what} at {q[j]:.6g} for joint {joint_names[j]!r}, which is at {present[j]:.6g}; '
            f'it must be within {tolerance[j]:g}'
        )


def excursions(
    trajectory: Trajectory, rate: int, lower: Array, upper: Array
) -> Iterator[tuple[int, float, float]]:
    """Yield (joint, lowest, highest) of every joint that exceeds its limits.

    Args:
        trajectory: in the model's order.
        rate: 0 for positions, 1 for velocities, 2 for accelerations, 3 for jerks.
        lower: (n,) limits.
        upper: (n,) limits.
    """
    pieces, T = trajectory.polynomials[min(rate, 2)], np.diff(trajectory.times)
    if rate == 3:
        pieces = spline.derivative(pieces)
    # Jerks are not prescribed at points: those of the segments.
    rows = trajectory.at_waypoints()[rate] if rate < 3 else np.zeros_like(trajectory.points[0])
    points = np.stack([rows] * 2)  # as bounds, (2, m, n)
    low, high = spline.hull(pieces, T)
    # Exact extremes need roots of polynomials; compute them only where the bounds exceed limits.
    for k, j in zip(*np.nonzero((low < lower) | (high > upper)), strict=True):
        low[k, j], high[k, j] = spline.extremes(pieces[k, :, j], T[k])
    lowest = np.concatenate([points[0], low]).min(axis=0)
    highest = np.concatenate([points[1], high]).max(axis=0)
    for j in np.flatnonzero((lowest < lower) | (highest > upper)):
        yield int(j), float(lowest[j]), float(highest[j])


def _moving_end(trajectory: Trajectory) -> list[str]:
    """Return a sentence for each joint with a velocity at the last point."""
    return [
        f'joint {name!r} ends with the velocity {speed:.6g}; the last point must be at rest'
        for name, speed in zip(trajectory.joint_names, trajectory.points[1, -1], strict=True)
        if abs(speed) > TOLERANCE  # not if it is not prescribed, NaN
    ]
