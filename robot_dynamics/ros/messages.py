# SPDX-License-Identifier: Apache-2.0
"""Conversion between arrays and ROS messages. Stamps are integers, ns.

Torques are `sensor_msgs/JointState` with names, effort and the input's stamp. A mass or
Coriolis matrix is a `std_msgs/Float64MultiArray`, row-major, dimensions labelled `rows` and
`columns`. That type has no header, so the stamp of the torques it belongs to stands in the label:
`rows; stamp 12.000000345`. Names of the joints and the frame follow the other label, as JSON:
`columns; {"frame": "base", "joints": ["shoulder", "elbow"]}`. `matrix_stamp` and `matrix_joints`
read them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import InertiaStamped, Pose, Quaternion, Vector3, Wrench
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.serialization import deserialize_message
from rclpy.type_support import check_for_type_support, check_is_valid_msg_type
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Float64MultiArray, Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics.common import spatial
from robot_dynamics.common.errors import RobotDynamicsError, TrajectoryError
from robot_dynamics.common.spatial import Array
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control.spline import Waypoint
from robot_dynamics.control.trajectory import LINEAR, SMOOTH, Trajectory

TENSOR = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')  # of an Inertia message

UNIT = 1e-3  # largest error of the norm of a quaternion


class MalformedMessage(RobotDynamicsError, ValueError):  # noqa: N818  (as DescriptionTimeout)
    """The bytes of a message cannot be decoded."""


def installed(module: str, name: str, report: Callable[[str], None]) -> Any:
    """Return a type of a package that may be missing, as control_msgs; None without it.

    Args:
        module: of the package.
        name: of a message, or of an action.
        report: called with a sentence if the package is found, and the type cannot be loaded.
    """
    try:
        found = getattr(import_module(module), name)
        is_action = hasattr(found, 'Goal')
        (check_for_type_support if is_action else check_is_valid_msg_type)(found)
    except ModuleNotFoundError:
        return None
    except Exception as error:  # noqa: BLE001  (whatever a broken package raises as it loads)
        report(
            f'{module} is installed, but {name} cannot be loaded, so it is not used: '
            f'{type(error).__name__}: {error}'
        )
        return None
    return found


def decode(data: bytes, message_type: type) -> Any:
    """Return the message that was serialized.

    Raises:
        MalformedMessage: the bytes are not a message of this type.
    """
    try:
        message = deserialize_message(data, message_type)
    except rclpy_implementation.RMWError as error:
        raise MalformedMessage(
            f'{len(data)} bytes are not a {message_type.__name__}: {error}'
        ) from None
    if message_type is Clock and message.clock.sec < 0:  # rclpy's subscription raises on it
        raise MalformedMessage(f'the clock is at {message.clock.sec} s; expected 0 or more')
    return message


def queued(subscription: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the messages in a subscription's queue with their information, oldest first."""
    queue = subscription.handle
    with queue:
        while (taken := queue.take_message(subscription.msg_type, subscription.raw)) is not None:
            yield taken


def nanoseconds(stamp: Time) -> int:
    """Return a stamp or duration as ns."""
    return int(stamp.sec * SECOND + stamp.nanosec)


