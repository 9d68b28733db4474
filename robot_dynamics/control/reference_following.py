# SPDX-License-Identifier: Apache-2.0
"""Reference of the arm at every joint state: a trajectory, a stream of references, or a hold.

The rule: **the reference is continuous, or the arm is held where it is, softly.** Continuous are
its position and velocity; along a stream its acceleration as well, from the first message on. A
new motion begins at the reference that was last returned, with its velocity; a motion that ends
early decelerates and then holds. The reference is reset to the arm (`placed`) in these cases
only: nothing was followed before, time went back, the reference is not finite, the arm is further
than `start_tolerance` from the reference when joint states return, or it violates a tolerance:
then it brakes from its measured velocity, which may be that of a collision, and is held where it
is. A joint that is further than `start_tolerance` from its reference when a motion begins is
placed alone. Torques then need a soft start.

Time is the joint states' own, taken from their stamps (ns), so that a simulation may be slow or
stop without the reference running ahead. A rejected motion changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import deepcopy

import numpy as np

from robot_dynamics.common.errors import TrajectoryError
from robot_dynamics.common.spatial import Array
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control import Reference, Trajectory, violations
from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.control.limits import acceleration_limit, check_distance
from robot_dynamics.control.motion_start import MotionStart
from robot_dynamics.control.motions import (
    NOT_FINITE,
    STOPPING,
    STREAMING,
    Execution,
    Outcome,
    Pending,
    Phase,
    ReferenceMotion,
    check_clock,
    description,
    elapsed,
)
from robot_dynamics.control.partial_motion import Combined
from robot_dynamics.control.pose_following import PoseFollower
from robot_dynamics.control.speed_override import SpeedOverride
from robot_dynamics.control.spline import Waypoint
from robot_dynamics.control.stream_following import Stream, StreamSettings
from robot_dynamics.control.stream_path import StreamPath
from robot_dynamics.control.stream_programs import stream_programs
from robot_dynamics.control.tolerances import Tolerances, none
from robot_dynamics.control.transitions import (
    SHORTEST_STOP,
    Joined,
    Stop,
    YieldingStop,
    at_rest,
    stop,
)
from robot_dynamics.core.model.robot_model import RobotModel

AT_LEISURE = 1e-3  # of its speed: only limits of position bound a path
STOPPED = 0.5  # s without messages, after which a stream that was stopped may begin again


class ReferenceFollower:
    """Chooses the reference for every state of the robot.

    Attributes:
        motion: the present motion, None without one.
        present: the reference of the last state, where the next motion begins; None at first.
        now: time of the last state, ns; it never goes back but by a restart.
        placed: whether the last reference was reset to the arm, so that it may differ from the
            one before.
        violation: the tolerance that ended the last motion, until the next one begins; or ''.
        violations: how many motions a tolerance has ended.
        speed: its `target` scales trajectories.
        execution: the trajectory that was accepted last, and how it has ended.
        poses: follower of a frame, which begins and ends with this one; None without one.
    """

    poses: PoseFollower | None = None

    def __init__(
        self,
        model: RobotModel,
        start_tolerance: Array,
        input_timeout: float,
        stopping_time: Callable[[Reference], float] = lambda _: SHORTEST_STOP,
        tolerances: Tolerances | None = None,
        streams: StreamSettings | None = None,
    ):
        """Begin without a reference.

        Args:
            model: the robot, for its limits.
            start_tolerance: (n,) how far from the reference a motion may begin, rad or m.
            input_timeout: s, after which a stream without references is over.
            stopping_time: returns the time [s] that a stop from a reference takes.
            tolerances: of trajectories from now on; no limits if None.
            streams: window and prediction of streams.
        """
        self._stopping_time = stopping_time
        self.execution = Execution(Outcome.NONE)
        self._expected: Execution | None = None
        self.violation, self.violations = '', 0
        self.speed = SpeedOverride()
        self._stream: Stream | None = None
        self._stopped: int | None = None  # ns, last message of a stream that was stopped
        self.adjust(model, start_tolerance, input_timeout, tolerances, streams)
        self._state: JointReading | None = None
        self.now = 0
        self.release()

    def adjust(
        self,
        model: RobotModel,
        start_tolerance: Array,
        input_timeout: float,
        tolerances: Tolerances | None = None,
        streams: StreamSettings | None = None,
    ) -> None:
        """Continue with other settings; the model's joints stay the same."""
        self._start_rules = MotionStart(model, start_tolerance, self._stopping_time)
        self._streams = StreamSettings() if streams is None else streams
        self._streams = self._streams._replace(timeout=input_timeout)
        self._tolerance = np.array(start_tolerance, dtype=float)
        if self._stream is not None:
            self._stream.adjust(model, self._streams, self._tolerance)
        self._tolerances = none(model.n) if tolerances is None else deepcopy(tolerances)
        stream_programs(model.n)  # a message would be late otherwise
        self._model = model
        self._timeout = round(input_timeout * SECOND)

    # -- ends -------------------------------------------------------------------------------

    def release(self, reason: str = '') -> None:
        """Drop every motion at once, for a reason; hold where the arm is at the next state."""
        self.execution.conclude(Outcome.CANCELLED, reason)
        self.motion: ReferenceMotion | None = None
        self._pending: Pending | None = None
        self.present: Reference | None = None
        self._stream, self._stopped = None, None
        self.placed = self._moved = False
        if self.poses is not None:
            self.poses.release()

    def stop(self, reason: str = '') -> None:
        """End every motion, for a reason: decelerate, then hold."""
        self.execution.conclude(Outcome.CANCELLED, reason)
        self._pending = None
        if self.stream is not None:
            self._stopped = self.now
        self._decelerate()
        if self.poses is not None:
            self.poses.stop()

    def _decelerate(self) -> None:
        motion, reference = self.motion, self.present
        if motion is None or reference is None or motion.phase is not Phase.FOLLOWING:
            return
        path = stop(self._model, reference, self._stopping_time(reference))
        self.motion = ReferenceMotion(path, self.now, STOPPING)
        self.speed.reset()

    def _yield(self, state: JointReading) -> None:
        """Brake from the measured state, and be held there: the arm may be at an obstacle."""
        arm, most = _measured(state), self._model.velocity_limit
        start = arm._replace(qd=np.clip(arm.qd, -most, most))
        path = stop(self._model, start, self._stopping_time(start))
        name = STOPPING if path.duration > 0 else ''
        self.motion = ReferenceMotion(YieldingStop(path, arm), self.now, name)
        self.present = self._sample(self.motion)  # a trajectory that is due begins here
        self.placed = True
        self.speed.reset()

    def _violate(self, state: JointReading, why: str) -> None:
        self._yield(state)
        self.violation = why
        self.violations += 1

    def collide(self, why: str) -> None:
        """End every motion, for a reason, at an obstacle: brake from the measured state."""
        self.execution.conclude(Outcome.CANCELLED, why)
        self._pending = None
        if self._state is not None:
            self._yield(self._state)
            self._moved = True  # the next reference is not that of the motion
        if self.poses is not None:
            self.poses.release()

    @property
    def doing(self) -> str:
        """Description of the present motion, for status and log."""
        if self.poses is not None and self.poses.phase is not Phase.HOLDING:
            return self.poses.doing
        return description(self.motion, self._pending, self.now, self.is_expecting)

    @property
    def phase(self) -> Phase:
        """What the reference does, with the next state."""
        if self._pending is not None and self._pending.is_due(self.now):
            return Phase.FOLLOWING
        if self.poses is not None and self.poses.phase is not Phase.HOLDING:
            return self.poses.phase
        if self.rests:
            return Phase.RETIMING if self.is_expecting else Phase.HOLDING
        assert self.motion is not None
        return self.motion.phase

    @property
    def rests(self) -> bool:
        """Whether the present reference is held."""
        return self.motion is None or self.motion.phase is Phase.HOLDING

    @property
    def progress(self) -> float:
        """Fraction of the present trajectory's time that is over; NaN without one."""
        return float('nan') if self.motion is None else self.motion.progress(self.now)

    @property
    def elapsed(self) -> float:
        """Time [s] of the present trajectory, at its own speed; 0 without one."""
        motion = self.motion
        return 0.0 if motion is None or motion.tolerances is None else motion.elapsed(self.now)

    @property
    def waits(self) -> bool:
        """Whether the trajectory that was accepted last has not begun."""
        return self._pending is not None or self.is_expecting

    @property
    def moving(self) -> bool:
        """Whether the reference moves, or a motion is pending; else the arm is held."""
        return self._pending is not None or self.phase is not Phase.HOLDING

    # -- what to follow ---------------------------------------------------------------------

    def check(self, trajectory: Trajectory, stamp: int) -> Trajectory:
        """Return the trajectory of all joints if it can be followed; nothing changes.

        Args:
            trajectory: some or all joints of the model. If its first point lies at t > 0, the
                motion begins at the present reference and arrives there at that time. Joints
                that it lacks end the motion that they are in.
            stamp: when it starts, ns; 0: with the next state.

        Raises:
            TrajectoryError: why it is not followed.
        """
        state = self._known_state()
        begin = max(stamp, self.now)
        check_clock(stamp, self.now)
        start = self._start(state)
        if begin > self.now and self.motion is not None and start is self.present:
            start = self.motion.sample(begin)
        complete = self._start_rules.completed(trajectory, start)
        reasons = violations(complete, self._model, (start.q, state.q))
        if reasons:
            raise TrajectoryError('; '.join(reasons) + self.speed.remark)
        streams = self.motion is not None and isinstance(self.motion.path, StreamPath)
        if begin == self.now or not (streams or self.speed.is_on):
            self._path(trajectory, stamp or None, begin, start)
        return complete

    def follow(
        self, trajectory: Trajectory, stamp: int, tolerances: Tolerances | None = None
    ) -> Trajectory:
        """Follow a trajectory from its start on; arguments, result and errors are as of `check`.

        The present motion continues until then. The start is checked again at that time. It has
        the tolerances of `adjust` if None are given.
        """
        complete = self.check(trajectory, stamp)
        self._begin_others(trajectory)
        limits = self._tolerances if tolerances is None else deepcopy(tolerances)
        self._pending = Pending(trajectory, stamp or None, limits)
        self.execution.conclude(Outcome.REPLACED)
        self.execution = Execution()
        return complete

    # -- a trajectory that is not computed yet ----------------------------------------------

    def rest_at(self, stamp: int) -> Reference | None:
        """Return the reference (n,), at rest, when a trajectory begins; None if it moves.

        A trajectory of now begins where the present motion stops.

        Args:
            stamp: when it starts, ns; not later than now: now.

        Raises:
            TrajectoryError: no state was received.
        """
        start, motion = self._start(self._known_state()), self.motion
        if motion is None or self.present is None or self.rests:
            return at_rest(start.q)
        path = motion.path
        if stamp <= self.now and motion.phase is Phase.FOLLOWING:
            return stop(self._model, self.present, self._stopping_time(self.present)).end
        if isinstance(path, StreamPath):
            return None
        ends = motion.start + round(path.duration * SECOND)
        known = stamp <= self.now or (ends <= stamp and not self.speed.is_on)
        return path.end if known else None

    def path_from(self, rest: Reference, trajectory: Trajectory, stamp: int) -> Trajectory:
        """Return a trajectory of all joints if its path can be followed at a low speed.

        Args:
            rest: (n,) where it begins, as of `rest_at`.
            trajectory: some or all joints; others stay there.
            stamp: when it starts, ns; 0: with the next state.

        Raises:
            TrajectoryError: why it is not followed.
        """
        check_clock(stamp, self.now)
        elapsed(trajectory, stamp or None, self.now)
        complete = self._start_rules.completed(trajectory, rest)
        if complete.times[0] == 0:
            first, names = complete.points[0, 0], self._model.joint_names
            check_distance(first, rest.q, self._tolerance, names, 'the trajectory begins')
        present = rest.q, self._known_state().q
        reasons = violations(complete.at_speed(AT_LEISURE), self._model, present)
        if reasons:
            raise TrajectoryError('; '.join(reasons))
        return complete

    def expect(self, stamp: int) -> Execution:
        """Accept a trajectory that `fulfil` will bring; return how it goes on.

        The present motion decelerates, unless the trajectory starts later; then it continues. The
        execution ends as that of any trajectory does: by a stop, another motion or a reset.
        """
        if stamp <= self.now:
            self._decelerate()
        self._pending = None
        self.execution.conclude(Outcome.REPLACED)
        self.execution = self._expected = Execution()
        return self.execution

    @property
    def is_expecting(self) -> bool:
        """Whether the trajectory that was accepted last is still to come, by `fulfil`."""
        return self.execution is self._expected and self.execution.outcome is None

    def fulfil(self, trajectory: Trajectory, stamp: int, tolerances: Tolerances) -> Trajectory:
        """Follow the trajectory that was expected; arguments and errors are as of `follow`."""
        complete = self.check(trajectory, stamp)
        self._pending = Pending(trajectory, stamp or None, deepcopy(tolerances))
        self._expected = None
        return complete

    def _begin_others(self, trajectory: Trajectory) -> None:
        """Begin a trajectory that is due, if a further one lacks some of its joints."""
        pending = self._pending
        if pending is None or self._state is None or not pending.is_due(self.now):
            return
        if not set(pending.trajectory.joint_names) <= set(trajectory.joint_names):
            self._begin(pending, self._state)

    def completed(self, trajectory: Trajectory) -> tuple[Trajectory, Reference]:
        """Return the trajectory of all joints, and the reference at which it would begin now.

        Raises TrajectoryError if it has an unknown joint, or no state was received.
        """
        start = self._start(self._known_state())
        return self._start_rules.completed(trajectory, start), start.copied()

    def _known_state(self) -> JointReading:
        if self._state is None:
            raise TrajectoryError('no joint state of the whole robot has been received yet')
        return self._state

    def follow_reference(self, point: Waypoint, stamp: int | None = None) -> None:
        """Follow a single reference, the next of a stream.

        A stream begins as a motion does, at the present reference.

        Args:
            point: positions (n,) of all joints, and maybe velocities.
            stamp: of any clock, ns; None: without one.

        Raises:
            TrajectoryError: it is beyond a limit, too far from the path, or too late.
        """
        self._follow_stream(
            False, lambda stream, path: stream.followed(path, self.now, point, stamp)
        )

    def follow_window(
        self, times: Array, points: Sequence[Waypoint], stamp: int | None = None
    ) -> None:
        """Follow points that are known ahead of their time, until the next such window.

        They replace those of the window before it, from the first point on.

        Args:
            times: (k,) of the points, s, ascending, after the stamp.
            points: k, of all joints (n,).
            stamp: of the joint states' clock, ns; None: they begin now.

        Raises:
            TrajectoryError: as for `follow_reference`.
        """
        if stamp is not None:
            check_clock(stamp, self.now)
        self._follow_stream(
            True, lambda stream, path: stream.followed_window(path, self.now, times, points, stamp)
        )

    def _follow_stream(
        self, is_ahead: bool, follow: Callable[[Stream, StreamPath], StreamPath]
    ) -> None:
        """Continue or begin a stream by a message, with which `follow` returns the path."""
        state = self._known_state()
        self._check_stopped()
        start, before = self._start(state), self.motion
        stream = self._stream = self._stream_of(is_ahead)
        if before is not None and isinstance(before.path, StreamPath):
            assert self.present is not None  # there is a motion
            if before.name == STOPPING:
                stream.renew(self.now)
            path = before.path.until(before.elapsed(self.now))
            if start is not self.present:
                path = path.placed(start.q != self.present.q, start.q)
        else:
            path = stream.begin(start, self.now, state.q)
        try:
            path = follow(stream, path)
        except TrajectoryError as error:
            stream.refused = str(error)
            raise
        stream.refused = ''
        if self._pending is None or self._pending.is_due(self.now):
            self._pending = None
            self.execution.conclude(Outcome.CANCELLED, 'replaced by a stream of references')
        self._moved |= start is not self.present
        self.present = start
        self.motion = ReferenceMotion(path, stream.origin, STREAMING)
        self.violation = ''
        self.speed.reset()

    def _check_stopped(self) -> None:
        """Reject a message of a stream that was stopped and goes on to be sent."""
        if self._stopped is None:
            return
        since, self._stopped = (self.now - self._stopped) / SECOND, self.now
        if since <= STOPPED:
            raise TrajectoryError(
                f'the stream was stopped; it begins again after a pause of {STOPPED:g} s'
            )
        self._stopped = None

    def _stream_of(self, is_ahead: bool) -> Stream:
        """Return the stream of references or of windows, at its first message a new one."""
        stream = self._stream
        if stream is not None and stream.is_ahead == is_ahead:
            return stream
        origin = self.now if stream is None else stream.origin
        return Stream(self._model, origin, self._streams, self._tolerance, is_ahead)

    @property
    def stream(self) -> Stream | None:
        """The stream that is followed; None without one."""
        streams = self.motion is not None and isinstance(self.motion.path, StreamPath)
        return self._stream if streams else None

    @property
    def is_off(self) -> bool:
        """Whether the arm is further from the reference than `start_tolerance`."""
        return self._state is not None and self._start(self._state) is not self.present

    def _start(self, state: JointReading) -> Reference:
        return self._start_rules.start(self.present, state)

    def _path(
        self, trajectory: Trajectory, start: int | None, begin: int, reference: Reference
    ) -> Trajectory | Joined | Combined:
        """Return the path along a trajectory from the time `begin` [ns] on, from a reference."""
        before = self.motion if reference is self.present else None
        own = self.speed.unscaled(reference)
        return self._start_rules.path(trajectory, start, begin, own, before)

    # -- the reference ------------------------------------------------------------------------

    def nearest(self, state: JointReading) -> JointReading:
        """Return a state whose continuous joints are in the turn nearest to the reference."""
        if self.present is None:
            return state
        q = self._start_rules.nearest_turn(state.q, self.present.q)
        return state if q is state.q else state._replace(q=q)

    def reference(self, state: JointReading, returned: bool = False) -> tuple[Reference, str]:
        """Return the reference for this state, and why a motion was dropped, or ''.

        Args:
            state: the robot's.
            returned: whether joint states were missing before it, by a clock of the caller.
        """
        state = _own(state)
        before, self._state = self._state, state
        self.placed, self._moved = self._moved, False
        motion = self.motion
        if before is None or motion is None:
            self.now = state.stamp
            return self._advance(self._place(state), state)
        why = self._reason_to_place(before, motion, state, returned)
        if why:
            self.execution.conclude(Outcome.DROPPED, why)
            why = why if self.moving else ''
            self.now, self._pending, self._stream = state.stamp, None, None
            return self._place(state).sample(self.now).copied(), why
        # Joint states of different drivers may overtake each other.
        before_now, self.now = self.now, max(self.now, state.stamp)
        if motion.tolerances is not None and self.speed.is_on:
            since, most = (self.now - before_now) / SECOND, acceleration_limit(self._model)
            motion = self.motion = self.speed.advance(motion, self.now, since, most)
        if isinstance(motion.path, YieldingStop):
            motion = self.motion = motion._replace(path=motion.path.at(_measured(state)))
        if isinstance(motion.path, StreamPath):
            path = motion.path.until(motion.elapsed(self.now))
            if path is not motion.path:
                motion = self.motion = motion._replace(path=path)
        self.present = self._sample(motion)
        reference, why = self._advance(motion, state)
        if all(map(math.isfinite, np.concatenate(reference).tolist())):
            return reference, why
        self.release(NOT_FINITE)
        return self._place(state).sample(self.now), NOT_FINITE

    def _sample(self, motion: ReferenceMotion) -> Reference:
        path = motion.sample(self.now)
        return path if motion.tolerances is None else self.speed.scaled(path)

    def _advance(self, motion: ReferenceMotion, state: JointReading) -> tuple[Reference, str]:
        """Begin a motion that is due, and end one that is over; return as `reference`."""
        why, path = '', motion.path
        since = self.now - motion.start
        if isinstance(path, StreamPath):
            why = self._end_stream(motion, path)
        else:
            why = self._path_violation(motion, state)
            if why:
                self._violate(state, why)
            elif motion.name and since > path.duration * SECOND:
                why = self._arrive(motion, state)
        if self._pending is not None and self._pending.is_due(self.now):
            why = self._begin(self._pending, state) or why
        if why and self.motion is not None:
            self.present = self._sample(self.motion)
        assert self.present is not None  # there is a motion
        return self.present.copied(), why

    def _end_stream(self, motion: ReferenceMotion, path: StreamPath) -> str:
        """End a stream without messages; return why, once. Its path comes to rest, and is held."""
        t, stream = motion.elapsed(self.now), self._stream
        if motion.name == STOPPING:
            if path.rests(t):
                self._hold(at_rest(path.position))
            return ''
        if stream is None or t <= path.asked + stream.timeout:
            return ''
        self.motion = motion._replace(name=STOPPING)
        if stream.refused:
            return f'the stream of references is rejected: {stream.refused}'
        return 'the stream of references has stopped'

    def _path_violation(self, motion: ReferenceMotion, state: JointReading) -> str:
        """Return why the path of a trajectory has been left, or ''."""
        if motion.tolerances is None:
            return ''
        assert self.present is not None  # of this motion
        why = motion.tolerances.path_violation(self.present, state, self._model.joint_names)
        if why and not self.waits:
            self.execution.conclude(Outcome.PATH_VIOLATED, why)
        return why

    def _arrive(self, motion: ReferenceMotion, state: JointReading) -> str:
        """End a motion whose time is over, once its goal is reached; return why it is not."""
        path, tolerances, why = motion.path, motion.tolerances, ''
        assert not isinstance(path, StreamPath)  # a stream has no end
        if tolerances is not None:
            why = tolerances.goal_violation(path.end, state, self._model.joint_names)
            late = (self.now - motion.start) / SECOND - path.duration
            if why and not 0 < tolerances.goal_time < late:
                return ''
            if not self.waits:
                outcome = Outcome.GOAL_VIOLATED if why else Outcome.SUCCEEDED
                self.execution.conclude(outcome, why)
        if why:
            self._violate(state, why)
        else:
            self._hold(path.end)
        return why

    def _begin(self, pending: Pending, state: JointReading) -> str:
        """Begin a pending trajectory; return why not, or ''."""
        start = self._start(state)
        began = self.now if pending.start is None else pending.start
        try:
            path = self._path(pending.trajectory, pending.start, self.now, start)
        except TrajectoryError as error:
            self.execution.conclude(Outcome.REJECTED, str(error))
            self.stop()
            return f'trajectory rejected at its start: {error}'
        self._pending, self.violation = None, ''
        self.motion = ReferenceMotion(path, began, f'following {pending.name}', pending.tolerances)
        self.placed |= start is not self.present
        self.speed.begin(start)
        self.present = self._sample(self.motion)
        return ''

    def _place(self, state: JointReading) -> ReferenceMotion:
        """Hold the arm where it is."""
        self.placed = True
        return self._hold(at_rest(state.q))

    def _hold(self, reference: Reference) -> ReferenceMotion:
        self.present = reference
        self.motion = ReferenceMotion(Stop(reference, np.zeros(self._model.n)), self.now)
        return self.motion

    def _reason_to_place(
        self, before: JointReading, motion: ReferenceMotion, state: JointReading, returned: bool
    ) -> str:
        """Return why the reference cannot continue to this state, or ''."""
        if state.restarted:
            return (
                f'the time of the joint states went back from {before.stamp / SECOND:.3f} s to '
                f'{state.stamp / SECOND:.3f} s'
            )
        gap = state.stamp - self.now
        if returned or gap > self._timeout:
            wanted = motion.sample(max(self.now, state.stamp)).q
            if self._start_rules.off(wanted, state.q).any():
                return f'no joint states for {gap / SECOND:.3f} s, and the arm is off its path'
        return ''


def _own(state: JointReading) -> JointReading:
    """Return a state with positions and velocities that its caller cannot change."""
    qd = None if state.qd is None else state.qd.copy()
    return JointReading(state.stamp, state.q.copy(), qd, state.effort, state.restarted)


def _measured(state: JointReading) -> Reference:
    """Return a measured state as a reference; at rest if its velocity is missing."""
    qd = np.zeros_like(state.q) if state.qd is None else state.qd
    return Reference(state.q, qd, np.zeros_like(qd))
