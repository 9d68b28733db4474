"""The joints between the base and a frame, seen from the base, at given joint positions."""

from __future__ import annotations

from typing import NamedTuple

from robot_dynamics.algorithms.joint_frame import JointFrame, joint_frame
from robot_dynamics.algorithms.vectors import (
    IDENTITY,
    ZERO,
    Matrix,
    Vector,
    add,
    mat_vec,
    transposed,
)
from robot_dynamics.model.canonical import CanonicalTree
from robot_dynamics.model.coordinates import body_positions


class WorldPose(NamedTuple):
    """Pose of a frame in the base frame w."""

    R: Matrix  # R_wi
    p: Vector  # p_wi, m


class Chain(NamedTuple):
    """The bodies that carry a frame, from the base outwards, and where they are."""

    bodies: list[int]
    poses: list[WorldPose]  # of the bodies
    frame: WorldPose


def chain_to(tree: CanonicalTree, q: Vector, frame: str) -> Chain:
    """Return the chain that carries a frame, at q (n). Raises FrameNotFound."""
    place = tree.frame(frame)
    bodies = tree.support(place.body)
    positions = body_positions(tree.S, tree.s0, q)
    here, poses = WorldPose(IDENTITY, ZERO), []
    for i in bodies:
        here = next_pose(here, joint_frame(tree.joints[i], positions[i]))
        poses.append(here)
    return Chain(bodies, poses, _fixed(here, place.R, place.p))


def next_pose(parent: WorldPose, frame: JointFrame) -> WorldPose:
    """Return T_wi = T_wp T_pi."""
    # Row by row: R_wi = (R_pi^T R_wp^T)^T
    return WorldPose([frame.down(row) for row in parent.R], _point(parent, frame.p))


def _fixed(parent: WorldPose, R: Matrix, p: Vector) -> WorldPose:
    """Return T_wf = T_wi T_if of a frame fixed in body i."""
    return WorldPose([mat_vec(transposed(R), row) for row in parent.R], _point(parent, p))


def _point(pose: WorldPose, p: Vector) -> Vector:
    """Return p_w + R_w p."""
    return add(pose.p, mat_vec(pose.R, p))
