# SPDX-License-Identifier: Apache-2.0
"""Positions, velocities and accelerations of the bodies, forward from the base.

Accelerations are those of the origins in an inertial frame, less gravity: the base accelerates
upwards, so that weight needs no separate treatment. The acceleration field of a body is
a(r) = a + U r  with  U = [wd] + [w]^2.

Of a moving base, angular velocity, angular acceleration and the acceleration of its origin, less
gravity, are the motion that the pass begins with. Velocities are relative to the origin of the
base: its linear velocity changes no torque.

Sources: Milićević, Golubović and Slavković, table 2; Luh, Walker and Paul, "On-line computational
scheme for mechanical manipulators", ASME J. Dyn. Sys. Meas. Control 102, 1980.
"""

from __future__ import annotations

from typing import NamedTuple

from robot_dynamics.common.scalars import Scalar
from robot_dynamics.core.algorithms.joint_frame import JointFrame, joint_frame
from robot_dynamics.core.algorithms.vectors import (
    IDENTITY,
    ZERO,
    ZERO_MATRIX,
    Matrix,
    Vector,
    add,
    cross,
    mat_vec,
    scaled,
    transposed,
)
from robot_dynamics.core.model.canonical import CanonicalTree
from robot_dynamics.core.model.coordinates import body_positions


class Velocity(NamedTuple):
    """Velocity of body i, in frame i."""

    w: Vector  # angular, rad/s
    v: Vector  # of the origin, m/s


class Acceleration(NamedTuple):
    """Acceleration of body i, in frame i."""

    w: Vector  # angular velocity, rad/s
    wd: Vector  # angular acceleration, rad/s^2
    U: Matrix  # [wd] + [w]^2, 1/s^2
    a: Vector  # of the origin, less gravity, m/s^2


def angular_velocities(tree: CanonicalTree, frames: list[JointFrame], qd: Vector) -> list[Vector]:
    """Return w (3,) of every body, in its own frame; qd (nb) are the bodies' joint rates."""

    def step(i: int, w_p: Vector) -> Vector:
        w = frames[i].down(w_p)
        # w_i = R (w_p) + z qd
        return [w[0], w[1], w[2] + qd[i]] if tree.joints[i].revolute else w

    return tree.outward(tree.base_w, step)


def velocities(tree: CanonicalTree, frames: list[JointFrame], qd: Vector) -> list[Velocity]:
    """Return the velocity of every body; qd (nb) are the bodies' joint rates."""

    def step(i: int, parent: Velocity) -> Velocity:
        frame = frames[i]
        w = frame.down(parent.w)
        # v_i = R (v_p + w_p x p)
        v = frame.down(add(parent.v, cross(parent.w, frame.p)))
        if frame.revolute:
            return Velocity([w[0], w[1], w[2] + qd[i]], v)
        return Velocity(w, [v[0], v[1], v[2] + qd[i]])

    return tree.outward(Velocity(tree.base_w, ZERO), step)


def accelerations(
    tree: CanonicalTree, frames: list[JointFrame], qd: Vector, qdd: Vector
) -> list[Acceleration]:
    """Return the acceleration of every body; qd, qdd (nb) belong to the bodies' joints."""
    base = base_acceleration(tree)
    return tree.outward(base, lambda i, p: _moved(frames[i], p, qd[i], qdd[i]))


def base_acceleration(tree: CanonicalTree) -> Acceleration:
    """Return the acceleration of the base, in its frame."""
    w, wd = tree.base_w, tree.base_wd
    U = acceleration_field(w, wd) if tree.base_rotates else ZERO_MATRIX
    # Accelerating the base upwards is the same as gravity pulling downwards.
    return Acceleration(w, wd, U, [-x for x in tree.gravity])


def _moved(frame: JointFrame, parent: Acceleration, qd: Scalar, qdd: Scalar) -> Acceleration:
    """Return the acceleration of a body whose parent moves as given."""
    w, wd = frame.down(parent.w), frame.down(parent.wd)
    # a_i = R (a_p + U_p p)
    a = frame.down(add(parent.a, mat_vec(parent.U, frame.p)))
    if frame.revolute:
        # wd_i = R wd_p + (R w_p) x z qd + z qdd,   w_i = R w_p + z qd
        wd = [wd[0] + w[1] * qd, wd[1] - w[0] * qd, wd[2] + qdd]
        w = [w[0], w[1], w[2] + qd]
    else:
        # a_i = ... + 2 w x z qd + z qdd
        a = [a[0] + 2.0 * (w[1] * qd), a[1] - 2.0 * (w[0] * qd), a[2] + qdd]
    return Acceleration(w, wd, acceleration_field(w, wd), a)


def acceleration_field(w: Vector, wd: Vector) -> Matrix:
    """Return U = [wd] + [w]^2."""
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    return [
        [-(yy + zz), xy - wd[2], xz + wd[1]],
        [xy + wd[2], -(xx + zz), yz - wd[0]],
        [xz - wd[1], yz + wd[0], -(xx + yy)],
    ]


def relative_velocities(
    tree: CanonicalTree, frames: list[JointFrame], w: list[Vector], qd: Vector
) -> list[Vector]:
    """Return the velocity of every origin less that of its parent's, in the parent's frame.

    Args:
        tree: the robot.
        frames: (nb) of the bodies in their parents'.
        w: (nb) angular velocities, each in its body's frame.
        qd: (nb) rates of the bodies' joints.
    """
    result = []
    for frame, w_p, rate in zip(frames, tree.of_parent(w, tree.base_w), qd, strict=True):
        # pd = w_p x p + R z qd
        pd = cross(w_p, frame.p)
        if not frame.revolute:
            pd = add(pd, scaled(rate, [row[2] for row in frame.R]))
        result.append(pd)
    return result


# -- poses in the base frame ----------------------------------------------------------------------


class WorldPose(NamedTuple):
    """Pose of a frame in the base frame w."""

    R: Matrix  # R_wi
    p: Vector  # p_wi, m


class Chain(NamedTuple):
    """Bodies between the base and a frame, from the base outwards, and their poses."""

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
