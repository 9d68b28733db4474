# SPDX-License-Identifier: Apache-2.0
"""State of the controlled joints for other programs: desired, measured, and their difference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectoryPoint
from typing_extensions import override

from robot_dynamics.common.spatial import Array
from robot_dynamics.control import Reference
from robot_dynamics.control.joint_reading import JointReading, StampRateLimit
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.ros import messages, qos
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.part import Part
from robot_dynamics.ros.serialization import QUANTITIES, joint_state_writer

TOPICS = ('desired_state', 'measured_state', 'state_error')
MOTION = ('position', 'velocity')
# Fields of JointTrajectoryControllerState for the rows desired, measured and error; Humble has
# both names, later releases one.
FIELDS = (('reference', 'desired'), ('feedback', 'actual'), ('error',))


def desired_measured_error(
    state: JointReading, reference: Reference, tau: Array | None = None
) -> tuple[tuple[Array, ...], ...]:
    """Return positions, velocities and efforts (n,): desired, measured, and without efforts error.

    What is None or was not measured is NaN.
    """
    missing = np.full(len(state.q), np.nan)
    qd, effort, torque = (
        missing if values is None else values for values in (state.qd, state.effort, tau)
    )
    error = reference.q - state.q, reference.qd - qd
    return (reference.q, reference.qd, torque), (state.q, qd, effort), error


def controller_state(
    message: Any,
    joint_names: Sequence[str],
    stamp: int,
    reference: Reference,
    *rows: tuple[Array, ...],
    elapsed: float,
    speed: float = 1.0,
) -> Any:
    """Return a JointTrajectoryControllerState with the state of the joints.

    Args:
        message: an empty one.
        joint_names: n names.
        stamp: ns.
        reference: the desired motion (n,), for its accelerations.
        rows: desired, measured and error; each has positions, velocities and maybe efforts (n,).
        elapsed: time of the trajectory, s.
        speed: of the trajectory, as a fraction of its own.
    """
    message.header.stamp = messages.time_message(stamp)
    message.joint_names = list(joint_names)
    time = messages.duration_message(elapsed)
    points = [
        JointTrajectoryPoint(positions=q.tolist(), velocities=qd.tolist(), time_from_start=time)
        for q, qd, *_ in rows
    ]
    points[0].accelerations = reference.qdd.tolist()
    for names, point in zip(FIELDS, points, strict=True):
        for name in names:
            if hasattr(message, name):
                setattr(message, name, point)
    if hasattr(message, 'speed_scaling_factor'):
        message.speed_scaling_factor = speed
    if hasattr(message, 'output'):
        message.output = JointTrajectoryPoint(effort=rows[0][2].tolist())
    return message


class StateOutput(Part):
    """Part of a node: publishes the state of its joints, `state_publish_rate` times per second.

    `~/desired_state` carries the torque as well, `~/measured_state` the measured effort as torque;
    `~/state_error` is desired minus measured. What was not measured is NaN. Where control_msgs is
    installed, `~/controller_state` has the same in the message of joint_trajectory_controller.
    """

    def __init__(self, node: RobotNode):
        """Create the publishers."""
        self._node = node
        self._publishers = [
            node.create_publisher(JointState, f'~/{topic}', qos.STREAM_OUT) for topic in TOPICS
        ]
        self._type = messages.installed(
            'control_msgs.msg', 'JointTrajectoryControllerState', node.get_logger().warning
        )
        self._controller: Any = None
        if self._type is not None:
            self._controller = node.create_publisher(
                self._type, '~/controller_state', qos.STREAM_OUT
            )

    @override
    def activate(self) -> None:
        """Publish from the next state on."""
        self._due = StampRateLimit(self._node.parameters.state_publish_rate)

    @override
    def adopt(self, changes: set[str]) -> None:
        """Follow a change of the rate, or of the scale of efforts."""
        if 'state_publish_rate' in changes:
            self.activate()
        if changes & {'effort_scale', 'effort_scale_known'} and self._node.arm is not None:
            self._scale = self._node.parameters.known_scale(self._node.arm.model)

    @override
    def use(self, arm: Dynamics) -> None:
        """Publish the joints of this robot."""
        model, parameters = arm.model, self._node.parameters
        self._names = model.joint_names
        self._scale = parameters.known_scale(model)
        self._writers = [
            joint_state_writer(model, parameters.frame_prefix, quantities)
            for quantities in (QUANTITIES, QUANTITIES, MOTION)
        ]

    def publish(
        self,
        state: JointReading,
        reference: Reference,
        tau: Array | None,
        *,
        elapsed: float,
        speed: float,
    ) -> None:
        """Publish when it is due.

        Args:
            state: measured.
            reference: desired.
            tau: the torque (n,) if there is one.
            elapsed: time of the trajectory, s; 0 without one.
            speed: of the trajectory, as a fraction of its own.
        """
        if not self._due.is_due(state.stamp):
            return
        if state.effort is not None:
            state = state._replace(effort=self._scale * state.effort)
        rows = desired_measured_error(state, reference, tau)
        for publisher, writer, values in zip(self._publishers, self._writers, rows, strict=True):
            publisher.publish(writer.fill(state.stamp, *values))
        if self._controller is not None:
            message = controller_state(
                self._type(),
                self._names,
                state.stamp,
                reference,
                *rows,
                elapsed=elapsed,
                speed=speed,
            )
            self._controller.publish(message)
