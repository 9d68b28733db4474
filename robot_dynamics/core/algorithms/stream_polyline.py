# SPDX-License-Identifier: Apache-2.0
"""Polyline p(t) along a stream: its slopes within limits, its corners, and the mean of its mean.

A corner has S2 = int S1 dt, S1 = int p dt and p there, and the slope m of p after it, of every
joint. After a time d,

    p <- p + m d,    S1 <- S1 + p d + m d^2 / 2,    S2 <- S2 + S1 d + p d^2 / 2 + m d^3 / 6

`control.stream_path` has the meaning of the limits, and chooses when a corner is added.

Nothing branches, so that each function can be recorded.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from robot_dynamics.common.scalars import Scalar, maximum, minimum
from robot_dynamics.core.algorithms.vectors import Vector

BRAKE = 0.7  # of A: deceleration towards a corner beyond reach, and to rest
RESOLUTION = 1e-9  # rad or m: no slope follows from a smaller distance, such as rounding
HUGE = 1e200


class StreamLimits(NamedTuple):
    """Limits of the reference, the mean: (n) each."""

    lower: Any  # rad or m
    upper: Any
    velocity: Any  # V, rad/s or m/s
    acceleration: Any  # A, rad/s^2 or m/s^2


class Segment(NamedTuple):
    """Times of the next segment: scalars."""

    length: Scalar  # h, s
    left: Scalar  # s, from now to the goal; h if it is the only one
    window: Scalar  # W, s
    touched: Scalar  # segments that a window touches


class Slopes(NamedTuple):
    """Slopes of the next segment, (n) each, and whether the goal is out of reach."""

    low: Any  # the least one
    high: Any  # the largest one
    towards: Any  # that of the goal; where this is out of reach, that of an approach
    excess: Any  # (1) largest amount by which a slope is out of reach; negative if none is


def next_slopes(
    p: Vector,
    goal: Vector,
    rate: Vector,
    least: Vector,
    largest: Vector,
    limits: StreamLimits,
    segment: Segment,
) -> Slopes:
    """Return the slopes of the segment after a corner.

    Args:
        p: (n) position.
        goal: (n) position to be reached.
        rate: (n) velocity of the stream there, with which p approaches if it is behind.
        least: (n) least slope of the last W.
        largest: (n) largest slope of the last W.
        limits: of the reference.
        segment: its times.
    """
    pairs, rows = zip(least, largest, strict=True), zip(*limits, strict=True)
    joints = zip(p, goal, rate, pairs, rows, strict=True)
    found = [_next_slope(*joint, segment) for joint in joints]
    low, high, slope, excess = (list(row) for row in zip(*found, strict=True))
    worst = excess[0]
    for value in excess[1:]:
        worst = maximum(worst, value)
    return Slopes(low, high, slope, [worst])


def _next_slope(
    p: Scalar,
    goal: Scalar,
    rate: Scalar,
    before: tuple[Scalar, Scalar],
    limits: tuple[Scalar, ...],
    segment: Segment,
) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """Return the slopes of one joint, and by how much that of its goal is out of reach."""
    least, largest = before
    lower, upper, V, A = limits
    h, left, W, touched = segment
    # Slopes change by at most A W in the segments that a window touches.
    k = BRAKE * A * W / (touched * h)

    def approach(way: Scalar) -> Scalar:
        return _speed(way, k, h) - _speed(-way, k, h)

    most = A * W
    bounds = maximum(largest - most, -V), minimum(least + most, V)
    low, high = (_within(approach(end - p), *bounds) for end in (lower, upper))
    way = goal - p
    way = way * _is_positive(abs(way) - RESOLUTION)
    w = way / left
    # Out of reach is the slope itself, or the stream's velocity after it.
    excess = maximum(maximum(low - w, w - high), abs(w - rate) - most)
    behind = _is_positive(excess)
    approached = _within(rate + approach(way - rate * left), low, high)
    return low, high, behind * approached + (1.0 - behind) * w, excess


def _speed(way: Scalar, k: Scalar, h: Scalar) -> Scalar:
    """Return the slope for a time h [s] with which p can still stop after a way; 0 if negative."""
    size, step = maximum(way, 0.0), k * h / 2
    return minimum((step * step + 2 * k * size) ** 0.5 - step, size / h)


def corner_after(corner: Vector, slope: Vector, d: Scalar) -> list[Scalar]:
    """Return the corner (4 n) a time d [s] after another, with a slope (n) after it."""
    S2, S1, p, m = _rows(corner)
    joints = range(len(p))
    return [
        *(S2[j] + S1[j] * d + p[j] * d * d / 2 + m[j] * d * d * d / 6 for j in joints),
        *(S1[j] + p[j] * d + m[j] * d * d / 2 for j in joints),
        *(p[j] + m[j] * d for j in joints),
        *slope,
    ]


def counted_from(corner: Vector, first: Vector, past: Scalar) -> list[Scalar]:
    """Return a corner (4 n) whose integrals and p are counted from another, `past` [s] before it.

    Differences over equal windows do not change by a line, and the mean by p alone.
    """
    S2, S1, p, m = _rows(corner)
    b, a, o, _ = _rows(first)
    joints = range(len(p))
    return [
        *(S2[j] - (b[j] + a[j] * past + o[j] * past * past / 2) for j in joints),
        *(S1[j] - (a[j] + o[j] * past) for j in joints),
        *(p[j] - o[j] for j in joints),
        *m,
    ]


def mean_of_mean(
    corners: Vector, origin: Vector, after: Vector, window: Scalar
) -> tuple[list[Scalar], ...]:
    """Return q, qd and qdd (n): [S2(t) - 2 S2(t - W) + S2(t - 2 W)] / W^2, with S1, with p.

    Args:
        corners: (12 n) those before t, t - W and t - 2 W.
        origin: (n) position from which p is counted.
        after: (3) times since these corners, s.
        window: W, s.
    """
    n = len(origin)
    rows = [_rows(corners[k : k + 4 * n]) for k in range(0, 12 * n, 4 * n)]
    weights = [c / (window * window) for c in (1.0, -2.0, 1.0)]
    q, qd, qdd = list(origin), [0.0] * n, [0.0] * n
    for (S2, S1, p, m), c, d in zip(rows, weights, after, strict=True):
        h = d * d / 2
        for j in range(n):
            q[j] += c * S2[j] + c * d * S1[j] + c * h * p[j] + c * h * d / 3 * m[j]
            qd[j] += c * S1[j] + c * d * p[j] + c * h * m[j]
            qdd[j] += c * p[j] + c * d * m[j]
    return q, qd, qdd


def _rows(corner: Vector) -> list[Vector]:
    n = len(corner) // 4
    return [corner[k : k + n] for k in range(0, 4 * n, n)]


def _within(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    return minimum(maximum(x, low), high)


def _is_positive(x: Scalar) -> Scalar:
    """Return 1 if x > 0, else 0."""
    return minimum(maximum(x * HUGE, 0.0), 1.0)
