# SPDX-License-Identifier: Apache-2.0
"""Loop closures: two frames of a tree connected by a pin, a ball joint or a rigid weld.

A mechanism with kinematic loops is a tree, cut once per loop, with one closure per cut. A URDF
describes only the tree; the closures are given in addition:

    LoopClosure('coupler_end', 'rocker_end', 'pin')

| kind  | equations | relative motion that remains free        |
|-------|-----------|------------------------------------------|
| rigid | 6         | none                                     |
| pin   | 5         | rotation about one axis: a hinge         |
| ball  | 3         | rotation about any axis                  |

Orientation is constrained by scalar products: a direction x of frame a and a direction y of frame
b stay perpendicular. For a pin, two directions across its axis stay perpendicular to the axis of
the other frame; three such pairs fix the orientation. Scalar products do not distinguish a
direction from its opposite, so `facing` lists directions that must also point the same way.

Source: Haug, Computer Aided Kinematics and Dynamics of Mechanical Systems (1989), section 9.4:
the dot-1 and spherical constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.common.errors import ModelError
from robot_dynamics.core.model.robot_model import RobotModel

Direction = tuple[float, float, float]
Pairs = tuple[tuple[Direction, Direction], ...]

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
EQUATIONS = {'rigid': 6, 'pin': 5, 'ball': 3}


@dataclass(frozen=True)
class LoopClosure:
    """Two frames whose origins coincide.

    To close a loop at a point without a frame, add a massless link there, on a fixed joint, to the
    URDF.

    Attributes:
        frame_a: name of a frame of the robot.
        frame_b: name of another, on another body.
        kind: 'rigid', 'pin' or 'ball'.
        axis: of a pin, any length; the same three numbers hold in both frames.

    Raises:
        ModelError: an unknown kind, equal frames, or an axis that is not three finite numbers.
    """

    frame_a: str
    frame_b: str
    kind: str = 'pin'
    axis: Direction = Z

    def __post_init__(self) -> None:
        if self.kind not in EQUATIONS:
            raise ModelError(
                f'{self} has an unknown kind; expected one of {", ".join(map(repr, EQUATIONS))}'
            )
        if self.frame_a == self.frame_b:
            raise ModelError(f'{self} connects a frame to itself; expected two different frames')
        axis = np.asarray(self.axis, dtype=float)
        length = np.linalg.norm(axis)
        if axis.shape != (3,) or not np.isfinite(length) or length == 0:
            raise ModelError(f'axis of {self} must be three finite numbers, not all zero')
        # A unit axis stays exact: division by 1.0 changes nothing.
        object.__setattr__(self, 'axis', tuple((axis / length).tolist()))

    def __str__(self) -> str:
        return f'{self.kind} closure {self.frame_a!r} - {self.frame_b!r} with axis {self.axis}'

    @property
    def equations(self) -> int:
        """Number of equations, 6, 5 or 3, redundant ones included."""
        return EQUATIONS[self.kind]

    @property
    def perpendicular(self) -> Pairs:
        """Pairs (x, y): direction x of frame a stays perpendicular to direction y of frame b."""
        if self.kind == 'rigid':
            return (X, Z), (Y, Z), (X, Y)
        if self.kind == 'pin':
            across, other = _across(self.axis)
            return (across, self.axis), (other, self.axis)
        return ()

    @property
    def facing(self) -> Pairs:
        """Pairs (x, y) of directions that point the same way in a closed posture."""
        return {'rigid': ((X, X), (Y, Y), (Z, Z)), 'pin': ((self.axis, self.axis),)}.get(
            self.kind, ()
        )


def check_closures(model: RobotModel, closures: Sequence[LoopClosure]) -> None:
    """Raise unless every closure connects two different bodies of the robot.

    Raises:
        ModelError: no closure, a repeated closure, or both frames on one body.
        FrameNotFound: a frame is unknown.
    """
    if not closures:
        raise ModelError(
            'no closure is given; expected at least one, a tree alone needs only Dynamics'
        )
    for k, closure in enumerate(closures):
        body_a, body_b = (
            model.frame_body[model.frame_index(frame)]
            for frame in (closure.frame_a, closure.frame_b)
        )
        if body_a == body_b:
            body = model.body_names[body_a] if body_a >= 0 else 'the base'
            raise ModelError(
                f'{closure}: both frames are fixed to {body!r}; expected frames on two bodies'
            )
        if closure in closures[:k]:
            raise ModelError(f'{closure} is given twice')


def _across(axis: Direction) -> tuple[Direction, Direction]:
    """Return two unit vectors perpendicular to a unit vector and to each other."""
    a = np.array(axis)
    # The coordinate axis least aligned with it; exact if the axis is a coordinate axis.
    first = np.cross(np.eye(3)[int(np.argmin(np.abs(a)))], a)
    first = first / np.linalg.norm(first)
    second = np.cross(a, first)
    return (first[0], first[1], first[2]), (second[0], second[1], second[2])
