"""ROS client of the demonstration: commands the nodes and records their topics.

The recorded streams carry thousands of messages a second. They are taken from the queues of their
subscriptions in batches, which costs less than one callback per message. Latency is computed from
the source timestamps that the middleware attaches to each message, so it does not depend on when
this process received it.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.control import Trajectory
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.ros import messages, qos
from robot_dynamics.spatial import Array

TERMS = ('gravity', 'coriolis', 'inertia', 'friction')
DEEP = QoSProfile(depth=2000)  # the messages of a second
TIMEOUT = 10.0  # s, for an answer that takes milliseconds
START_TIMEOUT = 60.0  # s, for nodes that compile, or load the robot into another engine
REPEAT = 0.5  # s, after which a trajectory is sent again


class DemoFailed(RobotDynamicsError, RuntimeError):  # noqa: N818  (states what happened)
    """The demonstration cannot go on."""


class Series:
    """Stamped rows of numbers, appended at high rate and read as arrays."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._stamps, self._sent, self._rows = array('q'), array('q'), array('d')

    def append(self, stamp: int, sent: int, row: Sequence[float]) -> None:
        """Append one row (width,) with its stamp and source timestamp [ns], unless it is older."""
        if stamp > self.newest:
            self._stamps.append(stamp)
            self._sent.append(sent)
            self._rows.extend(row)

    def __len__(self) -> int:
        return len(self._stamps)

    @property
    def newest(self) -> int:
        """Stamp of the newest row, ns; -1 if there is none."""
        return self._stamps[-1] if self._stamps else -1

    @property
    def last(self) -> Array:
        """The newest row (width,)."""
        return np.array(self._rows[-self._width :])

    @property
    def stamps(self) -> Array:
        """Stamps (k,), ns."""
        return np.array(self._stamps, dtype=np.int64)

    @property
    def sent(self) -> Array:
        """Source timestamps (k,), ns."""
        return np.array(self._sent, dtype=np.int64)

    @property
    def rows(self) -> Array:
        """Rows (k, width)."""
        return np.array(self._rows).reshape(-1, self._width)


class Run:
    """The topics recorded during one run.

    Attributes:
        trajectory: the motion that was commanded.
        start: stamp at which it began, ns.
        states: rows (q, qd, effort) of `joint_states`.
        answers: what nodes computed from the states: `torque` of feedforward_node, the TERMS of
            dynamics_node, and its `residual` against the reference engine.
    """

    def __init__(self, trajectory: Trajectory, start: int) -> None:
        n = trajectory.n
        self.trajectory, self.start = trajectory, start
        self.states = Series(3 * n)
        self.answers = {name: Series(n) for name in ('torque', 'residual', *TERMS)}

    @property
    def end(self) -> int:
        """Stamp at which the motion ends, ns."""
        return self.start + round(self.trajectory.duration * messages.SECOND)

    def now(self) -> tuple[float, float]:
        """Return the time since the start [s] and the largest error of the newest state."""
        t = (self.states.newest - self.start) / messages.SECOND
        q = self.states.last[: self.trajectory.n]
        return t, float(np.abs(q - self.trajectory.sample(t).q).max())

    @property
    def t(self) -> Array:
        """Times (k,) of the states since the start of the motion, s."""
        return (self.states.stamps - self.start) / messages.SECOND

    def state(self, part: int) -> Array:
        """Return the positions (part 0), velocities (1) or efforts (2) of the states, (k, n)."""
        n = self.trajectory.n
        return self.states.rows[:, part * n : (part + 1) * n]

    def error(self) -> Array:
        """Return the measured minus the desired positions (k, n)."""
        return self.state(0) - self.trajectory.sample(self.t).q

    def latencies(self) -> Array:
        """Return the times from a state to the torque computed from it, s."""
        torque = self.answers['torque']
        _, state, answer = np.intersect1d(self.states.stamps, torque.stamps, return_indices=True)
        return (torque.sent[answer] - self.states.sent[state]) / messages.SECOND

    @property
    def wall_time(self) -> float:
        """Wall time between the first and the last state, s."""
        return float(np.ptp(self.states.sent)) / messages.SECOND


