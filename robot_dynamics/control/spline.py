# SPDX-License-Identifier: Apache-2.0
"""Polynomial between two points: linear, cubic or quintic, depending on the data of both points.

A segment of length T is stored as six coefficients per joint in the time s since its start,

    q(s) = a_0 + a_1 s + ... + a_5 s^5,

for every degree, so that a trajectory is one array. The rule is that of ROS 2's
joint_trajectory_controller (4.42.1, trajectory.cpp): positions alone give a line, velocities at
both ends a cubic, accelerations at both ends as well a quintic. `shape_preserving` supplies
velocities to positions.

Source: Lynch and Park, Modern Robotics (2017), section 9.3; Biagiotti and Melchiorri, Trajectory
Planning for Automatic Machines and Robots (2008), sections 2.1.4 and 2.1.5; Fritsch and Butland,
A method for constructing local monotone piecewise cubic interpolants, SIAM J. Sci. Stat. Comput.
5(2), 1984.
"""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array

COEFFICIENTS = 6
ORDERS = np.arange(COEFFICIENTS)


class Waypoint(NamedTuple):
    """Point of a trajectory; a derivative that is not prescribed is None."""

    q: Array  # (n,) rad or m
    qd: Array | None = None  # (n,)
    qdd: Array | None = None  # (n,)


def segments(points: Array, T: Array) -> Array:
    """Return the coefficients (m - 1, 6, n) between m points.

    Args:
        points: (3, m, n) positions, velocities and accelerations; rows of NaN where a derivative
            is not prescribed.
        T: (m - 1,) s, from each point to the next one.
    """
    (q0, v0, a0), (q1, v1, a1) = points[:, :-1], points[:, 1:]
    T = T[:, None]
    result = line(q0, q1, T)
    k = ~(np.isnan(v0) | np.isnan(v1)).any(axis=1)
    result[k] = cubic(q0[k], v0[k], q1[k], v1[k], T[k])
    k &= ~(np.isnan(a0) | np.isnan(a1)).any(axis=1)
    result[k] = quintic(q0[k], v0[k], a0[k], q1[k], v1[k], a1[k], T[k])
    return result


def shape_preserving(q: Array, T: Array) -> Array:
    """Return velocities (m, n) at m points, with which cubics do not overshoot; zero at both ends.

    Between two points every joint stays between their positions. It stops for a moment where its
    direction changes, and where two points have the same position.

    Args:
        q: (m, n) positions.
        T: (m - 1,) s, from each point to the next one.
    """
    T = T[:, None]
    slopes = np.diff(q, axis=0) / T
    before, after, w0, w1 = slopes[:-1], slopes[1:], T[:-1] + 2 * T[1:], 2 * T[:-1] + T[1:]
    result = np.zeros_like(q)
    with np.errstate(divide='ignore', over='ignore', invalid='ignore'):
        # (w0 + w1) / v = w0 / before + w1 / after
        v = (w0 + w1) / (w0 / before + w1 / after)
    result[1:-1] = np.where(np.sign(before) * np.sign(after) > 0, v, 0.0)
    return result


def line(q0: Array, q1: Array, T: Array) -> Array:
    """Return the coefficients (..., 6, n) of constant velocity."""
    zero = np.zeros_like(q0)
    # a_1 = (q1 - q0) / T
    return np.stack([q0, (q1 - q0) / T, zero, zero, zero, zero], axis=-2)


def cubic(q0: Array, v0: Array, q1: Array, v1: Array, T: Array) -> Array:
    """Return the coefficients (..., 6, n) for position and velocity at both ends."""
    zero = np.zeros_like(q0)
    h = q1 - q0
    # a_2 = (3 h - (2 v0 + v1) T) / T^2,   a_3 = (-2 h + (v0 + v1) T) / T^3
    a2 = (3 * h - (2 * v0 + v1) * T) / T**2
    a3 = (-2 * h + (v0 + v1) * T) / T**3
    return np.stack([q0, v0, a2, a3, zero, zero], axis=-2)


def quintic(q0: Array, v0: Array, a0: Array, q1: Array, v1: Array, a1: Array, T: Array) -> Array:
    """Return the coefficients (..., 6, n) for position, velocity, acceleration at both ends."""
    h = q1 - q0
    # a_3 = ( 20 h - ( 8 v1 + 12 v0) T - (3 a0 -   a1) T^2) / (2 T^3)
    # a_4 = (-30 h + (14 v1 + 16 v0) T + (3 a0 - 2 a1) T^2) / (2 T^4)
    # a_5 = ( 12 h - ( 6 v1 +  6 v0) T + (  a1 -   a0) T^2) / (2 T^5)
    a3 = (20 * h - (8 * v1 + 12 * v0) * T - (3 * a0 - a1) * T**2) / (2 * T**3)
    a4 = (-30 * h + (14 * v1 + 16 * v0) * T + (3 * a0 - 2 * a1) * T**2) / (2 * T**4)
    a5 = (12 * h - (6 * v1 + 6 * v0) * T + (a1 - a0) * T**2) / (2 * T**5)
    return np.stack([q0, v0, a0 / 2, a3, a4, a5], axis=-2)


def rest_to_rest(u: Array) -> tuple[Array, Array, Array]:
    """Return s from 0 to 1 over u in [0, 1], at rest at both ends, and its two derivatives."""
    # s = 10 u^3 - 15 u^4 + 6 u^5, the quintic whose velocities and accelerations at the ends are 0
    return (
        u**3 * (10 - 15 * u + 6 * u**2),
        30 * u**2 * (1 - u) ** 2,
        60 * u * (1 - u) * (1 - 2 * u),
    )


def derivative(coefficients: Array) -> Array:
    """Return the coefficients (..., 6, n) of the time derivative."""
    order = np.arange(1, COEFFICIENTS)[:, None]
    result = np.zeros_like(coefficients)
    # d/ds sum a_k s^k = sum k a_k s^(k-1)
    result[..., :-1, :] = order * coefficients[..., 1:, :]
    return result


def evaluate(coefficients: Array, s: Array) -> Array:
    """Return q(s) (..., n) for coefficients (..., 6, n) and times s (...)."""
    # One product: for a single time Horner's rule takes four times as long.
    powers = np.asarray(s)[..., None, None] ** ORDERS
    return np.asarray((powers @ coefficients)[..., 0, :])


def hull(coefficients: Array, T: Array) -> tuple[Array, Array]:
    """Return bounds (m, n), (m, n) of the values of m segments (m, 6, n) of lengths T (m,).

    A polynomial stays within the range of its Bernstein coefficients: cheap bounds, not tight.
    """
    c = coefficients * T[:, None, None] ** np.arange(COEFFICIENTS)[:, None]
    # b_i = sum_(k <= i) C(i, k) / C(5, k) a_k T^k
    degree = COEFFICIENTS - 1
    to_bernstein = np.array(
        [[comb(i, k) / comb(degree, k) for k in range(degree + 1)] for i in range(degree + 1)]
    )
    b = to_bernstein @ c
    return b.min(axis=1), b.max(axis=1)


def extremes(coefficients: Array, T: float) -> tuple[float, float]:
    """Return the lowest and highest values that one polynomial (6,) takes in [0, T]."""
    # Extremes are at zeros of the derivative; the real part of a complex root adds a candidate.
    turns = np.polynomial.polynomial.polyroots(derivative(coefficients[:, None])[:, 0]).real
    candidates = np.concatenate([[0.0, T], turns[(turns > 0) & (turns < T)]])
    values = np.polynomial.polynomial.polyval(candidates, coefficients)
    return float(values.min()), float(values.max())
