"""Uniform solids of the visual and collision geometry of links.

Primitives are integrated analytically, meshes by trimesh (extra `[check]`): as they are if they
are closed, else by their convex hulls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from robot_dynamics.model.inertia import Inertial, combined, second_moment, transformed
from robot_dynamics.model.solids import box, cylinder, sphere
from robot_dynamics.spatial import Array, pose, rotation_rpy
from robot_dynamics.urdf.geometry.mesh_process import read_scene
from robot_dynamics.urdf.geometry.meshes import MeshError, mesh_path

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
    shapes: int = 0  # number of shapes in the description
    # Names of meshes that could not be read, and why; '' if the file was not found.
    unread: tuple[tuple[str, str], ...] = ()


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
    unread: dict[str, str] = {}
    shapes = 0
    for source in ('collision', 'visual'):
        exact, hulls = [], []
        elements = link.findall(source)
        shapes += len(elements)
        for element in elements:
            try:
                pairs = list(_parts(element, folders))
            except _MeshNotRead as error:
                unread[error.args[0]] = error.args[1]
                break
            except ValueError:
                break  # the rules of syntax report it
            exact += [pair[0] for pair in pairs]
            hulls += [pair[1] for pair in pairs]
        else:
            solids += filter(None, (_solid(exact), _solid(hulls)))
    return Geometry(tuple(solids), shapes, tuple(unread.items()))


def _solid(parts: list[_Part]) -> Solid | None:
    """Return the union of parts, or None if it has no volume."""
    body = combined(part.body for part in parts)
    if body.mass < MIN_VOLUME:
        return None
    points = np.concatenate([part.points for part in parts])
    sigma = second_moment(body.inertia_com) / body.mass
    return Solid(body.mass, body.com, sigma, points.min(axis=0), points.max(axis=0))


def _parts(element: Element, folders: Sequence[Path]) -> Iterator[tuple[_Part, _Part]]:
    """Yield each shape of a <visual> or <collision>, as it is and convex, in the link frame."""
    origin = element.find('origin')
    place = np.eye(4)
    if origin is not None:
        xyz, rpy = (numbers(origin.get(key, '0 0 0'), 3) for key in ('xyz', 'rpy'))
        place = pose(rotation_rpy(*rpy), np.array(xyz))
    for shape in element.findall('geometry/*'):
        for pair in _shape(shape, folders):
            yield tuple(_placed(part, place) for part in pair)  # type: ignore[misc]


def _placed(part: _Part, place: Array) -> _Part:
    points = part.points @ place[:3, :3].T + place[:3, 3]
    return _Part(transformed(part.body, place), points)


def _shape(shape: Element, folders: Sequence[Path]) -> Iterable[tuple[_Part, _Part]]:
    """Return a shape in its own frame, as it is and convex."""
    if shape.tag == 'box':
        a, b, c = numbers(shape.get('size', ''), 3)
        part = _Part(box(a * b * c, a, b, c), _corners(a / 2, b / 2, c / 2))
    elif shape.tag == 'cylinder':
        r, length = (numbers(shape.get(key, ''), 1)[0] for key in ('radius', 'length'))
        part = _Part(cylinder(np.pi * r**2 * length, r, length), _corners(r, r, length / 2))
    elif shape.tag == 'sphere':
        (r,) = numbers(shape.get('radius', ''), 1)
        part = _Part(sphere(4 / 3 * np.pi * r**3, r), _corners(r, r, r))
    elif shape.tag == 'mesh':
        scale = numbers(shape.get('scale', '1 1 1'), 3)
        name = shape.get('filename', '')
        path = mesh_path(name, folders)
        if path is None:
            raise _MeshNotRead(name, '')
        return _mesh(name, path, tuple(scale))
    else:
        return []
    return [(part, part)]


def _corners(x: float, y: float, z: float) -> Array:
    return np.array(np.meshgrid([-x, x], [-y, y], [-z, z])).reshape(3, -1).T


# -- meshes ------------------------------------------------------------------------------------


class _MeshNotRead(Exception):  # noqa: N818  (names the condition)
    """A mesh cannot be read; arguments are its name and the reason, '' if no file has the name."""


def trimesh_installed() -> bool:
    """Return whether meshes can be read."""
    try:
        import trimesh  # noqa: F401
    except ImportError:
        return False
    return True


@cache
def _mesh(name: str, path: Path, scale: tuple[float, ...]) -> list[tuple[_Part, _Part]]:
    """Return the solid of a mesh file, as it is if it is closed, and its convex hull."""
    try:
        _, mesh = read_scene(path)
    except MeshError as error:
        raise _MeshNotRead(name, str(error)) from None
    try:
        mesh.apply_scale(scale)
        hull = _mesh_part(mesh.convex_hull)
        exact = _mesh_part(mesh) if mesh.is_volume else hull
    except Exception as error:  # noqa: BLE001  (meshes without a hull raise anything)
        reason = f'{type(error).__name__}: {error}'.splitlines()[0]
        raise _MeshNotRead(name, reason[:100]) from None
    return [(exact, hull)]


def _mesh_part(mesh: Any) -> _Part:
    body = Inertial(float(mesh.volume), np.array(mesh.center_mass), np.array(mesh.moment_inertia))
    lower, upper = np.array(mesh.bounds)
    return _Part(body, (lower + upper) / 2 + _corners(*(upper - lower) / 2))


def numbers(text: str, count: int) -> list[float]:
    """Return the finite numbers of an attribute. Raises ValueError if it has others."""
    values = [float(word) for word in text.split()]
    if len(values) != count or not np.isfinite(values).all():
        raise ValueError(f'{text!r} does not hold {count} finite numbers')
    return values
