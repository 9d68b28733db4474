# SPDX-License-Identifier: Apache-2.0
"""Joint trajectory: points in time, and the motion between them.

    trajectory = Trajectory(names, times, positions, velocities)
    q_d, qd_d, qdd_d = trajectory.sample(t)

It follows ROS 2's joint_trajectory_controller (4.42.1, trajectory.cpp): each segment is linear,
cubic or quintic, depending on the data of its two points. `transitions.joined` connects a
trajectory to the present motion. Unlike that controller it does not continue with the velocity of
the last point, but stops, and rejects missing positions instead of integrating velocities.
Positions alone are joined smoothly, by cubics, unless lines are requested: their velocity steps at
every point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import JointNamesError, TrajectoryError
from robot_dynamics.common.made_once import made_once
from robot_dynamics.common.spatial import Array
from robot_dynamics.control import spline
from robot_dynamics.control.spline import Waypoint

# Of points without velocities: cubics from rest to rest that do not overshoot, or lines.
SMOOTH, LINEAR = INTERPOLATIONS = ('smooth', 'linear')


class Reference(NamedTuple):
    """Desired motion at one or more instants: arrays (..., n)."""

    q: Array  # rad or m
    qd: Array  # rad/s or m/s
    qdd: Array  # rad/s^2 or m/s^2

    def copied(self) -> Reference:
        """Return the same motion in arrays of its own."""
        q, qd, qdd = self
        return Reference(q.copy(), qd.copy(), qdd.copy())

    def frozen(self) -> Reference:
        """Return the same motion in read-only arrays of its own."""
        result = self.copied()
        for array in result:
            array.setflags(write=False)
        return result


@dataclass(frozen=True, eq=False, init=False)
class Trajectory:
    """Immutable sequence of m points for n named joints, connected by polynomials.

    Attributes:
        joint_names: the n joints, in the order of every row.
        times: (m,) seconds from the start, strictly increasing, the first not negative.
        points: (3, m, n) positions [rad or m], velocities and accelerations; rows of NaN where a
            derivative is not prescribed.
    """

    joint_names: tuple[str, ...]
    times: Array
    points: Array

    def __init__(
        self,
        joint_names: Sequence[str],
        times: ArrayLike,
        positions: Sequence[Any] | Array,
        velocities: Sequence[Any] | Array | None = None,
        accelerations: Sequence[Any] | Array | None = None,
        *,
        interpolation: str = SMOOTH,
    ):
        """Check and store the points.

        Args:
            joint_names: n names, each once.
            times: (m,) seconds from the start.
            positions: m rows of n numbers, rad or m.
            velocities: m rows of n numbers; None or an empty row: not prescribed.
            accelerations: likewise; they require velocities at the same point.
            interpolation: of two or more points, none of which has velocities. 'smooth': they get
                those of `spline.shape_preserving`; 'linear': they stay as they are.

        Raises:
            TrajectoryError: the data are invalid; the message names point, joint and value.
        """
        if interpolation not in INTERPOLATIONS:
            raise TrajectoryError(
                f'interpolation is {interpolation!r}; expected {" or ".join(INTERPOLATIONS)}'
            )
        names = _checked_names(joint_names)
        t = _checked_times(times, len(positions))
        points = np.stack(
            [
                _checked_rows(field, values, names, len(t))
                for field, values in (
                    ('positions', positions),
                    ('velocities', velocities),
                    ('accelerations', accelerations),
                )
            ]
        )
        _check_given(points)
        if interpolation == SMOOTH and len(t) > 1 and np.isnan(points[1]).all():
            points[1] = spline.shape_preserving(points[0], np.diff(t))
        self._set(names, t, points)

    def _set(self, joint_names: tuple[str, ...], times: Array, points: Array) -> None:
        times.setflags(write=False)
        points.setflags(write=False)
        for field, value in (('joint_names', joint_names), ('times', times), ('points', points)):
            object.__setattr__(self, field, value)

    def _varied(self, joint_names: tuple[str, ...], times: Array, points: Array) -> Trajectory:
        """Return a trajectory of data that were checked before."""
        result = object.__new__(Trajectory)
        result._set(joint_names, times, points)
        return result

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joint_names)

    @property
    def duration(self) -> float:
        """Time of the last point, s."""
        return float(self.times[-1])

    @made_once
    def end(self) -> Reference:
        """Rest (n,) at the last point."""
        q = self.points[0, -1]
        return Reference(q, np.zeros_like(q), np.zeros_like(q)).frozen()

    def waypoint(self, k: int) -> Waypoint:
        """Return the data of point k; k may count from the end."""
        q, qd, qdd = (None if np.isnan(row[0]) else row for row in self.points[:, k])
        assert q is not None  # positions are always given
        return Waypoint(q, qd, qdd)

    @made_once
    def polynomials(self) -> Array:
        """Coefficients (3, m - 1, 6, n) of q, qd and qdd on the segments; see `spline`.

        Raises:
            TrajectoryError: one is not finite.
        """
        with np.errstate(over='ignore', invalid='ignore', divide='ignore'):
            q = spline.segments(self.points, np.diff(self.times))
            qd = spline.derivative(q)
            found = np.stack([q, qd, spline.derivative(qd)])
        bad = ~np.isfinite(found).all(axis=(0, 2))  # (m - 1, n)
        if bad.any():
            k, j = np.argwhere(bad)[0]
            raise TrajectoryError(
                f'the path of joint {self.joint_names[j]!r} from point {k} to the next one is not '
                f'finite: its position goes from {self.points[0, k, j]:.6g} to '
                f'{self.points[0, k + 1, j]:.6g} in {self.times[k + 1] - self.times[k]:.6g} s'
            )
        return found

    def sample(self, t: ArrayLike) -> Reference:
        """Return the desired motion at the times t (...) [s], as arrays (..., n).

        Before the first point and after the last the reference is at rest.
        """
        t = np.asarray(t, dtype=float)
        if len(self.times) == 1:
            q = np.broadcast_to(self.points[0, 0], (*t.shape, self.n)).copy()
            return Reference(q, np.zeros_like(q), np.zeros_like(q))
        within = np.minimum(np.maximum(t, self.times[0]), self.times[-1])
        inner = self.times[1:-1]  # where one segment ends and the next one begins
        k = inner.searchsorted(within, side='right')
        q, qd, qdd = spline.evaluate(self.polynomials[:, k], within - self.times[k])
        moving = within == t
        if moving.all():
            return Reference(q, qd, qdd)
        # At rest outside the time range.
        moving = moving[..., None]
        return Reference(q, np.where(moving, qd, 0.0), np.where(moving, qdd, 0.0))

    def at_waypoints(self) -> Reference:
        """Return the motion at the m points, (m, n).

        A derivative that is not prescribed is the mean of its values on both sides of the point;
        the first and the last point have one side only.
        """
        rows = np.zeros_like(self.points)
        rows[:, :-1] = self.polynomials[:, :, 0]  # the segments at their starts
        rows[:, 1:] += spline.evaluate(self.polynomials, np.diff(self.times))  # at their ends
        rows[:, 1:-1] /= 2
        np.copyto(rows, self.points, where=~np.isnan(self.points))
        return Reference(*rows)

    def in_order(self, joint_names: Sequence[str]) -> Trajectory:
        """Return the same trajectory with its joints in another order.

        Raises:
            JointNamesError: a joint is missing from the trajectory, or unknown to the robot.
        """
        wanted = tuple(joint_names)
        missing = [name for name in wanted if name not in self.joint_names]
        check_joints(self.joint_names, wanted, missing)
        order = [self.joint_names.index(name) for name in wanted]
        return self._varied(wanted, self.times, self.points[:, :, order])

    def completed(self, joint_names: Sequence[str], q: Array) -> Trajectory:
        """Return the trajectory of all joints of a robot; those that it lacks stay at q (n,).

        Raises:
            JointNamesError: a joint is unknown to the robot.
        """
        wanted = tuple(joint_names)
        check_joints(self.joint_names, wanted)
        own = [wanted.index(name) for name in self.joint_names]
        # Where a derivative is prescribed, that of the others is zero.
        points = np.where(np.isnan(self.points[:, :, :1]), np.nan, np.zeros(len(wanted)))
        points[0] = q
        points[:, :, own] = self.points
        return self._varied(wanted, self.times, points)

    def shifted(self, offset: Array) -> Trajectory:
        """Return the trajectory with other positions, by an offset (n,) in rad or m."""
        q, *rates = self.points
        return self._varied(self.joint_names, self.times, np.stack([q + offset, *rates]))

    def at_speed(self, speed: float) -> Trajectory:
        """Return the trajectory on the same path, `speed` times as fast."""
        factors = np.array([1.0, speed, speed**2])[:, None, None]
        return self._varied(self.joint_names, self.times / speed, factors * self.points)


def check_joints(given: Sequence[str], wanted: Sequence[str], missing: Sequence[str] = ()) -> None:
    """Raise JointNamesError if a joint is given that is not wanted, or one is missing."""
    unknown = [name for name in given if name not in wanted]
    problems = [
        f'{what} {", ".join(map(repr, names))}'
        for what, names in (('lacks joint', missing), ('has unknown joint', unknown))
        if names
    ]
    if problems:
        raise JointNamesError(
            f'the trajectory {" and ".join(problems)}; the robot has {", ".join(wanted)}'
        )


def _checked_names(joint_names: Sequence[str]) -> tuple[str, ...]:
    names = tuple(joint_names)
    if not names:
        raise JointNamesError('the trajectory names no joint; expected at least one')
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise JointNamesError(f'the trajectory names {", ".join(map(repr, repeated))} twice')
    return names


def _checked_times(times: ArrayLike, points: int) -> Array:
    """Return the times (m,), checked to increase from 0 or later."""
    t = np.array(times, dtype=float)
    if t.shape != (points,):
        raise TrajectoryError(f'times has shape {t.shape}; expected ({points},), one per point')
    if points == 0:
        raise TrajectoryError('the trajectory has no points; expected at least one')
    if not np.isfinite(t).all():
        k = int(np.argmin(np.isfinite(t)))
        raise TrajectoryError(f'time of point {k} is {t[k]}; it must be finite')
    if t[0] < 0:
        raise TrajectoryError(f'time of point 0 is {t[0]} s; it must not be negative')
    steps = np.diff(t)
    if (steps <= 0).any():
        k = int(np.argmax(steps <= 0)) + 1
        raise TrajectoryError(
            f'time of point {k} is {t[k]} s, after {t[k - 1]} s of point {k - 1}; '
            'times must increase strictly'
        )
    return t


def _checked_rows(
    field: str, values: Sequence[Any] | Array | None, names: tuple[str, ...], points: int
) -> Array:
    """Return m rows (n,), NaN where the field is not prescribed."""
    rows = np.full((points, len(names)), np.nan)
    if values is None:
        return rows
    if len(values) != points:
        raise TrajectoryError(f'{field} has {len(values)} rows for {points} points')
    try:
        block = np.array(values, dtype=float)
    except (TypeError, ValueError):  # rows of different sizes, or not of numbers
        block = np.empty(0)
    if block.shape == rows.shape and np.isfinite(block).all():
        return block
    for k, row in enumerate(values):
        if row is not None and np.size(row):
            rows[k] = _checked_row(field, k, row, names)
    return rows


def _checked_row(field: str, k: int, row: Any, names: tuple[str, ...]) -> Array:
    try:
        value = np.array(row, dtype=float)
    except (TypeError, ValueError) as error:
        raise TrajectoryError(f'{field} of point {k} are not numbers: {row!r}') from error
    if value.shape != (len(names),):
        raise TrajectoryError(
            f'{field} of point {k} has {value.size} values for {len(names)} joints '
            f'({", ".join(names)})'
        )
    if not np.isfinite(value).all():
        j = int(np.argmin(np.isfinite(value)))
        raise TrajectoryError(
            f'{field} of point {k}, joint {names[j]!r}, is {value[j]}; it must be finite'
        )
    return value


def _check_given(points: Array) -> None:
    """Check that every point has a position, and a velocity with every acceleration."""
    q, qd, qdd = (~np.isnan(rows[:, 0]) for rows in points)
    if not q.all():
        raise TrajectoryError(f'point {int(np.argmin(q))} has no positions')
    alone = qdd & ~qd
    if alone.any():
        raise TrajectoryError(
            f'point {int(np.argmax(alone))} has accelerations but no velocities; expected both, '
            'or neither'
        )
