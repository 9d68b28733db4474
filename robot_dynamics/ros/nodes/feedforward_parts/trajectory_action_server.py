# SPDX-License-Identifier: Apache-2.0
"""Adapter to control_msgs/FollowJointTrajectory, where control_msgs is installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from typing_extensions import override

from robot_dynamics.common.errors import RobotDynamicsError, TrajectoryError
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control import Reference
from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.control.tolerances import Tolerances
from robot_dynamics.control.trajectory_goals import (
    Code,
    Ending,
    JointTolerance,
    Result,
    TrajectoryGoals,
    code_of,
    goal_tolerances,
)
from robot_dynamics.ros import messages
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.nodes.feedforward_parts.reference_input import ReferenceInput
from robot_dynamics.ros.nodes.feedforward_parts.state_output import (
    controller_state,
    desired_measured_error,
)
from robot_dynamics.ros.part import Part

NAME = '~/follow_joint_trajectory'
# Fields for joints with several degrees of freedom, which are not in all releases.
UNSUPPORTED = ('component_path_tolerance', 'component_goal_tolerance')


class DeferredServer(ActionServer):  # type: ignore[misc]  # rclpy has no types
    """Action server whose goals end by `finish`, from any callback.

    rclpy waits for the end of a goal in a coroutine. The events executor resumes a coroutine that
    waits in a loop without pauses, which would keep a processor busy during every motion.
    """

    def notify_execute(self, goal_handle: Any, execute_callback: Any) -> None:
        """Execute nothing: the node follows the goal."""

    def finish(self, goal_handle: Any, result: Any) -> None:
        """Send the result of a goal whose final status is set."""
        super().notify_execute(goal_handle, lambda _: result)


class TrajectoryActionServer(Part):
    """Part of a node: follows the goals of `~/follow_joint_trajectory`, one at a time.

    An invalid goal is accepted and aborted at once: only a result has a code and a reason.

    Attributes:
        latest: the last state and its reference, for feedback.
    """

    latest: tuple[JointReading, Reference] | None = None

    def __init__(self, node: RobotNode, references: ReferenceInput, obstacle: Callable[[], str]):
        """Create the server if control_msgs is installed.

        Args:
            node: that follows the goals.
            references: its input of motions.
            obstacle: returns why no goal can be followed at present, or ''.
        """
        self._node, self._references, self._obstacle = node, references, obstacle
        self._goals = TrajectoryGoals(self._end)
        log = node.get_logger()
        self._type = messages.installed(
            'control_msgs.action', 'FollowJointTrajectory', log.warning
        )
        if self._type is None:
            log.info('without control_msgs there is no action follow_joint_trajectory')
            return
        self._server = DeferredServer(
            node,
            self._type,
            NAME,
            execute_callback=self._on_accepted,  # required; it is not called
            goal_callback=self._on_goal,
            handle_accepted_callback=self._on_accepted,
            cancel_callback=self._on_cancel,
        )
        node.create_steady_timer(1 / node.parameters.action_monitor_rate, self._on_timer)

    @override
    def restart(self) -> None:
        """Drop the state received before."""
        self.latest = None

    @override
    def deactivate(self) -> None:
        """End the present goal."""
        self._goals.interrupt('the node was deactivated')

    def _on_goal(self, request: Any) -> GoalResponse:
        if self._node.active:
            return GoalResponse.ACCEPT
        self._node.get_logger().error(f'goal rejected: the node is {self._node.state}')
        return GoalResponse.REJECT

    def _on_accepted(self, handle: Any) -> None:
        handle.execute()

        def accept() -> None:
            try:
                self._follow(handle.request)
            except RobotDynamicsError as error:
                self._references.reject_trajectory(error)
                return self._send(handle, Result(Ending.ABORTED, code_of(error), str(error)))
            self._goals.accept(handle, self._references.follower)

        def fail(reason: str) -> None:
            self._references.stop(reason)  # the trajectory may have been accepted
            self._send(handle, Result(Ending.ABORTED, Code.INVALID_GOAL, reason))

        self._node.guarded(f'goal of {NAME}', accept, fail)()

    def _follow(self, goal: Any) -> None:
        obstacle = self._obstacle()
        if obstacle:
            raise TrajectoryError(obstacle)
        reject_unsupported(goal)
        names = self._node.arm.model.joint_names
        tolerances = tolerances_of(goal, self._references.tolerances, names)
        self._references.follow_trajectory(goal.trajectory, tolerances)

    def _on_cancel(self, handle: Any) -> CancelResponse:
        return CancelResponse.ACCEPT if self._goals.cancel(handle) else CancelResponse.REJECT

    def _on_timer(self) -> None:
        self._goals.update(self._obstacle())
        goal, latest = self._goals.present, self.latest
        if goal is None or latest is None:
            return
        state, reference = latest
        names = self._node.arm.model.joint_names
        elapsed = 0.0 if goal.follower.waits else goal.follower.elapsed
        message = feedback(self._type.Feedback(), names, state, reference, elapsed)
        goal.handle.publish_feedback(message)

    def _end(self, handle: Any, result: Result) -> None:
        if result.ending is Ending.ABORTED:
            self._node.get_logger().warning(f'goal aborted: {result.reason}')
        else:
            self._node.get_logger().info(f'goal {result.ending.value}: {result.reason}')
        self._send(handle, result)

    def _send(self, handle: Any, result: Result) -> None:
        set_status = {
            Ending.SUCCEEDED: handle.succeed,
            Ending.ABORTED: handle.abort,
            Ending.CANCELED: handle.canceled,
        }
        set_status[result.ending]()
        self._server.finish(handle, result_message(self._type.Result(), result))


def reject_unsupported(goal: Any) -> None:
    """Raise a TrajectoryError if a goal moves joints with several degrees of freedom."""
    multiple = getattr(goal, 'multi_dof_trajectory', None)
    if multiple is not None and (multiple.joint_names or multiple.points):
        raise TrajectoryError(
            f'multi_dof_trajectory has {len(multiple.joint_names)} joints and '
            f'{len(multiple.points)} points; joints with several degrees of freedom are not '
            'supported'
        )
    for field in UNSUPPORTED:
        given = getattr(goal, field, ())
        if given:
            raise TrajectoryError(
                f'{field} has {len(given)} entries; joints with several degrees of freedom are '
                'not supported'
            )


def tolerances_of(goal: Any, default: Tolerances, joint_names: tuple[str, ...]) -> Tolerances:
    """Return the tolerances of a goal; the arguments and errors are as of `goal_tolerances`."""
    path, end = (
        [JointTolerance(t.name, t.position, t.velocity, t.acceleration) for t in tolerances]
        for tolerances in (goal.path_tolerance, goal.goal_tolerance)
    )
    time = messages.nanoseconds(goal.goal_time_tolerance) / SECOND
    return goal_tolerances(default, joint_names, path, end, time)


def feedback(
    message: Any,
    joint_names: Sequence[str],
    state: JointReading,
    reference: Reference,
    elapsed: float,
) -> Any:
    """Return a feedback message, which is empty, with desired, actual and error of the joints.

    Args:
        message: an empty one.
        joint_names: n names.
        state: measured.
        reference: desired.
        elapsed: time of the trajectory, s.
    """
    rows = desired_measured_error(state, reference)
    return controller_state(message, joint_names, state.stamp, reference, *rows, elapsed=elapsed)


def result_message(message: Any, result: Result) -> Any:
    """Return a result message, which is empty, with code and reason."""
    message.error_code, message.error_string = int(result.code), result.reason
    return message
