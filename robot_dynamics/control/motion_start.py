# SPDX-License-Identifier: Apache-2.0
"""Start of a motion: the reference where it begins, and its path from there.

A motion begins at the present reference, or at the arm, at rest, if the arm is elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from robot_dynamics.common.errors import TrajectoryError
from robot_dynamics.common.spatial import Array
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.control.limits import (
    TOLERANCE,
    acceleration_limit,
    check_change,
    check_distance,
    excursions,
    reference_violations,
    step_time,
)
from robot_dynamics.control.motions import ReferenceMotion, Streamed, elapsed
from robot_dynamics.control.partial_motion import Combined, combined
from robot_dynamics.control.trajectory import Reference, Trajectory
from robot_dynamics.control.transitions import (
    Joined,
    YieldingStop,
    at_rest,
    joined,
    stop,
    stream_join,
)
from robot_dynamics.core.model.robot_model import RobotModel

CLOSE = 0.01  # s; the least time counted for a change of velocity between two references
SHORTEST_PERIOD = 0.002  # s; the least time counted for a step between two references
TURN = 2 * np.pi  # rad


class MotionStart:
    """Rules by which motions of a robot begin."""

    def __init__(
        self,
        model: RobotModel,
        start_tolerance: Array,
        stopping_time: Callable[[Reference], float],
        shortest_period: float,
    ):
        """Use these settings.

        Args:
            model: the robot, for its limits.
            start_tolerance: (n,) how far from the reference a motion may begin, rad or m.
            stopping_time: returns the time [s] that a stop from a reference takes.
            shortest_period: least time counted between two references of a stream, s.
        """
        self._model, self._shortest_period = model, shortest_period
        self._turns = WholeTurns(model)
        self._tolerance = np.array(start_tolerance, dtype=float)
        self._stopping_time = stopping_time

    def start(self, present: Reference | None, state: JointReading) -> Reference:
        """Return the start of a motion: the present reference, or the arm if it is elsewhere."""
        if present is None or self.is_off(present.q, state.q):
            return at_rest(state.q)
        return present

    def is_off(self, wanted: Array, q: Array) -> bool:
        """Return whether a joint is further from its wanted position than the tolerance."""
        return bool((np.abs(wanted - q) > self._tolerance).any())

    def nearest_turn(self, q: Array, present: Array) -> Array:
        """Return positions (n,) with continuous joints in the turn nearest to others (n,)."""
        return self._turns.nearest(q, present) if self._turns.any else q

    def completed(self, trajectory: Trajectory, start: Reference) -> Trajectory:
        """Return a trajectory of all joints; those that it lacks stay at the start."""
        complete = trajectory.completed(self._model.joint_names, start.q)
        return self._turns.trajectory(complete, start.q)

    def streamed(
        self,
        reference: Reference,
        before: Streamed | None,
        now: float,
        since: float,
        present: Reference,
        state: JointReading,
    ) -> Streamed:
        """Return the motion along a stream with its next reference.

        Args:
            reference: (n,) of all joints.
            before: the motion with the reference before it; None: the stream begins.
            now: time of that motion, s.
            since: time between the two references, by their stamps, s.
            present: reference of the arm, or the arm where it is elsewhere.
            state: measured.

        Raises:
            TrajectoryError: it is beyond a limit, too far from the arm or the present reference,
                or from the reference before it.
        """
        model = self._model
        if self._turns.any:
            reference = reference._replace(q=self._turns.nearest(reference.q, present.q))
        reference = self._without_repetition(
            reference, present if before is None else before.reference
        )
        if before is None:
            self._check_reference(reference, present, state)
            return Streamed(reference, stream_join(model, present, reference, state.q))
        motion = before.next(reference, now)
        self._check_reference(motion.sample(0.0), present, state)
        self._check_join(motion)
        # References may arrive in bursts, which together move by one period more than their time.
        period = self._shortest_period
        times = min(max(since, period), since + period - before.ahead), max(since, CLOSE)
        join = motion.join.sample(motion.joined).qdd
        check_change(reference, before.reference, times, model, join)
        spent = step_time(reference.q - before.reference.q, model)
        return motion._replace(ahead=max(0.0, before.ahead + spent - since))

    def _without_repetition(self, reference: Reference, before: Reference) -> Reference:
        """Return a reference without the acceleration of joints that rest where they were before.

        joint_trajectory_controller repeats its last point, with the acceleration that ended the
        motion: its torque would displace an arm at rest.
        """
        q, qd, qdd = reference
        repeated = (np.abs(qd) <= TOLERANCE) & (np.abs(q - before.q) <= TOLERANCE)
        repeated &= (qdd != 0) & (np.abs(qdd) <= acceleration_limit(self._model))
        return (
            reference._replace(qdd=np.where(repeated, 0.0, qdd)) if repeated.any() else reference
        )

    def _check_reference(
        self, reference: Reference, present: Reference, state: JointReading
    ) -> None:
        reasons = reference_violations(reference, self._model, (present.q, state.q))
        if reasons:
            raise TrajectoryError('; '.join(reasons))
        for q in (present.q, state.q):
            self._check_distance(reference.q, q, 'the reference is')

    def _check_join(self, stream: Streamed) -> None:
        """Check the velocity of a stream that goes on as it does, while it is being joined."""
        model, join = self._model, stream.join
        left = join.duration - stream.joined
        if left <= 0:
            return
        # Its position, velocity and acceleration at both ends determine the rest of the join.
        rows = ([row, np.zeros(model.n)] for row in join.sample(stream.joined))
        rest = Trajectory(model.joint_names, [0.0, left], *rows)
        qd, most = stream.reference.qd, model.velocity_limit + TOLERANCE
        for j, low, high in excursions(rest, 1, -most - qd, most - qd):
            speed = max(-qd[j] - low, qd[j] + high)
            raise TrajectoryError(
                f'joint {model.joint_names[j]!r} would reach the velocity {speed:.6g} until the '
                f'stream is joined; its limit is {model.velocity_limit[j]:g}'
            )

    def path(
        self,
        trajectory: Trajectory,
        start: int | None,
        begin: int,
        reference: Reference,
        before: ReferenceMotion | None,
    ) -> Trajectory | Joined | Combined:
        """Return the path along a trajectory.

        Args:
            trajectory: some or all joints.
            start: its stamp, ns; None: it starts when it begins.
            begin: time at which the path begins, ns.
            reference: reference at that time, with the rates of an unscaled speed.
            before: the motion that leads to it, which joints that the trajectory lacks end;
                None: they are held.

        Raises:
            TrajectoryError: the trajectory is over at that time, or too far from the reference.
        """
        entry = elapsed(trajectory, start, begin)
        joints = np.isin(self._model.joint_names, trajectory.joint_names)
        complete = self.completed(trajectory, reference)
        if entry >= complete.times[0]:
            entered = complete.sample(entry).q
            self._check_distance(entered, reference.q, 'the trajectory begins')
        rates = (np.where(joints, row, 0.0) for row in reference[1:])
        path = joined(complete, entry, Reference(reference.q, *rates), self._model)
        if joints.all() or before is None or not before.name:
            return path
        others, since = before.path, before.start
        if isinstance(others, Streamed | YieldingStop):  # neither goes on by itself
            others = stop(self._model, reference, self._stopping_time(reference))
            since = begin
        began = begin - round(entry * SECOND)
        return combined(path, joints, others, (began - since) / SECOND)

    def _check_distance(self, q: Array, present: Array, what: str) -> None:
        check_distance(q, present, self._tolerance, self._model.joint_names, what)


class WholeTurns:
    """Whole turns of continuous joints: positions that differ by 2 pi are the same.

    Attributes:
        any: whether the robot has a continuous joint.
    """

    def __init__(self, model: RobotModel):
        """Find the joints without position limits that turn one body by their coordinate."""
        unlimited = np.isinf(model.lower) & np.isinf(model.upper)
        ratios = np.abs(model.S)
        single = ((ratios != 0).sum(axis=0) == 1) & (ratios.max(axis=0) == 1)
        revolute = (ratios * model.revolute[:, None]).max(axis=0) == 1
        self._joints = unlimited & single & revolute
        self.any = bool(self._joints.any())

    def nearest(self, q: Array, present: Array) -> Array:
        """Return the positions (n,) in the turns nearest to others (n,)."""
        return q + self._offset(q, present) if self.any else q

    def trajectory(self, trajectory: Trajectory, present: Array) -> Trajectory:
        """Return a trajectory of all joints that begins in the turns nearest to q (n,)."""
        offset = self._offset(trajectory.points[0, 0], present)
        return trajectory.shifted(offset) if offset.any() else trajectory

    def _offset(self, q: Array, present: Array) -> Array:
        return np.where(self._joints, TURN * np.round((present - q) / TURN), 0.0)
