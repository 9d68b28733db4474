# SPDX-License-Identifier: Apache-2.0
"""Shapes of the <visual> and <collision> elements of a robot description.

They are read once, here, by the rules of `urdf.rules`: a missing or wrong number, name or child is
an error that names the link, the element and the value. Shapes of other kinds are extensions that
are left out.

Source: the URDF XML specification, wiki.ros.org/urdf/XML, page "link".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from xml.etree.ElementTree import Element

import numpy as np

from robot_dynamics.common.spatial import Array, pose, rotation_rpy
from robot_dynamics.urdf.rules import ORIGIN, Rules, checked, number, shown

Colour = tuple[float, float, float, float]  # red, green, blue, opacity, 0 to 1


@dataclass(frozen=True, eq=False)
class Shape:
    """A shape of a link.

    Attributes:
        link: its name.
        pose: (4, 4) in the frame of the link.
        kind: 'box', 'cylinder' or 'capsule' (along z), 'sphere' or 'mesh'.
        size: sides of a box; radius and length of a cylinder, and of that in a capsule; radius of
            a sphere, m; scales of a mesh.
        mesh: name of the mesh in the description, '' for other kinds.
        colour: None if the shape states none.
        material: name of its material, '' if it has none.
    """

    link: str
    pose: Array
    kind: str
    size: tuple[float, ...]
    mesh: str
    colour: Colour | None
    material: str


def link_shapes(link: Element, *sources: str) -> list[Shape]:
    """Return the shapes of a <link>: those of the first source that has any.

    Args:
        link: the element.
        sources: of 'visual', 'collision'.

    Raises:
        ModelError: a shape is wrong; the message names link, element, value and expected value.
    """
    return next((found for source in sources if (found := list(_shapes(link, source)))), [])


def material_colours(robot: Element) -> dict[str, Colour]:
    """Return the colours of the materials of a <robot>, by name.

    Raises:
        ModelError: a colour is wrong; the message names the material.
    """
    found = {}
    for element in robot.findall('material'):
        name = element.get('name', '')
        colour = _colour(checked(element, _MATERIAL, f'material {shown(name)}'))
        if colour is not None:
            found[name] = colour
    return found


# -- rules ------------------------------------------------------------------------------------


def _numbers(count: int, good: Callable[[float], bool], expected: str) -> Callable[[str], str]:
    """Return the rule of an attribute with some numbers."""

    def check(text: str) -> str:
        values = [float(number(word)) for word in text.split()]
        if len(values) != count or not all(map(good, values)):
            raise ValueError(f'must be {expected}')
        return text

    return check


def _file(text: str) -> str:
    if not text.strip():
        raise ValueError('must be the name of a file')
    return text


_LENGTH = _numbers(1, lambda length: length > 0, 'a positive number, m')
_SIDES = _numbers(3, lambda length: length > 0, '3 positive numbers, m')
_SCALE = _numbers(3, bool, '3 numbers other than 0')
_RGBA = _numbers(4, lambda _: True, '4 numbers, from 0 to 1')
_MATERIAL = Rules(
    optional={'name': (str, '')}, children={'color': Rules(required={'rgba': _RGBA})}
)
_KINDS = {
    'box': Rules(required={'size': _SIDES}),
    'cylinder': Rules(required={'radius': _LENGTH, 'length': _LENGTH}),
    'capsule': Rules(required={'radius': _LENGTH, 'length': _LENGTH}),
    'sphere': Rules(required={'radius': _LENGTH}),
    'mesh': Rules(required={'filename': _file}, optional={'scale': (_SCALE, '1 1 1')}),
}
_RULES = Rules(
    children={'origin': ORIGIN, 'geometry': Rules(children=_KINDS), 'material': _MATERIAL}
)


# -- reading ------------------------------------------------------------------------------------


def _shapes(link: Element, source: str) -> Iterator[Shape]:
    name = link.get('name', '')
    elements = link.findall(source)
    for position, element in enumerate(elements, start=1):
        which = f'<{source}>' if len(elements) == 1 else f'<{source}> number {position}'
        kept = checked(element, _RULES, f'link {shown(name)}: {which}')
        origin, material = kept.find('origin'), kept.find('material')
        assert origin is not None  # implied by the rules
        xyz, rpy = (np.array(_values(origin, key)) for key in ('xyz', 'rpy'))
        for shape in kept.iterfind('geometry/*'):
            yield Shape(
                link=name,
                pose=pose(rotation_rpy(*rpy), xyz),
                kind=shape.tag,
                size=tuple(_values(shape, 'size', 'radius', 'length', 'scale')),
                mesh=shape.get('filename', ''),
                colour=None if material is None else _colour(material),
                material='' if material is None else material.get('name', ''),
            )


def _colour(material: Element) -> Colour | None:
    """Return the colour of a material that the rules have checked, None if it states none."""
    element = material.find('color')
    if element is None:
        return None
    red, green, blue, opacity = np.clip(_values(element, 'rgba'), 0, 1).tolist()
    return red, green, blue, opacity


def _values(element: Element, *attributes: str) -> list[float]:
    """Return the numbers of attributes that the rules have checked."""
    return [float(word) for key in attributes for word in element.get(key, '').split()]
