# SPDX-License-Identifier: Apache-2.0
"""Drawing of the links of a description with the ellipsoids of their inertias."""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.check.description import Link
from robot_dynamics.check.examination import Examination
from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.reporting.figures import plain, sheet
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.inertia import Inertial
from robot_dynamics.core.visualization.marker_shapes import inertia_ellipsoid
from robot_dynamics.core.visualization.robot_figure import draw_ellipsoid, equal_axes

COLOURS = {'error': 'tab:red', 'warning': 'tab:orange', 'info': 'tab:blue'}
MEANINGS = {'error': 'errors', 'warning': 'warnings', 'info': 'no warning'}


def draw(examination: Examination) -> Any:
    """Return a matplotlib figure of the robot at zero joint positions.

    Boxes bound the geometry of links; ellipsoids are uniform bodies with the mass and tensor of a
    link, coloured by its findings. An ellipsoid much larger or smaller than its box is a wrong
    tensor.

    Raises:
        ModelError: the links do not form a tree.
        MatplotlibMissing: it is not installed.
    """
    robot = examination.robot
    if not robot.placements:
        raise ModelError(f'the robot cannot be drawn: {robot.rejection}')
    worst = {}
    for finding in reversed(examination.findings):  # the most severe is first
        worst[finding.element] = finding.severity
    figure = sheet(9, 9)
    axes = figure.add_subplot(projection='3d')
    points = [T[:3, 3] for T in robot.placements.values()]
    drawn: set[str] = set()
    for joint in robot.joints.values():
        ends = np.array([robot.placements[link][:3, 3] for link in (joint.parent, joint.child)])
        axes.plot(*ends.T, color='black', linewidth=1.5)
    for name, link in robot.links.items():
        T = robot.placements[name]
        severity = worst.get(name, 'info')
        extent = _draw_ellipsoid(axes, link, T, COLOURS[severity])
        drawn |= {severity} if extent else set()
        # A tensor in another unit may be large; it must not make the robot a dot.
        points += _draw_box(axes, link, T) or (extent if severity == 'info' else [])
    axes.set_title(plain(robot.root.get('name', '')))
    equal_axes(axes, np.array([np.min(points, axis=0), np.max(points, axis=0)]))
    boxes = any(link.geometry.solids for link in robot.links.values())
    _add_legend(axes, drawn, bool(robot.joints), boxes)
    return figure


def _add_legend(axes: Any, severities: set[str], joints: bool, boxes: bool) -> None:
    """Add a legend of what is drawn."""
    for severity, meaning in MEANINGS.items():
        if severity in severities:
            axes.plot([], [], color=COLOURS[severity], label=f'inertia, {meaning}')
    if joints:
        axes.plot([], [], color='black', linewidth=1.5, label='from joint to joint')
    if boxes:
        axes.plot([], [], color='gray', linewidth=0.6, label='bounding box of the geometry')
    if axes.get_legend_handles_labels()[1]:
        axes.legend(loc='upper left')


def _draw_box(axes: Any, link: Link, T: Array) -> list[Array]:
    """Draw the bounding box of the geometry; return its corners."""
    if not link.geometry.solids:
        return []
    solid = link.geometry.solids[-1]
    ends = np.array([solid.lower, solid.upper])
    corner = {
        (i, j, k): T[:3, :3] @ [ends[i, 0], ends[j, 1], ends[k, 2]] + T[:3, 3]
        for i in (0, 1)
        for j in (0, 1)
        for k in (0, 1)
    }
    for one, start in corner.items():
        for two, end in corner.items():
            if one < two and sum(a != b for a, b in zip(one, two, strict=True)) == 1:
                axes.plot(*np.array([start, end]).T, color='gray', linewidth=0.6)
    return list(corner.values())


def _draw_ellipsoid(axes: Any, link: Link, T: Array, colour: str) -> list[Array]:
    """Draw the ellipsoid of the inertia; return the ends of its half-axes."""
    body = Inertial(link.body.mass, link.body.com, link.tensor)
    ellipsoid = inertia_ellipsoid(body, T)
    if ellipsoid is None:
        return []
    draw_ellipsoid(axes, ellipsoid, colour)
    arms = (ellipsoid.pose[:3, :3] * ellipsoid.half_axes).T
    return [ellipsoid.pose[:3, 3] + sign * arm for arm in arms for sign in (-1, 1)]