def time_message(stamp: int) -> Time:
    """Return a time message of a stamp in ns."""
    return Time(sec=stamp // SECOND, nanosec=stamp % SECOND)


def duration_message(seconds: float) -> Duration:
    """Return a duration message of a time in s."""
    nanoseconds = round(seconds * SECOND)
    return Duration(sec=nanoseconds // SECOND, nanosec=nanoseconds % SECOND)


def matrix(message: Float64MultiArray) -> Array:
    """Return the (rows, columns) array of a matrix message."""
    rows, columns = (dimension.size for dimension in message.layout.dim)
    return np.array(message.data).reshape(rows, columns)


def matrix_stamp(message: Float64MultiArray) -> int:
    """Return the stamp [ns] of the torques that a matrix message belongs to."""
    seconds, fraction = message.layout.dim[0].label.rpartition(' ')[2].split('.')
    return int(seconds) * SECOND + int(fraction)


def matrix_label(joint_names: tuple[str, ...], frame_id: str) -> str:
    """Return the label of the columns of a matrix: its joints and its frame, as JSON."""
    return f'columns; {json.dumps({"frame": frame_id, "joints": joint_names})}'


def matrix_joints(message: Float64MultiArray) -> tuple[tuple[str, ...], str]:
    """Return the joint names of the rows and columns of a matrix message, and its frame."""
    _, _, text = message.layout.dim[1].label.partition('; ')
    label = json.loads(text)
    return tuple(label['joints']), label['frame']


def trajectory(message: JointTrajectory, interpolation: str = SMOOTH) -> Trajectory:
    """Return the trajectory of a message, joints in the message's order.

    Args:
        message: its points.
        interpolation: of points without velocities, smooth or linear; see `Trajectory`.

    Raises:
        TrajectoryError: which point of it is wrong, and why.
    """
    points = message.points
    return Trajectory(
        message.joint_names,
        [nanoseconds(point.time_from_start) / SECOND for point in points],
        [point.positions for point in points],
        [point.velocities for point in points],
        [point.accelerations for point in points],
        interpolation=interpolation,
    )


def trajectory_message(
    motion: Trajectory, header: Header | None = None, efforts: Array | None = None
) -> JointTrajectory:
    """Return a trajectory as a message.

    Args:
        motion: m points of n joints.
        header: its stamp of zero, the default, means: from the next state on.
        efforts: (m, n) torques at the points, N m or N.
    """
    q, qd, qdd = motion.points
    fields = {'positions': q, 'velocities': qd, 'accelerations': qdd}
    if efforts is not None:
        fields['effort'] = efforts
    points = []
    for k, t in enumerate(motion.times):
        given = {name: rows[k] for name, rows in fields.items() if not np.isnan(rows[k, 0])}
        lists = {name: row.tolist() for name, row in given.items()}
        points.append(JointTrajectoryPoint(time_from_start=duration_message(t), **lists))
    names = list(motion.joint_names)
    return JointTrajectory(header=header or Header(), joint_names=names, points=points)


def one_point(message: JointTrajectory, joint_names: tuple[str, ...]) -> Waypoint:
    """Return the point of a JointTrajectory that has one: how references stream.

    Raises TrajectoryError if there is not exactly one, or it is wrong, and why.
    """
    if len(message.points) != 1:
        raise TrajectoryError(f'a reference has {len(message.points)} points; it must have one')
    return trajectory(message).in_order(joint_names).waypoint(0)


def window(message: JointTrajectory, joint_names: tuple[str, ...], frequency: float) -> Trajectory:
    """Return the points of a message that is one of a stream, of all joints.

    Args:
        message: its points; several without `time_from_start` are an action chunk.
        joint_names: of all joints.
        frequency: of the points of an action chunk, Hz; the first one is at 1 / frequency.

    Raises:
        TrajectoryError: a point is wrong, a joint is missing, or a chunk has no frequency.
    """
    points = message.points
    if not points:
        raise TrajectoryError('a reference has no points; it must have one or more')
    times = [nanoseconds(point.time_from_start) / SECOND for point in points]
    if len(points) > 1 and not any(times):
        if frequency <= 0:
            raise TrajectoryError(
                f'{len(points)} points have no time_from_start, and policy_frequency is '
                f'{frequency:g}; expected times, or the frequency of the points in Hz'
            )
        times = [(k + 1) / frequency for k in range(len(points))]
    return Trajectory(
        message.joint_names,
        times,
        [point.positions for point in points],
        [point.velocities for point in points],
        interpolation=LINEAR,
    ).in_order(joint_names)


def inertia_message(
    stamp: Time, frame_id: str, mass: float, com: Iterable[float], tensor: Iterable[float]
) -> InertiaStamped:
    """Return a payload as a message; the tensor is ixx ixy ixz iyy iyz izz, about the com."""
    message = InertiaStamped()
    message.header.stamp, message.header.frame_id = stamp, frame_id
    inertia = message.inertia
    inertia.m = mass
    inertia.com.x, inertia.com.y, inertia.com.z = com
    for name, value in zip(TENSOR, tensor, strict=True):
        setattr(inertia, name, value)
    return message


def pose(message: Pose) -> Array:
    """Return a pose (4, 4). Raises MalformedMessage unless the quaternion has the norm 1."""
    p = message.position
    return spatial.pose(rotation(message.orientation), np.array([p.x, p.y, p.z]))


def rotation(o: Quaternion, of: str = 'pose') -> Array:
    """Return the rotation matrix (3, 3) of an orientation `of` something.

    Raises MalformedMessage unless the quaternion has the norm 1.
    """
    size = math.hypot(o.x, o.y, o.z, o.w)
    if not abs(size - 1.0) <= UNIT:
        raise MalformedMessage(f'the quaternion of the {of} has the norm {size:.6g}; expected 1')
    return spatial.quaternion_rotation(np.array([o.x, o.y, o.z, o.w]))


def vector(message: Vector3) -> Array:
    """Return a vector (3,)."""
    return np.array([message.x, message.y, message.z])


def wrench(message: Wrench) -> Array:
    """Return a six-vector, angular part first as everywhere in this package."""
    n, f = message.torque, message.force
    return np.array([n.x, n.y, n.z, f.x, f.y, f.z])
