# SPDX-License-Identifier: Apache-2.0
"""ROS client of the demonstration: commands the nodes and records their topics.

The recorded streams carry thousands of messages a second. They are taken from the queues of their
subscriptions in batches, which costs less than one callback per message. Latency is computed from
the source timestamps that the middleware attaches to each message, so it does not depend on when
this process received it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.spatial import Array
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control import Trajectory
from robot_dynamics.ros import messages, qos
from robot_dynamics.ros.executable import new_executor
from robot_dynamics.ros.middleware import isolate

TERMS = ('gravity', 'coriolis', 'inertia', 'friction')
TOPICS = {
    'states': 'joint_states',
    'torque': 'joint_effort',
    'residual': 'pybullet_validator_node/residual',
    **{term: f'dynamics_node/{term}_torque' for term in TERMS},
}
DEEP = QoSProfile(depth=2000)  # the messages of a second
TIMEOUT = 10.0  # s, for an answer that takes milliseconds
REPEAT = 1.0  # s without an answer, after which a request is sent again
START_TIMEOUT = 60.0  # s, for nodes that compile, or load the robot into another engine


class DemoFailed(RobotDynamicsError, RuntimeError):  # noqa: N818  (states what happened)
    """The demonstration cannot go on."""


class Row(NamedTuple):
    """One recorded message."""

    stamp: int  # ns
    sent: int  # ns, source timestamp
    values: list[float]


class Run:
    """The topics recorded during one run, from time zero of the simulation.

    Attributes:
        rows: by the names in TOPICS; values of `states` are q, qd and effort.
    """

    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self.end = round(trajectory.duration * SECOND)  # stamp, ns
        self.rows: dict[str, list[Row]] = {name: [] for name in TOPICS}

    def add(self, name: str, row: Row) -> None:
        """Record a message, unless it repeats a stamp or answers a state that is not recorded."""
        rows, states = self.rows[name], self.rows['states']
        known = row.stamp <= (self.end if name == 'states' else states[-1].stamp if states else -1)
        if known and (not rows or row.stamp > rows[-1].stamp):
            rows.append(row)

    def column(self, name: str, part: str) -> Array:
        """Return `stamp` (k,), `sent` (k,) or `values` (k, ...) of a topic."""
        return np.array([getattr(row, part) for row in self.rows[name]])

    def times(self, name: str) -> Array:
        """Return the stamps of a topic (k,), s."""
        return self.column(name, 'stamp') / SECOND

    def state(self, part: int) -> Array:
        """Return the positions (part 0), velocities (1) or efforts (2) of the states, (k, n)."""
        return np.split(self.column('states', 'values'), 3, axis=1)[part]

    def error(self) -> Array:
        """Return the measured minus the desired positions (k, n)."""
        return self.state(0) - self.trajectory.sample(self.times('states')).q

    def latencies(self) -> Array:
        """Return the times from a state to the torque computed from it, s."""
        sent = {row.stamp: row.sent for row in self.rows['states']}
        answers = [row for row in self.rows['torque'] if row.stamp in sent]
        return np.array([row.sent - sent[row.stamp] for row in answers]) / SECOND


class Requests:
    """A request to a service that is sent again until there is a response.

    The response to a client that the service has not discovered yet is lost, even if the client
    has discovered the service.
    """

    def __init__(self, ask: Callable[[], Any]):
        """Send the request; `ask` sends one and returns its future."""
        self._ask = ask
        self._futures = [ask()]
        self._sent = time.monotonic()

    def answered(self) -> bool:
        """Return whether there is a response; send the request again after REPEAT seconds."""
        if time.monotonic() > self._sent + REPEAT:
            self._futures.append(self._ask())
            self._sent = time.monotonic()
        return any(future.done() for future in self._futures)

    @property
    def response(self) -> Any:
        """The first response."""
        return next(future for future in self._futures if future.done()).result()


class DemoClient(Node):  # type: ignore[misc]  # rclpy has no types
    """Sends commands to the four nodes and records their topics.

    Attributes:
        reports: values of the newest message by topic: `report` of the validator, `simulation`.
    """

    def __init__(self, check: Callable[[], None]):
        """Join the ROS graph; `check` is called while waiting, and raises what ends the demo."""
        isolate()
        rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
        super().__init__('demo', start_parameter_services=False)
        self._check = check
        self._executor = new_executor()
        self._executor.add_node(self)
        self.reports: dict[str, dict[str, str]] = {}
        self._status = ''
        self._run: Run | None = None
        self._seen: set[str] = set()
        self._stamps: deque[int] = deque(maxlen=2)  # of the newest states, ns
        # Not added to the executor, which would take their messages.
        self._recorder = Node('demo_recorder')
        self._streams = {
            name: self._recorder.create_subscription(JointState, topic, lambda _: None, DEEP)
            for name, topic in TOPICS.items()
        }
        self._trajectory_out = self.create_publisher(
            JointTrajectory, 'joint_trajectory', qos.STREAM_OUT
        )
        self.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, DEEP)
        self.create_subscription(
            DiagnosticArray, 'pybullet_validator_node/report', self._on_diagnostics, qos.LATCHED
        )
        self.create_subscription(
            DiagnosticStatus, 'feedforward_node/status', self._on_status, qos.LATCHED
        )
        self._parameters = AsyncParameterClient(self, 'feedforward_node')
        self._simulator = {
            verb: self.create_client(Trigger, f'simulator_node/{verb}')
            for verb in ('pause', 'reset', 'resume')
        }

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self.reports[status.name] = {item.key: item.value for item in status.values}

    def _on_status(self, message: DiagnosticStatus) -> None:
        self._status = message.message

    def close(self) -> None:
        """Leave the ROS graph."""
        self._executor.shutdown()
        self._recorder.destroy_node()
        self.destroy_node()
        rclpy.try_shutdown()

    def wait(self, condition: Callable[[], Any], what: str, timeout: float = TIMEOUT) -> None:
        """Spin until a condition holds; raise DemoFailed after `timeout` seconds."""
        end = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > end:
                raise DemoFailed(f'{what}: timeout after {timeout:g} s')
            self._check()
            self._executor.spin_once(timeout_sec=0.01)
            for name, subscription in self._streams.items():
                for message, information in messages.queued(subscription):
                    self._record(name, message, information['source_timestamp'])

    def wait_for_nodes(self) -> None:
        """Wait until all nodes publish and their services are available."""
        clients = self._simulator.values()
        self.wait(
            lambda: (
                self._seen >= {'states', 'torque', 'gravity'}
                and self._trajectory_out.get_subscription_count()
                and self._parameters.services_are_ready()
                and all(client.service_is_ready() for client in clients)
            ),
            'start of the nodes',
            START_TIMEOUT,
        )

    def _record(self, name: str, message: JointState, sent: int) -> None:
        self._seen.add(name)
        stamp = messages.nanoseconds(message.header.stamp)
        if name == 'states':
            self._stamps.append(stamp)
        if self._run is not None:
            values = [*message.position, *message.velocity, *message.effort]
            self._run.add(name, Row(stamp, sent, values))

    def run(
        self, trajectory: Trajectory, *, compensate: bool, show: Callable[[float, float], None]
    ) -> Run:
        """Return the record of one run along a trajectory, in the joint order of the model.

        Args:
            trajectory: the motion.
            compensate: with the feed-forward terms; else with feedback alone.
            show: called with the time [s] and the largest error while it goes on.

        Raises:
            DemoFailed: a node does not answer, or the motion does not come to its end.
        """
        self._simulate('pause')
        self._simulate('reset')
        # The state of a paused simulation is repeated: by now every node has received it.
        self.wait(lambda: [*self._stamps] == [0, 0], 'paused state')
        values = [Parameter(f'compensate_{term}', value=compensate) for term in TERMS]
        self._answer(
            lambda: self._parameters.set_parameters([v.to_parameter_msg() for v in values]),
            'parameters of feedforward_node',
        )
        self._run = run = Run(trajectory)
        self._status = ''
        self._trajectory_out.publish(messages.trajectory_message(trajectory))
        self.wait(
            lambda: self._status == 'following',
            'feedforward_node following the trajectory',
        )
        self._simulate('resume')
        while self._stamps[-1] < run.end:
            before = self._stamps[-1]
            self.wait(partial(self._is_after, before), 'simulated time')
            stamp, _, values = run.rows['states'][-1]
            t = stamp / SECOND
            show(t, float(np.abs(values[: trajectory.n] - trajectory.sample(t).q).max()))
        self._simulate('pause')
        self._run = None
        return run

    def _is_after(self, stamp: int) -> bool:
        return self._stamps[-1] > stamp

    def _simulate(self, verb: str) -> None:
        service = f'simulator_node/{verb}'
        client = self._simulator[verb]
        response = self._answer(lambda: client.call_async(Trigger.Request()), service)
        if not response.success:
            raise DemoFailed(f'{service}: {response.message}')

    def _answer(self, ask: Callable[[], Any], what: str) -> Any:
        requests = Requests(ask)
        self.wait(requests.answered, what)
        return requests.response