class DemoClient(Node):  # type: ignore[misc]  # rclpy has no types
    """Sends commands to the four nodes and records their topics.

    Attributes:
        report: the newest report of the validator.
        simulation: the newest diagnostics of the simulator.
    """

    def __init__(self, joint_names: Sequence[str], executor: Any, check: Callable[[], None]):
        """Subscribe.

        Args:
            joint_names: of the robot, in the order of its model.
            executor: spins this node.
            check: called while waiting; raises what ends the demonstration.
        """
        super().__init__('demo')
        self._names, self._executor, self._check = list(joint_names), executor, check
        self.report: DiagnosticStatus | None = None
        self._run: Run | None = None
        self.simulation: DiagnosticStatus | None = None
        self._status, self._run, self._stamps = '', None, array('q')
        topics = {
            'states': 'joint_states',
            'torque': 'joint_effort',
            'residual': 'pybullet_validator_node/residual',
            **{term: f'dynamics_node/{term}_torque' for term in TERMS},
        }
        # Not added to the executor, which would take their messages.
        self._recorder = Node('demo_recorder')
        self._streams = {
            name: self._recorder.create_subscription(JointState, topic, lambda _: None, DEEP)
            for name, topic in topics.items()
        }
        self._seen: set[str] = set()
        self._trajectory_out = self.create_publisher(
            JointTrajectory, 'joint_trajectory', qos.STREAM_OUT
        )
        self.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, DEEP)
        self.create_subscription(String, 'feedforward_node/status', self._on_status, qos.LATCHED)
        self.create_subscription(
            DiagnosticArray, 'pybullet_validator_node/report', self._on_report, qos.LATCHED
        )
        self._parameters = AsyncParameterClient(self, 'feedforward_node')
        self._simulator = {
            verb: self.create_client(Trigger, f'simulator_node/{verb}')
            for verb in ('pause', 'reset', 'resume')
        }

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if 'simulator_node' in status.name:
                self.simulation = status

    def _on_status(self, message: String) -> None:
        self._status = message.data

    def _on_report(self, message: DiagnosticArray) -> None:
        self.report = message.status[0]

    def destroy_node(self) -> None:
        """Destroy this node and the one that records."""
        self._recorder.destroy_node()
        super().destroy_node()

    # -- waiting ----------------------------------------------------------------------------

    def wait(self, condition: Callable[[], Any], what: str, timeout: float = TIMEOUT) -> None:
        """Spin until a condition holds; raise DemoFailed after `timeout` seconds."""
        if not self._happens(condition, timeout):
            raise DemoFailed(f'{what}: timeout after {timeout:g} s')

    def _happens(self, condition: Callable[[], Any], timeout: float) -> bool:
        end = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > end:
                return False
            self._check()
            self._executor.spin_once(timeout_sec=0.01)
            self._take()
        return True

    def wait_for_nodes(self) -> None:
        """Wait until all nodes publish and their services are available."""
        clients = self._simulator.values()
        self.wait(
            lambda: (
                self._seen >= {'states', 'torque', 'gravity'}
                and self._parameters.services_are_ready()
                and all(client.service_is_ready() for client in clients)
            ),
            'start of the nodes',
            START_TIMEOUT,
        )

    # -- recording --------------------------------------------------------------------------

    def _take(self) -> None:
        """Record all messages that have arrived."""
        for name, subscription in self._streams.items():
            with subscription.handle:
                while (taken := subscription.handle.take_message(JointState, False)) is not None:
                    self._record(name, taken[0], taken[1]['source_timestamp'])

    def _is_later(self, stamp: int) -> bool:
        return self._stamps[-1] > stamp

    def _record(self, name: str, message: JointState, sent: int) -> None:
        self._seen.add(name)
        stamp, run = messages.nanoseconds(message.header.stamp), self._run
        if name == 'states':
            self._stamps = array('q', [*self._stamps[-1:], stamp])
            if run is not None and stamp <= run.end and list(message.name) == self._names:
                row = [*message.position, *message.velocity, *message.effort]
                run.states.append(stamp, sent, row)
        # Answers to states from before the reset of the simulation are not of this run.
        elif run is not None and stamp <= run.states.newest:
            run.answers[name].append(stamp, sent, message.effort)

    # -- runs -------------------------------------------------------------------------------

    def run(
        self, trajectory: Trajectory, *, compensate: bool, show: Callable[[float, float], None]
    ) -> Run:
        """Return the record of one run along a trajectory.

        Args:
            trajectory: the motion.
            compensate: with the feed-forward terms; else with feedback alone.
            show: called with the time [s] and the error while it goes on.

        Raises:
            DemoFailed: a node does not answer, or the motion does not come to its end.
        """
        self._run = None
        self._simulate('pause')
        self._simulate('reset')
        self._stamps = array('q')
        # The state of a paused simulation is repeated.
        self.wait(lambda: len(self._stamps) == 2 and len(set(self._stamps)) == 1, 'paused state')
        values = [Parameter(f'compensate_{term}', value=compensate) for term in TERMS]
        self._answer(
            self._parameters.set_parameters([value.to_parameter_msg() for value in values]),
            'parameters of feedforward_node',
        )
        self._run = run = Run(trajectory, self._stamps[-1])
        self._send(trajectory)
        self._simulate('resume')
        while self._stamps[-1] < run.end:
            before = self._stamps[-1]
            self.wait(partial(self._is_later, before), 'simulated time')
            if len(run.states):
                show(*run.now())
        self._simulate('pause')
        self._run = None
        return run

    def _send(self, trajectory: Trajectory) -> None:
        """Send a trajectory that starts with the next state, until it is followed."""
        self._status = ''
        end = time.monotonic() + TIMEOUT
        while not self._status.startswith('following'):
            if time.monotonic() > end:
                status = self._status or 'no status'
                raise DemoFailed(f'feedforward_node does not follow: {status}')
            self._trajectory_out.publish(trajectory_message(trajectory))
            self._happens(lambda: self._status, REPEAT)

    def _simulate(self, verb: str) -> None:
        service = f'simulator_node/{verb}'
        response = self._answer(self._simulator[verb].call_async(Trigger.Request()), service)
        if not response.success:
            raise DemoFailed(f'{service}: {response.message}')

    def _answer(self, future: Any, what: str) -> Any:
        self.wait(future.done, what)
        return future.result()


def trajectory_message(trajectory: Trajectory) -> JointTrajectory:
    """Return the message of a trajectory; its stamp of zero means: from the next state on."""
    message = JointTrajectory(joint_names=list(trajectory.joint_names))
    for t, point in zip(trajectory.times, trajectory.waypoints, strict=True):
        q, qd, qdd = ([] if row is None else np.asarray(row).tolist() for row in point)
        message.points.append(
            JointTrajectoryPoint(
                positions=q,
                velocities=qd,
                accelerations=qdd,
                time_from_start=messages.duration_message(t),
            )
        )
    return message


def values(status: DiagnosticStatus | None) -> dict[str, str]:
    """Return the values of a diagnostic status by key."""
    return {} if status is None else {item.key: item.value for item in status.values}
