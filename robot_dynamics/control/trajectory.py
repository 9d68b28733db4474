"""Joint trajectory: points in time, and the motion between them.

    trajectory = Trajectory(names, times, positions, velocities)
    q_d, qd_d, qdd_d = trajectory.sample(t)

It follows ROS 2's joint_trajectory_controller: each segment is linear, cubic or quintic, depending
on the data of its two points. `transitions.joined` connects a trajectory to the present motion.
Unlike that controller it does not continue with the velocity of the last point,
but stops, and rejects missing data instead of assuming zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.control import spline
from robot_dynamics.control.spline import Waypoint
from robot_dynamics.errors import JointNamesError, TrajectoryError
from robot_dynamics.spatial import Array


class Reference(NamedTuple):
    """Desired motion at one or more instants: arrays (..., n)."""

    q: Array  # rad or m
    qd: Array  # rad/s or m/s
    qdd: Array  # rad/s^2 or m/s^2


@dataclass(frozen=True, eq=False, init=False)
class Trajectory:
    """Immutable sequence of m points for n named joints, connected by polynomials.

    Attributes:
        joint_names: the n joints, in the order of every row.
        times: (m,) seconds from the start, strictly increasing, the first not negative.
        waypoints: the m points, each with its prescribed derivatives.
    """

    joint_names: tuple[str, ...]
    times: Array
    waypoints: tuple[Waypoint, ...]

    def __init__(
        self,
        joint_names: Sequence[str],
        times: ArrayLike,
        positions: Sequence[Any] | Array,
        velocities: Sequence[Any] | Array | None = None,
        accelerations: Sequence[Any] | Array | None = None,
    ):
        """Check and store the points.

        Args:
            joint_names: n names, each once.
            times: (m,) seconds from the start.
            positions: m rows of n numbers, rad or m.
            velocities: m rows of n numbers; None or an empty row: not prescribed.
            accelerations: likewise; they require velocities at the same point.

        Raises:
            TrajectoryError: the data are invalid; the message names point, joint and value.
        """
        names = _checked_names(joint_names)
        t = _checked_times(times, len(positions))
        rows = [
            _checked_rows(field, values, names, len(t))
            for field, values in (
                ('positions', positions),
                ('velocities', velocities),
                ('accelerations', accelerations),
            )
        ]
        points = tuple(_waypoint(k, *(row[k] for row in rows)) for k in range(len(t)))
        for field, value in (('joint_names', names), ('times', t), ('waypoints', points)):
            object.__setattr__(self, field, value)

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joint_names)

    @property
    def duration(self) -> float:
        """Time of the last point, s."""
        return float(self.times[-1])

    @cached_property
    def end(self) -> Reference:
        """Rest (n,) at the last point."""
        q = self.waypoints[-1].q
        return Reference(q, np.zeros_like(q), np.zeros_like(q))

    @cached_property
    def polynomials(self) -> Array:
        """Coefficients (3, m - 1, 6, n) of q, qd and qdd on the segments; see `spline`."""
        pieces = [
            spline.segment(start, end, T)
            for start, end, T in zip(
                self.waypoints[:-1], self.waypoints[1:], np.diff(self.times), strict=True
            )
        ]
        q = np.array(pieces).reshape(-1, spline.COEFFICIENTS, self.n)
        qd = spline.derivative(q)
        return np.stack([q, qd, spline.derivative(qd)])

    def sample(self, t: ArrayLike) -> Reference:
        """Return the desired motion at the times t (...) [s], as arrays (..., n).

        Before the first point and after the last the reference is at rest.
        """
        t = np.asarray(t, dtype=float)
        if len(self.times) == 1:
            q = np.broadcast_to(self.waypoints[0].q, (*t.shape, self.n)).copy()
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
        q, qd, qdd = (np.array(rows) for rows in self.sample(self.times))
        T = np.diff(self.times)
        arriving = spline.evaluate(self.polynomials, T)  # (3, m - 1, n), at points 1 ... m - 1
        for k, point in enumerate(self.waypoints):
            inner = 0 < k < len(T)
            for rows, given, rate in ((qd, point.qd, 1), (qdd, point.qdd, 2)):
                if given is not None:
                    rows[k] = given
                elif inner:
                    rows[k] = (arriving[rate, k - 1] + rows[k]) / 2
        return Reference(q, qd, qdd)

    def in_order(self, joint_names: Sequence[str]) -> Trajectory:
        """Return the same trajectory with its joints in another order.

        Raises:
            JointNamesError: a joint is missing from the trajectory, or unknown to the robot.
        """
        wanted = tuple(joint_names)
        missing = [name for name in wanted if name not in self.joint_names]
        self._check_joints(wanted, missing)
        order = [self.joint_names.index(name) for name in wanted]
        columns = [
            [None if row is None else row[order] for row in rows]
            for rows in zip(*self.waypoints, strict=True)
        ]
        return Trajectory(wanted, self.times, *columns)

    def completed(self, joint_names: Sequence[str], q: Array) -> Trajectory:
        """Return the trajectory of all joints of a robot; those that it lacks stay at q (n,).

        Raises:
            JointNamesError: a joint is unknown to the robot.
        """
        wanted = tuple(joint_names)
        self._check_joints(wanted, [])
        others = [name for name in wanted if name not in self.joint_names]
        if not others:
            return self.in_order(wanted)
        still = q[[wanted.index(name) for name in others]]
        rest = Waypoint(still, np.zeros_like(still), np.zeros_like(still))
        columns = [
            [None if row is None else np.concatenate([row, fixed]) for row in rows]
            for rows, fixed in zip(zip(*self.waypoints, strict=True), rest, strict=True)
        ]
        return Trajectory((*self.joint_names, *others), self.times, *columns).in_order(wanted)

    def _check_joints(self, wanted: tuple[str, ...], missing: list[str]) -> None:
        unknown = [name for name in self.joint_names if name not in wanted]
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
    """Return the times (m,), read-only, checked to increase from 0 or later."""
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
    t.setflags(write=False)
    return t


def _checked_rows(
    field: str, values: Sequence[Any] | Array | None, names: tuple[str, ...], points: int
) -> list[Array | None]:
    """Return m rows (n,), None where the field is not prescribed."""
    if values is None:
        return [None] * points
    if len(values) != points:
        raise TrajectoryError(f'{field} has {len(values)} rows for {points} points')
    return [
        None if row is None or np.size(row) == 0 else _checked_row(field, k, row, names)
        for k, row in enumerate(values)
    ]


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
    value.setflags(write=False)
    return value


def _waypoint(k: int, q: Array | None, qd: Array | None, qdd: Array | None) -> Waypoint:
    if q is None:
        raise TrajectoryError(f'point {k} has no positions')
    if qdd is not None and qd is None:
        raise TrajectoryError(
            f'point {k} has accelerations but no velocities; expected both, or neither'
        )
    return Waypoint(q, qd, qdd)
