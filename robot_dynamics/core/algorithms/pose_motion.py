# SPDX-License-Identifier: Apache-2.0
"""One step of a target pose towards a goal: the fastest motion to rest there, within limits.

A displacement is a rotation vector w and a translation, in the axes of the base: the pose (R, x)
displaced is (exp([w]) R, x + p). Rotation and translation have limits of their own.

The fastest motion changes its acceleration at once. Fed forward as it is, that would be a step of
the torque, so the acceleration of a target is that of its motion behind one pole.

Nothing branches, so that a step can be recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from robot_dynamics.common.scalars import Scalar, decay, maximum, minimum, sincos
from robot_dynamics.core.algorithms.rotation_vector import rotation_vector
from robot_dynamics.core.algorithms.vectors import (
    IDENTITY,
    Matrix,
    Vector,
    add,
    dot,
    mat_add,
    mat_mul,
    mat_sub,
    scaled,
    skew,
    sub,
    transposed,
)

TINY = 1e-150  # added to what is divided by
HUGE = 1e200
# 1/s. On a simulated panda whose target moves by 0.17 m and stops, the frame is 2 mm off at most
# (50 1/s: 1.5, no acceleration: 10), and poses at 30 Hz make the torque ripple by 0.15 N m (0.22,
# 0.09; 0.8 N m without the pole).
ACCELERATION_POLE = 25.0


class Target(NamedTuple):
    """A pose in motion."""

    pose: Any  # (4, 4) in the base frame
    velocity: Any  # (6) rad/s and m/s
    acceleration: Any  # (6) rad/s^2 and m/s^2, continuous


def advanced(
    frame: Matrix,
    target: Target,
    goal: Matrix,
    follows: Scalar,
    limits: Sequence[Vector],
    dt: Scalar,
) -> Target:
    """Return a target after an interval.

    Args:
        frame: (4, 4) pose of the frame, near which the target stays.
        target: before.
        goal: (4, 4) where it moves to.
        follows: 1, or 0 for a target that decelerates and stays where it then is.
        limits: velocity, acceleration, and distance from the frame, of rotation and of
            translation each.
        dt: s.
    """
    speed, most, distance = limits
    way = displacement(target.pose, near(frame, goal, distance))
    steps, velocity = [], []
    for k, part in enumerate((slice(0, 3), slice(3, 6))):
        step, v = approach(way[part], target.velocity[part], follows, speed[k], most[k], dt)
        steps += step
        velocity += v
    # a <- a + (1 - e^(-b dt)) ((v - v_before) / dt - a)
    taken = 1.0 - decay(ACCELERATION_POLE * dt)
    acceleration = [
        a + (taken / (dt + TINY) * (after - before) - taken * a)
        for a, after, before in zip(target.acceleration, velocity, target.velocity, strict=True)
    ]
    pose = near(frame, displaced(target.pose, steps), distance)
    return Target(pose, velocity, acceleration)


def near(frame: Matrix, pose: Matrix, distance: Vector) -> Matrix:
    """Return a pose (4, 4), drawn to within the distances of rotation and translation."""
    way = displacement(frame, pose)
    back: list[Scalar] = []
    for part, most in zip((way[:3], way[3:]), distance, strict=True):
        # A pose that is near is not changed at all.
        back += scaled(minimum(most / (norm(part) + TINY), 1.0) - 1.0, part)
    return displaced(pose, back)


def approach(
    way: Vector, v: Vector, follows: Scalar, speed: Scalar, acceleration: Scalar, dt: Scalar
) -> tuple[list[Scalar], list[Scalar]]:
    """Return the step and the velocity (3) of the fastest motion to rest at a goal.

    Args:
        way: (3) to the goal.
        v: (3) present velocity.
        follows: 1, or 0 for a motion to rest anywhere.
        speed: largest.
        acceleration: largest.
        dt: interval, s.
    """
    most, size = acceleration * dt, norm(way)
    # (v + s) dt / 2 + s^2 / (2 a) = |way|: after this interval the goal is a stop away
    rest = maximum(size - 0.5 * dt * dot(v, way) / (size + TINY), 0.0)
    s = ((0.5 * most) ** 2 + 2.0 * acceleration * rest) ** 0.5 - 0.5 * most
    change = sub(scaled(follows * minimum(s, speed) / (size + TINY), way), v)
    after = add(v, scaled(minimum(most / (norm(change) + TINY), 1.0), change))
    step = scaled(0.5 * dt, add(v, after))
    # The last step ends at the goal.
    last = follows * _at_least(most * dt, size) * _at_least(most, norm(v))
    return [*add(scaled(last, way), scaled(1.0 - last, step))], [*scaled(1.0 - last, after)]


def displacement(start: Matrix, end: Matrix) -> list[Scalar]:
    """Return rotation vector and translation (6) between poses (4, 4), in the base's axes."""
    turn = rotation_vector(mat_mul(_rotation(end), transposed(start)))
    return [*turn, *(end[i][3] - start[i][3] for i in range(3))]


def displaced(start: Matrix, way: Vector) -> Matrix:
    """Return the pose (4, 4) at a displacement (6) from another."""
    w = way[:3]
    angle = norm(w) + TINY
    s, c = sincos(0.5 * angle)
    # exp([w]) = 1 + sin(a) / a [w] + (1 - cos(a)) / a^2 [w]^2
    sine, cosine = 2.0 * s * c / angle, 2.0 * (s / angle) * (s / angle)
    W = skew(w)
    turn = mat_add(IDENTITY, mat_add(_times(sine, W), _times(cosine, mat_mul(W, W))))
    R = mat_mul(turn, _rotation(start))
    # The nearest rotation, to rounding: R (3 - R^T R) / 2
    R = _times(0.5, mat_mul(R, mat_sub(_times(3.0, IDENTITY), mat_mul(transposed(R), R))))
    rows = [[*row, start[i][3] + way[3 + i]] for i, row in enumerate(R)]
    return [*rows, [0.0, 0.0, 0.0, 1.0]]


def norm(v: Vector) -> Scalar:
    """Return |v| of three entries."""
    return dot(v, v) ** 0.5


def _at_least(a: Scalar, b: Scalar) -> Scalar:
    """Return 1 if a >= b, else 0."""
    return minimum(maximum((a - b) * HUGE + 1.0, 0.0), 1.0)


def _rotation(pose: Matrix) -> Matrix:
    return [row[:3] for row in pose[:3]]


def _times(s: Scalar, A: Matrix) -> Matrix:
    return [scaled(s, row) for row in A]
