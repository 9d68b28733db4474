# SPDX-License-Identifier: Apache-2.0
"""Client of feedforward_node: sends one trajectory and follows its status until it has ended."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, QoSProfile
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.control import Trajectory
from robot_dynamics.control.motions import Outcome
from robot_dynamics.ros import messages, qos
from robot_dynamics.ros.graph_client import POLL, GraphClient, GraphError
from robot_dynamics.ros.motion_status import IDLE, REJECTED, WAITING

STATUS = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)  # none is skipped
REPLACED = 0.05  # the progress of a motion goes back by more only if it is another one's
STOP_TIMEOUT = 1.0  # s, for the delivery of the request to stop


class Ending(NamedTuple):
    """How a motion has ended."""

    reached: bool
    reason: str


class MotionSender:
    """Sends a trajectory to the node that publishes a status, and follows it."""

    def __init__(self, client: GraphClient, topic: str, status: str, timeout: float):
        """Wait for the node to be ready.

        Args:
            client: in its graph.
            topic: of trajectories, the full name.
            status: topic of the status, the full name.
            timeout: longest wait for an answer, s.

        Raises:
            GraphError: no node subscribes and publishes there, or it follows no motions.
            KeyboardInterrupt: a signal was received.
        """
        self._client, self._timeout, self._name = client, timeout, status
        self._publisher = client.node.create_publisher(JointTrajectory, topic, qos.STREAM_OUT)
        self._statuses = client.node.create_subscription(
            DiagnosticStatus, status, lambda _: None, STATUS
        )
        self._last = ''  # status
        self._word = WAITING
        if not client.wait(self._publisher.get_subscription_count, timeout):
            raise GraphError(
                f'no node subscribes to {topic} within {timeout:g} s: start feedforward_node, or '
                'name its topic by --topic or --namespace'
            )
        if client.wait(self._is_ready, timeout):
            return
        if not self._last:
            raise GraphError(
                f'no status on {status} within {timeout:g} s: start feedforward_node, or name its '
                'topic by --status or --namespace'
            )
        raise GraphError(f'{status}: {self._last}; nothing is sent')

    def send(self, trajectory: Trajectory, progress: Callable[[float], None]) -> Ending:
        """Send a trajectory; return when it has ended.

        A signal ends the motion: the arm decelerates and is held.

        Args:
            trajectory: it begins with the next joint state.
            progress: called with the fraction of its time that is over.

        Raises:
            GraphError: the status stops.
            KeyboardInterrupt: a signal was received.
        """
        self._publisher.publish(messages.trajectory_message(trajectory))
        received, accepted, before = time.monotonic(), False, 0.0
        while not self._client.interrupted:
            for values in self._new():
                received = time.monotonic()
                ending = self._ending(values, accepted)
                if ending is not None:
                    return ending
                accepted = accepted or not values['outcome']
                done = float(values['progress'] or before)
                if done < before - REPLACED:
                    return Ending(False, Outcome.REPLACED.value)
                before = done
                progress(done)
            if time.monotonic() - received > self._timeout:
                raise GraphError(
                    f'{self._name}: no status for {self._timeout:g} s; the last one: {self._last}'
                )
            time.sleep(POLL)
        self._publisher.publish(JointTrajectory())  # without points: it ends the motion
        self._publisher.wait_for_all_acked(Duration(seconds=STOP_TIMEOUT))
        raise KeyboardInterrupt

    def _ending(self, values: dict[str, str], accepted: bool) -> Ending | None:
        """Return how the motion has ended by a status; None if it goes on."""
        if self._word == REJECTED:
            return Ending(False, values['detail'])
        if accepted and values['outcome']:
            reached = values['outcome'] == Outcome.SUCCEEDED.value
            return Ending(reached, 'reached' if reached else values['outcome'])
        return Ending(False, self._last) if self._word == IDLE else None

    def _is_ready(self) -> bool:
        for _ in self._new():
            pass
        return self._word not in (WAITING, IDLE)

    def _new(self) -> Any:
        """Yield the values of the statuses that were received since the last call."""
        for status, _ in messages.queued(self._statuses):
            values = {item.key: item.value for item in status.values}
            texts = values['motion'], values['detail']
            self._word, self._last = status.message, ', '.join(filter(None, texts))
            self._last = f'{self._word}: {self._last}'
            yield values
