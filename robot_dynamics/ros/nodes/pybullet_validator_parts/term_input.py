# SPDX-License-Identifier: Apache-2.0
"""Terms of the dynamics node, matched with the joint states by stamp.

Messages are taken only on request. The subscriptions belong to a node without an executor, so that
of a thousand messages per second those that are not needed leave their queues unread.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from typing_extensions import override

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.spatial import Array
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control.joint_reading import (
    JointDataError,
    JointMap,
    JointReading,
    JointStateReader,
)
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.ros import messages
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.part import Part
from robot_dynamics.validation.observation import FEWEST, Observation, RecentMotion

TORQUES = ('gravity_torque', 'coriolis_torque', 'inertia_torque', 'inverse_dynamics_torque')
RECENT = QoSProfile(depth=50, reliability=ReliabilityPolicy.BEST_EFFORT)
# Of the joint states none is left out: the motion before a state is compared as well.
COMPLETE = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)
KEPT = 64  # stamps whose terms may still be incomplete


class TermInput(Part):
    """Part of a node: joint states and the terms that the dynamics node publishes for them."""

    def __init__(self, node: RobotNode, dynamics_node: str):
        """Subscribe as `node` would, with its namespace and remappings.

        Args:
            node: with DriveParameters, input_timeout and motion_time.
            dynamics_node: first part of the topics of the dynamics node.
        """
        self._owner = node
        self._node = Node(
            f'{node.get_name()}_streams',
            namespace=node.get_namespace(),
            context=node.context,
            use_global_arguments=False,
            start_parameter_services=False,
            enable_rosout=False,
        )
        topics = {term: f'{dynamics_node}/{term}' for term in ('mass_matrix', *TORQUES)}
        self._subscriptions = {
            name: self._subscription(name, topic)
            for name, topic in {'joint_states': 'joint_states', **topics}.items()
        }

    def _subscription(self, name: str, topic: str) -> Any:
        # Remappings and overrides are those of the owner.
        full_name = self._owner.resolve_topic_name(topic)
        return self._node.create_subscription(
            Float64MultiArray if name == 'mass_matrix' else JointState,
            full_name,
            lambda _: None,
            self._owner.subscription_profile(
                full_name, COMPLETE if name == 'joint_states' else RECENT
            ),
            raw=True,
        )

    @override
    def use(self, arm: Dynamics) -> None:
        """Read the joints of this robot."""
        names = arm.model.joint_names
        self._map = JointMap(names)
        parameters = self._owner.parameters
        self._reader = JointStateReader(arm.model, parameters.input_timeout)
        self._scale = parameters.of_joints('effort_scale', arm.model)
        self._offset = parameters.of_joints('effort_offset', arm.model)
        self._reset()

    def drop(self) -> None:
        """Drop the messages received so far, and those still in the queues."""
        for subscription in self._subscriptions.values():
            for _ in messages.queued(subscription):
                pass
        self._reset()

    def close(self) -> None:
        """End the node."""
        self._node.destroy_node()

    def _reset(self) -> None:
        self._pieces: dict[int, dict[str, Array]] = defaultdict(dict)
        self._checked = self._latest = -1
        self._recent: deque[JointReading] = deque(maxlen=COMPLETE.depth)

    def newest(self) -> tuple[int, Observation] | None:
        """Return the stamp [ns] and the terms of the new state with the most terms, if any.

        Messages that are wrong or late are rejected.
        """
        for name, subscription in self._subscriptions.items():
            for data, _ in messages.queued(subscription):
                try:
                    self._take(name, messages.decode(data, subscription.msg_type))
                except RobotDynamicsError as error:
                    self._owner.reject('live state', error)
        for stamp in sorted(self._pieces)[:-KEPT]:
            del self._pieces[stamp]
        known = {
            stamp: pieces
            for stamp, pieces in self._pieces.items()
            if stamp > self._checked and {'q', 'gravity_torque'} <= pieces.keys()
        }
        if not known:
            return None
        stamp = max(known, key=lambda s: (len(known[s]), s))
        self._checked, pieces = stamp, known[stamp]
        q, gravity = pieces['q'], pieces['gravity_torque']
        others = [pieces.get(name) for name in ('qd', *TORQUES[1:], 'mass_matrix')]
        qd, coriolis, inertia, total, M = others
        motion = self._motion(stamp)
        return stamp, Observation(q, qd, gravity, coriolis, inertia, total, M, motion)

    def _motion(self, stamp: int) -> RecentMotion | None:
        """Return the motion of the last motion_time before a stamp; None if it is not complete."""
        begin = stamp - round(self._owner.parameters.motion_time * SECOND)
        known = [state for state in self._recent if state.stamp <= stamp]
        states = [state for state in known if state.stamp >= begin]
        if len(states) == len(known) or len(states) < FEWEST:
            return None
        lacking = np.full(len(self._map.joint_names), np.nan)
        q, qd, effort = (
            np.array([lacking if row is None else row for row in rows])
            for rows in zip(*((s.q, s.qd, s.effort) for s in states), strict=True)
        )
        if np.isnan(qd).any():
            return None
        time = np.array([state.stamp - stamp for state in states]) / SECOND
        return RecentMotion(time, q, qd, self._scale * effort - self._offset)

    def _take(self, name: str, message: JointState | Float64MultiArray) -> None:
        if name == 'joint_states':
            self._take_state(message)
        elif name == 'mass_matrix':
            self._keep(*self._matrix(message), name)
        else:
            tau = self._map.complete(list(message.name), message.effort, name)
            self._keep(messages.nanoseconds(message.header.stamp), tau, name)

    def _keep(self, stamp: int, value: Array, name: str) -> None:
        # A later stamp belongs to a state from before the stamps went back.
        if stamp <= self._latest:
            self._pieces[stamp][name] = value

    def _take_state(self, message: JointState) -> None:
        reading = self._reader.read(message, messages.nanoseconds(message.header.stamp))
        if reading is None:
            return
        if reading.restarted:
            self._reset()
        if reading.stamp == self._latest:
            self._recent.pop()
        self._recent.append(reading)
        self._latest = reading.stamp
        self._keep(reading.stamp, reading.q, 'q')
        if reading.qd is not None:
            self._keep(reading.stamp, reading.qd, 'qd')

    def _matrix(self, message: Float64MultiArray) -> tuple[int, Array]:
        n = len(self._map.joint_names)
        try:
            stamp, M = messages.matrix_stamp(message), messages.matrix(message)
        except (ValueError, IndexError) as error:
            raise JointDataError(f'mass_matrix has another layout than ours: {error}') from None
        if M.shape != (n, n) or not np.isfinite(M).all():
            raise JointDataError(f'mass_matrix is not a finite matrix of {n} x {n}')
        return stamp, M
