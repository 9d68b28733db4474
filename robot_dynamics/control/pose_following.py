# SPDX-License-Identifier: Apache-2.0
"""Target of a frame at every joint state: along a stream of poses, or held.

The rule of `reference_following`: **the target is continuous, or is placed where the frame is.**
It is placed in these cases only: nothing was followed before, time went back, or the frame is
further than the largest distance after a gap of the joint states.

The target moves towards the last pose of the stream, as fast as its velocity and acceleration
limits allow, and arrives at rest. It stays within the largest distance of the frame: an obstacle
stops it, and an arm that is pushed away draws it along, so that the spring between them never has
more energy than at that distance. Without a new pose for `input_timeout` it decelerates, and
holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from robot_dynamics.algorithms.rotation_vector import rotation_vector
from robot_dynamics.algorithms.vectors import Vector, dot
from robot_dynamics.control.impedance import PoseReference
from robot_dynamics.control.motions import SECOND, STOPPING, Phase
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.spatial import Array, axis_rotation

ORTHOGONAL = 1e-6  # largest error of R^T R
TINY = 1e-300
ROTATION, TRANSLATION = slice(0, 3), slice(3, 6)


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
        if self.present is None:
            raise TrajectoryError('no joint state of the whole robot has been received yet')
        if self._goal is not None and 0 < self._stamp - stamp <= self._timeout:
            late = (self._stamp - stamp) / SECOND
            raise TrajectoryError(f'the pose is {late:.3f} s older than the one before it')
        self._goal, self._stamp, self._received = goal, stamp, self.now
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
            or (since > self._timeout and self._is_far(displacement(frame, before.pose)))
        ):
            why = f'no joint states for {since / SECOND:.3f} s, and the arm is off its target'
            if restarted:
                why = 'the time of the joint states went back'
            why = '' if self.phase is Phase.HOLDING else why
            self.release()
            self.placed, self.present = True, PoseReference(frame, np.zeros(6))
            return self.present, why
        why = ''
        if self._goal is not None and stamp - self._received > self._timeout:
            self.stop()
            why = 'the stream of poses has stopped'
        # Limits count no more time than that of states that follow each other.
        self.present = self._moved(before, frame, min(max(since, 0), self._timeout) / SECOND)
        if self.phase is Phase.STOPPING and not self.present.velocity.any():
            self.phase = Phase.HOLDING
        return self.present, why

    def _is_far(self, way: list[float]) -> bool:
        angle, distance = self._limits.distance
        return math.hypot(*way[ROTATION]) > angle or math.hypot(*way[TRANSLATION]) > distance

    def _moved(self, target: PoseReference, frame: Array, dt: float) -> PoseReference:
        """Return the target after an interval."""
        pose, v = target.pose, target.velocity.tolist()
        if self._goal is None and not any(v):
            return PoseReference(self._near(pose, frame), target.velocity)
        way = None if self._goal is None else displacement(pose, self._near(self._goal, frame))
        steps, velocities = zip(
            *(
                approach(
                    None if way is None else way[part],
                    v[part],
                    self._limits.velocity[k],
                    self._limits.acceleration[k],
                    dt,
                )
                for k, part in enumerate((ROTATION, TRANSLATION))
            ),
            strict=True,
        )
        moved = self._near(displaced(pose, [*steps[0], *steps[1]]), frame)
        return PoseReference(moved, np.array([*velocities[0], *velocities[1]]))

    def _near(self, wanted: Array, frame: Array) -> Array:
        """Return a pose, drawn to within the largest distance of the frame."""
        way = displacement(frame, wanted)
        if not self._is_far(way):
            return wanted
        for part, most in zip((ROTATION, TRANSLATION), self._limits.distance, strict=True):
            share = most / max(math.hypot(*way[part]), most)
            way[part] = [share * x for x in way[part]]
        return displaced(frame, way)


def approach(
    way: Vector | None, v: Vector, speed: float, acceleration: float, dt: float
) -> tuple[list[float], list[float]]:
    """Return the step and the velocity (3) of the fastest motion to rest at a goal.

    Args:
        way: (3) to the goal; None: to rest, anywhere.
        v: (3) present velocity.
        speed: largest.
        acceleration: largest.
        dt: interval, s.
    """
    most, wanted = acceleration * dt, [0.0, 0.0, 0.0]
    size = 0.0 if way is None else math.hypot(*way)
    if way is not None and size <= most * dt and math.hypot(*v) <= most:
        return list(way), wanted
    if way is not None and size > 0:
        # (v + s) dt / 2 + s^2 / (2 a) = |way|: after this interval the goal is a stop away
        rest = max(size - 0.5 * dt * dot(v, way) / size, 0.0)
        s = math.sqrt((0.5 * most) ** 2 + 2.0 * acceleration * rest) - 0.5 * most
        wanted = [min(s, speed) / size * x for x in way]
    change = [a - b for a, b in zip(wanted, v, strict=True)]
    share = min(1.0, most / max(math.hypot(*change), TINY))
    after = [a + share * b for a, b in zip(v, change, strict=True)]
    return [0.5 * dt * (a + b) for a, b in zip(v, after, strict=True)], after


def displacement(start: Array, end: Array) -> list[float]:
    """Return rotation vector and translation (6) between poses (4, 4), in the base's axes."""
    turn = rotation_vector((end[:3, :3] @ start[:3, :3].T).tolist())
    return [*turn, *(end[:3, 3] - start[:3, 3]).tolist()]


def displaced(start: Array, way: Vector) -> Array:
    """Return the pose (4, 4) at a displacement (6) from another."""
    end, angle = start.copy(), math.hypot(*way[ROTATION])
    if angle > 0:
        R = axis_rotation(np.divide(way[ROTATION], angle), angle) @ start[:3, :3]
        # The nearest rotation, to rounding: R (3 - R^T R) / 2
        end[:3, :3] = 0.5 * R @ (3.0 * np.eye(3) - R.T @ R)
    end[:3, 3] += way[TRANSLATION]
    return end
