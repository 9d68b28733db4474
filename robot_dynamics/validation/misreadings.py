"""Robots that result from common mistakes in reading a URDF, for comparison of their torques.

Each function changes the elements of a URDF as a wrong reader would interpret them, and returns a
description of the mistake, '' if it has no effect.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.spatial import skew
from robot_dynamics.urdf.reader import xml_root
from robot_dynamics.urdf.rules import TENSOR

# from the text of a URDF to the robot, with the options of the correct one
Reader = Callable[[str], RobotModel]


def misread_robots(urdf: str | bytes, model: RobotModel, read: Reader) -> dict[str, RobotModel]:
    """Return robots that differ from a model by a mistake of reading, by its description."""
    found = {}
    for make in (default_inertials, unturned_inertials, negated_products, tensors_about_frames):
        robot = xml_root(urdf)
        mistake = make(robot)
        text = ElementTree.tostring(robot, encoding='unicode')
        other = _read(read, text) if mistake else None
        if other is not None and other.body_names == model.body_names:
            misread = replace(model, mass=other.mass, com=other.com, inertia_com=other.inertia_com)
            # Inertias of the base and of links fixed to it have no effect.
            if not np.array_equal(misread.inertial_parameters(), model.inertial_parameters()):
                found[mistake] = misread
    still = still_mimics(urdf, model)
    if still is not None:
        found['joints with <mimic> that stand still'] = still
    return found


def default_inertials(robot: ElementTree.Element) -> str:
    """Give links without an <inertial> the default inertia of PyBullet."""
    links = [link for link in robot.findall('link') if link.find('inertial') is None]
    for link in links:
        inertial = ElementTree.SubElement(link, 'inertial')
        ElementTree.SubElement(inertial, 'mass', value='1')
        ElementTree.SubElement(
            inertial, 'inertia', {key: str(float(key[1] == key[2])) for key in TENSOR}
        )
    names = ', '.join(repr(link.get('name')) for link in links)
    mistake = f"1 kg and 1 kg m^2, PyBullet's default, for links without <inertial> ({names})"
    return mistake if links else ''


def unturned_inertials(robot: ElementTree.Element) -> str:
    """Omit the rotation between the axes of links and those of their inertia tensors."""
    turned = [
        origin
        for origin in robot.iterfind('link/inertial/origin')
        if any(float(angle) for angle in (origin.get('rpy') or '').split())
    ]
    for origin in turned:
        origin.set('rpy', '0 0 0')
    return "inertia tensors in the links' axes, without the rpy of <inertial>" if turned else ''


def negated_products(robot: ElementTree.Element) -> str:
    """Reverse the sign of products of inertia, as some CAD programs define them."""
    changed = False
    for tensor in robot.iterfind('link/inertial/inertia'):
        for key in ('ixy', 'ixz', 'iyz'):
            value = float(tensor.get(key, 0))
            changed = changed or value != 0
            tensor.set(key, repr(-value))
    return 'products of inertia (ixy, ixz, iyz) of the opposite sign' if changed else ''


def tensors_about_frames(robot: ElementTree.Element) -> str:
    """Interpret tensors about the links' origins instead of their centres of mass."""
    changed = False
    for inertial in robot.iterfind('link/inertial'):
        origin, tensor = inertial.find('origin'), inertial.find('inertia')
        mass = inertial.find('mass')
        if origin is None or tensor is None or mass is None or origin.get('rpy'):
            continue
        c = skew(np.array([float(word) for word in origin.get('xyz', '0 0 0').split()]))
        # I_com = I + m [c][c]
        shift = float(mass.get('value', 0)) * (c @ c)
        for key, (i, j) in zip(TENSOR, zip(*np.triu_indices(3), strict=True), strict=True):
            changed = changed or bool(shift[i, j] != 0)
            tensor.set(key, repr(float(tensor.get(key, 0)) + float(shift[i, j])))
    mistake = "inertia tensors about the links' origins instead of their centres of mass"
    return mistake if changed else ''


def still_mimics(urdf: str | bytes, model: RobotModel) -> RobotModel | None:
    """Return the robot with mimic joints at rest, None if it has none."""
    children = {
        child.get('link')
        for joint in xml_root(urdf).findall('joint')
        if joint.find('mimic') is not None
        for child in joint.iterfind('child')
    }
    S: Any = model.S.copy()
    S[[name in children for name in model.body_names]] = 0.0
    return replace(model, S=S) if not np.array_equal(S, model.S) else None


def reversed_axes(model: RobotModel) -> Iterator[tuple[str, RobotModel]]:
    """Yield robots with the axis of one joint reversed, with a description."""
    for i in range(model.nb):
        axis = model.axis.copy()
        axis[i] = -axis[i]
        yield f'a reversed axis of {joint_of(model, i)}', replace(model, axis=axis)


def joint_of(model: RobotModel, i: int) -> str:
    """Return the name of the joint that moves body i, of the link if joints are coupled."""
    (moved_by,) = np.nonzero(model.S[i])
    if len(moved_by) == 1 and np.count_nonzero(model.S[:, moved_by[0]]) == 1:
        return f'joint {model.joint_names[moved_by[0]]!r}'
    return f'the joint of link {model.body_names[i]!r}'


def _read(read: Reader, text: str) -> RobotModel | None:
    """Return the robot of a text, None if the text is rejected."""
    with warnings.catch_warnings():
        # The warnings of the description were issued for the correct robot.
        warnings.simplefilter('ignore')
        try:
            return read(text)
        except RobotDynamicsError:
            return None
