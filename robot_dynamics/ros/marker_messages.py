# SPDX-License-Identifier: Apache-2.0
"""Shapes of `robot_dynamics.core.visualization` as rviz markers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Pose, Quaternion
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from robot_dynamics.common.spatial import Array, quaternion
from robot_dynamics.core.visualization import Arrow, Box, Ellipsoid

Shape = Arrow | Box | Ellipsoid

SHAFT, HEAD, HEAD_LENGTH = 0.012, 0.024, 0.04  # m, diameters and length of an arrow's parts
SHORTEST = 1e-3  # m, of an arrow; shorter ones have no direction
THINNEST = 1e-3  # m, of a solid: rviz warns of a scale of 0 (14.1.5, shape_marker.cpp)


def marker_array(
    shapes: Mapping[str, Mapping[str, Shape]],
    colors: Mapping[str, tuple[float, float, float, float]],
    stamp: Time,
    frame_id: str,
) -> MarkerArray:
    """Return markers, one namespace for each kind of shape.

    Args:
        shapes: by kind, then by the name of their body or joint, always in the same order.
        colors: red, green, blue and opacity of each kind.
        stamp: of the joint state.
        frame_id: the frame of their coordinates.
    """
    array = MarkerArray()
    for kind, named in shapes.items():
        r, g, b, a = colors[kind]
        for k, shape in enumerate(named.values()):
            marker = _marker(shape)
            marker.header.frame_id, marker.header.stamp = frame_id, stamp
            marker.ns, marker.id = kind, k
            marker.color = ColorRGBA(r=r, g=g, b=b, a=a)
            array.markers.append(marker)
    return array


def removal() -> Marker:
    """Return the marker that removes every marker sent before."""
    return Marker(action=Marker.DELETEALL)


def _marker(shape: Shape) -> Marker:
    if isinstance(shape, Arrow):
        return _arrow(shape)
    if isinstance(shape, Box):
        return _solid(Marker.CUBE, shape.pose, shape.sides)
    # rviz draws a sphere by its diameters.
    return _solid(Marker.SPHERE, shape.pose, 2 * shape.half_axes)


def _arrow(shape: Arrow) -> Marker:
    long_enough = np.linalg.norm(shape.end - shape.start) >= SHORTEST
    marker = Marker(type=Marker.ARROW, action=Marker.ADD if long_enough else Marker.DELETE)
    marker.pose.orientation.w = 1.0
    marker.points = [point(shape.start), point(shape.end)]
    marker.scale.x, marker.scale.y, marker.scale.z = SHAFT, HEAD, HEAD_LENGTH
    return marker


def _solid(kind: int, T: Array, size: Array) -> Marker:
    marker = Marker(type=kind, action=Marker.ADD, pose=pose_message(T))
    marker.scale.x, marker.scale.y, marker.scale.z = np.maximum(size, THINNEST).tolist()
    return marker


def point(p: Array) -> Point:
    """Return a point message of a point (3,)."""
    x, y, z = p.tolist()
    return Point(x=x, y=y, z=z)


def quaternion_message(R: Array) -> Quaternion:
    """Return a quaternion message of a rotation (3, 3)."""
    x, y, z, w = quaternion(R).tolist()
    return Quaternion(x=x, y=y, z=z, w=w)


def pose_message(T: Array) -> Pose:
    """Return a pose message of a pose (4, 4)."""
    return Pose(position=point(T[:3, 3]), orientation=quaternion_message(T[:3, :3]))
