# SPDX-License-Identifier: Apache-2.0
"""Goals of a trajectory action: their tolerances, and the result in which each of them ends.

Codes and meaning are those of control_msgs/FollowJointTrajectory. One goal is followed at a time:
a goal that is accepted ends the one before it. Messages and goal handles of ROS are not known
here; a handle is any object by which the caller knows a goal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum, IntEnum
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.common.errors import JointNamesError, TrajectoryError, TrajectoryOverError
from robot_dynamics.common.spatial import Array
from robot_dynamics.control.motions import Execution, Outcome, Phase
from robot_dynamics.control.reference_following import ReferenceFollower
from robot_dynamics.control.tolerances import Tolerances

NO_LIMIT = -1.0  # value of a tolerance in a goal; 0: the default


class Code(IntEnum):
    """Error code of a result."""

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


class Ending(Enum):
    """Final status of a goal."""

    SUCCEEDED = 'succeeded'
    ABORTED = 'aborted'
    CANCELED = 'canceled'


class Result(NamedTuple):
    """How a goal ended."""

    ending: Ending
    code: Code
    reason: str


class JointTolerance(NamedTuple):
    """Tolerance of one joint in a goal; 0: the default, -1: no limit."""

    joint: str
    position: float = 0.0  # rad or m
    velocity: float = 0.0  # rad/s or m/s
    acceleration: float = 0.0  # rad/s^2 or m/s^2; only 0 and -1 are supported


def goal_tolerances(
    default: Tolerances,
    joint_names: tuple[str, ...],
    path: Iterable[JointTolerance],
    goal: Iterable[JointTolerance],
    goal_time: float,
) -> Tolerances:
    """Return the tolerances of a goal.

    Args:
        default: of joints, quantities and times that the goal leaves open.
        joint_names: of the robot, n.
        path: during the motion.
        goal: at its end.
        goal_time: s, after the end; 0: the default; negative: the goal is awaited.

    Raises:
        JointNamesError: a tolerance names a joint that the robot does not have.
        TrajectoryError: a value is not a tolerance, or not supported.
    """
    n = len(joint_names)
    rows = [
        np.array(np.broadcast_to(row, (n,)), dtype=float)
        for row in (default.path, default.path_velocity, default.goal, default.stopped_velocity)
    ]
    for what, tolerances, (position, velocity) in (
        ('path_tolerance', path, rows[:2]),
        ('goal_tolerance', goal, rows[2:]),
    ):
        for tolerance in tolerances:
            _override(what, tolerance, joint_names, position, velocity)
    if not np.isfinite(goal_time):
        raise TrajectoryError(f'goal_time_tolerance is {goal_time} s; expected a finite time')
    time = default.goal_time if goal_time == 0 else max(goal_time, 0.0)
    return Tolerances(rows[0], rows[2], rows[3], time, rows[1])


def _override(
    what: str,
    tolerance: JointTolerance,
    joint_names: tuple[str, ...],
    position: Array,
    velocity: Array,
) -> None:
    """Write the values that a tolerance prescribes into rows (n,)."""
    joint = tolerance.joint
    if joint not in joint_names:
        raise JointNamesError(
            f'{what} names unknown joint {joint!r}; the robot has {", ".join(joint_names)}'
        )
    for quantity, value in zip(JointTolerance._fields[1:], tolerance[1:], strict=True):
        if not (np.isfinite(value) and (value >= 0 or value == NO_LIMIT)):
            raise TrajectoryError(
                f'{what} of joint {joint!r}: {quantity} is {value:g}; expected a positive number, '
                '0 for the default or -1 for no limit'
            )
    if tolerance.acceleration > 0:
        raise TrajectoryError(
            f'{what} of joint {joint!r}: acceleration is {tolerance.acceleration:g}; expected 0 '
            'or -1: joint states have no accelerations that it could be compared with'
        )
    for row, value in ((position, tolerance.position), (velocity, tolerance.velocity)):
        if value:
            row[joint_names.index(joint)] = max(value, 0.0)


def code_of(error: Exception) -> Code:
    """Return the code of the error for which a goal is rejected."""
    if isinstance(error, JointNamesError):
        return Code.INVALID_JOINTS
    if isinstance(error, TrajectoryOverError):
        return Code.OLD_HEADER_TIMESTAMP
    return Code.INVALID_GOAL


class Goal(NamedTuple):
    """A goal that is followed, or waits for its start."""

    handle: Any
    execution: Execution
    follower: ReferenceFollower


class TrajectoryGoals:
    """The present goal, from its acceptance to its result.

    Attributes:
        present: the goal; None if there is none, or its result was given.
    """

    def __init__(self, end: Callable[[Any, Result], None]):
        """Begin without a goal; `end` is called once for each, with its handle and result."""
        self._end = end
        self.present: Goal | None = None
        self._canceled = False

    def accept(self, handle: Any, follower: ReferenceFollower) -> None:
        """Take the trajectory that the follower has just accepted as the goal of a handle."""
        self._finish('replaced by another goal')
        self.present = Goal(handle, follower.execution, follower)

    def cancel(self, handle: Any) -> bool:
        """Decelerate, to end a goal; return whether it was being followed."""
        goal = self.present
        if goal is None or goal.handle is not handle or goal.execution.outcome is not None:
            return False
        self._canceled = True
        goal.follower.stop('canceled')
        return True

    def update(self, obstacle: str) -> None:
        """End the goal if it is over.

        Args:
            obstacle: why no goal can be followed at present, or ''; it ends the goal.
        """
        if obstacle:
            return self.interrupt(obstacle)
        goal = self.present
        if goal is None or goal.execution.outcome is None:
            return
        # The result of a canceled goal is given when the arm is at rest.
        if not (self._canceled and goal.follower.phase is Phase.STOPPING):
            self._finish('replaced by a trajectory on the topic')

    def interrupt(self, reason: str) -> None:
        """End the goal, if there is one: decelerate."""
        goal = self.present
        if goal is not None and goal.execution.outcome is None:
            goal.follower.stop(reason)
        self._finish(reason)

    def _finish(self, replaced: str) -> None:
        """Give the result of the goal, if there is one; `replaced`: the reason if it was."""
        goal, canceled = self.present, self._canceled
        self.present, self._canceled = None, False
        if goal is not None:
            self._end(goal.handle, _result(goal.execution, canceled, replaced))


def _result(execution: Execution, canceled: bool, replaced: str) -> Result:
    outcome, reason = execution.outcome, execution.reason
    if outcome is Outcome.SUCCEEDED:
        return Result(Ending.SUCCEEDED, Code.SUCCESSFUL, 'the goal is reached')
    if canceled:
        return Result(Ending.CANCELED, Code.SUCCESSFUL, reason)
    if outcome is Outcome.PATH_VIOLATED:
        return Result(Ending.ABORTED, Code.PATH_TOLERANCE_VIOLATED, reason)
    if outcome is Outcome.GOAL_VIOLATED:
        return Result(Ending.ABORTED, Code.GOAL_TOLERANCE_VIOLATED, reason)
    if outcome is Outcome.REPLACED:
        reason = replaced
    elif outcome is Outcome.REJECTED:
        reason = f'rejected at its start: {reason}'
    return Result(Ending.ABORTED, Code.INVALID_GOAL, reason)
