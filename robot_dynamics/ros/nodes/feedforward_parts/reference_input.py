# SPDX-License-Identifier: Apache-2.0
"""Motions that a node is to follow: trajectories, and streams by `stream_input`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import NamedTuple

import numpy as np
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory
from typing_extensions import override

from robot_dynamics.common.errors import RobotDynamicsError, TrajectoryError
from robot_dynamics.control import Reference, Trajectory, gravity_only, waypoint_efforts
from robot_dynamics.control.feasibility import Feasibility, check_motion
from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.control.limits import TOLERANCE
from robot_dynamics.control.motions import Execution, Outcome, Phase
from robot_dynamics.control.pose_following import PoseFollower
from robot_dynamics.control.reference_following import ReferenceFollower
from robot_dynamics.control.stream_following import StreamSettings
from robot_dynamics.control.tolerances import Tolerances
from robot_dynamics.control.trajectory import check_joints
from robot_dynamics.control.transitions import stopping_time
from robot_dynamics.core.friction.memory import FrictionModel, FrictionWithOffset
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.ros import health, messages, qos
from robot_dynamics.ros.feedforward_parameters import Settings
from robot_dynamics.ros.health import Status
from robot_dynamics.ros.joint_state_input import UNSTAMPED, JointStateInput
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.motion_status import REJECTED
from robot_dynamics.ros.nodes.feedforward_parts.stream_input import StreamInput
from robot_dynamics.ros.nodes.feedforward_parts.trajectory_retiming import (
    RETIME,
    TrajectoryRetiming,
)
from robot_dynamics.ros.part import Part


class MotionState(NamedTuple):
    """The motion before a joint state, with which the motion after it is compared."""

    doing: str  # as `ReferenceInput.doing`
    execution: Execution  # of the trajectory that was accepted last
    was_open: bool  # whether that had not ended
    violations: int  # motions that a tolerance has ended


class Retimed(NamedTuple):
    """A trajectory that was accepted and is being retimed."""

    result: Future[Trajectory]
    execution: Execution | None  # None: it is not followed, only published with its torques
    header: Header
    stamp: int  # ns, of its start; 0: once it is computed
    tolerances: Tolerances
    reasons: str  # why it is infeasible


class ReferenceInput(Part):
    """Part of a node: passes valid motions to a follower, and reports those that are rejected.

    A trajectory without points ends the present motion. Others are published again on
    `~/joint_trajectory_with_effort`, with the torque at each of their points, for a controller
    that follows them itself.

    Attributes:
        follower: chooses the reference for every joint state.
        streams: the part that receives streams.
        retiming: the part that computes the fastest motions, for `on_infeasible: retime`.
    """

    follower: ReferenceFollower  # of the present robot

    def __init__(
        self,
        node: RobotNode,
        joint_states: JointStateInput,
        report: Callable[[str, str], None],
        enabled: Callable[[], bool],
        poses: PoseFollower,
    ):
        """Subscribe.

        Args:
            node: that follows the motions.
            joint_states: of the node, whose stamps are the time of the motions.
            report: called with an event and its status after every trajectory.
            enabled: returns whether motions are followed; otherwise trajectories are only checked.
            poses: follower of the law cartesian_impedance.
        """
        self._poses = poses
        self._node, self._joint_states = node, joint_states
        self._report, self._enabled = report, enabled
        self._filled_out = node.create_publisher(
            JointTrajectory, '~/joint_trajectory_with_effort', qos.STREAM_OUT
        )
        node.create_subscription(
            JointTrajectory, 'joint_trajectory', self._on_trajectory, qos.COMMANDS_IN
        )
        self.streams = node.add(
            StreamInput(node, lambda: self.follower, self._check_ready, report, enabled)
        )
        self.retiming = node.add(TrajectoryRetiming(node))
        self._retimed: Retimed | None = None

    @override
    def restart(self) -> None:
        """Forget a trajectory that is being retimed."""
        self._retimed = None

    def follow(self, model: RobotModel, settings: Settings, friction: FrictionModel) -> None:
        """Hold the arm at its next state."""
        timeout = self._node.parameters.input_timeout
        if self._node.arm is not None:
            self.follower.release('the robot description has changed')
        self._retimed = None
        self.follower = ReferenceFollower(
            model, settings.start_tolerance, timeout, self._stopping_time
        )
        self._settings = settings
        self.adjust(model, settings, friction)

    def adjust(self, model: RobotModel, settings: Settings, friction: FrictionModel) -> None:
        """Use other settings; the joints stay the same. Another law ends the motion."""
        laws = self._settings.law, settings.law
        self._settings, self._friction = settings, friction
        parameters = self._node.parameters
        self.follower.adjust(
            model,
            settings.start_tolerance,
            parameters.input_timeout,
            settings.tolerances,
            StreamSettings(parameters.reference_window, parameters.reference_prediction),
        )
        self.follower.speed.target = parameters.speed_scale
        self.follower.poses = self._poses if settings.law is None else None
        of_joints = gravity_only not in laws and None not in laws
        if laws[0] is not laws[1]:
            end = self.follower.stop if of_joints else self.follower.release
            end('control_law has changed')
            self._report('', '')

    @override
    def status(self) -> Status | None:
        """Return an ERROR after a violated tolerance."""
        violation = self.follower.violation
        return (health.ERROR, violation) if violation else None

    @property
    def tolerances(self) -> Tolerances:
        """Tolerances of trajectories that have none of their own."""
        return self._settings.tolerances

    def stop(self, reason: str) -> None:
        """End every motion: decelerate, then hold."""
        self._retimed = None
        self.follower.stop(reason)
        self._report('', '')

    def decelerate(self, reason: str) -> None:
        """End every motion as `stop` does, without a report."""
        self.follower.stop(reason)

    def release(self, reason: str = '') -> None:
        """Drop every motion at once, for a reason; hold where the arm is at the next state."""
        self.follower.release(reason)

    def collide(self, reason: str) -> None:
        """End every motion at an obstacle: brake from the measured state."""
        self.follower.collide(reason)

    def forget_violation(self) -> None:
        """Report no more that a tolerance ended the last motion."""
        self.follower.violation = ''

    # -- the reference at every joint state -----------------------------------------------------

    def nearest(self, state: JointReading) -> JointReading:
        """Return a state whose continuous joints are in the turn nearest to the reference."""
        return self.follower.nearest(state)

    @property
    def moving(self) -> bool:
        """Whether the reference moves, or a motion is pending; else the arm is held."""
        return self.follower.moving

    @property
    def is_off(self) -> bool:
        """Whether the arm is further from the reference than the start tolerance."""
        return self.follower.is_off

    @property
    def elapsed(self) -> float:
        """Time [s] of the present trajectory, at its own speed; 0 without one."""
        return self.follower.elapsed

    @property
    def speed(self) -> float:
        """Speed of the present trajectory, as a fraction of its own."""
        return self.follower.speed.rate

    # -- the motion, for status and log ---------------------------------------------------------

    @property
    def doing(self) -> str:
        """Description of the present motion."""
        return self.follower.doing

    @property
    def phase(self) -> Phase:
        """What the reference does, with the next state."""
        return self.follower.phase

    @property
    def progress(self) -> float:
        """Fraction of the present trajectory's time that is over; NaN without one."""
        return self.follower.progress

    @property
    def lag(self) -> float:
        """Time [s] by which the reference lags behind a stream; NaN without one."""
        return self.streams.lag

    @property
    def ending(self) -> str:
        """How the trajectory that was accepted last has ended, and why; '' before that."""
        return self.follower.execution.ending

    @property
    def fault(self) -> str:
        """The violated tolerance, unless another trajectory is followed since; or ''."""
        return '' if self.phase is Phase.FOLLOWING else self.follower.violation

    def motion_state(self) -> MotionState:
        """Return the present motion, for `has_changed` and its like."""
        execution = self.follower.execution
        return MotionState(
            self.doing, execution, execution.outcome is None, self.follower.violations
        )

    def has_changed(self, before: MotionState) -> bool:
        """Return whether the arm does something else than before."""
        return self.doing != before.doing

    def was_rejected(self, before: MotionState) -> bool:
        """Return whether the trajectory of before was rejected since, though it was accepted."""
        outcome = before.execution.outcome
        return before.was_open and outcome in (Outcome.REJECTED, Outcome.NOT_RETIMED)

    def was_violated(self, before: MotionState) -> bool:
        """Return whether a tolerance has ended a motion since."""
        return self.follower.violations > before.violations

    # -- trajectories and streams ---------------------------------------------------------------

    def _stopping_time(self, reference: Reference) -> float:
        return stopping_time(self._node.arm, self._settings.limits.effort, reference)

    def _on_trajectory(self, message: JointTrajectory) -> None:
        if not self._node.active:
            return
        if not message.points:
            return self.stop('stopped by a trajectory without points')
        if self.streams.is_window(message):
            return self.streams.follow_window(message)
        try:
            self.follow_trajectory(message, self.tolerances)
        except RobotDynamicsError as error:
            self.reject_trajectory(error)

    def follow_trajectory(self, message: JointTrajectory, tolerances: Tolerances) -> None:
        """Follow a trajectory with these tolerances; while disabled, it is only checked.

        Raises:
            RobotDynamicsError: why it is rejected.
        """
        node, arm = self._node, self._node.arm
        self._check_ready()
        # Before the rows of the points, whose sizes follow from the joints.
        check_joints(message.joint_names, arm.model.joint_names)
        trajectory = messages.trajectory(message, node.parameters.interpolation)
        if not node.parameters.allow_partial_joints_goal:
            trajectory = trajectory.in_order(arm.model.joint_names)
        stamp = messages.nanoseconds(message.header.stamp)
        found = self._feasibility(trajectory)
        if node.parameters.on_infeasible == RETIME and not found.feasible:
            rest = self._rest(trajectory, stamp)
            if rest is not None:
                return self._retime(message.header, trajectory, rest, tolerances, found)
        speed, warning = self._feasible_speed(found)
        if speed < 1:
            trajectory = trajectory.at_speed(speed)
        if self._enabled():
            complete = self.follower.follow(trajectory, stamp, tolerances)
        else:
            complete = self.follower.check(trajectory, stamp)
        self._retimed = None
        if warning:
            node.count_event('trajectory infeasible')
            node.get_logger().warning(f'trajectory infeasible, {warning}')
        self._report('', '')
        if self._filled_out.get_subscription_count() > 0:
            self._publish_efforts(message.header, complete)

    def _publish_efforts(self, header: Header, complete: Trajectory) -> None:
        """Publish a trajectory of all joints with its torques.

        Those that stay where they are need torques as well: a controller rejects a trajectory
        without them, or sets their efforts to zero.
        """
        arm = self._node.arm
        efforts = waypoint_efforts(arm, complete, self._settings.switches, self._friction)
        torques = efforts + self._settings.offset
        self._filled_out.publish(messages.trajectory_message(complete, header, torques))

    def reject_trajectory(self, reason: RobotDynamicsError) -> None:
        """Count, log and report a trajectory that is not followed."""
        self._node.count_event('trajectory rejected')
        self._node.get_logger().error(f'trajectory rejected: {reason}')
        self._report(f'trajectory rejected: {reason}', REJECTED)

    def _feasibility(self, trajectory: Trajectory) -> Feasibility:
        """Compare the torques of a trajectory with the limits, and its velocities if it adapts."""
        node = self._node
        complete, start = self.follower.completed(trajectory)
        adapts = node.parameters.on_infeasible in ('slow_down', RETIME)
        return check_motion(
            node.arm,
            complete,
            start.q,
            self._settings.limits.effort,
            # Other violations of velocity limits are rejected by the follower.
            None if adapts else np.full(len(start.q), np.inf),
            FrictionWithOffset(self._friction, self._settings.offset),
            node.parameters.corner_time,
        )

    def _feasible_speed(self, found: Feasibility) -> tuple[float, str]:
        """Return the share of its speed at which a trajectory is to be followed, and a warning.

        A trajectory that is not retimed, since it begins or ends in motion, is slowed down.

        Raises TrajectoryError if it needs torques beyond the limits, and is not to be followed.
        """
        choice = self._node.parameters.on_infeasible
        if found.feasible:
            return 1.0, ''
        reasons = '; '.join(found.reasons)
        if choice == 'reject':
            raise TrajectoryError(reasons + self.follower.speed.remark)
        if choice != 'follow' and found.obstacle:
            raise TrajectoryError(found.obstacle)
        speed = 1.0 if choice == 'follow' else found.speed
        action = f'followed at {speed:.1%} of its speed' if speed < 1 else 'torques are clamped'
        return speed, f'{action}: {reasons}'

    # -- retiming -----------------------------------------------------------------------------

    def _rest(self, trajectory: Trajectory, stamp: int) -> Reference | None:
        """Return the reference (n,), at rest, at which a trajectory begins.

        None if it begins or ends in motion.
        """
        last = trajectory.waypoint(-1).qd
        ends_at_rest = last is None or (np.abs(last) <= TOLERANCE).all()
        return self.follower.rest_at(stamp) if ends_at_rest else None

    def _retime(
        self,
        header: Header,
        trajectory: Trajectory,
        rest: Reference,
        tolerances: Tolerances,
        found: Feasibility,
    ) -> None:
        """Accept an infeasible trajectory, and retime it; the present reference is held meanwhile.

        Raises:
            RobotDynamicsError: why it is rejected.
        """
        if found.speed == 0:
            raise TrajectoryError(found.obstacle)
        follower, stamp = self.follower, messages.nanoseconds(header.stamp)
        complete = follower.path_from(rest, trajectory, stamp)
        if stamp <= follower.now:
            stamp, header = 0, Header(frame_id=header.frame_id)
        friction = FrictionWithOffset(self._friction, self._settings.offset)
        self._retimed = Retimed(
            self.retiming.begin(
                self._node.arm, complete, self._settings.limits.effort, friction, rest.q
            ),
            follower.expect(stamp) if self._enabled() else None,
            header,
            stamp,
            tolerances,
            '; '.join(found.reasons),
        )
        self._report('', '')

    def take_retimed(self) -> str:
        """Follow a trajectory once it is retimed; return why it is rejected, or ''."""
        retimed, follower = self._retimed, self.follower
        if retimed is None:
            return ''
        execution = retimed.execution
        if execution is not None and execution.outcome is not None:
            self._retimed = None  # stopped, or replaced
            return ''
        waits = execution is not None and retimed.stamp <= follower.now and not follower.rests
        if waits or not retimed.result.done():
            return ''
        self._retimed, ended = None, Outcome.NOT_RETIMED
        try:
            fastest, ended = retimed.result.result(), Outcome.REJECTED
            self._follow_retimed(retimed, fastest)
        except RobotDynamicsError as error:
            if execution is None:
                self.reject_trajectory(error)
                return ''
            execution.conclude(ended, str(error))
            self._node.count_event('trajectory rejected')
            return f'trajectory rejected: {error}'
        return ''

    def _follow_retimed(self, retimed: Retimed, fastest: Trajectory) -> None:
        """Follow a trajectory that was retimed, or only check it; publish it with its torques.

        Raises:
            TrajectoryError: it does not begin where the arm is, or is beyond a limit.
        """
        stamp = retimed.stamp if retimed.stamp > self.follower.now else 0
        if retimed.execution is None:
            complete = self.follower.check(fastest, stamp)
        else:
            complete = self.follower.fulfil(fastest, stamp, retimed.tolerances)
        self._node.count_event('trajectory infeasible')
        self._node.get_logger().warning(
            f'trajectory infeasible, retimed to {fastest.duration:.3f} s: {retimed.reasons}'
        )
        if self._filled_out.get_subscription_count() > 0:
            self._publish_efforts(retimed.header, complete)

    def _check_ready(self) -> None:
        if self._settings.law is gravity_only:
            raise TrajectoryError('control_law is gravity_only: the arm is led by hand')
        if self._joint_states.unstamped:
            raise TrajectoryError(UNSTAMPED)
