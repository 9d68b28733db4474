"""A joint trajectory: points in time, and the motion between them at any time.

    trajectory = Trajectory(names, times, positions, velocities)
    trajectory = trajectory.with_start(q, qd)        # from where the arm is now
    q_d, qd_d, qdd_d = trajectory.sample(t)

It behaves as ROS 2's joint_trajectory_controller does: each segment is linear, cubic or quintic by
what its two points carry, and a trajectory whose first point lies in the future starts from the
present state. Where that controller would carry on with the velocity of the last point, or fill
gaps with zeros, this one stops or rejects.
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
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.spatial import Array


class Reference(NamedTuple):
    """The desired motion at one instant, or at many: arrays (..., n)."""

    q: Array  # rad or m
    qd: Array  # rad/s or m/s
    qdd: Array  # rad/s^2 or m/s^2


@dataclass(frozen=True, eq=False, init=False)
class Trajectory:
    """An immutable sequence of m points for n named joints, joined by polynomials.

    Attributes:
        joint_names: the n joints, in the order of every row.
        times: (m,) seconds from the start, strictly increasing, the first not negative.
        waypoints: the m points, each with the derivatives it was given.
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
            velocities: m rows of n numbers; a row that is None or empty leaves it open.
            accelerations: likewise; a point that has them needs velocities as well.

        Raises:
            TrajectoryError: names the point, the joint, the value, and what would be right.
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
        """The rest (n,) at the last point."""
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

        Before the first point and after the last the arm holds still there.
        """
        t = np.asarray(t, dtype=float)
        if len(self.times) == 1:
            q = np.broadcast_to(self.waypoints[0].q, (*t.shape, self.n)).copy()
            return Reference(q, np.zeros_like(q), np.zeros_like(q))
        k = np.clip(np.searchsorted(self.times, t, side='right') - 1, 0, len(self.times) - 2)
        s = np.clip(t, self.times[0], self.times[-1]) - self.times[k]
        q, qd, qdd = spline.evaluate(self.polynomials[:, k], s)
        # Outside the points nothing moves.
        moving = ((t >= self.times[0]) & (t <= self.times[-1]))[..., None]
        return Reference(q, np.where(moving, qd, 0.0), np.where(moving, qdd, 0.0))

    def at_waypoints(self) -> Reference:
        """Return the motion at the m points, (m, n).

        A derivative that a point leaves open is the mean of what the motion arrives with and
        what it leaves with; the first and the last point have one side only.
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

    def with_start(
        self, q: ArrayLike, qd: ArrayLike | None = None, qdd: ArrayLike | None = None
    ) -> Trajectory:
        """Return the trajectory that starts from a given state at time 0.

        If the first point lies at t > 0 the state becomes a new point before it; the segment
        between them takes its degree from what both carry. A trajectory that has a point at
        t = 0 is returned as it is, however far away it begins.

        Args:
            q: (n,) present positions.
            qd: (n,) present velocities, if known.
            qdd: (n,) present accelerations, if known.

        Raises:
            TrajectoryError: wrong size, not finite, or accelerations without velocities.
        """
        if self.times[0] == 0:
            return self
        return Trajectory(
            self.joint_names,
            [0.0, *self.times],
            [q, *(w.q for w in self.waypoints)],
            [qd, *(w.qd for w in self.waypoints)],
            [qdd, *(w.qdd for w in self.waypoints)],
        )

    def in_order(self, joint_names: Sequence[str]) -> Trajectory:
        """Return the same trajectory with its joints in another order.

        Raises:
            TrajectoryError: a joint is missing from the trajectory, or unknown to the robot.
        """
        wanted = tuple(joint_names)
        missing = [name for name in wanted if name not in self.joint_names]
        unknown = [name for name in self.joint_names if name not in wanted]
        if missing or unknown:
            problems = [
                f'{what} {", ".join(map(repr, names))}'
                for what, names in (('lacks joint', missing), ('has unknown joint', unknown))
                if names
            ]
            raise TrajectoryError(
                f'the trajectory {" and ".join(problems)}; the robot has {", ".join(wanted)}'
            )
        order = [self.joint_names.index(name) for name in wanted]
        columns = [
            [None if row is None else row[order] for row in rows]
            for rows in zip(*self.waypoints, strict=True)
        ]
        return Trajectory(wanted, self.times, *columns)


def _checked_names(joint_names: Sequence[str]) -> tuple[str, ...]:
    names = tuple(joint_names)
    if not names:
        raise TrajectoryError('the trajectory names no joint')
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise TrajectoryError(f'the trajectory names {", ".join(map(repr, repeated))} twice')
    return names


def _checked_times(times: ArrayLike, points: int) -> Array:
    """Return the times (m,), read-only, once they increase from 0 or later."""
    t = np.array(times, dtype=float)
    if t.shape != (points,):
        raise TrajectoryError(f'the trajectory has {points} points but times of shape {t.shape}')
    if points == 0:
        raise TrajectoryError('the trajectory has no points; it needs at least one')
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
    """Return m rows (n,), None where a point leaves the field open."""
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
            f'point {k} has accelerations but no velocities; give both, or neither'
        )
    return Waypoint(q, qd, qdd)
