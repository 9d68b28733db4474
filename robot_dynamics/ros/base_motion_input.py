# SPDX-License-Identifier: Apache-2.0
"""Motion of the base received by a node, as `base_motion.source` says.

    imu        base_motion/imu       sensor_msgs/Imu             a sensor fixed to the base
    odometry   base_motion/odometry  nav_msgs/Odometry           of a child frame fixed to the base
    command    base_motion/accel     geometry_msgs/AccelStamped  proper: 9.81 upwards at rest
               base_motion/twist     geometry_msgs/TwistStamped

Each is in the axes of the link of the robot in its frame_id (of odometry, child_frame_id).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from geometry_msgs.msg import AccelStamped, TwistStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu
from typing_extensions import override

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.spatial import Array
from robot_dynamics.control.arm_on_moving_base import Arm, ArmOnMovingBase
from robot_dynamics.control.base_motion_estimate import (
    FIXED,
    TILT,
    BaseMotionEstimate,
    BaseMotionSettings,
    MotionSample,
)
from robot_dynamics.control.base_motion_sources import (
    BaseMotionError,
    CommandSource,
    InertialSource,
    Mounting,
    OdometrySource,
)
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.ros import health, messages, qos
from robot_dynamics.ros.health import Status
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.part import Part

NOT_MEASURED = -1.0  # first covariance of a quantity that a sensor does not have


class BaseMotionInput(Part):
    """Part of a node with a parameter group `base_motion`: the motion of its base.

    Attributes:
        moves: whether the base moves, as of `base_motion.source`.
    """

    def __init__(self, node: RobotNode):
        """Subscribe to the topics of the source, if there is one."""
        self._node = node
        settings: BaseMotionSettings = node.parameters.base_motion
        self.moves = settings.source != FIXED
        self._estimate = BaseMotionEstimate(settings)
        self._rejection = ''  # why messages since the last valid one were rejected
        self._was_lost = False
        self._mountings: dict[str, Mounting] = {}
        self._moving: ArmOnMovingBase | None = None
        self._inertial = InertialSource(settings)
        self._odometry = OdometrySource(settings)
        self._command = CommandSource(settings)
        self._topics = []
        for kind, name, read in {
            'imu': [(Imu, 'imu', self._read_imu)],
            'odometry': [(Odometry, 'odometry', self._read_odometry)],
            'command': [
                (AccelStamped, 'accel', self._read_acceleration),
                (TwistStamped, 'twist', self._read_twist),
            ],
        }.get(settings.source, []):
            topic = f'base_motion/{name}'
            self._topics.append(topic)
            node.subscribe(
                kind, topic, topic, self._noting(read), self._estimate.add, qos.JOINT_STATES_IN
            )

    # -- hooks ------------------------------------------------------------------------------

    @override
    def use(self, arm: Dynamics) -> None:
        """Find the links of sensors on this robot."""
        self._mountings.clear()

    @override
    def restart(self) -> None:
        """Drop motions received before."""
        self._rejection, self._was_lost = '', False
        for part in (self._estimate, self._inertial, self._odometry, self._command):
            part.restart()

    @override
    def adopt(self, changes: set[str]) -> None:
        """Use another low-pass, age limit or fallback."""
        for part in (self._estimate, self._inertial, self._odometry, self._command):
            part.settings = self._node.parameters.base_motion

    @override
    def status(self) -> Status | None:
        """Return a WARN while the motion of the base is not known."""
        return (health.WARN, self.lost) if self.lost else None

    @override
    def figures(self) -> dict[str, str]:
        """Return where the motion of the base comes from."""
        if not self.moves:
            return {}
        estimate = self._estimate
        source = estimate.fallback if estimate.lost else self._node.parameters.base_motion.source
        return {'base motion': source + ' (fading)' * estimate.fading}

    # -- the motion -------------------------------------------------------------------------

    def at(self, stamp: int) -> Array | None:
        """Return the motion (9,) at the stamp [ns] of a joint state; None if the base is fixed.

        Without data it is that of the fallback: at rest. It has no jumps; see `lost`.
        """
        if not self.moves:
            return None
        motion = self._estimate.at(stamp, self._node.arm.model.gravity)
        was_lost, self._was_lost = self._was_lost, bool(self._estimate.lost)
        if self._was_lost and not was_lost:
            self._node.count_event('base motion lost')
        return motion

    @property
    def lost(self) -> str:
        """Why the motion at the last stamp is that of the fallback, a sentence; or ''."""
        if not self._estimate.lost:
            return ''
        why = self._rejection or self._command.missing or self._estimate.lost
        return f'{", ".join(self._topics)}: {why}; fallback: {self._estimate.fallback}'

    @property
    def unknown(self) -> str:
        """Why the motion at the last stamp is not that of the source alone, or ''."""
        if self._estimate.fading:
            return self.lost or 'the motion of the base is back, and fades in'
        return self.lost

    def of(self, arm: Dynamics) -> Arm:
        """Return an arm on its base: fixed, or moving and at first at rest."""
        return ArmOnMovingBase(arm) if self.moves else arm

    def arm_at(self, stamp: int) -> Arm:
        """Return the present arm of the node at the motion of its base at a stamp [ns]."""
        arm: Dynamics = self._node.arm
        motion = self.at(stamp)
        if motion is None:
            return arm
        if self._moving is None or self._moving.arm is not arm:
            self._moving = ArmOnMovingBase(arm)
        self._moving.motion = motion
        return self._moving

    # -- messages ---------------------------------------------------------------------------

    def _noting(self, read: Any) -> Any:
        """Return a reader that keeps the first reason for which messages are rejected."""

        def noting(message: Any) -> MotionSample | None:
            try:
                sample: MotionSample | None = read(message)
            except RobotDynamicsError as error:
                self._rejection = self._rejection or str(error)
                raise
            if sample is not None:
                self._rejection = ''
            return sample

        return noting

    def _read_imu(self, message: Imu) -> MotionSample | None:
        for name in ('angular_velocity', 'linear_acceleration'):
            if getattr(message, f'{name}_covariance')[0] == NOT_MEASURED:
                raise BaseMotionError(
                    f'{name}_covariance[0] is -1: the sensor does not measure {name}'
                )
        attitude = None
        if (
            self._node.parameters.base_motion.fallback == TILT
            and message.orientation_covariance[0] != NOT_MEASURED
        ):
            attitude = messages.rotation(message.orientation, 'orientation')
        return self._inertial.add(
            messages.nanoseconds(message.header.stamp),
            messages.vector(message.angular_velocity),
            messages.vector(message.linear_acceleration),
            self._mounting(message.header.frame_id),
            self._gravity,
            attitude,
            self._node.arm.model.gravity,
        )

    def _read_odometry(self, message: Odometry) -> MotionSample | None:
        twist = message.twist.twist
        return self._odometry.add(
            messages.nanoseconds(message.header.stamp),
            np.concatenate([messages.vector(twist.angular), messages.vector(twist.linear)]),
            messages.rotation(message.pose.pose.orientation),
            self._mounting(message.child_frame_id, 'child_frame_id'),
            self._gravity,
            self._node.arm.model.gravity,
        )

    def _read_acceleration(self, message: AccelStamped) -> MotionSample | None:
        return self._command.add_acceleration(
            messages.nanoseconds(message.header.stamp),
            messages.vector(message.accel.angular),
            messages.vector(message.accel.linear),
            self._mounting(message.header.frame_id),
            self._gravity,
            self._node.arm.model.gravity,
        )

    def _read_twist(self, message: TwistStamped) -> MotionSample | None:
        return self._command.add_twist(
            messages.nanoseconds(message.header.stamp),
            messages.vector(message.twist.angular),
            self._mounting(message.header.frame_id),
        )

    @property
    def _gravity(self) -> Array:
        """The gravity vector (3,) in the world, to which attitudes refer."""
        return np.array(self._node.parameters.gravity)

    def _mounting(self, frame_id: str, field: str = 'frame_id') -> Mounting:
        """Return the pose of a link in the base frame.

        Raises:
            BaseMotionError: there is no such link, or it moves.
        """
        if frame_id in self._mountings:
            return self._mountings[frame_id]
        model, name = self._node.base.model, self._node.own_frame(frame_id)
        if name not in model.frame_names:
            frames = zip(model.frame_names, model.frame_body, strict=True)
            fixed = [frame for frame, body in frames if body < 0]
            raise BaseMotionError(
                f'{field} is {frame_id!r}; expected a link of the robot that is fixed to its '
                f'base, of {", ".join(fixed)}'
            )
        k = model.frame_index(name)
        if model.frame_body[k] >= 0:
            raise BaseMotionError(
                f'{field} is {frame_id!r}, which moves relative to the base; expected a link '
                'that is fixed to it'
            )
        T = model.frame_placement[k]
        self._mountings[frame_id] = Mounting(T[:3, :3].copy(), T[:3, 3].copy())
        return self._mountings[frame_id]
