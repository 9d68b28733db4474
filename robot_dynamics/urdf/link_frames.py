# SPDX-License-Identifier: Apache-2.0
"""Frames of all links of a URDF, each in the frame of its parent link.

These are the transforms that tf publishes, one per joint. Transforms of fixed and locked joints
are constant; each of the others depends on one coordinate, that of the joint itself or, for a
mimic joint, that of its leader. A RobotModel merges links that move together; here none is merged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.common.spatial import Array, pose
from robot_dynamics.core.model.joints import joint_transform
from robot_dynamics.urdf.elements import is_revolute, origin_pose, unit_axis
from robot_dynamics.urdf.reader import read_urdf
from robot_dynamics.urdf.tree import JointMotion, joint_motions, link_tree


@dataclass(frozen=True, eq=False)
class LinkFrame:
    """Frame of a link in its parent link."""

    link: str
    parent: str
    placement: Array  # (4, 4) pose of the joint in the parent
    axis: Array  # (3,) of the joint, zero if it is fixed
    revolute: bool
    motion: JointMotion

    @property
    def coordinate(self) -> str | None:
        """Joint whose position determines it, None if it is constant."""
        return self.motion.coordinate

    def pose(self, position: float = 0.0) -> Array:
        """Return the pose (4, 4) of the link in its parent at a position of its coordinate."""
        # position of the joint = multiplier * position of the coordinate + offset
        own = self.motion.multiplier * position + self.motion.offset
        return pose(*joint_transform(self.placement, self.axis, self.revolute, own))


@dataclass(frozen=True, eq=False)
class LinkFrames:
    """Frames of all links of a robot."""

    robot: str
    root: str
    frames: tuple[LinkFrame, ...]  # parents before their children

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Joints whose positions determine all frames."""
        return tuple(dict.fromkeys(f.coordinate for f in self.frames if f.coordinate is not None))


def link_frames(xml_text: str | bytes, locked: Mapping[str, float] | None = None) -> LinkFrames:
    """Return the frames of the links of a URDF text.

    Args:
        xml_text: the URDF.
        locked: positions of locked joints, rad or m.

    Raises:
        ModelError: the description is wrong; the message names the element.
    """
    robot = read_urdf(xml_text)
    tree = link_tree(robot)
    motions = joint_motions(tree, locked or {}, None)
    frames = tuple(_frame(joint, motions[joint.name]) for joint in tree.walk())
    return LinkFrames(robot.name, tree.root, frames)


def _frame(joint: Any, motion: JointMotion) -> LinkFrame:
    fixed = joint.type == 'fixed'
    return LinkFrame(
        link=joint.child,
        parent=joint.parent,
        placement=origin_pose(joint),
        axis=np.zeros(3) if fixed else unit_axis(joint),
        revolute=is_revolute(joint),
        motion=motion,
    )
