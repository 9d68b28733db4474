"""A URDF reduced to its physics: what another engine needs to compute torques, and no more.

Meshes may be missing, plugins unknown, and damping, friction and mimic tags mean different things
to different engines. What is left are the links' inertials and the joints. A link without an
inertial gets one that says zero, which is what the URDF format means by leaving it out, and what
PyBullet would take for 1 kg.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.etree import ElementTree

import numpy as np

from robot_dynamics.errors import ModelError
from robot_dynamics.model.inertia import Inertial
from robot_dynamics.spatial import Array, rotation_rpy

KEPT = {'inertial', 'parent', 'child', 'origin', 'axis', 'limit'}
TENSOR = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')


def bare_urdf(text: str | bytes) -> str:
    """Return the links, inertials and joints of a URDF text that `parse_urdf` accepts.

    The root link's inertial is left out: it is bolted to the world.
    """
    source = parsed(text)
    bare = ElementTree.Element('robot', name=source.get('name') or 'robot')
    root_link = _root_link(source)
    for element in (*source.findall('link'), *source.findall('joint')):
        copy = ElementTree.SubElement(bare, element.tag, element.attrib)
        copy.extend(child for child in element if child.tag in KEPT)
        if element.get('name') == root_link:
            copy.clear()
            copy.set('name', root_link)
        elif element.tag == 'link' and copy.find('inertial') is None:
            copy.append(_inertial_element(Inertial()))
    return _written(bare)


def with_payload(text: str | bytes, link: str, payload: Inertial) -> str:
    """Return a URDF with a body fixed to one of its links, as `RobotModel.with_payload` has it."""
    robot = parsed(text)
    carried = ElementTree.SubElement(robot, 'link', name='payload_of_' + link)
    carried.append(_inertial_element(payload))
    joint = ElementTree.SubElement(robot, 'joint', name='payload_joint_of_' + link, type='fixed')
    ElementTree.SubElement(joint, 'parent', link=link)
    ElementTree.SubElement(joint, 'child', link='payload_of_' + link)
    return _written(robot)


def _written(robot: ElementTree.Element) -> str:
    # One element a line: PyBullet breaks lines of more than 8,191 characters apart.
    ElementTree.indent(robot)
    return ElementTree.tostring(robot, encoding='unicode')


def inertials(text: str | bytes) -> dict[str, Inertial]:
    """Return what the text says of each link that has an inertial, in the link's frame."""
    return {
        str(link.get('name')): _inertial(link)
        for link in parsed(text).findall('link')
        if link.find('inertial') is not None
    }


def still_positions(text: str | bytes, locked: Mapping[str, float]) -> dict[str, float]:
    """Return where each joint stands while every coordinate is 0, except for the locked ones.

    Args:
        text: the URDF.
        locked: positions, rad or m; a joint that mimics one of these follows it.
    """
    joints = {str(joint.get('name')): joint for joint in parsed(text).findall('joint')}

    def position(name: str) -> float:
        mimic = joints[name].find('mimic')
        if mimic is None:
            return locked.get(name, 0.0)
        # q = multiplier q_other + offset
        multiplier, offset = float(mimic.get('multiplier', 1)), float(mimic.get('offset', 0))
        return multiplier * position(str(mimic.get('joint'))) + offset

    return {name: position(name) for name in joints}


def parsed(text: str | bytes) -> ElementTree.Element:
    """Return the root element of a URDF text. Raises ModelError."""
    # A text that declares its encoding has to be bytes.
    xml = (text.encode() if isinstance(text, str) else text).strip()
    if b'<!DOCTYPE' in xml:
        raise ModelError('the URDF holds <!DOCTYPE>; no URDF needs one, remove it')
    try:
        return ElementTree.fromstring(xml)
    except ElementTree.ParseError as error:
        raise ModelError(f'the URDF is not well-formed XML: {error}') from None


def _root_link(robot: ElementTree.Element) -> str:
    children = {child.get('link') for child in robot.iterfind('joint/child')}
    roots = [link.get('name') for link in robot.findall('link')]
    return next(str(name) for name in roots if name not in children)


def _inertial(link: ElementTree.Element) -> Inertial:
    origin = link.find('inertial/origin')
    mass, tensor = link.find('inertial/mass'), link.find('inertial/inertia')
    value = {} if tensor is None else tensor.attrib
    ixx, ixy, ixz, iyy, iyz, izz = (float(value.get(key, 0.0)) for key in TENSOR)
    R = rotation_rpy(*_numbers(origin, 'rpy'))
    I_com = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    # In the link's axes: R I R^T
    return Inertial(
        float('0' if mass is None else mass.get('value', 0.0)),
        _numbers(origin, 'xyz'),
        R @ I_com @ R.T,
    )


def _numbers(origin: ElementTree.Element | None, key: str) -> Array:
    text = None if origin is None else origin.get(key)
    return np.array([float(word) for word in (text or '0 0 0').split()])


def _inertial_element(body: Inertial) -> ElementTree.Element:
    inertial = ElementTree.Element('inertial')
    ElementTree.SubElement(inertial, 'origin', xyz=_words(body.com), rpy='0 0 0')
    ElementTree.SubElement(inertial, 'mass', value=repr(float(body.mass)))
    upper = body.inertia_com[np.triu_indices(3)]
    ElementTree.SubElement(
        inertial,
        'inertia',
        {key: repr(float(value)) for key, value in zip(TENSOR, upper, strict=True)},
    )
    return inertial


def _words(values: Sequence[float] | Array) -> str:
    return ' '.join(repr(float(value)) for value in values)
