# SPDX-License-Identifier: Apache-2.0
"""The fastest motion along the path of a trajectory, within the limits of the drives.

The path is q(s) by its arc length s, in joint space. With u = d2s/dt2 and x = (ds/dt)^2,
velocities are q' sqrt(x), accelerations q' u + q'' x, and torques are linear in u and x:

    tau = g + f + a u + b x,    a = M q',    b = M q'' + C(q, q') q'.

All limits are rows r u + c x <= d at the points of a grid. Backward along the path: the largest x
from which the end can still be reached at rest; forward: the largest u. Each interval fulfils the
rows of both its ends, so that limits hardly are exceeded between them.

This time law is bang-bang: torques step. It is averaged over a short window, which keeps the path
and makes the acceleration continuous.

Sources: Bobrow, Dubowsky and Gibson 1985; Pham and Pham, "A new approach to time-optimal path
parameterization based on reachability analysis", IEEE Trans. Robotics 34(3), 2018. The rows of
both ends and the averaging are of this file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from robot_dynamics.common.errors import TrajectoryError
from robot_dynamics.common.spatial import Array
from robot_dynamics.control import spline
from robot_dynamics.control.feasibility import slow_down
from robot_dynamics.control.feedforward import require_order
from robot_dynamics.control.limits import acceleration_limit
from robot_dynamics.control.trajectory import Trajectory
from robot_dynamics.control.transitions import NEGLIGIBLE
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coefficients import coulomb_friction
from robot_dynamics.core.friction.memory import FrictionModel

if TYPE_CHECKING:
    from scipy.interpolate import CubicSpline, PPoly

WINDOW = 0.05  # s
MARGIN = 0.95  # used share of the effort limits
TRIES = 5  # of slowing down until nothing is exceeded
PERIOD = 0.01  # s, between the points of the result, or
SHARE = 0.2  # of the window, where that is shorter
INTERVAL, FEWEST, MOST = 0.03, 150, 600  # rad or m of the grid, and its numbers
SAMPLES = 2000  # of a motion, of which sections are made
FINE = 64  # samples of each segment, of which the arc length is made
KNOTS = 160  # of the path; doubled until it is CLOSE to that of the trajectory
CLOSE = 1e-5  # rad or m
WAY = 1e-3  # s to the first point, by which times in messages are late
STILL = 1e-9  # rad/s or m/s
SHARP = 1e-3  # of unit tangents beside a corner
BESIDE = (1.0, 0.5, -0.5, -1.0)  # of half a window, back and ahead
UNBOUNDED = 1e12  # of the square of a speed
SLOW, FAST = 1e-8, 1e6  # least and largest square of a speed at which friction is taken
TINY = 1e-12  # coefficients of rows below are zero
SPEEDS = (0.0, 1e-3, 0.25, 0.5, 0.75, 1.0)  # shares of the largest, at which friction is taken


def retime(
    arm: Dynamics,
    trajectory: Trajectory,
    effort_limit: Array | None = None,
    velocity_limit: Array | None = None,
    friction: FrictionModel | None = None,
    window: float = WINDOW,
    margin: float = MARGIN,
    start: Array | None = None,
) -> Trajectory:
    """Return the fastest motion along the path of a trajectory, from rest to rest.

    Where the trajectory stops, the motion stops, for as long. Limits are those of velocity, effort
    and acceleration, that of `limits.acceleration_limit`: torques that step would exceed the rate
    that drives and nodes allow. A jerk limit slows the whole motion down. The result is within the
    limits by `check_feasibility`.

    Args:
        arm: the dynamics of the robot, with its payload.
        trajectory: joints in the model's order: see `Trajectory.in_order`. Velocities at its ends
            count as zero.
        effort_limit: (n,) N m or N, inf for none; those of the model if None.
        velocity_limit: (n,) rad/s or m/s, likewise.
        friction: of the joints; that of the model if None.
        window: s, over which the time law is averaged; each part takes so much longer.
        margin: used share of the effort limits, above 0 and at most 1.
        start: (n,) where the motion begins, rad or m. From there it leads straight to the first
            point, with a stop: that may lie behind. The first point if None.

    Raises:
        TrajectoryError: joints differ from those of the model; a point is a corner, at which no
            motion is possible without a stop; or a posture needs more than its limits at any
            speed.
    """
    require_order(arm, trajectory)
    if not (0.0 < margin <= 1.0 and window > 0.0):
        raise TrajectoryError(
            f'window is {window} s and margin {margin}; expected a time above 0, and a share '
            'above 0 and at most 1'
        )
    limits = _Limits(
        margin * np.asarray(arm.model.effort_limit if effort_limit is None else effort_limit),
        np.asarray(arm.model.velocity_limit if velocity_limit is None else velocity_limit),
        acceleration_limit(arm.model),
        coulomb_friction(arm.model.viscous, arm.model.coulomb) if friction is None else friction,
    )
    parts = _parts(trajectory)
    if start is not None and (np.abs(trajectory.points[0, 0] - start) > NEGLIGIBLE).any():
        trajectory = _beginning_at(trajectory, start)
        parts = _parts(trajectory)
    times, points = [float(trajectory.times[0])], [_rest(trajectory.points[0, 0])]
    for first, last in parts:
        pause = _pause(trajectory, first, last)
        if pause:
            times.append(times[-1] + pause)
            points.append(_rest(trajectory.points[0, last]))
            continue
        path = _path(trajectory, first, last)
        t, rows = _motion(path, _law(arm, path, limits, window), window)
        times += list(times[-1] + t[1:])
        points += list(np.swapaxes(rows, 0, 1)[1:])
    fastest = Trajectory(trajectory.joint_names, times, *np.swapaxes(np.array(points), 0, 1))
    for _ in range(TRIES):  # the peaks of the slower motion may be between others
        before = fastest
        fastest = slow_down(arm, before, effort_limit, velocity_limit, friction)
        if fastest is before:
            break
    return fastest


class Section(NamedTuple):
    """Times of a motion in which one limit of one joint is used most."""

    start: float  # s
    end: float  # s
    joint: str
    limit: str  # 'effort', 'velocity' or 'acceleration'
    share: float  # of the limit, the largest


def sections(
    arm: Dynamics, trajectory: Trajectory, friction: FrictionModel | None = None
) -> list[Section]:
    """Return what bounds a motion from one time to the next: the limit that is used most.

    Args:
        arm: the dynamics of the robot; the limits are those of its model.
        trajectory: joints in the model's order.
        friction: of the joints; that of the model if None.
    """
    model = arm.model
    law = coulomb_friction(model.viscous, model.coulomb) if friction is None else friction
    t = np.linspace(trajectory.times[0], trajectory.duration, SAMPLES)
    q, qd, qdd = trajectory.sample(t)
    rigid = arm.inverse_dynamics(q, qd, qdd)
    used = {
        'effort': np.abs(rigid + law.torque(qd, rigid)) / model.effort_limit,
        'velocity': np.abs(qd) / model.velocity_limit,
        'acceleration': np.abs(qdd) / acceleration_limit(model),
    }
    shares = np.concatenate([*used.values()], axis=1)
    most = shares.argmax(axis=1)
    starts = np.flatnonzero(np.diff(most, prepend=-1))
    found = []
    for first, after in zip(starts, [*starts[1:], len(t)], strict=True):
        kind, j = divmod(int(most[first]), model.n)
        found.append(
            Section(
                float(t[first]),
                float(t[min(after, len(t) - 1)]),
                model.joint_names[j],
                [*used][kind],
                float(shares[first:after, most[first]].max()),
            )
        )
    return found


class _Limits(NamedTuple):
    """Limits (n,) of the drives, inf where there is none, and their friction."""

    effort: Array
    velocity: Array
    acceleration: Array
    friction: FrictionModel


# -- the path -----------------------------------------------------------------------------------


def _beginning_at(trajectory: Trajectory, q: Array) -> Trajectory:
    """Return a path that leads straight from q (n,) to the first point, and stops at both."""
    way, rest = float(trajectory.times[0]) or WAY, np.zeros_like(q)
    times = np.concatenate([[0.0], trajectory.times - trajectory.times[0] + way])
    rows = [trajectory.waypoint(k) for k in range(1, len(trajectory.times))]
    return Trajectory(
        trajectory.joint_names,
        times,
        [q, *trajectory.points[0]],
        [rest, rest, *(row.qd for row in rows)],
        [None, None, *(row.qdd for row in rows)],
    )


def _parts(trajectory: Trajectory) -> list[tuple[int, int]]:
    """Return the first and the last point of each part between stops.

    Raises:
        TrajectoryError: a point between is a corner.
    """
    before, after = _velocities(trajectory)
    stops = [0]
    for k in range(1, len(trajectory.times) - 1):
        speeds = [np.linalg.norm(side[k]) for side in (before, after)]
        if min(speeds) <= STILL:
            stops.append(k)
        elif np.abs(before[k] / speeds[0] - after[k] / speeds[1]).max() > SHARP:
            raise TrajectoryError(
                f'point {k}, at {trajectory.times[k]:.6g} s, is a corner of the path, which no '
                'motion passes without a stop: add velocities, or a velocity of zero'
            )
    ends = [*stops[1:], len(trajectory.times) - 1]
    return [(first, last) for first, last in zip(stops, ends, strict=True) if last > first]


def _velocities(trajectory: Trajectory) -> tuple[Array, Array]:
    """Return the velocities (m, n) at the points, before and after; zero outside the ends."""
    qd = trajectory.polynomials[1]
    rest = np.zeros((1, trajectory.n))
    before = np.concatenate([rest, spline.evaluate(qd, np.diff(trajectory.times))])
    return before, np.concatenate([qd[:, 0], rest])


def _pause(trajectory: Trajectory, first: int, last: int) -> float:
    """Return the time, s, for which the arm rests from one point to another; 0: it moves."""
    resting = not trajectory.polynomials[1, first:last].any()
    return float(trajectory.times[last] - trajectory.times[first]) if resting else 0.0


def _path(trajectory: Trajectory, first: int, last: int) -> CubicSpline:
    """Return a part of the path as positions (n,) of its arc length.

    Raises:
        TrajectoryError: the path turns back between two points.
    """
    from scipy.interpolate import CubicSpline

    T = np.diff(trajectory.times[first : last + 1])
    shares = np.linspace(0.0, 1.0, FINE + 1)
    t = np.append(
        (trajectory.times[first:last, None] + T[:, None] * shares[:-1]).ravel(),
        trajectory.times[last],
    )
    q = trajectory.sample(t).q
    steps = np.diff(q, axis=0)
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(steps, axis=1))])
    if (np.sum(steps[1:] * steps[:-1], axis=1) < 0).any():
        k = int(np.argmax(np.sum(steps[1:] * steps[:-1], axis=1) < 0)) + 1
        raise TrajectoryError(
            f'the path turns back at about {t[k]:.6g} s, between two points: add a point there, '
            'with a velocity of zero'
        )
    knots = KNOTS
    while True:
        # Samples about equally far from each other
        chosen = np.searchsorted(length, np.linspace(0.0, length[-1], knots + 1))
        chosen = np.unique(np.append(chosen, len(length) - 1))
        path = CubicSpline(length[chosen], q[chosen])
        if np.abs(path(length) - q).max() < CLOSE or len(chosen) <= knots:
            return path
        knots *= 2


# -- the time law -------------------------------------------------------------------------------


class _Rows(NamedTuple):
    """Limits r u + c x <= d, (points, k) each, and x <= cap (points,)."""

    r: Array
    c: Array
    d: Array
    cap: Array

    def at(self, points: Array) -> _Rows:
        """Return the rows of points of the grid (k,)."""
        return _Rows(*(values[points] for values in self))


def _law(arm: Dynamics, path: CubicSpline, limits: _Limits, window: float) -> PPoly:
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


def _rows(arm: Dynamics, path: CubicSpline, limits: _Limits, s: Array, x: Array) -> _Rows:
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


def _dry_friction(limits: _Limits, dq: Array, x: Array, load: Array) -> tuple[Array, Array]:
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


# -- the motion ---------------------------------------------------------------------------------


def _motion(path: CubicSpline, law: PPoly, window: float) -> tuple[Array, Array]:
    """Return times (k,) and positions, velocities and accelerations (3, k, n).

    The arc length is the mean of the law over the window before: by its integral S and its
    derivatives,

        s = (S(t) - S(t - W)) / W,    sd and sdd likewise with s and sd.
    """
    duration = float(law.x[-1]) + window
    period = min(PERIOD, SHARE * window)
    t = np.linspace(0.0, duration, 1 + int(np.ceil(duration / period)))
    whole, end = law.antiderivative(), float(path.x[-1])

    def at(times: Array) -> tuple[Array, Array, Array]:
        inside = np.clip(times, 0.0, law.x[-1])
        S = whole(inside) + end * np.maximum(times - law.x[-1], 0.0)
        moving = (times > 0.0) & (times < law.x[-1])
        return S, law(inside), np.where(moving, law(inside, 1), 0.0)

    s, sd, sdd = ((x - y) / window for x, y in zip(at(t), at(t - window), strict=True))
    s = np.clip(s, 0.0, end)
    q, dq, ddq = path(s), path(s, 1), path(s, 2)
    # qd = q' sd,  qdd = q' sdd + q'' sd^2
    qd, qdd = dq * sd[:, None], dq * sdd[:, None] + ddq * np.square(sd)[:, None]
    qd[[0, -1]] = qdd[[0, -1]] = 0.0
    return t, np.stack([q, qd, qdd])


def _rest(q: Array) -> Array:
    """Return a point (3, n) at rest."""
    return np.stack([q, np.zeros_like(q), np.zeros_like(q)])


def _text(q: Array) -> str:
    return '[' + ', '.join(f'{x:.4g}' for x in q) + ']'
