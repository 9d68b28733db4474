"""The frame of every link of a URDF, in the frame of its parent link.

This is what tf is made of: one transform per joint. Those of fixed (and locked) joints never
change; the others follow one coordinate each, their own or, for a mimic joint, its leader's. Not
as in a RobotModel, which merges what moves together, nothing is left out here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.model.joints import joint_transform
from robot_dynamics.spatial import Array, pose
from robot_dynamics.urdf.elements import is_revolute, origin_pose, unit_axis
from robot_dynamics.urdf.reader import read_urdf
from robot_dynamics.urdf.tree import Motion, joint_motions, link_tree


@dataclass(frozen=True, eq=False)
class LinkFrame:
    """How a link sits in its parent link."""

    link: str
    parent: str
    placement: Array  # (4, 4) pose of the joint in the parent
    axis: Array  # (3,) of the joint, zero if it is fixed
    revolute: bool
    motion: Motion

    @property
    def coordinate(self) -> str | None:
        """The joint whose position it follows, None if it stands still."""
        return self.motion.coordinate

    def pose(self, position: float = 0.0) -> Array:
        """Return the link's pose (4, 4) in its parent at a position of its coordinate."""
        # position of the joint = multiplier * position of the coordinate + offset
        own = self.motion.multiplier * position + self.motion.offset
        return pose(*joint_transform(self.placement, self.axis, self.revolute, own))


@dataclass(frozen=True, eq=False)
class LinkFrames:
    """All links of a robot, as frames."""

    robot: str
    root: str
    frames: tuple[LinkFrame, ...]  # parents before their children

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The joints whose positions must be known."""
        return tuple(dict.fromkeys(f.coordinate for f in self.frames if f.coordinate is not None))


def link_frames(xml_text: str | bytes, locked: Mapping[str, float] | None = None) -> LinkFrames:
    """Return the frames of the links of a URDF text.

    Args:
        xml_text: the URDF.
        locked: joints that stand still at a value, rad or m.

    Raises:
        ModelError: the description is wrong, and where.
    """
    robot = read_urdf(xml_text)
    tree = link_tree(robot)
    motions = joint_motions(tree, locked or {}, None)
    frames = tuple(_frame(joint, motions[joint.name]) for joint in tree.walk())
    return LinkFrames(robot.name, tree.root, frames)


def _frame(joint: Any, motion: Motion) -> LinkFrame:
    fixed = joint.type == 'fixed'
    return LinkFrame(
        link=joint.child,
        parent=joint.parent,
        placement=origin_pose(joint),
        axis=np.zeros(3) if fixed else unit_axis(joint),
        revolute=is_revolute(joint),
        motion=motion,
    )
