# SPDX-License-Identifier: Apache-2.0
"""Streams that a node is to follow: single references, windows and action chunks."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from trajectory_msgs.msg import JointTrajectory
from typing_extensions import override

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control.limits import TOLERANCE
from robot_dynamics.control.reference_following import ReferenceFollower
from robot_dynamics.ros import health, messages, qos
from robot_dynamics.ros.command_guard import CommandInputGuard
from robot_dynamics.ros.health import Status
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.motion_status import REJECTED
from robot_dynamics.ros.part import Part

REPORT_PERIOD = 1.0  # s, between two reports of rejected messages
AHEAD = 0.5  # s: a single point of a trajectory that is nearer is one of a stream


class StreamInput(Part):
    """Part of a node: passes the messages of streams to a follower, and reports rejected ones.

    Attributes:
        guard: reports several streams of references.
    """

    def __init__(
        self,
        node: RobotNode,
        follower: Callable[[], ReferenceFollower],
        check_ready: Callable[[], None],
        report: Callable[[str, str], None],
        enabled: Callable[[], bool],
    ):
        """Subscribe.

        Args:
            node: that follows the streams.
            follower: returns that of the present robot.
            check_ready: raises a RobotDynamicsError if nothing can be followed.
            report: called with an event and its status after rejected messages, once a second.
            enabled: returns whether motions are followed; otherwise messages are ignored.
        """
        self._node, self._follower, self._check_ready = node, follower, check_ready
        self._report, self._enabled = report, enabled
        self._reported = -math.inf  # s, when a rejected message was; since the last valid one
        references = node.create_subscription(
            JointTrajectory, 'reference', self._on_reference, qos.COMMANDS_IN
        )
        self.guard = node.add(CommandInputGuard(node, [references.topic_name]))

    @override
    def restart(self) -> None:
        """Report the next message that is rejected."""
        self._reported = -math.inf

    @override
    def status(self) -> Status | None:
        """Return a WARN while the stream is faster than a limit of a joint."""
        stream = None if self._node.arm is None else self._follower().stream
        return (health.WARN, stream.beyond) if stream is not None and stream.beyond else None

    @override
    def figures(self) -> dict[str, str]:
        """Return period, lag and losses of the stream that is followed."""
        stream = None if self._node.arm is None else self._follower().stream
        if stream is None:
            return {}
        return {
            'period of the stream [ms]': f'{1e3 * stream.clock.period:.1f}',
            'lag of the stream [ms]': f'{1e3 * stream.lag:.1f}',
            'references lost': str(stream.clock.lost),
        }

    @property
    def lag(self) -> float:
        """Time [s] by which the reference lags behind the stream; NaN without one."""
        stream = None if self._node.arm is None else self._follower().stream
        return float('nan') if stream is None else stream.lag

    def is_window(self, message: JointTrajectory) -> bool:
        """Return whether a trajectory with points is one of a stream: it does not end at rest.

        MoveIt Servo sends such windows. So are action chunks, whose points have no times.
        """
        points, stamp = message.points, messages.nanoseconds(message.header.stamp)
        times = [messages.nanoseconds(point.time_from_start) for point in points]
        if len(points) > 1 and not any(times):
            return True
        if not stamp:
            return False
        if any(abs(speed) > TOLERANCE for speed in points[-1].velocities):
            return True
        return len(points) == 1 and stamp + times[0] - self._follower().now < AHEAD * SECOND

    def follow_window(self, message: JointTrajectory) -> None:
        """Follow the points of a window, instead of those of the one before it."""
        self._take(self._follow_window, message)

    def _on_reference(self, message: JointTrajectory) -> None:
        self._take(self._follow_reference, message)

    def _take(self, follow: Callable[[JointTrajectory], None], message: JointTrajectory) -> None:
        """Pass a message to the follower; count and report it if it is rejected."""
        node = self._node
        if not (node.active and self._enabled()):
            return
        try:
            self._check_ready()
            follow(message)
        except RobotDynamicsError as error:
            node.reject('reference', error)
            if time.monotonic() - self._reported > REPORT_PERIOD:
                self._reported = time.monotonic()
                self._report(f'reference rejected: {error}', REJECTED)
        else:
            self._reported = -math.inf
            stream = self._follower().stream
            if stream is not None and stream.beyond:
                node.count_event('stream beyond limits')

    def _follow_reference(self, message: JointTrajectory) -> None:
        self.guard.reject_conflict()
        if len(message.points) != 1:
            return self._follow_window(message)
        point = messages.one_point(message, self._node.arm.model.joint_names)
        stamp = messages.nanoseconds(message.header.stamp)
        self._follower().follow_reference(point, stamp or None)

    def _follow_window(self, message: JointTrajectory) -> None:
        parameters = self._node.parameters
        window = messages.window(
            message, self._node.arm.model.joint_names, parameters.policy_frequency
        )
        points = [window.waypoint(k) for k in range(len(window.times))]
        stamp = messages.nanoseconds(message.header.stamp)
        self._follower().follow_window(window.times, points, stamp or None)
