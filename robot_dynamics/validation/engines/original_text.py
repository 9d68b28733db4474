# SPDX-License-Identifier: Apache-2.0
"""The robot's own text for physics engines, reduced by ElementTree alone.

An engine that reads what our reader has completed and written again repeats the reader's mistakes.
Here elements are dropped, never read into a model: every default and every number is left to the
engine. Nothing is shared with `urdf/`, which an import contract keeps.

The text has been accepted by the reader before, so it is well-formed and of limited size.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.inertia import Inertial

# Children by element. Meshes may be missing, plugins unknown, and engines differ in their use of
# damping, friction and mimic tags.
KEPT = {'link': ('inertial',), 'joint': ('origin', 'parent', 'child', 'axis', 'limit')}
ENTRIES = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')


class Mimic(NamedTuple):
    """A joint that follows another one: q = multiplier q_leader + offset."""

    leader: str
    multiplier: float
    offset: float


class OriginalText(NamedTuple):
    """A reduced text, and what has been read from the whole one to compare it with an engine."""

    urdf: str
    mimics: dict[str, Mimic]  # by joint
    inertials: dict[str, Inertial]  # by link, in its frame; zeros where none is written

    def motion(
        self, joint: str, coordinates: tuple[str, ...], locked: Mapping[str, float]
    ) -> tuple[Array, float]:
        """Return a (n,) and b of a joint's position a q + b.

        Args:
            joint: its name.
            coordinates: names of the n joints of q.
            locked: positions of joints that neither are among them nor mimic one; 0 if omitted.
        """
        multiplier, offset = 1.0, 0.0
        while joint in self.mimics:
            joint, k, shift = self.mimics[joint]
            multiplier, offset = multiplier * k, multiplier * shift + offset
        row = multiplier * np.array([name == joint for name in coordinates], dtype=float)
        return row, offset + multiplier * locked.get(joint, 0.0)


def original_text(text: str | bytes) -> OriginalText:
    """Return the links, inertials and joints of a URDF text, as they are written.

    A link without <inertial> gets one of zeros, the meaning of the URDF specification; PyBullet
    would assume 1 kg. That of the root link is dropped: the link is fixed to the world.
    """
    whole = _root(text)
    robot = Element('robot', name=whole.get('name') or 'robot')
    for element in whole:
        if element.tag in KEPT:
            reduced = ElementTree.SubElement(robot, element.tag, element.attrib)
            reduced.extend([child for child in element if child.tag in KEPT[element.tag]])
    moved = {child.get('link') for child in robot.iterfind('joint/child')}
    for link in robot.iterfind('link'):
        inertial = link.find('inertial')
        if link.get('name') not in moved:
            link[:] = []
        elif inertial is None:
            link.append(_written(Inertial()))
    return OriginalText(
        _as_text(robot),
        {
            joint.get('name', ''): Mimic(
                mimic.get('joint', ''),
                float(mimic.get('multiplier', 1)),
                float(mimic.get('offset', 0)),
            )
            for joint in whole.iterfind('joint')
            for mimic in joint.iterfind('mimic')
        },
        {
            link.get('name', ''): _inertial(inertial)
            for link in robot.iterfind('link')
            for inertial in link
        },
    )


def with_payload(text: str | bytes, link: str, payload: Inertial) -> str:
    """Return the text with a payload fixed to a link, equivalent to `RobotModel.with_payload`."""
    robot, name = _root(text), 'payload_of_' + link
    ElementTree.SubElement(robot, 'link', name=name).append(_written(payload))
    joint = ElementTree.SubElement(robot, 'joint', name='payload_joint_of_' + link, type='fixed')
    ElementTree.SubElement(joint, 'parent', link=link)
    ElementTree.SubElement(joint, 'child', link=name)
    return _as_text(robot)


def _root(text: str | bytes) -> Element:
    whole = text if isinstance(text, str) else bytes(text).decode('utf-8-sig')
    return ElementTree.fromstring(whole.lstrip('\ufeff \t\r\n'))


def _as_text(robot: Element) -> str:
    # One element per line: PyBullet splits lines of 8,191 characters.
    ElementTree.indent(robot)
    return ElementTree.tostring(robot, encoding='unicode')


def _written(body: Inertial) -> Element:
    """Return the <inertial> of a body."""
    inertial = Element('inertial')
    ElementTree.SubElement(inertial, 'origin', xyz=' '.join(map(repr, body.com.tolist())))
    ElementTree.SubElement(inertial, 'mass', value=repr(float(body.mass)))
    upper = map(repr, body.inertia_com[np.triu_indices(3)].tolist())
    ElementTree.SubElement(inertial, 'inertia', dict(zip(ENTRIES, upper, strict=True)))
    return inertial


def _inertial(element: Element) -> Inertial:
    """Return the inertia of an <inertial>, in the axes of its link."""
    values = {child.tag: child.attrib for child in element}
    origin = values.get('origin', {})
    com, rpy = (np.array(origin.get(k, '0 0 0').split(), dtype=float) for k in ('xyz', 'rpy'))
    ixx, ixy, ixz, iyy, iyz, izz = (float(values['inertia'][entry]) for entry in ENTRIES)
    I = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    R = np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )
    return Inertial(float(values['mass']['value']), com, R @ I @ R.T)
