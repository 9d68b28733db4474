# SPDX-License-Identifier: Apache-2.0
"""Polyline of a stream: its rule with branches, its integrals, and the same in machine code."""

import math

import numpy as np
import pytest

from robot_dynamics.control.stream_programs import stream_programs
from robot_dynamics.core.algorithms.stream_polyline import (
    BRAKE,
    RESOLUTION,
    Segment,
    StreamLimits,
    next_slopes,
)

N = 5
LIMITS = StreamLimits(np.full(N, -2.0), np.full(N, 1.5), np.full(N, 2.0), np.full(N, 20.0))


def stopping(way, h, touched, W, A):
    """Return the slope for a time h from which p can still stop after a way."""
    k = BRAKE * A * W / (touched * h)
    speed = math.sqrt((k * h / 2) ** 2 + 2 * k * abs(way)) - k * h / 2
    return math.copysign(min(speed, abs(way) / h), way)


def expected(p, goal, rate, least, largest, limits, segment):
    """Return the least, the largest and the chosen slope of one joint, and if it is reached."""
    (lower, upper, V, A), (h, left, W, touched) = limits, segment
    bounds = max(largest - A * W, -V), min(least + A * W, V)
    low, high = (
        min(max(stopping(end - p, h, touched, W, A), bounds[0]), bounds[1])
        for end in (lower, upper)
    )
    way = goal - p if abs(goal - p) > RESOLUTION else 0.0
    w = way / left
    if low <= w <= high and abs(w - rate) <= A * W:
        return low, high, w, True
    w = rate + stopping(way - rate * left, h, touched, W, A)
    return low, high, min(max(w, low), high), False


@pytest.mark.parametrize('seed', range(20))
def test_slopes_are_those_of_the_rule(seed):
    random = np.random.default_rng(seed)
    h, W = random.choice([0.004, 0.033, 0.2]), 0.033
    segment = Segment(h, h * random.integers(1, 4), W, math.ceil(W / h - 1e-6))
    p, rate = random.uniform(-1.9, 1.4, N), random.uniform(-1.0, 1.0, N)
    goal = p + random.choice([1e-10, 0.01, 0.3]) * random.uniform(-1.0, 1.0, N)
    slopes = rate + random.uniform(-0.3, 0.3, (2, N))
    given = p, goal, rate, slopes.min(axis=0), slopes.max(axis=0)
    found = stream_programs(N).next_slopes(*given, *LIMITS, np.array(segment))
    rows = [
        expected(*joint, segment) for joint in zip(*given, zip(*LIMITS, strict=True), strict=True)
    ]
    for row, values in zip(found, list(zip(*rows, strict=True))[:3], strict=False):
        np.testing.assert_allclose(row, values, rtol=1e-12, atol=1e-13)
    assert (found.excess[0] <= 0) == all(row[3] for row in rows)
    # The same in Python
    for a, b in zip(found, next_slopes(*given, LIMITS, segment), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


def test_corners_are_integrals_and_count_from_any_corner():
    random, programs = np.random.default_rng(1), stream_programs(N)
    corner, slope, d = random.standard_normal(4 * N), random.standard_normal(N), 0.07
    S2, S1, p, m = corner.reshape(4, N)
    polynomials = [np.polynomial.Polynomial(c) for c in zip(S2, S1, p / 2, m / 6, strict=True)]
    after = programs.corner_after(corner, slope, np.array([d])).reshape(4, N)
    for k in range(3):
        np.testing.assert_allclose(after[k], [f.deriv(k)(d) for f in polynomials], rtol=1e-13)
    np.testing.assert_array_equal(after[3], slope)
    # A corner counted from itself is 0; a later one continues from there.
    counted = programs.counted_from(
        np.stack([corner, after.ravel()]), corner, np.array([[0.0], [d]])
    )
    np.testing.assert_array_equal(counted[0, : 3 * N], 0.0)
    np.testing.assert_array_equal(counted[:, 3 * N :], [m, slope])
    expected_rows = programs.corner_after(counted[0], slope, np.array([d]))
    np.testing.assert_allclose(counted[1], expected_rows, atol=1e-15)
