# SPDX-License-Identifier: Apache-2.0
"""Rules of --portable: what this package reads and other programs read as another robot.

What urdfdom does was tried with urdfdom 6.0.0 in Pinocchio 4.1; Pinocchio, rviz, MoveIt and
robot_state_publisher read descriptions by it. PyBullet and Pinocchio are named where they differ.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np

from robot_dynamics.check.description import Description
from robot_dynamics.check.findings import Fault
from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.reporting.findings import Repair
from robot_dynamics.urdf.editing import BLANK, TextElement, located

VECTORS = ('xyz', 'rpy', 'quat_xyzw')
NEWER = {  # attributes and shapes of later versions of URDF
    'quat_xyzw': (1.1, 'urdfdom ignores it, so the orientation is lost'),
    'capsule': (1.1, 'urdfdom drops the shape'),
    'acceleration': (1.2, 'urdfdom ignores it'),
    'deceleration': (1.2, 'urdfdom ignores it'),
    'jerk': (1.2, 'urdfdom ignores it'),
}
DROPPED = 'urdfdom drops the <inertial>, so the link is massless'
TENSOR_DROPPED = 'urdfdom drops the tensor, and keeps the mass'
REJECTED = 'urdfdom rejects the robot'
# White space other than a blank that follows a number in a vector, or ends a single number
_IN_VECTOR = re.compile(rb'\S(?:[\t\r\n]|&#(?:9|10|13|x9|xA|xD);)', re.IGNORECASE)
_BEHIND = re.compile(rb'\S(?:\s|&#(?:9|10|13|32|x9|xA|xD|x20);)+$', re.IGNORECASE)
_NUMBER = re.compile(r'\s*[-+]?(?:\d|\.\d|inf)', re.IGNORECASE)


def portable_findings(robot: Description, text: bytes) -> Iterator[Fault]:
    """Yield what other programs read differently, and why."""
    try:
        root = located(text := text.lstrip(BLANK))
    except ModelError:  # named as its own finding
        return
    name = root.values.get('name') or 'robot'
    yield from (_fault(message, name, 'robot') for message in _robot(root))
    for element in root.children:
        owner = element.values.get('name', '')
        if element.tag in ('link', 'joint'):
            messages = [*_white_space(element, text), *_newer(element, _version(root))]
            messages += _joint(element) if element.tag == 'joint' else []
            yield from (_fault(message, owner, element.tag) for message in messages)
        if element.tag == 'link':
            yield from _products(element, owner)
    yield from _assumed(robot)


def _fault(message: str, name: str, tag: str, repair: tuple[Repair, ...] = ()) -> Fault:
    return Fault('warning', 'not-portable', name, message, repair, tag, proved=True)


def _version(root: TextElement) -> float:
    """Return the version of URDF that a description declares, NaN if it is none."""
    text = root.values.get('version', '1.0')
    return float(text) if re.fullmatch(r'1\.[012]', text) else np.nan


def _robot(root: TextElement) -> Iterator[str]:
    if np.isnan(_version(root)):
        yield f'version is {root.values["version"]!r}; expected 1.0, 1.1 or 1.2: {REJECTED}'
    if not root.values.get('name'):
        yield f'the robot has no name: {REJECTED}'
    materials = Counter(e.values.get('name') for e in root.children if e.tag == 'material')
    for name, times in materials.items():
        if times > 1:
            yield f'material {name!r} is defined {times} times: {REJECTED}'


def _white_space(element: TextElement, text: bytes) -> Iterator[str]:
    """Yield numbers of inertials and joints with white space that urdfdom takes as theirs."""
    for tag, inner in _inside(element):
        if element.tag == 'link' and tag != 'inertial':
            continue
        for key, (start, end) in inner.attributes.items():
            pattern = _IN_VECTOR if key in VECTORS else _BEHIND
            if _NUMBER.match(inner.values[key]) and pattern.search(text[start:end]):
                what = 'a line break or tab' if key in VECTORS else 'white space'
                then = TENSOR_DROPPED if inner.tag == 'inertia' else DROPPED
                then = then if element.tag == 'link' else REJECTED
                yield f'<{inner.tag}> has {what} behind a number of {key}: {then}'


def _inside(element: TextElement) -> Iterator[tuple[str, TextElement]]:
    """Yield all elements below a link or joint, with the tag of its child they belong to."""
    waiting = [(child.tag, child) for child in element.children]
    while waiting:
        tag, inner = waiting.pop()
        yield tag, inner
        waiting += [(tag, child) for child in inner.children]


def _newer(element: TextElement, version: float) -> Iterator[str]:
    words = {word for _, inner in _inside(element) for word in (inner.tag, *inner.values)}
    for word in sorted(words & NEWER.keys()):
        needed, then = NEWER[word]
        if not version >= needed:
            yield f'{word} is of URDF {needed}; without version="{needed}" {then}'
        else:
            yield f'{word} is of URDF {needed}: urdfdom before 5 (before 6 for 1.2) rejects it'


def _joint(joint: TextElement) -> Iterator[str]:
    """Yield limits and dynamics that urdfdom does not read."""
    limits = [e for e in joint.children if e.tag == 'limit']
    if joint.values.get('type') in ('revolute', 'prismatic') and not limits:
        yield f'has no <limit>: {REJECTED}'
    for limit in limits:
        absent = [key for key in ('effort', 'velocity') if key not in limit.values]
        infinite = [key for key, text in limit.values.items() if 'inf' in text.lower()]
        if absent:
            yield f'<limit> has no {" and no ".join(absent)}: {REJECTED}'
        if infinite:
            yield f'<limit> has infinite {", ".join(infinite)}: {REJECTED}'
    for child in joint.children:
        if child.tag == 'dynamics' and not child.values.keys() & {'damping', 'friction'}:
            yield f'<dynamics> has neither damping nor friction: {REJECTED}'
        if child.tag == 'safety_controller' and 'k_velocity' not in child.values:
            yield f'<safety_controller> has no k_velocity: {REJECTED}'


def _products(link: TextElement, name: str) -> Iterator[Fault]:
    """Yield products of inertia that are missing; zeros are what they are read as."""
    for inner in (i for tag, i in _inside(link) if tag == 'inertial' and i.tag == 'inertia'):
        absent = [key for key in ('ixy', 'ixz', 'iyz') if key not in inner.values]
        if absent:
            below = inner.values.keys() & {'iyx', 'izx', 'izy'}  # what is missing may be there
            zeros = () if below else absent
            repair = tuple(Repair(f'inertial/inertia/@{key}', None, 0.0) for key in zeros)
            yield _fault(
                f'<inertia> has no {", ".join(absent)}: {TENSOR_DROPPED}', name, 'link', repair
            )


def _assumed(robot: Description) -> Iterator[Fault]:
    """Yield what other programs assume of common descriptions."""
    for link in robot.links.values():
        if not link.has_inertial and link.name in robot.inward:
            message = 'has no <inertial>: PyBullet assumes 1 kg'
            yield Fault('info', 'not-portable', link.name, message)
    for joint in robot.joints.values():
        if joint.mimic and joint.moves:
            message = 'mimics a joint: PyBullet, and Pinocchio without mimic=True, move it freely'
            yield Fault('info', 'not-portable', joint.name, message, tag='joint')
