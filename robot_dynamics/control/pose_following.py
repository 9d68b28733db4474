# SPDX-License-Identifier: Apache-2.0
"""Target of a frame at every joint state: along a stream of poses, or held.

The rule of `reference_following`: **the target is continuous, or is placed where the frame is.**
Continuous are its pose and velocity. It is placed in these cases only: nothing was followed
before, time went back, the frame is further than the largest distance after a gap of the joint
states, or the target is not finite. The equations are in `core.algorithms.pose_motion`.

The target moves towards the last pose of the stream, as fast as its velocity and acceleration
limits allow, and arrives at rest. It stays within the largest distance of the frame: an obstacle
stops it, and an arm that is pushed away draws it along, so that the spring between them never has
more energy than at that distance. Without a new pose for `input_timeout` it decelerates, and
holds.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.codegen.calls import compile_program
from robot_dynamics.common.errors import TrajectoryError
from robot_dynamics.common.spatial import Array
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control.impedance import PoseReference
from robot_dynamics.control.joint_reading import FARTHEST_SLIDE
from robot_dynamics.control.motions import NOT_FINITE, STOPPING, Phase
from robot_dynamics.core.algorithms.pose_motion import Target, advanced, displacement
from robot_dynamics.core.programs import version_of

ORTHOGONAL = 1e-6  # largest error of R^T R


@dataclass(frozen=True)
class PoseLimits:
    """Limits of a target, two numbers each: of rotation and of translation."""

    velocity: tuple[float, ...] = (1.0, 0.25)  # rad/s, m/s
    acceleration: tuple[float, ...] = (4.0, 1.0)  # rad/s^2, m/s^2
    distance: tuple[float, ...] = (0.5, 0.1)  # rad, m, from the frame


class PoseFollower:
    """Chooses the target for every state of the robot.

    Attributes:
        present: the target of the last state; None at first.
        now: time of the last state, ns.
        placed: whether the last target was placed where the frame is, so that it may differ from
            the one before.
        phase: what the target does.
    """

    def __init__(self, limits: PoseLimits, input_timeout: float):
        """Begin without a target.

        Args:
            limits: of the target.
            input_timeout: s, after which a stream without poses is over.
        """
        self.adjust(limits, input_timeout)
        self.now = 0
        self.release()

    def adjust(self, limits: PoseLimits, input_timeout: float) -> None:
        """Continue with other limits."""
        self._limits, self._timeout = limits, round(input_timeout * SECOND)

    def release(self) -> None:
        """Drop the target; hold the frame where it is at the next state."""
        self.present: PoseReference | None = None
        self._goal: Array | None = None
        self._stamp = self._received = 0
        self.placed, self.phase = False, Phase.HOLDING

    def stop(self) -> None:
        """End the stream: decelerate, then hold."""
        self._goal = None
        if self.phase is Phase.FOLLOWING:
            self.phase = Phase.STOPPING

    @property
    def doing(self) -> str:
        """Description of what the target does, for status and log."""
        following = 'following a stream of poses'
        return {Phase.FOLLOWING: following, Phase.STOPPING: STOPPING}.get(self.phase, 'holding')

    def follow(self, goal: Array, stamp: int) -> None:
        """Move towards a pose, the next of a stream.

        Args:
            goal: (4, 4) in the base frame.
            stamp: of the pose, or of its arrival, ns; of any clock.

        Raises:
            TrajectoryError: it is no pose, older than the one before it, or there was no state
                yet.
        """
        R = goal[:3, :3]
        if not np.isfinite(goal).all() or np.abs(R.T @ R - np.eye(3)).max() > ORTHOGONAL:
            raise TrajectoryError(f'the target is {goal.tolist()}; expected a pose (4, 4)')
        if np.abs(goal[:3, 3]).max() > FARTHEST_SLIDE:
            raise TrajectoryError(
                f'the target is at {goal[:3, 3].tolist()} m; expected at most '
                f'{FARTHEST_SLIDE:g} m along each axis'
            )
        if self.present is None:
            raise TrajectoryError('no joint state of the whole robot has been received yet')
        if self._goal is not None and 0 < self._stamp - stamp <= self._timeout:
            late = (self._stamp - stamp) / SECOND
            raise TrajectoryError(f'the pose is {late:.3f} s older than the one before it')
        self._goal, self._stamp, self._received = np.array(goal), stamp, self.now
        self.phase = Phase.FOLLOWING

    def reference(
        self, frame: Array, stamp: int, restarted: bool = False
    ) -> tuple[PoseReference, str]:
        """Return the target for a state, and why a motion was ended, or ''.

        Args:
            frame: (4, 4) measured pose of the frame.
            stamp: of the state, ns.
            restarted: whether time was reset since the state before.
        """
        since = stamp - self.now
        # Joint states of different drivers may overtake each other.
        self.now = stamp if restarted else max(self.now, stamp)
        before, self.placed = self.present, False
        if (
            before is None
            or restarted
            or (
                since > self._timeout
                and self._is_far(displacement(frame.tolist(), before.pose.tolist()))
            )
        ):
            why = f'no joint states for {since / SECOND:.3f} s, and the arm is off its target'
            if restarted:
                why = 'the time of the joint states went back'
            why = '' if self.phase is Phase.HOLDING else why
            return self._place(frame), why
        why = ''
        if self._goal is not None and stamp - self._received > self._timeout:
            self.stop()
            why = 'the stream of poses has stopped'
        # Limits count no more time than that of states that follow each other.
        self.present = self._moved(before, frame, min(max(since, 0), self._timeout) / SECOND)
        if not all(np.isfinite(row).all() for row in self.present):
            return self._place(frame), NOT_FINITE
        if self.phase is Phase.STOPPING and not self.present.velocity.any():
            self.phase = Phase.HOLDING
        return self.present.copied(), why

    def _place(self, frame: Array) -> PoseReference:
        """Hold the frame at its pose (4, 4)."""
        self.release()
        self.placed, self.present = True, PoseReference(np.array(frame), np.zeros(6))
        return self.present.copied()

    def _is_far(self, way: list[float]) -> bool:
        angle, distance = self._limits.distance
        return math.hypot(*way[:3]) > angle or math.hypot(*way[3:]) > distance

    def _moved(self, target: PoseReference, frame: Array, dt: float) -> PoseReference:
        """Return the target after an interval."""
        goal = target.pose if self._goal is None else self._goal
        limits = self._limits
        found = follower_program()(
            frame.reshape(16),
            target.pose.reshape(16),
            target.velocity,
            target.acceleration,
            goal.reshape(16),
            np.array([float(self._goal is not None)]),
            np.array([*limits.velocity, *limits.acceleration, *limits.distance]),
            np.array([dt]),
        )
        return PoseReference(*found)


@functools.cache
def follower_program() -> Callable[..., Target]:
    """Return `core.algorithms.pose_motion.advanced` in machine code.

    Its arguments are the poses of frame and target (16), velocity and acceleration (6), the goal
    (16), whether it is followed (1), limits (6), and the interval (1).
    """

    def rows(x: Any) -> list[Any]:
        return [x[k : k + 4] for k in range(0, 16, 4)]

    def step(
        frame: Any,
        pose: Any,
        velocity: Any,
        acceleration: Any,
        goal: Any,
        follows: Any,
        limits: Any,
        dt: Any,
    ) -> Target:
        target = Target(rows(pose), velocity, acceleration)
        pairs = [limits[k : k + 2] for k in range(0, 6, 2)]
        return advanced(rows(frame), target, rows(goal), follows[0], pairs, dt[0])

    inputs = {'frame': 16, 'pose': 16, 'velocity': 6, 'acceleration': 6}
    inputs |= {'goal': 16, 'follows': 1}
    return compile_program(
        step,
        inputs | {'limits': 6, 'time_step': 1},
        name='pose_following',
        key=f'pose_following {version_of(__name__)}',
        outputs=Target._fields,
        result_type=Target._make,
    ).call
