# SPDX-License-Identifier: Apache-2.0
"""Shapes of the links of a robot, each in the frame of the body that carries it.

Links without <visual> are shown by their <collision>. Meshes are read by trimesh, which the extra
`[view]` brings with viser.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.urdf.geometry.mesh_process import read_mesh
from robot_dynamics.urdf.geometry.meshes import MeshError
from robot_dynamics.urdf.geometry.shapes import Colour, Shape, link_shapes, material_colours
from robot_dynamics.urdf.reader import xml_root

GREY: Colour = (0.72, 0.74, 0.77, 1.0)
WITH_COLOURS = ('.dae', '.glb', '.gltf')  # formats whose files state materials


class BodyShape(NamedTuple):
    """A shape in the frame of a body, with the colour of its material.

    Attributes:
        body: index of the body that carries it, -1 for the base.
        shape: its pose is in the frame of that body.
    """

    body: int
    shape: Shape


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


def shapes_of(urdf: str | bytes, model: RobotModel) -> list[BodyShape]:
    """Return the shapes of all links of a URDF text, in document order.

    Args:
        urdf: the text that `model` was read from.
        model: gives the body of each link.

    Raises:
        ModelError: a shape or a colour is wrong; the message names it.
    """
    root = xml_root(urdf)
    colours = material_colours(root)
    found = []
    for link in root.findall('link'):
        name = link.get('name', '')
        if name not in model.frame_names:
            continue
        k = model.frame_index(name)
        body, placement = int(model.frame_body[k]), model.frame_placement[k]
        for shape in link_shapes(link, 'visual', 'collision'):
            colour = shape.colour or colours.get(shape.material)
            placed = replace(shape, pose=placement @ shape.pose, colour=colour)
            found.append(BodyShape(body, placed))
    return found


def displayed_mesh(shape: Shape, folders: Sequence[Path]) -> Mesh:
    """Return the mesh of a shape.

    Args:
        shape: of the kind 'mesh'.
        folders: where packages and relative paths are searched.

    Raises:
        MeshError: the file is missing or cannot be read; the message names link and mesh.
    """
    try:
        scene, mesh = read_mesh(shape.mesh, folders)
        scale = np.diag([*shape.size, 1.0])
        vertices = np.asarray(mesh.vertices) @ scale[:3, :3]
        glb = None
        if shape.colour is None and shape.mesh.lower().endswith(WITH_COLOURS):
            scene.apply_transform(scale)
            glb = scene.export(file_type='glb')
        return Mesh(np.asarray(vertices, np.float32), np.asarray(mesh.faces, np.uint32), glb)
    except Exception as error:  # writers of mesh formats raise anything
        raise MeshError(f'link {shape.link!r}: {error}') from error
