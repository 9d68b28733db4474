# SPDX-License-Identifier: Apache-2.0
"""Capsules around the collision geometry of a robot description.

The shapes of a link are divided into small triangles, and these are covered by a capsule along
their principal axis, or by several if they are thinner. A link without collision geometry is
covered by its visual geometry. Meshes are read by trimesh (extra `[check]`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.identification.excitation.clearance import Capsule
from robot_dynamics.urdf.geometry.mesh_process import read_mesh
from robot_dynamics.urdf.geometry.meshes import MeshError
from robot_dynamics.urdf.geometry.shapes import Shape, link_shapes
from robot_dynamics.urdf.reader import xml_root

SIDES = 12  # of the prism around a cylinder
FINENESS = 8  # triangles are divided until edges are shorter than this part of the shape
MAX_TRIANGLES = 100_000
DEPTH = 2  # at most 2^DEPTH capsules cover a link
SAVING = 0.8  # several capsules replace one if they are thinner by this factor


def capsules_of(
    urdf: str | bytes, folders: Sequence[Path] = ()
) -> tuple[list[Capsule], list[str]]:
    """Return capsules around the shapes of all links, and remarks on shapes that are missing.

    Args:
        urdf: the text.
        folders: where packages and relative mesh paths are searched.

    Raises:
        ModelError: the text is no XML, or a shape is wrong.
    """
    found: list[Capsule] = []
    remarks: list[str] = []
    for link in xml_root(urdf).findall('link'):
        name, parts = link.get('name', ''), []
        for shape in link_shapes(link, 'collision', 'visual'):
            try:
                R, p = shape.pose[:3, :3], shape.pose[:3, 3]
                parts.append(_triangles(shape, folders) @ R.T + p)
            except MeshError as reason:
                remarks.append(f'link {name!r}: {reason}; its shape is not checked')
        triangles = np.concatenate([np.zeros((0, 3, 3)), *parts])
        if len(triangles):
            found += [Capsule(name, *capsule) for capsule in _cover(_fine(triangles), DEPTH)]
    return found, remarks


# -- triangles ------------------------------------------------------------------------------


def _triangles(shape: Shape, folders: Sequence[Path]) -> Array:
    """Return the triangles (k, 3, 3) of a shape's surface, in its frame. Raises MeshError."""
    if shape.kind == 'mesh':
        mesh = read_mesh(shape.mesh, folders)[1]
        return np.array(mesh.triangles, dtype=float) * shape.size
    if shape.kind == 'box':
        half = np.sqrt(0.5)
        return _revolved(4, [(half, -0.5), (half, 0.5)]) * shape.size
    radius = shape.size[0] / np.cos(np.pi / SIDES)
    if shape.kind == 'cylinder':
        end = shape.size[1] / 2
        return _revolved(SIDES, [(radius, -end), (radius, end)])
    # Half the angle between two rings of a sphere is that between two corners of a ring.
    outside = radius / np.cos(np.pi / SIDES)
    angles = np.linspace(0, np.pi, SIDES // 2 + 1)
    rings = [(outside * np.sin(a), -outside * np.cos(a)) for a in angles]
    if shape.kind == 'capsule':
        # The ring between the half spheres, at both ends of the cylinder
        low, high = rings[: SIDES // 4 + 1], rings[SIDES // 4 :]
        end = shape.size[1] / 2
        rings = [(r, z - end) for r, z in low] + [(r, z + end) for r, z in high]
    return _revolved(SIDES, rings)


def _revolved(sides: int, profile: list[tuple[float, float]]) -> Array:
    """Return the triangles of a closed surface of regular polygons along z.

    Args:
        sides: of the polygons.
        profile: radius of the corners and z of each polygon.
    """
    angle = np.pi / sides * (2 * np.arange(sides + 1) + 1)
    rings = [
        np.stack([r * np.cos(angle), r * np.sin(angle), np.full(sides + 1, z)], axis=1)
        for r, z in [(0.0, profile[0][1]), *profile, (0.0, profile[-1][1])]
    ]
    parts = []
    for low, high in pairwise(rings):
        a, b, c, d = low[:-1], low[1:], high[:-1], high[1:]
        parts += [np.stack([a, b, c], axis=1), np.stack([b, c, d], axis=1)]
    return np.concatenate(parts)


def _fine(triangles: Array) -> Array:
    """Return triangles with edges of at most 1 / FINENESS of the shape."""
    corners = triangles.reshape(-1, 3)
    longest = np.linalg.norm(np.ptp(corners, axis=0)) / FINENESS
    while len(triangles) < MAX_TRIANGLES:
        edges = np.linalg.norm(triangles - np.roll(triangles, -1, axis=1), axis=2)
        large = edges.max(axis=1) > longest
        if not large.any():
            break
        a, b, c = triangles[large].transpose(1, 0, 2)
        ab, bc, ca = (a + b) / 2, (b + c) / 2, (c + a) / 2
        parts = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        triangles = np.concatenate([triangles[~large], *(np.stack(part, 1) for part in parts)])
    return triangles


# -- capsules -------------------------------------------------------------------------------


def _cover(triangles: Array, depth: int) -> list[tuple[Array, float]]:
    """Return segments and radii of capsules that cover triangles (k, 3, 3)."""
    whole = _capsule(triangles.reshape(-1, 3))
    best, thickest = [whole], SAVING * whole[1]
    if not depth:
        return best
    middle = triangles.mean(axis=1)
    axes = np.linalg.svd(middle - middle.mean(axis=0), full_matrices=False)[2]
    for along in (middle @ axes.T).T:
        first = along < (along.min() + along.max()) / 2
        if first.all() or not first.any():
            continue
        parts = [*_cover(triangles[first], depth - 1), *_cover(triangles[~first], depth - 1)]
        if max(radius for _, radius in parts) < thickest:
            best, thickest = parts, max(radius for _, radius in parts)
    return best


def _capsule(points: Array) -> tuple[Array, float]:
    """Return segment and radius of a capsule around points, along their principal axis."""
    centre = points.mean(axis=0)
    axes = np.linalg.svd(points - centre, full_matrices=False)[2]
    local = (points - centre) @ axes.T
    middle = (local.min(axis=0) + local.max(axis=0)) / 2
    local = local - middle
    from_axis = np.linalg.norm(local[:, 1:], axis=1)
    radius = float(from_axis.max())
    # A point at this distance from the axis is within the cap of an end this far away.
    reach = np.sqrt(np.maximum(radius**2 - from_axis**2, 0.0))
    low, high = (local[:, 0] + reach).min(), (local[:, 0] - reach).max()
    if low > high:  # a single sphere
        low = high = (low + high) / 2
    ends = np.array([[low, 0.0, 0.0], [high, 0.0, 0.0]]) + middle
    return centre + ends @ axes, radius
