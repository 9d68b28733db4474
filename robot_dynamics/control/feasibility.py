# SPDX-License-Identifier: Apache-2.0
"""Torques along a trajectory against the effort limits, and uniform time scaling.

Followed with s times its speed, a trajectory needs the torque

    tau(s) = g(q) + F_s tanh(s qd / v_0)  +  s F_v qd  +  s^2 (M(q) qdd + C(q, qd) qd)

at each of its postures. The largest feasible s follows from one quadratic equation per sample and
joint. Gravity does not depend on speed: where it exceeds a limit, no speed is feasible. The base
is fixed.

Between straight lines velocities step by Dv, which no drive can follow. Within a time T_c such a
corner needs

    tau = g(q) + M(q) Dv / T_c + F.

Source: Hollerbach, "Dynamic scaling of manipulator trajectories", ASME Journal of Dynamic Systems,
Measurement, and Control 106(1), 1984; here with friction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.errors import TrajectoryError
from robot_dynamics.common.spatial import Array
from robot_dynamics.control import spline
from robot_dynamics.control.feedforward import inertia_torque, require_order
from robot_dynamics.control.limits import TOLERANCE, described, exceeded, excursions
from robot_dynamics.control.trajectory import Reference, Trajectory
from robot_dynamics.control.transitions import at_rest, entry_segment
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coefficients import coulomb_friction
from robot_dynamics.core.friction.memory import FrictionModel
from robot_dynamics.core.model.joint_values import unit_of

STEP = 2e-3  # s, between samples
MOST_SAMPLES = 20_000  # of long trajectories, in addition to their points
PEAKS, FINE = 32, 33  # the largest peaks are sampled again, each at FINE instants
ROUNDING, EXACT = 1e-9, 1e-14  # relative errors of torques and of speeds
SLOWEST = 0.01  # share of the speed; the smooth dry friction of the model lets joints creep
CORNER_TIME = 0.02  # s, in which drives take up a step of the velocity
STEADY = 1e-6  # rad/s or m/s; smaller steps are no corners
MOST_NAMED = 10  # corners among the reasons


class Peak(NamedTuple):
    """The torque of a joint where it is closest to its limit, or furthest beyond it."""

    joint: str
    time: float  # s
    torque: float  # N m or N
    limit: float  # N m or N
    unit: str
    posture: Array  # (n,) rad or m

    @property
    def share(self) -> float:
        """The size of the torque relative to the limit; 0 without a limit."""
        return float(_share(np.array(self.torque), np.array(self.limit)))


class Corner(NamedTuple):
    """Steps of the velocities at a point of a trajectory, and the largest torque for them."""

    point: int
    joint: str  # with the largest step
    step: float  # rad/s or m/s
    unit: str
    peak: Peak

    @property
    def reason(self) -> str:
        """Why the corner cannot be followed, if its torque exceeds the limit."""
        return (
            f'point {self.point}, at {self.peak.time:.6g} s, is a corner: the velocity of joint '
            f'{self.joint!r} steps by {self.step:.6g} {self.unit}, which takes '
            f'{self.peak.torque:.6g} {self.peak.unit} at joint {self.peak.joint!r}; its effort '
            f'limit is {self.peak.limit:g}: add velocities'
        )


@dataclass(frozen=True, eq=False)
class Feasibility:
    """Comparison of a trajectory with the effort and velocity limits.

    Attributes:
        peaks: one per joint, in the model's order, without corners.
        gravity: the largest share of a limit that gravity alone needs.
        velocity: (n,) largest speed, rad/s or m/s.
        velocity_limit: (n,) inf where there is none.
        speed: the largest feasible speed relative to that of the trajectory, at most 1; 0 if no
            speed above 1 % is feasible; without corners.
        corners: points at which velocities step.
        too_fast: one sentence per acceleration or jerk limit of the description that is exceeded.
    """

    peaks: tuple[Peak, ...]
    gravity: Peak
    velocity: Array
    velocity_limit: Array
    speed: float
    corners: tuple[Corner, ...]
    too_fast: tuple[str, ...] = ()

    @property
    def worst(self) -> Peak:
        """The peak with the largest share of its limit, corners included."""
        peaks = (*self.peaks, *(corner.peak for corner in self.corners))
        return max(peaks, key=lambda peak: peak.share)

    @property
    def _sharp(self) -> list[Corner]:
        """The corners whose torques exceed a limit."""
        return [corner for corner in self.corners if corner.peak.share > 1 + TOLERANCE]

    @property
    def margin(self) -> float:
        """Unused share of the effort limits; negative if one is exceeded."""
        return 1.0 - self.worst.share

    @property
    def feasible(self) -> bool:
        """Whether the trajectory is within the limits at its own speed."""
        return not self.reasons

    @property
    def reasons(self) -> list[str]:
        """The limits that the trajectory exceeds, one sentence each."""
        found = [
            f'joint {peak.joint!r} needs {peak.torque:.6g} {peak.unit} at {peak.time:.6g} s; its '
            f'effort limit is {peak.limit:g}'
            for peak in self.peaks
            if peak.share > 1 + TOLERANCE
        ]
        found += [
            f'joint {peak.joint!r} reaches the velocity {velocity:.6g}; its limit is {limit:g}'
            for peak, velocity, limit in zip(
                self.peaks, self.velocity, self.velocity_limit, strict=True
            )
            if velocity > limit * (1 + TOLERANCE)
        ]
        found += self.too_fast
        sharp = self._sharp
        found += [corner.reason for corner in sharp[:MOST_NAMED]]
        if sharp[MOST_NAMED:]:
            found.append(f'{len(sharp) - MOST_NAMED} more points are such corners')
        return found

    @property
    def obstacle(self) -> str:
        """Why the trajectory cannot be slowed down until it is feasible, or ''."""
        gravity, worst = self.gravity, max(self.peaks, key=lambda peak: peak.share)
        if self._sharp:
            # M Dv scales with the speed, not with its square.
            return f'not slowed down: {self._sharp[0].reason}'
        if self.speed > 0:
            return ''
        if gravity.share > 1:
            values = ', '.join(f'{x:.4g}' for x in gravity.posture)
            return (
                f'no speed is feasible: joint {gravity.joint!r} needs {gravity.torque:.6g} '
                f'{gravity.unit} against gravity alone at {gravity.time:.6g} s, in the posture '
                f'[{values}]; its effort limit is {gravity.limit:g}'
            )
        return (
            f'no speed is feasible: joint {worst.joint!r} needs more than its effort limit of '
            f'{worst.limit:g} {worst.unit} at {SLOWEST:.0%} of the speed, about {worst.time:.6g} s'
        )


def check_feasibility(
    arm: Dynamics,
    trajectory: Trajectory,
    effort_limit: Array | None = None,
    velocity_limit: Array | None = None,
    friction: FrictionModel | None = None,
    corner_time: float = CORNER_TIME,
) -> Feasibility:
    """Compare the torques and velocities of a trajectory with limits.

    Torques are those of the polynomials between the points, every STEP seconds, on both sides of
    each point and densely around the largest; and those of the corners.

    Args:
        arm: the dynamics of the robot, with its payload.
        trajectory: joints in the model's order: see `Trajectory.in_order`.
        effort_limit: (n,) N m or N, inf for none; those of the model if None.
        velocity_limit: (n,) rad/s or m/s, likewise.
        friction: of the joints; that of the model if None.
        corner_time: s, in which the velocity steps at a corner; at most half of the two segments
            beside it.

    Raises:
        TrajectoryError: its joints differ from those of the model, or in order.
    """
    require_order(arm, trajectory)
    model = arm.model
    effort = model.effort_limit if effort_limit is None else effort_limit
    fastest = model.velocity_limit if velocity_limit is None else velocity_limit
    if friction is None:
        friction = coulomb_friction(model.viscous, model.coulomb)
    motion = _Motion(arm, trajectory, effort, friction)
    motion.refine(1.0)
    velocity = np.abs(motion.samples.qd).max(axis=0)
    for j, low, high in excursions(trajectory, 1, -fastest, fastest):
        velocity[j] = max(-low, high)
    with np.errstate(divide='ignore'):
        most = float((fastest / velocity).min(initial=1.0))
    beyond = [*exceeded(trajectory, {2: described(model), 3: model.jerk_limit})]
    return Feasibility(
        peaks=motion.peaks(1.0),
        gravity=max(motion.peaks(0.0), key=lambda peak: peak.share),
        velocity=velocity,
        velocity_limit=np.asarray(fastest),
        speed=motion.largest_speed(min([most, *(share for share, _ in beyond)])),
        corners=motion.corners(corner_time),
        too_fast=tuple(reason for _, reason in beyond),
    )


def check_motion(
    arm: Dynamics,
    trajectory: Trajectory,
    start: Array,
    effort_limit: Array | None = None,
    velocity_limit: Array | None = None,
    friction: FrictionModel | None = None,
    corner_time: float = CORNER_TIME,
) -> Feasibility:
    """Compare as `check_feasibility`, with the way from rest at `start` (n,) to the first point.

    The result is that of the part with the lower feasible speed. The first point is no corner:
    the way to it ends with the velocity that follows.
    """
    parts = [trajectory]
    if trajectory.times[0] > 0:
        parts.append(entry_segment(trajectory, 0.0, at_rest(start), float(trajectory.times[0])))
    found = [
        check_feasibility(arm, part, effort_limit, velocity_limit, friction, corner_time)
        for part in parts
    ]
    corners = tuple(corner for corner in found[0].corners if corner.point > 0)
    return replace(min(found, key=lambda part: (part.speed, part.margin)), corners=corners)


def slow_down(
    arm: Dynamics,
    trajectory: Trajectory,
    effort_limit: Array | None = None,
    velocity_limit: Array | None = None,
    friction: FrictionModel | None = None,
    corner_time: float = CORNER_TIME,
) -> Trajectory:
    """Return the trajectory at its largest feasible speed, itself if it is feasible.

    The path stays the same; all times are divided by one factor. Arguments are those of
    `check_feasibility`.

    Raises:
        TrajectoryError: gravity alone or a corner exceeds a limit, or the joints differ from the
            model's.
    """
    found = check_feasibility(arm, trajectory, effort_limit, velocity_limit, friction, corner_time)
    if found.feasible:
        return trajectory
    if found.obstacle:
        raise TrajectoryError(found.obstacle)
    return trajectory.at_speed(found.speed)


class _Samples(NamedTuple):
    """Terms of the torque at m instants of a trajectory."""

    t: Array  # (m,) s
    segment: Array  # (m,) index of the segment
    q: Array  # (m, n); so are the others
    qd: Array
    gravity: Array  # g(q)
    inertial: Array  # M(q) qdd + C(q, qd) qd


class _Motion:
    """A trajectory, the limits of its drives, and samples of its torques."""

    def __init__(
        self, arm: Dynamics, trajectory: Trajectory, effort_limit: Array, friction: FrictionModel
    ):
        self._arm, self._trajectory = arm, trajectory
        self._limit, self._friction = effort_limit, friction
        self._T = T = np.diff(trajectory.times)
        self._step = max(STEP, trajectory.duration / MOST_SAMPLES)
        # Both ends of every segment: accelerations may jump at points.
        number = np.maximum(2, np.ceil(T / self._step)).astype(int) + 1
        k = np.repeat(np.arange(len(T)), number)
        index = np.arange(len(k)) - np.repeat(np.cumsum(number) - number, number)
        self._grid = self.samples = self._sampled(k, index / (number[k] - 1) * T[k])

    def _sampled(self, k: Array, s: Array) -> _Samples:
        """Return samples at the times s (m,) [s] since the start of the segments k (m,)."""
        if len(self._T):
            t = self._trajectory.times[k] + s
            reference = Reference(*spline.evaluate(self._trajectory.polynomials[:, k], s))
        else:  # a single point
            t, k = self._trajectory.times, np.zeros(1, dtype=int)
            reference = self._trajectory.sample(t)
        q, qd, qdd = reference
        gravity = self._arm.gravity_torque(q)
        return _Samples(t, k, q, qd, gravity, self._arm.inverse_dynamics(q, qd, qdd) - gravity)

    def refine(self, speed: float) -> None:
        """Add samples about the largest loads at a share of the speed, in two steps."""
        samples, step = self._grid, self._step
        for _ in range(2 if len(self._T) else 0):
            load = self._loads(samples, speed)
            beside = np.pad(load, 1)
            tops = np.flatnonzero((load >= beside[:-2]) & (load >= beside[2:]))
            tops = tops[np.argsort(-load[tops], kind='stable')[:PEAKS]]
            k = np.repeat(samples.segment[tops], FINE)
            t = np.add.outer(samples.t[tops], step * np.linspace(-1.0, 1.0, FINE)).ravel()
            samples = self._sampled(k, np.clip(t - self._trajectory.times[k], 0.0, self._T[k]))
            step *= 2 / (FINE - 1)
            self.samples = _Samples(
                *(np.concatenate(pair) for pair in zip(self.samples, samples, strict=True))
            )

    def peaks(self, speed: float) -> tuple[Peak, ...]:
        """Return the peak of each joint at a share of the speed."""
        torque, x = self._torque(self.samples, speed), self.samples
        rows = np.abs(torque).argmax(axis=0)
        return tuple(
            self._peak(j, float(x.t[i]), float(torque[i, j]), x.q[i]) for j, i in enumerate(rows)
        )

    def _peak(self, j: int, time: float, torque: float, posture: Array) -> Peak:
        """Return the peak of joint j."""
        model, limit = self._arm.model, float(self._limit[j])
        unit = model.effort_units[j]
        return Peak(model.joint_names[j], time, torque, limit, unit, posture)

    def corners(self, corner_time: float) -> tuple[Corner, ...]:
        """Return the corners of the trajectory, with their torques at its own speed."""
        given, T, model = self._trajectory.points[1], self._T, self._arm.model
        if not len(T):
            return ()
        # Velocities on both sides of each point; at rest, unless prescribed, outside the ends.
        rest, qd = np.zeros((1, model.n)), self._trajectory.polynomials[1]
        ends = [np.where(np.isnan(given[[k]]), rest, given[[k]]) for k in (0, -1)]
        before = np.concatenate([ends[0], spline.evaluate(qd, T)])
        after = np.concatenate([qd[:, 0], ends[1]])
        k = np.flatnonzero((np.abs(after - before) > STEADY).any(axis=1))
        # The arm may stay at rest for any time.
        half = (np.append(np.inf, T) + np.append(T, np.inf))[k, None] / 2
        q, step = self._trajectory.points[0, k], (after - before)[k]
        gravity = self._arm.gravity_torque(q)
        rigid = gravity + inertia_torque(self._arm, q, step) / np.minimum(corner_time, half)
        sides = [rigid + self._friction.torque(side[k], rigid) for side in (before, after)]
        torque = np.where(np.abs(sides[0]) > np.abs(sides[1]), *sides)
        largest = np.abs(step).argmax(axis=1)
        loaded = _share(torque, self._limit).argmax(axis=1)
        found = []
        for row, (j, i) in enumerate(zip(largest, loaded, strict=True)):
            time = float(self._trajectory.times[k[row]])
            peak = self._peak(i, time, float(torque[row, i]), q[row])
            unit = unit_of(bool(model.angular[j]), 'rad/s')
            size = float(step[row, j])
            found.append(Corner(int(k[row]), model.joint_names[j], size, unit, peak))
        return tuple(found)

    def largest_speed(self, most: float) -> float:
        """Return the largest feasible share of the speed, at most `most`; 0 if there is none."""
        speed = most
        while self._load(speed) > 1 + ROUNDING:
            if self._load(0.0) > 1:
                return 0.0
            speed = self._largest_of_samples(speed)
            if speed < SLOWEST:
                return 0.0
            self.refine(speed)
        return speed

    def _largest_of_samples(self, most: float) -> float:
        """Return the largest share of the speed below `most` that is feasible at the samples."""
        x = self.samples
        viscous = self._friction.coefficients['viscous'] * x.qd
        dry = self._torque(x, most) - x.gravity - most * viscous - most**2 * x.inertial
        intervals = [
            _infeasible(side * x.inertial, side * viscous, self._limit - side * (x.gravity + dry))
            for side in (1.0, -1.0)
        ]
        low, high = np.concatenate(intervals, axis=1)
        speed = most
        while (blocked := (low < speed) & (speed < high)).any():
            speed = float(low[blocked].min())
        speed = max(speed, 0.0)
        # Exact where dry friction is constant; near standstill, and with load, it changes.
        load = self._load(speed)
        if abs(load - 1) <= ROUNDING:
            return speed
        slow, fast = (0.0, speed) if load > 1 else (speed, most)
        while fast > SLOWEST and fast - slow > EXACT * fast:
            middle = (slow + fast) / 2
            slow, fast = (slow, middle) if self._load(middle) > 1 else (middle, fast)
        return slow

    def _load(self, speed: float) -> float:
        """Return the largest share of a limit at a share of the speed."""
        return float(self._loads(self.samples, speed).max())

    def _loads(self, samples: _Samples, speed: float) -> Array:
        """Return the largest share of a limit at each of m samples (m,)."""
        return np.asarray(_share(self._torque(samples, speed), self._limit).max(axis=1))

    def _torque(self, samples: _Samples, speed: float) -> Array:
        """Return the torques (m, n) of samples at a share of the speed."""
        rigid = samples.gravity + speed**2 * samples.inertial
        return rigid + self._friction.torque(speed * samples.qd, rigid)


def _infeasible(a: Array, b: Array, c: Array) -> Array:
    """Return ends (2, k) of the intervals of s >= 0 with a s^2 + b s > c.

    Only where there may be such an s in [0, 1]. For a < 0 the interval lies between the roots, for
    a >= 0 beyond the larger one; c < 0 with a >= 0 leaves another below the smaller root.
    """
    near = np.maximum(a, 0) + np.maximum(b, 0) > c
    a, b, c = a[near], b[near], c[near]
    root = b**2 + 4 * a * c
    with np.errstate(divide='ignore', invalid='ignore'):
        w = -(b + np.copysign(np.sqrt(np.maximum(root, 0.0)), b)) / 2
        ends = np.sort([w / a, -c / w], axis=0)
    ends[:, (root < 0) & (a < 0)] = np.nan
    ends[:, (root < 0) & (a >= 0)] = -np.inf
    ends[:, a >= 0] = ends[1, a >= 0], np.full(int((a >= 0).sum()), np.inf)
    return np.asarray(ends)


def _share(torque: Array, limit: Array) -> Array:
    """Return |torque| / limit; 0 without a limit, inf for a torque at a limit of 0."""
    with np.errstate(over='ignore'):
        return np.asarray(np.abs(torque) / np.maximum(limit, np.finfo(float).tiny))
