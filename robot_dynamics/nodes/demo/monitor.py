"""The ears and the voice of the demonstration in the ROS graph.

A `Recorder` hears the streams: thousands of messages a second, taken from their queues in batches
between two looks at the screen, which costs far less than one callback each. A `Monitor` does the
talking: services, parameters, the trajectory, and what the nodes say of themselves.

Latencies are the middleware's own: a message tells when its writer sent it, so the time between a
state and the torque that answers it does not depend on when this process came to hear of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rcl_interfaces.msg import Parameter as ParameterMessage
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.control import Trajectory
from robot_dynamics.nodes import messages, qos
from robot_dynamics.nodes.demo.graph import COMMANDS, DYNAMICS, FEEDFORWARD, SIMULATOR, VALIDATOR
from robot_dynamics.nodes.demo.recording import TERMS, Recording, Series

DEEP = QoSProfile(depth=2000)  # a second of everything may wait to be taken
EVERY = 10  # of the terms, which are drawn and not computed with, this part is enough


class Recorder(Node):
    """Hears the streams, whenever it is told to take them.

    Attributes:
        stamp: the newest state's time [ns], -1 before the first.
        repetitions: how often that very state was repeated; where time runs, never.
        heard: which streams ever carried something: states, torques, terms.
    """

    def __init__(self, joint_names: tuple[str, ...]):
        super().__init__('demo_recorder')
        self._names = list(joint_names)
        self._states = self._ear('joint_states')
        self._torques = self._ear(COMMANDS)
        self._residuals = self._ear(f'{VALIDATOR}/residual')
        self._terms = {term: self._ear(f'{DYNAMICS}/{term}_torque', raw=True) for term in TERMS}
        self._counts = dict.fromkeys(TERMS, 0)
        self.heard: set[str] = set()
        self.forget_state()

    def _ear(self, topic: str, *, raw: bool = False) -> Any:
        # No executor turns this node: there is nothing to call back.
        return self.create_subscription(JointState, topic, lambda _: None, DEEP, raw=raw)

    def take(self, recording: Recording | None) -> None:
        """Take all that has arrived, into a recording if there is one."""
        for message, sent in _taken(self._states):
            self._take_state(message, sent, recording)
        for message, sent in _taken(self._torques):
            self.heard.add('torques')
            if recording is not None:
                recording.heard_torque(messages.nanoseconds(message.header.stamp), sent)
        for message, _ in _taken(self._residuals):
            if recording is not None:
                _note(message, recording, recording.residual)
        for term, ear in self._terms.items():
            for raw, _ in _taken(ear):
                self._take_term(term, raw, recording)

    def _take_state(self, message: JointState, sent: int, recording: Recording | None) -> None:
        self.heard.add('states')
        stamp = messages.nanoseconds(message.header.stamp)
        self.repetitions = self.repetitions + 1 if stamp == self.stamp else 0
        self.stamp = stamp
        if recording is not None and list(message.name) == self._names:
            recording.heard_state(stamp, sent, message.position, message.velocity, message.effort)

    def _take_term(self, term: str, raw: bytes, recording: Recording | None) -> None:
        self.heard.add('terms')
        self._counts[term] += 1
        if recording is not None and self._counts[term] % EVERY == 0:
            _note(deserialize_message(raw, JointState), recording, recording.terms[term])

    def forget_state(self) -> None:
        """Begin anew to look whether time stands still."""
        self.stamp, self.repetitions = -1, 0


def _note(message: JointState, recording: Recording, series: Series) -> None:
    recording.heard_answer(series, messages.nanoseconds(message.header.stamp), message.effort)


def _taken(subscription: Any) -> Any:
    """Yield (message, when it was sent [ns]) until the queue is empty."""
    queue, kind, raw = subscription.handle, subscription.msg_type, subscription.raw
    with queue:
        while (taken := queue.take_message(kind, raw)) is not None:
            message, info = taken
            yield message, info['source_timestamp']


class Monitor(Node):
    """Talks to the nodes.

    Attributes:
        status: what the feed-forward node says it does.
        report: the validator's verdict and what is behind it, if there is one yet.
        simulation: the simulator's newest diagnostics.
    """

    def __init__(self) -> None:
        super().__init__('demo_monitor')
        self.status = ''
        self.report: DiagnosticStatus | None = None
        self.simulation: DiagnosticStatus | None = None
        self._trajectory_out = self.create_publisher(
            JointTrajectory, 'joint_trajectory', qos.STREAM_OUT
        )
        self.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, DEEP)
        self.create_subscription(String, f'{FEEDFORWARD}/status', self._on_status, qos.LATCHED)
        self.create_subscription(
            DiagnosticArray, f'{VALIDATOR}/report', self._on_report, qos.LATCHED
        )
        self._of_feedforward = AsyncParameterClient(self, FEEDFORWARD)
        self._of_simulator = {
            verb: self.create_client(Trigger, f'{SIMULATOR}/{verb}')
            for verb in ('pause', 'reset', 'resume')
        }

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name.partition(':')[0].endswith(SIMULATOR):
                self.simulation = status

    def _on_status(self, message: String) -> None:
        self.status = message.data

    def _on_report(self, message: DiagnosticArray) -> None:
        self.report = message.status[0]

    # -- asking -----------------------------------------------------------------------------

    def answers(self) -> bool:
        """Say whether the services that are needed are there."""
        return self._of_feedforward.services_are_ready() and all(
            client.service_is_ready() for client in self._of_simulator.values()
        )

    def ask(self, verb: str) -> Any:
        """Return the future of a service of the simulator: pause, reset or resume."""
        return self._of_simulator[verb].call_async(Trigger.Request())

    def set_parameters(self, values: dict[str, Any]) -> Any:
        """Return the future of setting parameters of the feed-forward node."""
        parameters: list[ParameterMessage] = [
            Parameter(name, value=value).to_parameter_msg() for name, value in values.items()
        ]
        return self._of_feedforward.set_parameters(parameters)

    def send(self, trajectory: Trajectory) -> None:
        """Send a trajectory that starts with the next state."""
        self.status = ''
        self._trajectory_out.publish(trajectory_message(trajectory))


def trajectory_message(trajectory: Trajectory) -> JointTrajectory:
    """Return the message of a trajectory; its stamp of zero says: from the next state on."""
    message = JointTrajectory(joint_names=list(trajectory.joint_names))
    for time, point in zip(trajectory.times, trajectory.waypoints, strict=True):
        q, qd, qdd = ([] if row is None else np.asarray(row).tolist() for row in point)
        message.points.append(
            JointTrajectoryPoint(
                positions=q,
                velocities=qd,
                accelerations=qdd,
                time_from_start=messages.duration_message(time),
            )
        )
    return message


def values(status: DiagnosticStatus | None) -> dict[str, str]:
    """Return what a diagnostic status says, by name."""
    return {} if status is None else {item.key: item.value for item in status.values}
