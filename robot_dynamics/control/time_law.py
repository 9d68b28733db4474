# SPDX-License-Identifier: Apache-2.0
"""The fastest time law along a path, from rest to rest, within the limits of the drives.

The path is q(s) by its arc length s, in joint space. With u = d2s/dt2 and x = (ds/dt)^2,
velocities are q' sqrt(x), accelerations q' u + q'' x, and torques are linear in u and x:

    tau = g + f + a u + b x,    a = M q',    b = M q'' + C(q, q') q'.

All limits are rows r u + c x <= d at the points of a grid. Backward along the path: the largest x
from which the end can still be reached at rest; forward: the largest u. Each interval fulfils the
rows of both its ends, so that limits hardly are exceeded between them.

Sources: Bobrow, Dubowsky and Gibson 1985; Pham and Pham, "A new approach to time-optimal path
parameterization based on reachability analysis", IEEE Trans. Robotics 34(3), 2018. The rows of
both ends are of this file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from robot_dynamics.common.errors import TrajectoryError
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.memory import FrictionModel

if TYPE_CHECKING:
    from scipy.interpolate import CubicSpline, PPoly

INTERVAL, FEWEST, MOST = 0.03, 150, 600  # rad or m of the grid, and its numbers
BESIDE = (1.0, 0.5, -0.5, -1.0)  # of half a window, back and ahead
UNBOUNDED = 1e12  # of the square of a speed
SLOW, FAST = 1e-8, 1e6  # least and largest square of a speed at which friction is taken
TINY = 1e-12  # coefficients of rows below are zero
SPEEDS = (0.0, 1e-3, 0.25, 0.5, 0.75, 1.0)  # shares of the largest, at which friction is taken


class DriveLimits(NamedTuple):
    """Limits (n,) of the drives, inf where there is none, and their friction."""

    effort: Array
    velocity: Array
    acceleration: Array
    friction: FrictionModel


class _Rows(NamedTuple):
    """Limits r u + c x <= d, (points, k) each, and x <= cap (points,)."""

    r: Array
    c: Array
    d: Array
    cap: Array

    def at(self, points: Array) -> _Rows:
        """Return the rows of points of the grid (k,)."""
        return _Rows(*(values[points] for values in self))


def fastest_law(arm: Dynamics, path: CubicSpline, limits: DriveLimits, window: float) -> PPoly:
    """Return the arc length as a function of time, from rest to rest.

    The mean over the window is within the limits as well: rows are linear in u and x, so that it
    suffices that each point fulfils the rows of all those within half a window. The square of the
    mean speed is below the mean square.
    """
    from scipy.interpolate import PPoly

    count = int(np.clip(np.ceil(path.x[-1] / INTERVAL), FEWEST, MOST))
    s = np.linspace(0.0, path.x[-1], count + 1)
    # Viscous friction is taken at the speeds of the law before.
    x, near = np.full(len(s), FAST), np.ones(len(s), dtype=int)
    for _ in range(1 + limits.friction.coefficients['viscous'].any()):
        rows = _rows(arm, path, limits, s, _largest_near(x, near))
        x = _fastest(_intervals(rows, s[1], []), s[1])
    # In half a window a point moves so many intervals at most.
    far = 0.5 * window * np.sqrt(x) / s[1]
    rows = _rows(arm, path, limits, s, _largest_near(x, 1 + np.ceil(far).astype(int)))
    beside = [np.rint(share * far).astype(int) for share in BESIDE]
    slower = _fastest(_intervals(rows, s[1], beside), s[1])
    # At sharp turns its grid may be too coarse for these rows, and the motion would stop there:
    # then the whole motion is slowed down instead.
    if (slower[1:-1] > SLOW).all():
        x = slower
    if not (x[1:-1] > SLOW).all():
        i = 1 + int(np.argmin(x[1:-1]))
        raise TrajectoryError(
            f'no motion passes the posture {_text(path(s[i]))}: the limits leave no speed there'
        )
    speed = np.sqrt(x)
    T = 2 * s[1] / (speed[1:] + speed[:-1])
    # s = s_i + sqrt(x_i) t + u t^2 / 2
    pieces = np.stack([np.diff(x) / (4 * s[1]), speed[:-1], s[:-1]])
    return PPoly(pieces, np.concatenate([[0.0], np.cumsum(T)]))


def _largest_near(x: Array, near: Array) -> Array:
    """Return the largest x of all points that are so `near` to a point, for each point."""
    largest = x.copy()
    for i, k in enumerate(near):
        part = largest[max(i - k, 0) : i + k + 1]
        np.maximum(part, x[i], out=part)
    return largest


def _fastest(rows: _Rows, h: float) -> Array:
    """Return the largest x (k,) at the points of a grid, from rest to rest."""
    count = len(rows.cap)
    reach, x = np.zeros(count + 1), np.zeros(count + 1)
    for i in reversed(range(count)):
        reach[i] = _bound(rows, i, reach[i + 1], h)
    for i in range(count):
        # The largest u: x_(i+1) = x_i + 2 h u
        up = rows.r[i] > TINY
        u = ((rows.d[i] - rows.c[i] * x[i])[up] / rows.r[i][up]).min(initial=np.inf)
        x[i + 1] = min(reach[i + 1], max(x[i] + 2 * h * u, 0.0))
    return x


def _rows(arm: Dynamics, path: CubicSpline, limits: DriveLimits, s: Array, x: Array) -> _Rows:
    """Return the limits at the arc lengths s of a grid, with friction at about x (points,).

    Raises:
        TrajectoryError: a posture needs more than an effort limit at rest.
    """
    q, dq, ddq = path(s), path(s, 1), path(s, 2)
    # |q' sqrt(x)| <= V
    with np.errstate(divide='ignore'):
        cap = np.min((limits.velocity / np.abs(dq)) ** 2, axis=1)
    gravity, none = arm.gravity_torque(q), np.zeros_like(q)
    a = arm.inverse_dynamics(q, none, dq) - gravity
    b = arm.inverse_dynamics(q, dq, ddq) - gravity
    least, largest = _dry_friction(limits, dq, x, gravity)
    above, below = limits.effort - gravity - largest, limits.effort + gravity + least
    short = np.minimum(above, below)
    if (short < 0).any():
        i, j = np.unravel_index(int(np.argmin(short)), short.shape)
        load = gravity[i, j] + (largest if above[i, j] < below[i, j] else least)[i, j]
        raise TrajectoryError(
            f'no speed is feasible: joint {arm.model.joint_names[j]!r} needs {load:.6g} '
            f'{arm.model.effort_units[j]} against gravity and friction in the posture '
            f'{_text(q[i])}; its limit is {limits.effort[j]:.6g}, the margin taken off'
        )
    viscous = limits.friction.coefficients['viscous'] * dq
    up, down = (np.maximum(side * viscous, 0.0) for side in (1.0, -1.0))
    # Viscous friction v sqrt(x) is at most v (sqrt(x_0) + x / sqrt(x_0)) / 2, and equal at x_0: x,
    # but no more than the limits allow it by itself. It is not counted on to brake.
    with np.errstate(divide='ignore', invalid='ignore'):
        alone = np.concatenate([above / up, below / down], axis=1)
    alone = np.where(np.isnan(alone), np.inf, alone).min(axis=1)
    root = np.sqrt(np.clip(x, SLOW, np.maximum(np.square(alone), SLOW)))[:, None]
    above, below = above - 0.5 * up * root, below - 0.5 * down * root
    A = np.broadcast_to(limits.acceleration, q.shape)
    d = np.concatenate([above, below, A, A], axis=1)
    bounded = np.isfinite(d).all(axis=0)
    return _Rows(
        np.concatenate([a, -a, dq, -dq], axis=1)[:, bounded],
        np.concatenate([b + 0.5 * up / root, -b + 0.5 * down / root, ddq, -ddq], axis=1)[
            :, bounded
        ],
        d[:, bounded],
        cap,
    )


def _intervals(rows: _Rows, h: float, beside: list[Array]) -> _Rows:
    """Return the limits of each interval of the grid, by u and by x at its start.

    They are those of both its ends, and of the points that are `beside` its start: numbers of
    points (k,) back, or, negative, ahead.
    """
    last = len(rows.cap) - 1
    start = np.arange(last)
    points = [start, *(np.clip(start - back[:-1], 0, last) for back in beside)]
    parts = [rows.at(k) for k in points]
    end, one = rows.at(start + 1), np.ones((last, 1))
    top = np.minimum(end.cap, UNBOUNDED)[:, None]
    # At the end x is x + 2 h u: at most its cap, and at least 0.
    return _Rows(
        np.concatenate(
            [*(p.r for p in parts), end.r + 2 * h * end.c, 2 * h * one, -2 * h * one], axis=1
        ),
        np.concatenate([*(p.c for p in parts), end.c, one, -one], axis=1),
        np.concatenate([*(p.d for p in parts), end.d, top, 0.0 * one], axis=1),
        np.min([p.cap for p in parts], axis=0),
    )


def _dry_friction(limits: DriveLimits, dq: Array, x: Array, load: Array) -> tuple[Array, Array]:
    """Return the least and the most friction (points, n) without its viscous part.

    At rest it is none, so that it is not counted on to brake.
    """
    fastest = dq * np.sqrt(x)[:, None]
    viscous = limits.friction.coefficients['viscous'] * fastest
    values = np.array(
        [limits.friction.torque(share * fastest, load) - share * viscous for share in SPEEDS]
    )
    return values.min(axis=0), values.max(axis=0)


def _bound(rows: _Rows, i: int, reach: float, h: float) -> float:
    """Return the largest x at the start of interval i from which x <= reach at its end.

    With x, one u fulfils all rows: each lower bound of u is below each upper one.
    """
    # r u + c x <= d:  u <= (d - c x) / r  or  u >= (d - c x) / r, by the sign of r
    r = np.append(rows.r[i], 1.0)
    c = np.append(rows.c[i], 1.0 / (2 * h))
    d = np.append(rows.d[i], reach / (2 * h))
    up, down, alone = r > TINY, r < -TINY, (np.abs(r) <= TINY) & (c > TINY)
    largest = min(rows.cap[i], (d[alone] / c[alone]).min(initial=np.inf))
    slope = np.subtract.outer(c[up] / r[up], c[down] / r[down])
    gap = np.subtract.outer(d[up] / r[up], d[down] / r[down])
    with np.errstate(invalid='ignore', divide='ignore'):
        crossing = np.where(slope > TINY, gap / slope, np.inf)
    return float(max(min(largest, crossing.min(initial=np.inf)), 0.0))


def _text(q: Array) -> str:
    return '[' + ', '.join(f'{x:.4g}' for x in q) + ']'
