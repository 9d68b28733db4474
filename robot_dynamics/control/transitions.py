# SPDX-License-Identifier: Apache-2.0
"""Transitions between motions: stops, and joins of a trajectory from a moving reference.

A stop decelerates every joint constantly to rest; in a yielding stop the reference is never ahead
of the arm. A join is one polynomial from the present reference onto a trajectory, continuous in
position and velocity, and in acceleration unless it ends at a point that prescribes none. None
exceeds `acceleration_limit`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from robot_dynamics.common.errors import TrajectoryError
from robot_dynamics.common.spatial import Array
from robot_dynamics.control.limits import acceleration_limit, limit_violations, position_limits
from robot_dynamics.control.spline import Waypoint
from robot_dynamics.control.trajectory import Reference, Trajectory
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robot_model import RobotModel

SHORTEST_STOP, LONGEST_STOP = 0.25, 1.0  # s
LEAST_TORQUE = 0.1  # of the effort limit, assumed to be available for braking in any posture
JOIN_TIMES = (0.05, 0.1, 0.2, 0.4, 0.8)  # s; the first within the limits is used
NEGLIGIBLE = 1e-6  # rad or m, and per second: a smaller difference needs no join


def at_rest(q: Array) -> Reference:
    """Return the reference (n,) that stays at q, in read-only arrays."""
    return Reference(q, np.zeros_like(q), np.zeros_like(q)).frozen()


@dataclass(frozen=True, eq=False)
class Stop:
    """Motion to rest with constant decelerations.

    Attributes:
        start: (n,) initial reference; its acceleration has no effect.
        times: (n,) s, until each joint is at rest; 0 for a joint at rest from the start.
    """

    start: Reference
    times: Array
    end: Reference = field(init=False)
    duration: float = field(init=False)  # s

    def __post_init__(self) -> None:
        # Distance of a constant deceleration: |v| T / 2
        end = at_rest(self.start.q + self.start.qd * self.times / 2)
        object.__setattr__(self, 'start', self.start.frozen())
        object.__setattr__(self, 'times', np.array(self.times))
        object.__setattr__(self, 'end', end)
        object.__setattr__(self, 'duration', float(self.times.max(initial=0.0)))

    def sample(self, t: float) -> Reference:
        """Return the reference at the time t [s] since the start; the end is read-only."""
        if t >= self.duration:
            return self.end
        T = np.where(self.times > 0, self.times, 1.0)
        s = np.clip(t, 0.0, self.times)
        q, v, _ = self.start
        braking = s < self.times
        return Reference(
            q + v * s * (1 - s / (2 * T)),
            np.where(braking, v * (1 - s / T), 0.0),
            np.where(braking, -v / T, 0.0),
        )


@dataclass(frozen=True, eq=False)
class YieldingStop:
    """Stop of an arm that meets an obstacle: the reference is never ahead of the arm.

    Where the arm is slower than the stop, its own position and velocity are the reference, so that
    it brakes and does not press.

    Attributes:
        stop: from the measured state at the start.
        arm: (n,) the measured state, now.
    """

    stop: Stop
    arm: Reference

    def __post_init__(self) -> None:
        object.__setattr__(self, 'arm', self.arm.frozen())

    @property
    def duration(self) -> float:
        """Time of the stop, s."""
        return self.stop.duration

    @property
    def end(self) -> Reference:
        """Rest (n,) where the arm is, within the way of the stop."""
        return self.sample(self.duration)

    def at(self, arm: Reference) -> YieldingStop:
        """Return the same stop, for another measured state."""
        return replace(self, arm=arm)

    def sample(self, t: float) -> Reference:
        """Return the reference at the time t [s] since the start, for the measured state."""
        q, v, a = self.stop.sample(t)
        start = self.stop.start.q
        # share = qd / v, within 0 ... 1
        share = np.clip(np.divide(self.arm.qd, v, out=np.zeros_like(v), where=v != 0), 0.0, 1.0)
        within = np.clip(self.arm.q, np.minimum(start, q), np.maximum(start, q))
        return Reference(within, share * v, share * a)


def stop(model: RobotModel, start: Reference, stopping_time: float) -> Stop:
    """Return the stop that begins at a reference (n,) and takes `stopping_time` [s].

    A joint that would exceed its position limits stops earlier, within its acceleration limit.
    """
    speed = np.abs(start.qd)
    lower, upper = position_limits(model)
    room = np.maximum(np.where(start.qd > 0, upper - start.q, start.q - lower), 0.0)
    with np.errstate(divide='ignore', invalid='ignore', over='ignore'):
        # The distance v T / 2 stays within the limits.
        times = np.minimum(stopping_time, 2 * room / speed)
    times = np.maximum(times, speed / acceleration_limit(model))
    return Stop(start, np.where(speed > 0, times, 0.0))


def stopping_time(arm: Dynamics, effort_limit: Array, start: Reference) -> float:
    """Return the time [s] in which the arm can be stopped within its effort limits.

    The braking torque is the limit less |C qd + g| at the start of the stop:
    |M qd| / T <= limit - |C qd + g|, with T clipped to SHORTEST_STOP ... LONGEST_STOP.

    Args:
        arm: the dynamics of the robot.
        effort_limit: (n,) N m or N; inf where there is none.
        start: (n,) reference at the start of the stop.
    """
    q, qd, _ = start
    momentum = np.abs(arm.mass_matrix(q) @ qd)
    bias = np.abs(arm.coriolis_torque(q, qd) + arm.gravity_torque(q))
    left = np.maximum(effort_limit - bias, LEAST_TORQUE * effort_limit)
    needed = np.divide(momentum, left, out=np.zeros_like(momentum), where=left > 0)
    return float(np.clip(needed.max(initial=0.0), SHORTEST_STOP, LONGEST_STOP))


@dataclass(frozen=True, eq=False)
class Joined:
    """A trajectory with another start: `entry` from the time `begin` on, for its duration."""

    trajectory: Trajectory
    entry: Trajectory
    begin: float  # s, in the time of the trajectory

    @property
    def duration(self) -> float:
        """Time of the end, s."""
        return max(self.trajectory.duration, self.begin + self.entry.duration)

    @property
    def end(self) -> Reference:
        """Rest (n,) at the end."""
        return self.trajectory.end

    def sample(self, t: float) -> Reference:
        """Return the reference at the time t [s] of the trajectory, t >= begin."""
        s = t - self.begin
        return self.entry.sample(s) if s < self.entry.duration else self.trajectory.sample(t)


def joined(
    trajectory: Trajectory, begin: float, start: Reference, model: RobotModel
) -> Trajectory | Joined:
    """Return the motion from a reference onto a trajectory.

    A trajectory that begins later is reached at its first point. One in progress is reached after
    the shortest of JOIN_TIMES within the position, velocity and acceleration limits; it is
    returned unchanged if the reference is on it.

    Args:
        trajectory: joints in the model's order; within its limits.
        begin: time of the trajectory at which it is entered, s.
        start: (n,) the reference at that time.
        model: the robot, for its limits.

    Raises:
        TrajectoryError: the limits allow no such motion.
    """
    first = float(trajectory.times[0])
    if begin >= first and _is_on(trajectory.sample(begin), start):
        return trajectory
    wait = first - begin
    times = [wait] if wait >= JOIN_TIMES[0] else [T for T in JOIN_TIMES if wait < T]
    for T in times:
        entry = entry_segment(trajectory, begin, start, T)
        reasons = limit_violations(entry, model, entry.points[0], acceleration=True)
        if not reasons:
            return Joined(trajectory, entry, begin)
    raise TrajectoryError('; '.join(reasons))


def _is_on(wanted: Reference, start: Reference) -> bool:
    return bool(
        (np.abs(wanted.q - start.q) <= NEGLIGIBLE).all()
        and (np.abs(wanted.qd - start.qd) <= NEGLIGIBLE).all()
    )


def entry_segment(trajectory: Trajectory, begin: float, start: Reference, T: float) -> Trajectory:
    """Return the segment that meets the trajectory T seconds after the time `begin`."""
    first, point = float(trajectory.times[0]), trajectory.waypoint(0)
    if first - begin == T:
        # The first point; a velocity that is not prescribed is that of the motion after it.
        qd = trajectory.sample(first).qd if point.qd is None else point.qd
        end = Waypoint(point.q, qd, point.qdd)
    elif begin + T < trajectory.duration:
        end = Waypoint(*trajectory.sample(begin + T))
    else:
        end = Waypoint(*trajectory.end)
    states = zip(start, end, strict=True)
    return Trajectory(trajectory.joint_names, [0.0, T], *([a, b] for a, b in states))
