"""Deep trees: where joints far from each other should meet in the base frame.

The mass and Coriolis matrices have an entry for each joint i and each joint j that carries it. In
the file of the algorithm, what joint i moves walks inwards from frame to frame, and most entries
of these frames are 0 or 1. Where many joints follow each other, it is less work to see axes and
columns from the base once: then an entry takes two scalar products, without a walk.

With twist coordinates about the base's origin, axis j moves the point there by b = o x z, and

    tau_j = z . n + b . f

is what it feels of a wrench (n, f) about that origin (a slide: z . f).

Source: 001, chapters 5 and 8 (space Jacobian).
"""

from __future__ import annotations

from typing import NamedTuple

from robot_dynamics.algorithms.base_frame_joints import WorldPose, next_pose
from robot_dynamics.algorithms.joint_frame import JointFrame
from robot_dynamics.algorithms.repeated_bodies import RolledTree
from robot_dynamics.algorithms.tree_traversal import outward
from robot_dynamics.algorithms.vectors import (
    IDENTITY,
    ZERO,
    Scalar,
    Vector,
    add,
    cross,
    dot,
    mat_vec,
)
from robot_dynamics.algorithms.wrench import Wrench
from robot_dynamics.model.canonical import CanonicalTree

# Mean square of the number of joints between base and body, from which on recursions that grow
# with n take fewer operations than those that grow with pairs of joints: eleven joints in a row.
DEEP = 42.0


class Axis(NamedTuple):
    """Unit twist of a joint: angular velocity, and velocity of the base's origin; base frame."""

    w: Vector
    v: Vector


def is_deep(tree: CanonicalTree) -> bool:
    """Tell whether many joints follow each other."""
    if isinstance(tree, RolledTree):
        return True
    return sum(len(tree.support(i)) ** 2 for i in range(tree.nb)) > DEEP * tree.nb


def base_poses(tree: CanonicalTree, frames: list[JointFrame]) -> list[WorldPose]:
    """Return the pose of every body in the base frame."""
    return outward(tree, WorldPose(IDENTITY, ZERO), lambda i, p: next_pose(p, frames[i]))


def joint_axes(frames: list[JointFrame], poses: list[WorldPose]) -> list[Axis]:
    """Return the axes of all joints."""
    axes = []
    for frame, (R, o) in zip(frames, poses, strict=True):
        z = [row[2] for row in R]
        axes.append(Axis(z, cross(o, z)) if frame.revolute else Axis(ZERO, z))
    return axes


def axis_rates(
    frames: list[JointFrame], poses: list[WorldPose], w: list[Vector], od: list[Vector]
) -> list[Axis]:
    """Return the time derivatives of `joint_axes`.

    Args:
        frames: of the bodies.
        poses: of the bodies.
        w: angular velocities, each in its body's frame.
        od: velocities of the origins, base frame.
    """
    rates = []
    for frame, (R, o), w_i, od_i in zip(frames, poses, w, od, strict=True):
        # zd = w x z
        z, zd = [row[2] for row in R], mat_vec(R, [w_i[1], -w_i[0], 0.0])
        # d/dt (o x z) = o x zd + od x z
        moved = add(cross(o, zd), cross(od_i, z))
        rates.append(Axis(zd, moved) if frame.revolute else Axis(ZERO, zd))
    return rates


def wrench_in_base(pose: WorldPose, wrench: Wrench) -> Wrench:
    """Return the same wrench in the base frame, about its origin."""
    f = mat_vec(pose.R, wrench.f)
    return Wrench(add(mat_vec(pose.R, wrench.n), cross(pose.p, f)), f)


def felt(axis: Axis, wrench: Wrench) -> Scalar:
    """Return what a joint feels of a wrench, both seen from the base."""
    return dot(axis.w, wrench.n) + dot(axis.v, wrench.f)
