# SPDX-License-Identifier: Apache-2.0
"""Base of the simulated arm: fixed, prescribed by a file, or as other nodes publish its motion.

Of a prescribed motion, the values of an inertial sensor at the origin of the base link are
published on ~/imu, with the exact orientation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from geometry_msgs.msg import Quaternion, Vector3
from numpy.typing import ArrayLike
from sensor_msgs.msg import Imu
from typing_extensions import override

from robot_dynamics.common.spatial import quaternion, rotation_rpy
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.core.base_motion import BaseMotion
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.ros import messages, qos
from robot_dynamics.ros.base_motion_input import BaseMotionInput
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.part import Part
from robot_dynamics.simulation.inertial_sensor import InertialSensing
from robot_dynamics.simulation.prescribed_base_motion import PrescribedBaseMotion
from robot_dynamics.simulation.steps.held_base import MovingBase


class SimulatedBase(Part):
    """Part of simulator_node: the motion of its base."""

    def __init__(self, node: RobotNode):
        """Read the file, or subscribe to the topics of the source. Raises as `prescribed_base`."""
        self._node = node
        self._prescribed = node.parameters.prescribed_base()
        self._received = ReceivedBase(node, node.add(BaseMotionInput(node)))
        self._imu = (
            None
            if self._prescribed is None
            else node.create_publisher(Imu, '~/imu', qos.STREAM_OUT)
        )

    @property
    def motion(self) -> MovingBase | None:
        """The motion of the base; None if it is fixed."""
        return self._received if self._received.moves else self._prescribed

    @property
    def to_compile(self) -> MovingBase | None:
        """A base for which the same programs are compiled, without state."""
        return None if self.motion is None else PrescribedBaseMotion()

    @override
    def use(self, arm: Dynamics) -> None:
        """Begin the sensor anew on this robot."""
        parameters = self._node.parameters
        if self._prescribed is None:
            return
        self._sensing = InertialSensing(
            parameters.imu,
            self._prescribed,
            seed=parameters.sensors__seed,
            gravity=arm.model.gravity,
        )
        self._last = -1.0  # s, time of the last message
        self._frame = parameters.frame_prefix + arm.model.link_names[0]
        # Orientations refer to the frame of gravity.
        self._mounted = rotation_rpy(*parameters.base_orientation)

    def publish(self, stamp: int, t: float) -> None:
        """Publish the measurement of a time [s], with the stamp [ns] of its joint state.

        Each is published once: a sensor sends no stamp twice. The noise begins anew where the time
        goes back.
        """
        if self._imu is None or t == self._last:
            return
        if t < self._last:
            self._sensing.reset()
        self._last = t
        measured = self._sensing.read(t)
        message = Imu()
        message.header.stamp, message.header.frame_id = messages.time_message(stamp), self._frame
        x, y, z, w = quaternion(self._mounted @ measured.attitude)
        message.orientation = Quaternion(x=x, y=y, z=z, w=w)
        message.angular_velocity = _vector(measured.angular_velocity)
        message.linear_acceleration = _vector(measured.proper_acceleration)
        self._imu.publish(message)


class ReceivedBase:
    """A base whose motion other nodes publish, at the stamps of the simulation."""

    def __init__(self, node: Any, source: BaseMotionInput):
        self._node, self._source = node, source

    @property
    def moves(self) -> bool:
        """Whether there is such a source."""
        return self._source.moves

    def motion(self, t: float, gravity: ArrayLike) -> BaseMotion:
        """Return the motion at a time, s; at rest before the robot is known."""
        row = None
        if self._node.arm is not None:
            row = self._source.at(self._node.loop.epoch + round(t * SECOND))
        if row is None:
            return BaseMotion.at_rest(gravity=gravity)
        return BaseMotion(*np.split(row, 3))


def _vector(v: ArrayLike) -> Vector3:
    x, y, z = np.asarray(v).tolist()
    return Vector3(x=x, y=y, z=z)
