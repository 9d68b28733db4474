"""Shapes of the links of a robot description, each in the frame of the body that carries it.

Links without <visual> are shown by their <collision>. Meshes are read by trimesh, which the extra
`[view]` brings with viser.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from robot_dynamics.errors import ModelError
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.spatial import Array, pose, rotation_rpy
from robot_dynamics.urdf.geometry.mesh_process import read_scene
from robot_dynamics.urdf.geometry.meshes import MeshError, mesh_path
from robot_dynamics.urdf.geometry.solids import numbers
from robot_dynamics.urdf.reader import xml_root

Colour = tuple[float, float, float, float]  # red, green, blue, opacity, 0 to 1

GREY: Colour = (0.72, 0.74, 0.77, 1.0)
WITH_COLOURS = ('.dae', '.glb', '.gltf')  # formats whose files state materials


@dataclass(frozen=True, eq=False)
class Shape:
    """A shape of a link.

    Attributes:
        link: its name.
        body: index of the body that carries it, -1 for the base.
        pose: (4, 4) in the frame of that body.
        kind: 'box', 'cylinder' (along z), 'sphere' or 'mesh'.
        size: sides of a box; radius and length of a cylinder; radius of a sphere; scales of a
            mesh; m.
        mesh: name of the mesh in the description, '' for other shapes.
        colour: None if the description states none.
    """

    link: str
    body: int
    pose: Array
    kind: str
    size: tuple[float, ...]
    mesh: str
    colour: Colour | None


@dataclass(frozen=True, eq=False)
class Mesh:
    """A triangle mesh, or a file in the format GLB with its own colours.

    Attributes:
        vertices: (k, 3) m, scaled.
        faces: (m, 3) indices.
        glb: contents of the file, scaled; None if the mesh has no colours.
    """

    vertices: Array
    faces: Array
    glb: bytes | None


def shapes_of(urdf: str | bytes, model: RobotModel) -> list[Shape]:
    """Return the shapes of all links of a URDF text, in document order.

    Args:
        urdf: the text that `model` was read from.
        model: gives the body of each link.

    Raises:
        ModelError: a shape or a colour has wrong numbers.
    """
    root = xml_root(urdf)
    colours = {
        str(element.get('name')): colour
        for element in root.findall('material')
        if (colour := _own_colour(element)) is not None
    }
    shapes = []
    for link in root.findall('link'):
        name = link.get('name', '')
        if name not in model.frame_names:
            continue
        k = model.frame_index(name)
        try:
            for element in link.findall('visual') or link.findall('collision'):
                place = model.frame_placement[k] @ _origin(element)
                colour = _colour(element, colours)
                for kind, size, mesh in _sizes(element):
                    body = int(model.frame_body[k])
                    shapes.append(Shape(name, body, place, kind, size, mesh, colour))
        except ValueError as error:
            raise ModelError(f'link {name!r}: {error} in its geometry') from error
    return shapes


def _sizes(element: Element) -> Iterator[tuple[str, tuple[float, ...], str]]:
    """Yield kind, size and mesh of the shapes of a <visual> or <collision>."""
    for shape in element.findall('geometry/*'):
        if shape.tag == 'box':
            yield 'box', tuple(numbers(shape.get('size', ''), 3)), ''
        elif shape.tag == 'cylinder':
            radius, length = (numbers(shape.get(key, ''), 1)[0] for key in ('radius', 'length'))
            yield 'cylinder', (radius, length), ''
        elif shape.tag == 'sphere':
            yield 'sphere', tuple(numbers(shape.get('radius', ''), 1)), ''
        elif shape.tag == 'mesh':
            scale = tuple(numbers(shape.get('scale', '1 1 1'), 3))
            yield 'mesh', scale, shape.get('filename', '')


def _origin(element: Element) -> Array:
    origin = element.find('origin')
    if origin is None:
        return np.eye(4)
    xyz, rpy = (numbers(origin.get(key, '0 0 0'), 3) for key in ('xyz', 'rpy'))
    return pose(rotation_rpy(*rpy), np.array(xyz))


def _colour(element: Element, known: Mapping[str, Colour]) -> Colour | None:
    material = element.find('material')
    if material is None:
        return None
    return _own_colour(material) or known.get(material.get('name', ''))


def _own_colour(material: Element) -> Colour | None:
    colour = material.find('color')
    if colour is None:
        return None
    red, green, blue, opacity = np.clip(numbers(colour.get('rgba', ''), 4), 0, 1).tolist()
    return red, green, blue, opacity


# -- meshes ------------------------------------------------------------------------------------


def read_mesh(shape: Shape, folders: Sequence[Path]) -> Mesh:
    """Return the mesh of a shape.

    Args:
        shape: of the kind 'mesh'.
        folders: where packages and relative paths are searched.

    Raises:
        MeshError: the file is missing or cannot be read; the message names it.
    """
    path = mesh_path(shape.mesh, folders)
    if path is None:
        raise MeshError(f'mesh {shape.mesh} of link {shape.link!r} is not found: --package-path')
    try:
        scene, mesh = read_scene(path)
        scale = np.diag([*shape.size, 1.0])
        vertices = np.asarray(mesh.vertices) @ scale[:3, :3]
        glb = None
        if shape.colour is None and path.suffix.lower() in WITH_COLOURS:
            scene.apply_transform(scale)
            glb = scene.export(file_type='glb')
        return Mesh(np.asarray(vertices, np.float32), np.asarray(mesh.faces, np.uint32), glb)
    except Exception as error:  # writers of mesh formats raise anything
        raise MeshError(f'mesh {path} cannot be read ({error})') from error
