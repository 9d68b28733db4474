# SPDX-License-Identifier: Apache-2.0
"""The fastest motion along the path of a trajectory, within the limits of the drives.

The fastest time law, of `time_law`, is bang-bang: torques step. It is averaged over a short
window, which keeps the path and makes the acceleration continuous.
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
from robot_dynamics.control.time_law import DriveLimits, fastest_law
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
SAMPLES = 2000  # of a motion, of which sections are made
FINE = 64  # samples of each segment, of which the arc length is made
KNOTS = 160  # of the path; doubled until it is CLOSE to that of the trajectory
CLOSE = 1e-5  # rad or m
WAY = 1e-3  # s to the first point, by which times in messages are late
STILL = 1e-9  # rad/s or m/s
SHARP = 1e-3  # of unit tangents beside a corner


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
    limits = DriveLimits(
        margin * np.asarray(arm.model.effort_limit if effort_limit is None else effort_limit),
        np.asarray(arm.model.velocity_limit if velocity_limit is None else velocity_limit),
        acceleration_limit(arm.model),
        coulomb_friction(arm.model.viscous, arm.model.coulomb) if friction is None else friction,
    )
    _parts(trajectory)  # a corner is named by its number in this trajectory
    if start is not None and (np.abs(trajectory.points[0, 0] - start) > NEGLIGIBLE).any():
        trajectory = _beginning_at(trajectory, start)
    fastest = _timed(arm, trajectory, limits, window)
    for _ in range(TRIES):  # the peaks of the slower motion may be between others
        before = fastest
        fastest = slow_down(arm, before, effort_limit, velocity_limit, friction)
        if fastest is before:
            break
    return fastest


def _timed(
    arm: Dynamics, trajectory: Trajectory, limits: DriveLimits, window: float
) -> Trajectory:
    """Return the motion along the path of a trajectory, with its stops and pauses."""
    times, points = [float(trajectory.times[0])], [_rest(trajectory.points[0, 0])]
    for first, last in _parts(trajectory):
        pause = _pause(trajectory, first, last)
        if pause:
            times.append(times[-1] + pause)
            points.append(_rest(trajectory.points[0, last]))
            continue
        path = _path(trajectory, first, last)
        t, rows = _motion(path, fastest_law(arm, path, limits, window), window)
        times += list(times[-1] + t[1:])
        points += list(np.swapaxes(rows, 0, 1)[1:])
    return Trajectory(trajectory.joint_names, times, *np.swapaxes(np.array(points), 0, 1))


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
