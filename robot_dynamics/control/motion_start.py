# SPDX-License-Identifier: Apache-2.0
"""Start of a motion: the reference where it begins, and its path from there.

A motion begins at the present reference; joints that are elsewhere begin where they are, at rest.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.control.limits import check_distance
from robot_dynamics.control.motions import ReferenceMotion, elapsed
from robot_dynamics.control.partial_motion import Combined, combined
from robot_dynamics.control.stream_path import StreamPath
from robot_dynamics.control.trajectory import Reference, Trajectory
from robot_dynamics.control.transitions import Joined, YieldingStop, at_rest, joined, stop
from robot_dynamics.core.model.robot_model import RobotModel

TURN = 2 * np.pi  # rad


class MotionStart:
    """Rules by which motions of a robot begin."""

    def __init__(
        self,
        model: RobotModel,
        start_tolerance: Array,
        stopping_time: Callable[[Reference], float],
    ):
        """Use these settings.

        Args:
            model: the robot, for its limits.
            start_tolerance: (n,) how far from the reference a motion may begin, rad or m.
            stopping_time: returns the time [s] that a stop from a reference takes.
        """
        self._model = model
        self._turns = WholeTurns(model)
        self._tolerance = np.array(start_tolerance, dtype=float)
        self._stopping_time = stopping_time

    def start(self, present: Reference | None, state: JointReading) -> Reference:
        """Return the present reference; joints that are off are at rest where they are."""
        if present is None:
            return at_rest(state.q)
        off = self.off(present.q, state.q)
        if not np.count_nonzero(off):  # a fifth of the time of any()
            return present
        q, qd, qdd = present
        return Reference(
            np.where(off, state.q, q), np.where(off, 0.0, qd), np.where(off, 0.0, qdd)
        ).frozen()

    def off(self, wanted: Array, q: Array) -> Array:
        """Return which joints (n,) are further from their wanted position than the tolerance."""
        off: Array = np.abs(wanted - q) > self._tolerance
        return off

    def nearest_turn(self, q: Array, present: Array) -> Array:
        """Return positions (n,) with continuous joints in the turn nearest to others (n,)."""
        return self._turns.nearest(q, present) if self._turns.any else q

    def completed(self, trajectory: Trajectory, start: Reference) -> Trajectory:
        """Return a trajectory of all joints; those that it lacks stay at the start."""
        complete = trajectory.completed(self._model.joint_names, start.q)
        return self._turns.trajectory(complete, start.q)

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
        if isinstance(others, StreamPath | YieldingStop):  # neither goes on by itself
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
