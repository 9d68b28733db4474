# SPDX-License-Identifier: Apache-2.0
"""URDF text of an MJCF file, for verbs and nodes, which read a description as text.

Links have the names, frames, inertias and shapes of the bodies in the file. Rotors are the
attribute `armature` of <dynamics>, the start posture is the <group_state> `home`, which the reader
of this package reads. A text has no gravity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, fromstring, indent, tostring

import numpy as np

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.spatial import rpy
from robot_dynamics.core.model.robot_model import STANDARD_GRAVITY
from robot_dynamics.urdf.editing import Change, edited, inertial_changes, written
from robot_dynamics.urdf.mjcf.compiling import Geom
from robot_dynamics.urdf.mjcf.loading import HOME, MjcfRobot, inertial, read_mjcf, warn_of
from robot_dynamics.urdf.writing import link_names, to_urdf

ARGUMENTS = ('root', 'free_base')
VECTORS = {'box': 'size', 'mesh': 'scale'}
ROUNDING = 1e-9  # m/s^2


def urdf_of_mjcf(file: Path, arguments: Mapping[str, str]) -> str:
    """Return the URDF text of the robot of an MJCF file.

    Args:
        file: its path.
        arguments: `root` and `free_base` of `load_mjcf`.

    Raises:
        ModelError: the file is rejected, as by `load_mjcf`; an argument is unknown; a joint has a
            limit of 0, which means none in a URDF.
        MujocoMissing: MuJoCo is not installed.

    Warns:
        UserWarning: as `load_mjcf`; the gravity of the file is not the standard one.
    """
    robot = robot_with_arguments(file, arguments)
    gravity = robot.model.gravity
    if np.abs(gravity - STANDARD_GRAVITY).max() > ROUNDING:
        robot.remarks.add(
            'the gravity of the file is not that of verbs and nodes, which have the option '
            '--gravity and the parameter gravity',
            f'{written(gravity)} m/s^2 in the axes of the base',
        )
    warn_of(robot)
    return as_urdf(robot)


def robot_with_arguments(file: Path, arguments: Mapping[str, str]) -> MjcfRobot:
    """Return the robot of an MJCF file, whose arguments were read. Raises as `urdf_of_mjcf`."""
    if unknown := sorted({*arguments} - {*ARGUMENTS}):
        raise ModelError(
            f'argument {unknown[0]!r} is given; an MJCF file takes {" and ".join(ARGUMENTS)}'
        )
    return read_mjcf(file, **arguments)


def as_urdf(robot: MjcfRobot) -> str:
    """Return the URDF text of a robot that was read from MJCF. Raises ModelError."""
    c, model = robot.compiled, robot.model
    root = fromstring(to_urdf(model, [c.joints[j] for j in robot.joints]))
    links = {str(link.get('name')): link for link in root.findall('link')}
    massless = [
        name for name, mass in zip(link_names(model)[1:], model.mass, strict=True) if not mass
    ]
    for name, link in links.items():
        for tag in ('visual',) if name in massless else ('visual', 'inertial'):
            for element in link.findall(tag):
                link.remove(element)
    for geom in c.geoms:
        if geom.body in robot.frames:
            _add_shape(links[c.bodies[geom.body]], geom)
    if model.home:
        state = SubElement(root, 'group_state', name=HOME, group='all')
        for joint, position in model.home.items():
            SubElement(state, 'joint', name=joint, value=written(position))
    indent(root)
    return edited(tostring(root, encoding='utf-8'), _changes(robot)).decode()


def _changes(robot: MjcfRobot) -> Iterator[Change]:
    """Yield the inertias of the bodies and the rotors of the joints."""
    c, model = robot.compiled, robot.model
    for b in robot.frames:
        body = inertial(c, b)
        if body.mass or body.inertia_com.any():
            yield from inertial_changes(c.bodies[b], body)
    for joint, armature in zip(model.joint_names, model.reflected_inertia, strict=True):
        if armature:
            yield Change('joint', joint, 'dynamics/@armature', float(armature))


def _add_shape(link: Element, geom: Geom) -> None:
    """Add a <visual>, or a <collision> where a shape can collide."""
    place = SubElement(link, 'collision' if geom.collides else 'visual')
    xyz, angles = written(geom.pose[:3, 3]), written(rpy(geom.pose[:3, :3]))
    SubElement(place, 'origin', xyz=xyz, rpy=angles)
    if geom.kind in VECTORS:
        sizes = {VECTORS[geom.kind]: written(geom.size)}
    else:
        names = ('radius', 'length')[: len(geom.size)]
        sizes = {name: written(x) for name, x in zip(names, geom.size, strict=True)}
    # Not percent-encoded: urdfdom and the packages that resolve meshes take it as it is.
    file = {'filename': f'file://{geom.mesh}'} if geom.mesh else {}
    SubElement(SubElement(place, 'geometry'), geom.kind, {**file, **sizes})
    if not geom.collides:
        material = SubElement(place, 'material', name='')
        SubElement(material, 'color', rgba=written(geom.colour))
