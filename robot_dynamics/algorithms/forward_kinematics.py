"""Forward kinematics: where a frame of the robot is.

Source: Lynch and Park, Modern Robotics (2017), chapter 4.
"""

from __future__ import annotations

from robot_dynamics.algorithms.base_frame_joints import chain_to
from robot_dynamics.algorithms.vectors import Scalar, Vector
from robot_dynamics.model.canonical import CanonicalTree


def forward_kinematics(tree: CanonicalTree, q: Vector, frame: str) -> list[list[Scalar]]:
    """Return the pose T_wf (4, 4) of a named frame in the base frame.

    Args:
        tree: the robot.
        q: (n) joint positions, rad or m.
        frame: a name of `model.frame_names`.

    Raises:
        FrameNotFound: the robot has no frame of that name.
    """
    R, p = chain_to(tree, q, frame).frame
    rows = [[*row, x] for row, x in zip(R, p, strict=True)]
    return [*rows, [0.0, 0.0, 0.0, 1.0]]
