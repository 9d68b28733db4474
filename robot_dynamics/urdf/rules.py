# SPDX-License-Identifier: Apache-2.0
"""Rules for URDF elements: tables of attributes with their checks and defaults.

Elements and attributes that are not listed do not matter to dynamics and are dropped. Checks work
on the text, so that an error message shows the value as written.

Source: the URDF XML specification, wiki.ros.org/urdf/XML, pages "link" and "joint".
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.spatial import quaternion_rotation, rpy
from robot_dynamics.urdf.deviations import (
    PRODUCTS_MISSING,
    PRODUCTS_TWICE,
    UNKNOWN_ATTRIBUTES,
    UNKNOWN_ELEMENTS,
    XACRO,
    Remarks,
)

MAX_NAME = 256
MIN_AXIS = 1e-6  # an axis need not be a unit vector, but must have a direction
MAX_NUMBER = 1e30  # squares and products of numbers must not overflow
TENSOR = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
MOVING_TYPES = ('revolute', 'continuous', 'prismatic')
RATES = ('acceleration', 'deceleration', 'jerk')  # limits of URDF 1.2
# `armature` is that of MJCF: rotor inertia seen at the joint, kg m^2 or kg.
DYNAMICS = ('damping', 'friction', 'armature')
# Elements that others read, or that a fixed joint does not need; what they contain is not checked.
EXTENSIONS = (
    *('visual', 'collision', 'material', 'axis', 'limit', 'dynamics', 'mimic', 'calibration'),
    *('safety_controller', 'gazebo', 'transmission', 'ros2_control', 'mujoco', 'sensor'),
    'group_state',
)


# -- checks of one value: each returns the text to keep, or raises ValueError --------------


def _name(text: str) -> str:
    if not text.strip() or len(text) > MAX_NAME:
        raise ValueError(f'must hold 1 to {MAX_NAME} characters')
    return text


def number(text: str) -> str:
    """Return the text of one number. Raises ValueError for others, and for very large ones."""
    # The comparison is false for NaN.
    if not abs(_float(text)) <= MAX_NUMBER:
        raise ValueError(f'must be a number between -{MAX_NUMBER:g} and {MAX_NUMBER:g}')
    return text


def _magnitude(text: str) -> str:
    if not 0 <= _float(text) <= MAX_NUMBER:
        raise ValueError(f'must be a number between 0 and {MAX_NUMBER:g}')
    return text


def _lower_bound(text: str) -> str:
    if not _float(text) < math.inf:
        raise ValueError('must be a number or -inf')
    return text


def _upper_bound(text: str) -> str:
    if not _float(text) > -math.inf:
        raise ValueError('must be a number or inf')
    return text


def _size_bound(text: str) -> str:
    if not _float(text) >= 0:
        raise ValueError('must be a positive number, or 0 where none is known')
    return text


def _vector(text: str, size: int = 3) -> str:
    values = text.split()
    if len(values) != size:
        raise ValueError(f'has {len(values)} values; it must have {size}')
    return ' '.join(number(value) for value in values)


def _quaternion(text: str) -> str:
    kept = _vector(text, 4)
    if math.hypot(*map(float, kept.split())) < MIN_AXIS:
        raise ValueError('is no rotation; it must be a unit quaternion such as 0 0 0 1')
    return kept


def _direction(text: str) -> str:
    kept = _vector(text)
    if math.hypot(*map(float, kept.split())) < MIN_AXIS:
        raise ValueError('has no direction; it must be a unit vector such as 0 0 1')
    return kept


def _float(text: str) -> float:
    # float() also reads '1_000', and digits of every script.
    if '_' in text or not text.isascii():
        raise ValueError('must be a number')
    try:
        return float(text)
    except ValueError:
        raise ValueError('must be a number') from None


# -- the tables -----------------------------------------------------------------------------


_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Rules(NamedTuple):
    """Attributes and children of one element: checks, and defaults of optional attributes."""

    required: Mapping[str, Callable[[str], str]] = _NOTHING
    optional: Mapping[str, tuple[Callable[[str], str], str]] = _NOTHING
    children: Mapping[str, Rules] = _NOTHING
    required_children: tuple[str, ...] = ()
    # Rewrites other forms of the attributes, before they are checked.
    rewrite: Callable[[Element, str, Remarks], Element] | None = None


def _with_rpy(origin: Element, where: str, _: Remarks) -> Element:
    """Return an <origin> whose orientation is `rpy`, also if `quat_xyzw` of URDF 1.1 gives it."""
    text = origin.get('quat_xyzw')
    for name in sorted({*origin.keys()} - {'xyz', 'rpy', 'quat_xyzw'}):
        if len(origin.get(name, '').split()) in (3, 4):
            raise ModelError(
                f'{where} has {name}={shown(origin.get(name, ""))}, which is not supported; '
                'expected xyz, rpy or quat_xyzw'
            )
    if text is None:
        return origin
    if 'rpy' in origin.attrib:
        raise ModelError(
            f'{where} has rpy={shown(origin.get("rpy", ""))} and quat_xyzw={shown(text)}; '
            'expected one of the two'
        )
    try:
        values = np.array(_quaternion(text).split(), dtype=float)
    except ValueError as reason:
        raise ModelError(f'{where} has quat_xyzw={shown(text)}, which {reason}') from None
    others = {key: value for key, value in origin.attrib.items() if key != 'quat_xyzw'}
    # A unit quaternion first: squares of small numbers vanish.
    angles = rpy(quaternion_rotation(values / np.linalg.norm(values)))
    return Element(origin.tag, others, rpy=' '.join(map(repr, angles.tolist())))


def _with_products(inertia: Element, where: str, remarks: Remarks) -> Element:
    """Return an <inertia> with all products: I_ji = I_ij, and 0 where neither is given."""
    values, link = dict(inertia.attrib), where.partition(':')[0]
    for entry in ('ixy', 'ixz', 'iyz'):
        other = values.pop(f'i{entry[2]}{entry[1]}', None)
        if other is not None:
            remarks.add(PRODUCTS_TWICE, link)
            if not _same(values.setdefault(entry, other), other):
                raise ModelError(
                    f'{where} has {entry}={shown(values[entry])} and i{entry[2]}{entry[1]}='
                    f'{shown(other)}; expected a symmetric tensor'
                )
        elif entry not in values:
            remarks.add(PRODUCTS_MISSING, link)
        values.setdefault(entry, '0')
    return Element(inertia.tag, values)


def completed(element: Element) -> None:
    """Write the origins and tensors below an element as the tables expect them, where valid."""
    for child in element.iter():
        rewrite = {'origin': _with_rpy, 'inertia': _with_products}.get(child.tag)
        if rewrite is not None:
            with suppress(ModelError):
                child.attrib = rewrite(child, '', Remarks()).attrib


def _same(one: str, other: str) -> bool:
    try:
        return _float(one) == _float(other)
    except ValueError:
        return False


# Defaults of the specification, by element and attribute.
DEFAULTS = {
    'origin': {'xyz': '0 0 0', 'rpy': '0 0 0'},
    'axis': {'xyz': '1 0 0'},
}

ORIGIN = Rules(
    optional={name: (_vector, default) for name, default in DEFAULTS['origin'].items()},
    rewrite=_with_rpy,
)
_INERTIAL = Rules(
    children={
        'origin': ORIGIN,
        'mass': Rules(required={'value': _magnitude}),
        'inertia': Rules(required=dict.fromkeys(TENSOR, number), rewrite=_with_products),
    },
    required_children=('mass', 'inertia'),
)
_LINK = Rules(required={'name': _name}, children={'inertial': _INERTIAL})
_ENDS = dict.fromkeys(('parent', 'child'), Rules(required={'link': _name}))
_FIXED_JOINT = Rules(
    required={'name': _name, 'type': _name},
    children={'origin': ORIGIN, **_ENDS},
    required_children=('parent', 'child'),
)
_MOVING_JOINT = Rules(
    required=_FIXED_JOINT.required,
    children={
        **_FIXED_JOINT.children,
        'axis': Rules(required={'xyz': _direction}),
        'limit': Rules(
            optional={
                'lower': (_lower_bound, '0'),
                'upper': (_upper_bound, '0'),
                'velocity': (_size_bound, '0'),
                'effort': (_size_bound, '0'),
                **dict.fromkeys(RATES, (_size_bound, '0')),
            }
        ),
        'dynamics': Rules(optional=dict.fromkeys(DYNAMICS, (_magnitude, '0'))),
        'mimic': Rules(
            required={'joint': _name},
            optional={'multiplier': (number, '1'), 'offset': (number, '0')},
        ),
    },
    required_children=_FIXED_JOINT.required_children,
)

# -- applying the rules ---------------------------------------------------------------------


def checked_element(element: Element, position: int, remarks: Remarks | None = None) -> Element:
    """Return a copy of a <link> or <joint> reduced to the rules, with defaults filled in.

    Args:
        element: the element of an untrusted text.
        position: its number in the robot, for messages about an element without a name.
        remarks: takes what is read although it deviates.

    Raises:
        ModelError: an element or attribute is missing or wrong.
    """
    name = element.get('name')
    where = f'{element.tag} {f"number {position}" if name is None else shown(name)}'
    kept = checked(element, _rules_for(element, where), where, remarks)
    _reject_reversed_limits(kept, where)
    return kept


def _rules_for(element: Element, where: str) -> Rules:
    """Return the rules of a link or of a joint of its type. Rejects unsupported types."""
    if element.tag == 'link':
        return _LINK
    kind = element.get('type')
    if kind == 'fixed':
        return _FIXED_JOINT
    if kind in MOVING_TYPES:
        return _MOVING_JOINT
    known = ', '.join((*MOVING_TYPES, 'fixed'))
    if kind in ('floating', 'planar'):
        raise ModelError(
            f'{where} is of type {kind!r}, which is not a motion of one coordinate; '
            f'supported are {known}, and {kind} joints at the root, which are held fixed'
        )
    raise ModelError(f'{where} has type={kind!r}; it must be one of {known}')


def checked(element: Element, rules: Rules, where: str, remarks: Remarks | None = None) -> Element:
    """Return a copy of an element reduced to its rules, with defaults filled in.

    Args:
        element: the element of an untrusted text.
        rules: of its attributes and children.
        where: its name, for messages.
        remarks: takes what is read although it deviates.

    Raises:
        ModelError: an element or attribute is missing or wrong.
    """
    remarks = Remarks() if remarks is None else remarks
    given = element if rules.rewrite is None else rules.rewrite(element, where, remarks)
    clean = Element(element.tag, _checked_attributes(given, rules, where, remarks))
    for tag in dict.fromkeys(child.tag for child in element):
        reject_misspelt(tag, rules.children, f'{where} contains <{tag}>')
        if not (tag in rules.children or tag in EXTENSIONS or tag.startswith(XACRO)):
            remarks.add(UNKNOWN_ELEMENTS, f'{where}: <{tag}>')
    for tag, inner in rules.children.items():
        found = element.findall(tag)
        if len(found) > 1:
            raise ModelError(f'{where} has <{tag}> {len(found)} times; expected at most one')
        if tag in rules.required_children and not found:
            raise ModelError(f'{where} has no <{tag}>; expected one')
        if not found and tag in DEFAULTS:
            found = [Element(tag, DEFAULTS[tag])]
        clean.extend([checked(child, inner, f'{where}: <{tag}>', remarks) for child in found])
    return clean


def _checked_attributes(
    element: Element, rules: Rules, where: str, remarks: Remarks
) -> dict[str, str]:
    kept = {}
    checks = {name: (check, None) for name, check in rules.required.items()}
    for name, (check, default) in {**checks, **rules.optional}.items():
        text = element.get(name, default)
        if text is None:
            raise ModelError(f'{where} has no attribute {name!r}; expected one')
        try:
            kept[name] = check(text)
        except ValueError as reason:
            raise ModelError(f'{where} has {name}={shown(text)}, which {reason}') from None
    for name in sorted(element.keys() - kept.keys()):
        reject_misspelt(name, kept, f'{where} has {name}={shown(element.get(name, ""))}')
        remarks.add(UNKNOWN_ATTRIBUTES, f'{where} {name}')
    return kept


def _reject_reversed_limits(joint: Element, where: str) -> None:
    limit = joint.find('limit')
    if limit is None or joint.get('type') == 'continuous':
        return
    lower, upper = limit.get('lower', ''), limit.get('upper', '')
    if float(lower) > float(upper):
        raise ModelError(
            f'{where}: <limit> has lower={lower} and upper={upper}; lower must not exceed upper '
            '(are they exchanged?)'
        )


def reject_misspelt(word: str, known: Collection[str], where: str) -> None:
    """Raise ModelError for a misspelt word such as <orgin>; other unknown words are extensions."""
    if word in known:
        return
    # Imported late: most descriptions need no comparison, and load faster without.
    import difflib

    close = difflib.get_close_matches(word.lower(), known, n=1, cutoff=0.8)
    parts = [part for part in re.split('[^a-z0-9]+', word.lower()) if part]
    # A word with an addition, such as k_velocity, is not a misspelt one.
    if close and (len(parts) == 1 or not set(parts) & {*known}):
        raise ModelError(f'{where}, which is unknown in URDF; did you mean {close[0]!r}?')


def shown(text: str) -> str:
    """Return a text as messages show it, in quotes and shortened."""
    return repr(text if len(text) <= 60 else text[:57] + '...')
