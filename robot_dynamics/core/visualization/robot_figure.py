# SPDX-License-Identifier: Apache-2.0
"""Matplotlib figures of a robot: links as lines, joint axes, inertia ellipsoids."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.reporting.figures import plain, save, sheet
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.kinematics import body_poses, com_positions, joint_axes
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.core.visualization.marker_shapes import Ellipsoid, inertia_ellipsoid

AXIS_LENGTH = 0.07  # of the lines along joint axes, relative to the size of the robot
JOINTS = {True: ('revolute joint', 'tab:blue'), False: ('prismatic joint', 'tab:green')}


class Skeleton(NamedTuple):
    """A robot as lines, in the base frame, m."""

    links: Array  # (l, 2, 3) ends of the links
    axes: Array  # (nb, 2, 3) ends of the joint axes, seen from the joints
    tip: Array  # (3,) end of the last link


def plot_robot(model: RobotModel, q: ArrayLike, file: str | Path | None = None) -> Any:
    """Draw a robot in a posture: links, joint axes, and the inertia ellipsoids of the links.

    An ellipsoid is the uniform body with the mass and inertia tensor of a link.

    Args:
        model: the robot.
        q: (n,) joint positions, rad or m.
        file: to save the figure.

    Returns:
        The matplotlib Figure.

    Raises:
        MatplotlibMissing: it is not installed.
        ShapeError: q is not (n,).
    """
    posture = np.asarray(q, dtype=float)
    poses = body_poses(model, posture)
    figure = sheet(8, 8)
    # Links are drawn above the ellipsoids that contain them.
    axes = figure.add_subplot(projection='3d', computed_zorder=False)
    draw_skeleton(axes, model, skeleton(model, posture))
    corners = [extent(model, posture[None])]
    for i in range(model.nb):
        ellipsoid = inertia_ellipsoid(model.inertial(i), poses[i])
        if ellipsoid is not None:
            corners.append(draw_ellipsoid(axes, ellipsoid, 'tab:orange'))
    axes.plot([], [], color='tab:orange', linewidth=6, alpha=0.4, label='inertia of a link')
    axes.legend(loc='upper left')
    axes.set_title(plain(model.name))
    points = np.concatenate(corners)
    equal_axes(axes, np.array([points.min(axis=0), points.max(axis=0)]))
    return save(figure, file)


def skeleton(model: RobotModel, q: Array) -> Skeleton:
    """Return a robot as lines at the joint positions q (n,).

    Links run from joint to joint; the last one of a branch to its farthest frame, or to its centre
    of mass where it has no frame away from its joint.

    Raises:
        ShapeError: q is not (n,).
    """
    poses = body_poses(model, q)
    joints = poses[:, :3, 3]
    starts = [joints[p] if p >= 0 else np.zeros(3) for p in model.parent]
    links = list(zip(starts, joints, strict=True))
    ends = {i: _end(model, poses, i) for i in range(model.nb) if i not in model.parent}
    links += [(joints[i], end) for i, end in ends.items()]
    size = _size(np.array([*joints, *ends.values(), np.zeros(3)]))
    half = AXIS_LENGTH * size * joint_axes(model, poses)
    axes = np.stack([joints - half, joints + half], axis=1)
    return Skeleton(np.array(links), axes, list(ends.values())[-1])


def extent(model: RobotModel, q: Array) -> Array:
    """Return the lower and upper corner (2, 3) of the box around a robot in postures (k, n)."""
    points = [np.zeros((1, 3))]
    for posture in q:
        points.append(skeleton(model, posture).links.reshape(-1, 3))
        points.append(com_positions(model, body_poses(model, posture)))
    stacked = np.concatenate(points)
    return np.array([stacked.min(axis=0), stacked.max(axis=0)])


def draw_skeleton(axes: Any, model: RobotModel, shape: Skeleton) -> list[Any]:
    """Draw links and joint axes; return their lines, in the order of `Skeleton`."""
    lines = [
        axes.plot(*link.T, color='0.25', linewidth=3, solid_capstyle='round', zorder=2)[0]
        for link in shape.links
    ]
    named: set[str] = set()
    for revolute, axis in zip(model.revolute.tolist(), shape.axes, strict=True):
        name, colour = JOINTS[revolute]
        label = None if name in named else name
        named.add(name)
        lines += axes.plot(*axis.T, color=colour, linewidth=5, label=label, zorder=2)
    return lines


def move_skeleton(lines: list[Any], shape: Skeleton) -> None:
    """Move the lines of `draw_skeleton` to another posture."""
    for line, ends in zip(lines, [*shape.links, *shape.axes], strict=True):
        line.set_data_3d(*ends.T)


def draw_ellipsoid(axes: Any, ellipsoid: Ellipsoid, colour: str) -> Array:
    """Draw an ellipsoid as a translucent surface; return its lower and upper corner (2, 3)."""
    u, v = np.linspace(0, 2 * np.pi, 25), np.linspace(0, np.pi, 13)
    ball = np.stack(
        [
            np.outer(np.cos(u), np.sin(v)),
            np.outer(np.sin(u), np.sin(v)),
            np.outer(np.ones_like(u), np.cos(v)),
        ],
        axis=-1,
    )
    surface = (ball * ellipsoid.half_axes) @ ellipsoid.pose[:3, :3].T + ellipsoid.pose[:3, 3]
    axes.plot_surface(*np.moveaxis(surface, -1, 0), color=colour, alpha=0.3, linewidth=0)
    points = surface.reshape(-1, 3)
    return np.array([points.min(axis=0), points.max(axis=0)])


def equal_axes(axes: Any, box: Array) -> None:
    """Give 3D axes one scale, around a box of lower and upper corner (2, 3), m."""
    low, high = box
    half = max(float((high - low).max()) / 2, 1e-3)
    for k, limits in enumerate((axes.set_xlim, axes.set_ylim, axes.set_zlim)):
        limits((low + high)[k] / 2 - half, (low + high)[k] / 2 + half)
    axes.set(xlabel='x [m]', ylabel='y [m]', zlabel='z [m]')
    axes.set_box_aspect((1, 1, 1))


def _end(model: RobotModel, poses: Array, i: int) -> Array:
    """Return the end (3,) of a body without children."""
    T = poses[i]
    points = [
        place[:3, 3]
        for place, body in zip(model.frame_placement, model.frame_body, strict=True)
        if body == i
    ]
    far = max(points, key=lambda point: float(np.linalg.norm(point)), default=model.com[i])
    end = far if np.any(far) else model.com[i]
    return np.asarray(T[:3, :3] @ end + T[:3, 3])


def _size(points: Array) -> float:
    return max(float((points.max(axis=0) - points.min(axis=0)).max()), 1e-3)
