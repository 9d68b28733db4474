# SPDX-License-Identifier: Apache-2.0
"""Reduced URDF text as read and completed here: inertials, joints and limits only.

For engines that cannot read the original text (`validation/engines/original_text`).

Meshes may be missing, plugins unknown, and engines differ in their use of damping, friction and
mimic tags; the reduced text has none of them. A link without an inertial gets one of zeros, the
meaning of the URDF specification; PyBullet would assume 1 kg.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from urdf_parser_py import urdf

from robot_dynamics.core.model.inertia import Inertial
from robot_dynamics.urdf.deviations import UNKNOWN_ATTRIBUTES, UNKNOWN_ELEMENTS, Remarks
from robot_dynamics.urdf.elements import link_inertial
from robot_dynamics.urdf.reader import read_urdf
from robot_dynamics.urdf.rules import TENSOR
from robot_dynamics.urdf.tree import link_tree


def bare_urdf(text: str | bytes, *, mimics: bool = False) -> str:
    """Return the links, inertials and joints of a URDF text that `parse_urdf` accepts.

    The inertial of the root link is dropped: the link is fixed to the world. So is <mimic>, unless
    `mimics`.

    Raises:
        ModelError: the description is wrong.
    """
    robot = read_urdf(text)
    root = link_tree(robot).root
    for link in robot.links:
        if link.name == root:
            link.inertial = None
        elif link.inertial is None:
            link.inertial = _written(Inertial())
    for joint in robot.joints:
        joint.dynamics = None
        joint.mimic = joint.mimic if mimics else None
    return _text(robot)


def for_engines(text: str | bytes) -> tuple[str | bytes, str]:
    """Return a text that other programs read as this package does, and how the original deviates.

    The text itself and '' if it does not deviate from URDF 1.0 in what they read.
    """
    remarks = Remarks()
    read_urdf(text, remarks)
    found = [s for s in remarks if s not in (UNKNOWN_ATTRIBUTES, UNKNOWN_ELEMENTS)]
    if b'quat_xyzw' in (text.encode() if isinstance(text, str) else text):
        found.append('it has quaternions of URDF 1.1')
    return (bare_urdf(text, mimics=True), '; '.join(found)) if found else (text, '')


def inertials(text: str | bytes) -> dict[str, Inertial]:
    """Return the inertia of each link with an <inertial>, in the link's frame, by link name."""
    return {
        str(link.name): link_inertial(link)
        for link in read_urdf(text).links
        if link.inertial is not None
    }


def _written(body: Inertial) -> Any:
    """Return an inertia as a urdf_parser_py object."""
    upper = map(float, body.inertia_com[np.triu_indices(3)])
    return urdf.Inertial(
        float(body.mass),
        urdf.Inertia(**dict(zip(TENSOR, upper, strict=True))),
        urdf.Pose(body.com.tolist(), [0.0, 0.0, 0.0]),
    )


def _text(robot: Any) -> str:
    """Return a robot as text, one element per line: PyBullet splits lines of 8,191 characters."""
    # The version attribute, which the parser adds, is unknown to some engines.
    robot.version = None
    return str(robot.to_xml_string(addHeader=False))
