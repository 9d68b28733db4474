"""What the arm is to follow: a trajectory, a stream of references, or nothing: then it holds.

Time is the joint states' own, taken from their stamps (ns), so that a simulation may be slow or
stop and nothing runs ahead. Whatever is refused changes nothing: the arm goes on with what it did.
If the state's time runs backwards (a reset), or joint states were missing for so long that the arm
is no longer where the trajectory wants it, the motion is dropped and the arm holds where it is.
No ROS here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.control import Reference, Trajectory, violations
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.nodes.joint_states import JointReading
from robot_dynamics.spatial import Array

SECOND = 1e9  # ns
FUTURE = 600.0  # s; a trajectory that starts later than this was stamped by another clock


class Motion(NamedTuple):
    """A trajectory and the time at which it starts; None: with the next state."""

    trajectory: Trajectory
    start: int | None  # ns


class Stream(NamedTuple):
    """A reference that came alone, and the time of the last state before it."""

    reference: Reference
    heard: int  # ns


class ReferenceFollower:
    """Chooses the reference for every state of the robot."""

    def __init__(self, model: RobotModel, start_tolerance: Array, input_timeout: float):
        """Begin without a reference.

        Args:
            model: the robot, for its limits.
            start_tolerance: (n,) how far from the arm a motion may begin, rad or m.
            input_timeout: s, after which a stream that fell silent is over.
        """
        self._model = model
        self.adjust(start_tolerance, input_timeout)
        self._state: JointReading | None = None
        self.hold()

    def adjust(self, start_tolerance: Array, input_timeout: float) -> None:
        """Go on with other settings."""
        self._tolerance = np.asarray(start_tolerance, dtype=float)
        self._timeout = round(input_timeout * SECOND)

    def hold(self) -> None:
        """Drop every motion; hold where the arm is at the next state."""
        self._motion: Motion | None = None
        self._stream: Stream | None = None
        self._held: Array | None = None

    @property
    def doing(self) -> str:
        """What the arm does, for people."""
        if self._stream is not None:
            return 'following a stream of references'
        if self._motion is None:
            return 'holding'
        return f'following a trajectory of {self._motion.trajectory.duration:g} s'

    @property
    def moving(self) -> bool:
        """Whether there is a motion to follow; else the arm holds."""
        return self._motion is not None or self._stream is not None

    # -- what to follow ---------------------------------------------------------------------

    def check(self, trajectory: Trajectory, stamp: int) -> Trajectory:
        """Return the trajectory as it would be followed; nothing changes yet.

        Args:
            trajectory: every joint of the model, in its order. If its first point lies at t > 0,
                the motion begins where the arm is and arrives there at that time.
            stamp: when it starts, ns; 0: with the next state.

        Raises:
            TrajectoryError: why it is not followed.
        """
        if self._state is None:
            raise TrajectoryError('no joint state of the whole robot has been heard yet')
        now = self._state.stamp
        elapsed = (now - stamp) / SECOND if stamp else 0.0
        if elapsed < -FUTURE:
            raise TrajectoryError(
                f'the trajectory starts in {-elapsed:.0f} s: its stamp is {stamp / SECOND:.3f} s '
                f'and the joint states are at {now / SECOND:.3f} s; are these the same clock?'
            )
        if elapsed > trajectory.duration:
            raise TrajectoryError(
                f'the trajectory ended {elapsed - trajectory.duration:.3f} s ago: its stamp is '
                f'{stamp / SECOND:.3f} s and the joint states are at {now / SECOND:.3f} s'
            )
        trajectory = trajectory.with_start(*self._present())
        reasons = violations(trajectory, self._model)
        if reasons:
            raise TrajectoryError('; '.join(reasons))
        self._refuse_if_far(trajectory.sample(max(elapsed, 0.0)).q, 'the trajectory begins')
        return trajectory

    def follow(self, trajectory: Trajectory, stamp: int) -> None:
        """Follow a trajectory from now on; arguments and errors are those of `check`."""
        self._motion = Motion(self.check(trajectory, stamp), stamp or None)
        self._stream = None

    def follow_reference(self, reference: Reference) -> None:
        """Follow a single reference, the next of a stream.

        Raises TrajectoryError if the arm is too far from it.
        """
        if self._state is None:
            raise TrajectoryError('no joint state of the whole robot has been heard yet')
        self._refuse_if_far(reference.q, 'the reference is')
        self._motion, self._stream = None, Stream(reference, self._state.stamp)

    def _present(self) -> Reference:
        """Return where a motion begins: on the present one, so that no torque jumps."""
        if self._motion is not None and self._motion.start is not None:
            return self._sample(self._motion, self._state.stamp)
        still = np.zeros(self._model.n)
        return Reference(self._state.q, still, still)

    def _refuse_if_far(self, q: Array, what: str) -> None:
        far = np.abs(q - self._state.q) > self._tolerance
        if far.any():
            j = int(np.argmax(far))
            raise TrajectoryError(
                f'{what} at {q[j]:.6g} for joint {self._model.joint_names[j]!r}, which is at '
                f'{self._state.q[j]:.6g}; it must be within {self._tolerance[j]:g}'
            )

    # -- where to be ------------------------------------------------------------------------

    def reference(self, state: JointReading) -> tuple[Reference, str]:
        """Return the reference for this state, and why a motion was dropped, or ''."""
        why = self._reason_to_drop(state)
        self._state = state
        if state.restarted or why:
            why = why if self.moving else ''
            self.hold()
        if self._motion is not None:
            return self._on_the_way(self._motion, state), why
        if self._stream is not None:
            return self._stream.reference, why
        return self._holding(state), why

    def _reason_to_drop(self, state: JointReading) -> str:
        """Return why what is followed cannot be followed on from this state, or ''."""
        before = self._state
        if before is None:
            return ''
        if state.restarted:
            return (
                f'the time of the joint states went back from {before.stamp / SECOND:.3f} s to '
                f'{state.stamp / SECOND:.3f} s'
            )
        if self._stream is not None and state.stamp - self._stream.heard > self._timeout:
            return 'the stream of references fell silent'
        gap = state.stamp - before.stamp
        if self._motion is not None and self._motion.start is not None and gap > self._timeout:
            wanted = self._sample(self._motion, state.stamp).q
            if (np.abs(wanted - state.q) > self._tolerance).any():
                return f'no joint states for {gap / SECOND:.3f} s, and the arm is off its path'
        return ''

    def _on_the_way(self, motion: Motion, state: JointReading) -> Reference:
        if motion.start is None:
            motion = self._motion = motion._replace(start=state.stamp)
        if state.stamp < motion.start:
            return self._holding(state)
        if state.stamp > motion.start + motion.trajectory.duration * SECOND:
            self.hold()
            self._held = motion.trajectory.waypoints[-1].q
            return self._holding(state)
        return self._sample(motion, state.stamp)

    def _holding(self, state: JointReading) -> Reference:
        if self._held is None:
            self._held = state.q
        still = np.zeros(self._model.n)
        return Reference(self._held, still, still)

    @staticmethod
    def _sample(motion: Motion, stamp: int) -> Reference:
        return motion.trajectory.sample((stamp - motion.start) / SECOND)
