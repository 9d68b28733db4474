# SPDX-License-Identifier: Apache-2.0
"""Lifecycle node that publishes `/tf`, `/tf_static` and the latched `robot_description`.

Subscribes
    joint_states        sensor_msgs/JointState
    robot_description   std_msgs/String             latched, if no parameter gives it
Publishes
    /tf, /tf_static     tf2_msgs/TFMessage          where tf2_msgs is installed
    robot_description   std_msgs/String             latched, if a parameter gives it
    /diagnostics        diagnostic_msgs/DiagnosticArray

For systems without robot_state_publisher, with the same topics and meaning: a transform is
published for each joint state, with its stamp; mimic joints follow their leader; fixed joints, and
those locked by parameter, go to /tf_static. The poses come from this package's kinematics.

Transforms need tf2_msgs, which comes with every ROS 2 distribution but not as a wheel on PyPI.
Without it the node publishes the description alone, with a warning.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Transform, TransformStamped, Vector3
from std_msgs.msg import String
from typing_extensions import override

from robot_dynamics.common.spatial import Array
from robot_dynamics.control.joint_reading import JointDataError, JointMap, StampRateLimit, finite
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.ros import health, messages, qos
from robot_dynamics.ros.diagnostics import Diagnostics
from robot_dynamics.ros.health import Status
from robot_dynamics.ros.joint_state_input import JointStateTopic
from robot_dynamics.ros.lifecycle import RobotNode
from robot_dynamics.ros.marker_messages import quaternion_message
from robot_dynamics.ros.node_parameters import StatePublisherParameters
from robot_dynamics.ros.robot_source import RobotSource
from robot_dynamics.ros.serialization import JointStateValues
from robot_dynamics.urdf.link_frames import LinkFrame, link_frames

WITHOUT_TF = (
    'tf2_msgs is not installed: /tf and /tf_static are not published, robot_description is; apt '
    f'install ros-{os.environ.get("ROS_DISTRO", "DISTRO")}-tf2-msgs (PyPI has no wheel of it)'
)


class StatePublisherNode(RobotNode):
    """Turns joint states into transforms."""

    table = StatePublisherParameters

    def __init__(self, **kwargs: Any):
        super().__init__('state_publisher_node', **kwargs)
        self.diagnostics = self.add(Diagnostics(self))
        warning = self.get_logger().warning
        self._message = messages.installed('tf2_msgs.msg', 'TFMessage', warning)
        self._tf_out = self._static_out = None
        if self._message is None:
            self.get_logger().warning(WITHOUT_TF)
        else:
            self._tf_out = self.create_publisher(self._message, '/tf', qos.STREAM_OUT)
            self._static_out = self.create_publisher(self._message, '/tf_static', qos.LATCHED)
        self._text_out: Any = None  # created if a parameter gives the description
        self.robot = self.add(RobotSource(self))
        self.joint_states = self.add(JointStateTopic(self, self._read, self._on_positions))
        self.robot.begin()

    @override
    def use(self, arm: Dynamics) -> None:
        """Publish the frames of this robot from now on."""
        text = self.robot.text
        self._text = text if isinstance(text, str) else text.decode()
        self._links = link_frames(self._text, self.parameters.locked())
        self._joints = JointMap(self._links.coordinates)
        self.restart()
        if self.active:
            self.activate()

    @override
    def restart(self) -> None:
        """Publish the next position of every joint."""
        parameters: StatePublisherParameters = self.parameters
        rate = parameters.publish_frequency
        self._rates = {joint: StampRateLimit(rate) for joint in self._links.coordinates}
        self._missing = set(self._links.coordinates)

    @override
    def activate(self) -> None:
        """Publish the description and the fixed frames."""
        if self.parameters.robot_description or self.parameters.robot_description_file:
            if self._text_out is None:
                self._text_out = self.create_publisher(String, 'robot_description', qos.LATCHED)
            self._text_out.publish(String(data=self._text))
        fixed = [frame for frame in self._links.frames if frame.coordinate is None]
        self._publish(self._static_out, self.get_clock().now().to_msg(), fixed, {})

    @override
    def status(self) -> Status | None:
        """Return that transforms are not published, or the joints without joint state, or None."""
        if self._message is None:
            return health.WARN, WITHOUT_TF
        if self._missing and self.health.inputs:
            names = ', '.join(sorted(self._missing))
            return health.WARN, f'no joint_states of {names} received'
        return None

    def _read(self, state: JointStateValues) -> tuple[int, dict[str, float]]:
        return state.stamp, positions_of(state, self._joints)

    def _on_positions(self, stamped: tuple[int, dict[str, float]]) -> None:
        """Publish the transforms of the joints in a joint state."""
        stamp, positions = stamped
        self._missing -= positions.keys()
        if self.parameters.ignore_timestamp:
            stamp = self.get_clock().now().nanoseconds
        due = {joint for joint in positions if self._rates[joint].is_due(stamp)}
        moved = [frame for frame in self._links.frames if frame.coordinate in due]
        if moved:
            self._publish(self._tf_out, messages.time_message(stamp), moved, positions)

    def _publish(
        self, publisher: Any, stamp: Time, frames: Iterable[LinkFrame], positions: dict[str, float]
    ) -> None:
        if self._message is None:
            return
        prefix = self.parameters.frame_prefix
        publisher.publish(self._message(transforms=transforms(frames, positions, stamp, prefix)))


def positions_of(message: Any, joints: JointMap) -> dict[str, float]:
    """Return the positions of these joints in a joint state, without other joints.

    Raises:
        JointDataError: the message contradicts itself, or a position is not finite.
    """
    if len(message.position) != len(message.name):
        raise JointDataError(
            f'{len(message.position)} positions for {len(message.name)} joint names'
        )
    places, known = joints.places(message.name)
    names = tuple(joints.joint_names[joint] for joint in known)
    values = np.array([message.position[place] for place in places])
    return dict(zip(names, finite(values, names, 'position').tolist(), strict=True))


def transforms(
    frames: Iterable[LinkFrame], positions: dict[str, float], stamp: Time, prefix: str
) -> list[TransformStamped]:
    """Return the poses of links in their parent links, at the positions of their coordinates."""
    result = []
    for frame in frames:
        at = 0.0 if frame.coordinate is None else positions[frame.coordinate]
        transform = TransformStamped(
            child_frame_id=prefix + frame.link, transform=transform_message(frame.pose(at))
        )
        transform.header.frame_id, transform.header.stamp = prefix + frame.parent, stamp
        result.append(transform)
    return result


def transform_message(T: Array) -> Transform:
    """Return a transform message of a pose (4, 4)."""
    x, y, z = T[:3, 3].tolist()
    return Transform(translation=Vector3(x=x, y=y, z=z), rotation=quaternion_message(T[:3, :3]))
