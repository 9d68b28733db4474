# SPDX-License-Identifier: Apache-2.0
"""Uniform solids of the visual and collision geometry of links.

Primitives are integrated analytically, meshes by trimesh (extra `[check]`): as they are if they
are closed, else by their convex hulls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.inertia import Inertial, combined, second_moment, transformed
from robot_dynamics.core.model.solids import box, capsule, cylinder, sphere
from robot_dynamics.urdf.geometry.mesh_process import read_mesh
from robot_dynamics.urdf.geometry.meshes import MeshError
from robot_dynamics.urdf.geometry.shapes import Shape, link_shapes

MIN_VOLUME = 1e-12  # m^3; flat shapes have no solid


@dataclass(frozen=True)
class Solid:
    """A uniform solid in the frame of its link."""

    volume: float  # m^3
    centroid: Array  # (3,) m
    sigma: Array  # (3, 3) second moment of volume about the centroid, per volume, m^2
    lower: Array  # (3,) corners of the bounding box, m
    upper: Array


@dataclass(frozen=True)
class Geometry:
    """The geometry of one link."""

    solids: tuple[Solid, ...] = ()  # alternatives: visual or collision, as modelled or convex
    shapes: int = 0  # number of <visual> and <collision> elements in the description
    faults: tuple[str, ...] = ()  # why shapes are wrong
    unread: tuple[MeshError, ...] = ()  # why meshes could not be read


@dataclass(frozen=True)
class _Part:
    """A shape: a body of density 1, and points that span it."""

    body: Inertial
    points: Array


def link_geometry(link: Element, folders: Sequence[Path]) -> Geometry:
    """Return the geometry of a <link>.

    Args:
        link: the element.
        folders: where packages and relative paths are searched.
    """
    solids: list[Solid] = []
    faults: list[str] = []
    unread: dict[str, MeshError] = {}
    for source in ('collision', 'visual'):
        try:
            pairs = [_placed(shape, folders) for shape in link_shapes(link, source)]
        except ModelError as error:
            faults.append(str(error))
        except MeshError as error:
            unread[str(error)] = error
        else:
            exact, hulls = zip(*pairs, strict=True) if pairs else ((), ())
            solids += filter(None, (_solid(exact), _solid(hulls)))
    shapes = len(link.findall('collision')) + len(link.findall('visual'))
    return Geometry(tuple(solids), shapes, tuple(faults), tuple(unread.values()))


def _solid(parts: Sequence[_Part]) -> Solid | None:
    """Return the union of parts, or None if it has no volume."""
    body = combined(part.body for part in parts)
    if body.mass < MIN_VOLUME:
        return None
    points = np.concatenate([part.points for part in parts])
    sigma = second_moment(body.inertia_com) / body.mass
    return Solid(body.mass, body.com, sigma, points.min(axis=0), points.max(axis=0))


def _placed(shape: Shape, folders: Sequence[Path]) -> tuple[_Part, _Part]:
    """Return a shape in the frame of its link, as it is and convex."""
    R, p = shape.pose[:3, :3], shape.pose[:3, 3]
    exact, hull = (
        _Part(transformed(part.body, shape.pose), part.points @ R.T + p)
        for part in _parts(shape, folders)
    )
    return exact, hull


def _parts(shape: Shape, folders: Sequence[Path]) -> tuple[_Part, _Part]:
    """Return a shape in its own frame, as it is and convex."""
    if shape.kind == 'mesh':
        return _mesh(shape.mesh, tuple(folders), shape.size)
    if shape.kind == 'box':
        a, b, c = shape.size
        part = _Part(box(a * b * c, a, b, c), _corners(a / 2, b / 2, c / 2))
    elif shape.kind == 'cylinder':
        r, length = shape.size
        part = _Part(cylinder(np.pi * r**2 * length, r, length), _corners(r, r, length / 2))
    elif shape.kind == 'capsule':
        r, length = shape.size
        volume = np.pi * r**2 * (length + 4 / 3 * r)
        part = _Part(capsule(volume, r, length), _corners(r, r, length / 2 + r))
    else:
        (r,) = shape.size
        part = _Part(sphere(4 / 3 * np.pi * r**3, r), _corners(r, r, r))
    return part, part


def _corners(x: float, y: float, z: float) -> Array:
    return np.array(np.meshgrid([-x, x], [-y, y], [-z, z])).reshape(3, -1).T


# -- meshes ------------------------------------------------------------------------------------


@cache
def _mesh(name: str, folders: tuple[Path, ...], scale: tuple[float, ...]) -> tuple[_Part, _Part]:
    """Return the solid of a mesh file, as it is if it is closed, and its convex hull."""
    _, mesh = read_mesh(name, folders)
    try:
        mesh.apply_scale(scale)
        hull = _mesh_part(mesh.convex_hull)
        return _mesh_part(mesh) if mesh.is_volume else hull, hull
    except Exception as error:  # noqa: BLE001  (meshes without a hull raise anything)
        reason = f'{type(error).__name__}: {error}'.splitlines()[0]
        raise MeshError(f'mesh {name!r} was not read: {reason[:100]}') from None


def _mesh_part(mesh: Any) -> _Part:
    body = Inertial(float(mesh.volume), np.array(mesh.center_mass), np.array(mesh.moment_inertia))
    lower, upper = np.array(mesh.bounds)
    return _Part(body, (lower + upper) / 2 + _corners(*(upper - lower) / 2))
