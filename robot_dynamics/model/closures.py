"""Loop closures: two frames of a robot's tree held together by a hinge, a ball joint or a weld.

A mechanism with loops is a tree, cut open once per loop, and one closure per cut. A URDF can only
describe the tree; closures are given beside it:

    LoopClosure('coupler_end', 'rocker_end', 'pin')

| kind  | equations | what remains free between the frames     |
|-------|-----------|------------------------------------------|
| rigid | 6         | nothing                                  |
| pin   | 5         | turning about one axis: a hinge          |
| ball  | 3         | turning about any axis                   |

Directions are held by scalar products: a direction x of frame a and a direction y of frame b stay
perpendicular. For a pin, two directions across its axis stay perpendicular to the axis of the
other frame; three such pairs leave no freedom to turn. Scalar products do not tell a direction
from its opposite, so `facing` lists what must also point the same way.

Source: Haug, Computer Aided Kinematics and Dynamics of Mechanical Systems (1989), section 9.4:
the dot-1 and spherical constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.errors import ModelError
from robot_dynamics.model.robot_model import RobotModel

Direction = tuple[float, float, float]
Pairs = tuple[tuple[Direction, Direction], ...]

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
EQUATIONS = {'rigid': 6, 'pin': 5, 'ball': 3}


@dataclass(frozen=True)
class LoopClosure:
    """Two frames held together at their origins.

    To close a loop at a point that has no frame, give the URDF a massless link there, on a fixed
    joint.

    Attributes:
        frame_a: name of a frame of the robot.
        frame_b: name of another, on another body.
        kind: 'rigid', 'pin' or 'ball'.
        axis: of a pin; the same three numbers in the axes of both frames, of any length.

    Raises:
        ModelError: an unknown kind, one frame twice, or an axis that is not three finite numbers.
    """

    frame_a: str
    frame_b: str
    kind: str = 'pin'
    axis: Direction = Z

    def __post_init__(self) -> None:
        if self.kind not in EQUATIONS:
            raise ModelError(
                f'{self} is of no known kind; there are {", ".join(map(repr, EQUATIONS))}'
            )
        if self.frame_a == self.frame_b:
            raise ModelError(f'{self} holds a frame to itself; name two frames')
        axis = np.asarray(self.axis, dtype=float)
        length = np.linalg.norm(axis)
        if axis.shape != (3,) or not np.isfinite(length) or length == 0:
            raise ModelError(f'axis of {self} must be three finite numbers, not all zero')
        # Dividing by exactly 1 would change nothing, and the default is to stay exact.
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
        """Pairs (x, y) of directions which point the same way where the loop is closed."""
        return {'rigid': ((X, X), (Y, Y), (Z, Z)), 'pin': ((self.axis, self.axis),)}.get(
            self.kind, ()
        )


def check_closures(model: RobotModel, closures: Sequence[LoopClosure]) -> None:
    """Raise unless every closure joins two bodies of the robot that can move apart.

    Raises:
        ModelError: no closure at all, the same one twice, or both frames on one body.
        FrameNotFound: the robot has no frame of a name.
    """
    if not closures:
        raise ModelError('no closure is given: a robot without loops is a Dynamics by itself')
    for k, closure in enumerate(closures):
        body_a, body_b = (
            model.frame_body[model.frame_index(frame)]
            for frame in (closure.frame_a, closure.frame_b)
        )
        if body_a == body_b:
            body = model.body_names[body_a] if body_a >= 0 else 'the base'
            raise ModelError(f'{closure}: both frames are fixed to {body!r} and can never part')
        if closure in closures[:k]:
            raise ModelError(f'{closure} is given twice')


def _across(axis: Direction) -> tuple[Direction, Direction]:
    """Return two unit vectors perpendicular to a unit vector and to each other."""
    a = np.array(axis)
    # The coordinate axis that is least along it; exact where it is a coordinate axis itself.
    first = np.cross(np.eye(3)[int(np.argmin(np.abs(a)))], a)
    first = first / np.linalg.norm(first)
    second = np.cross(a, first)
    return (first[0], first[1], first[2]), (second[0], second[1], second[2])
