# SPDX-License-Identifier: Apache-2.0
"""Joint states received by a node: decoded, checked, and complete for its robot."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from sensor_msgs.msg import JointState
from typing_extensions import override

from robot_dynamics.control import VelocityFilter
from robot_dynamics.control.joint_reading import JointReading, JointStateReader
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.ros import health, qos
from robot_dynamics.ros.health import Status
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.part import Part
from robot_dynamics.ros.robot_parameters import LONGEST_DIFFERENCE, LiveRobotParameters
from robot_dynamics.ros.serialization import JointStateDecoder, JointStateValues

ZEROS = 100  # messages in a row with stamp 0: more than a start needs
UNSTAMPED = 'the stamps of joint_states stay at 0: no motion can be timed'
T = TypeVar('T')


class JointStateTopic(Part):
    """Part of a node: subscribes to joint_states while the node is active.

    Best effort, which matches reliable and best-effort publishers.
    """

    def __init__(
        self,
        node: RobotNode,
        read: Callable[[JointStateValues], T | None],
        use: Callable[[T], None],
    ):
        """Subscribe; `read` and `use` are those of `RobotNode.subscribe`."""
        self._node = node
        self._decode = JointStateDecoder()
        self._zeros = 0  # stamps of 0 in a row
        node.subscribe(
            JointState,
            'joint_states',
            'joint state',
            lambda data: read(self._decoded(data)),
            use,
            qos.JOINT_STATES_IN,
            raw=True,
        )

    @property
    def unstamped(self) -> bool:
        """Whether the stamps of the messages stay at 0."""
        return self._zeros > ZEROS

    @override
    def activate(self) -> None:
        """Count the stamps of 0 anew."""
        self._zeros = 0

    @override
    def status(self) -> Status | None:
        """Return a fault of the input, or None."""
        if self.unstamped:
            return health.WARN, UNSTAMPED
        if not self._node.health.inputs:
            return health.WARN, 'no joint_states'
        return None

    def _decoded(self, data: bytes) -> JointStateValues:
        state = self._decode(data)
        self._zeros = self._zeros + 1 if state.stamp == 0 else 0
        self._node.count_input(state.stamp)
        return state


class JointStateInput(Part):
    """Part of a node: calls back with every state of the whole robot, in the model's order."""

    _reader: JointStateReader  # of the present robot

    def __init__(
        self,
        node: RobotNode,
        callback: Callable[[JointReading], None],
        needs_velocity: bool = True,
    ):
        """Subscribe.

        Args:
            node: with the parameter input_timeout, and LiveRobotParameters if `needs_velocity`.
            callback: called with each complete state while the node is active.
            needs_velocity: estimate velocities that are missing, if the parameters say so, and
                count states without.
        """
        self._node, self._callback, self._needs_velocity = node, callback, needs_velocity
        self._topic = node.add(JointStateTopic(node, self._read, self._answer))

    @property
    def unstamped(self) -> bool:
        """Whether the stamps of the messages stay at 0."""
        return self._topic.unstamped

    @override
    def use(self, arm: Dynamics) -> None:
        """Read the joints of this robot."""
        timeout = self._node.parameters.input_timeout
        self._reader = JointStateReader(arm.model, timeout, self._filter())

    @override
    def activate(self) -> None:
        """Drop all states received before."""
        self._reader.reset()

    @override
    def adopt(self, changes: set[str]) -> None:
        """Use another timeout or velocity filter."""
        used = {'input_timeout', 'missing_velocity', 'velocity_cutoff'}
        if changes & used and self._node.arm is not None:
            self._reader.adjust(self._node.parameters.input_timeout, self._filter())

    @override
    def status(self) -> Status | None:
        """Return the joints that are missing, or None."""
        missing = self._reader.missing()
        if not missing or not self._node.health.inputs:
            return None
        without = f'joint_states without {", ".join(missing)}'
        if len(missing) < self._node.arm.model.n:  # such as the fingers of a gripper
            without += '; name joints that have no states in locked_joints'
        return health.WARN, without

    def _filter(self) -> VelocityFilter | None:
        """Return the filter that estimates missing velocities; None if they stay unknown."""
        parameters: LiveRobotParameters = self._node.parameters
        if not self._needs_velocity or parameters.missing_velocity == 'gravity':
            return None
        return VelocityFilter(cutoff=parameters.velocity_cutoff, max_gap=LONGEST_DIFFERENCE)

    def _read(self, state: JointStateValues) -> JointReading | None:
        self._began = time.perf_counter()
        return self._reader.read(state, state.stamp)

    def _answer(self, reading: JointReading) -> None:
        if reading.qd is None and self._needs_velocity:
            self._node.count_event('joint state without velocity')
        if reading.restarted:
            for part in self._node.parts:
                part.restart()
        self._callback(reading)
        self._node.health.latencies.append(time.perf_counter() - self._began)
