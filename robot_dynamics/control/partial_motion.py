# SPDX-License-Identifier: Apache-2.0
"""Motion of some joints while the others continue the motion that they are in.

A trajectory for a part of the joints replaces the motion of those joints only, as in
joint_trajectory_controller with `allow_partial_joints_goal`, which holds the others (4.42.1,
joint_trajectory_controller.cpp).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.control.trajectory import Reference, Trajectory
from robot_dynamics.control.transitions import Joined, Stop


class Part(NamedTuple):
    """Path of all joints, of which only some are used."""

    path: Trajectory | Joined | Stop
    offset: float  # s, time of the path when that of the whole motion is 0
    joints: Array  # (n,) bool: the joints that follow it


@dataclass(frozen=True, eq=False)
class Combined:
    """Motion whose joints follow different paths.

    Attributes:
        parts: paths whose joints are disjoint and together are all joints; at most n.
    """

    parts: tuple[Part, ...]
    duration: float = field(init=False)  # s, until the last of them ends
    end: Reference = field(init=False)  # (n,) rest

    def __post_init__(self) -> None:
        parts = tuple(part._replace(joints=np.array(part.joints)) for part in self.parts)
        object.__setattr__(self, 'parts', parts)
        duration = max(part.path.duration - part.offset for part in self.parts)
        object.__setattr__(self, 'duration', duration)
        end = self._merged([part.path.end for part in self.parts])
        object.__setattr__(self, 'end', end.frozen())

    def sample(self, t: float) -> Reference:
        """Return the reference (n,) at the time t [s] of the motion."""
        return self._merged([part.path.sample(t + part.offset) for part in self.parts])

    def _merged(self, references: list[Reference]) -> Reference:
        merged = np.empty((3, len(self.parts[0].joints)))
        for part, reference in zip(self.parts, references, strict=True):
            for row, values in zip(merged, reference, strict=True):
                row[part.joints] = values[part.joints]
        return Reference(*merged)


def combined(
    path: Trajectory | Joined,
    joints: Array,
    before: Trajectory | Joined | Stop | Combined,
    offset: float,
) -> Combined:
    """Return the motion of some joints along a path, of the others along the motion before.

    Args:
        path: of all joints.
        joints: (n,) bool: the joints that follow it.
        before: the motion of the others.
        offset: time of that motion when that of the path is 0, s.
    """
    parts = before.parts if isinstance(before, Combined) else (Part(before, 0.0, ~joints),)
    others = [
        Part(part.path, part.offset + offset, part.joints & ~joints)
        for part in parts
        if (part.joints & ~joints).any()
    ]
    return Combined((Part(path, 0.0, joints), *others))
