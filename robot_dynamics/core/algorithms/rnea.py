# SPDX-License-Identifier: Apache-2.0
"""Recursive Newton-Euler algorithm: inverse dynamics, in a time linear in the number of joints.

The forward pass computes the motion of each body from that of its parent; the backward pass the
wrench through each joint from Newton's and Euler's laws. All quantities are in body frames, where
inertias are constant.

Sources: Milićević, Golubović and Slavković, section 3.2 and table 2; Spong, Hutchinson and
Vidyasagar, section 6.6; Featherstone, Rigid Body Dynamics Algorithms (2008), table 5.1.
"""

from __future__ import annotations

from robot_dynamics.common.scalars import Scalar, is_zero
from robot_dynamics.core.algorithms.joint_frame import (
    JointFrame,
    Wrench,
    along_joint,
    joint_frames,
    total_wrench,
    wrench_in_parent,
)
from robot_dynamics.core.algorithms.link_kinematics import (
    Acceleration,
    accelerations,
    base_acceleration,
)
from robot_dynamics.core.algorithms.vectors import Vector, add, cross, mat_vec, scaled
from robot_dynamics.core.model.canonical import CanonicalTree, MassMoments
from robot_dynamics.core.model.coordinates import body_rates, generalized_forces


def rnea(tree: CanonicalTree, q: Vector, qd: Vector, qdd: Vector) -> list[Scalar]:
    """Return the torques (n) that produce the given motion: tau = M qdd + C qd + g.

    Args:
        tree: the robot.
        q: (n) joint positions, rad or m.
        qd: (n) joint velocities.
        qdd: (n) joint accelerations.
    """
    frames = joint_frames(tree, q)
    motions = accelerations(tree, frames, body_rates(tree.S, qd), body_rates(tree.S, qdd))
    through = joint_wrenches(tree, frames, motions)
    tau = generalized_forces(
        tree.S, [along_joint(frame.revolute, F) for frame, F in zip(frames, through, strict=True)]
    )
    # Rotors turn with the joints:  tau += B qdd
    return [
        t if is_zero(B) else t + B * a
        for t, B, a in zip(tau, tree.reflected_inertia, qdd, strict=True)
    ]


def bias_torque(tree: CanonicalTree, q: Vector, qd: Vector) -> list[Scalar]:
    """Return C(q, qd) qd + g(q) (n): the torques that keep every joint from accelerating."""
    return rnea(tree, q, qd, [0.0] * tree.n)


def base_wrench(tree: CanonicalTree, q: Vector, qd: Vector, qdd: Vector) -> list[Scalar]:
    """Return the wrench (6) of the mount on the base, about its origin, moment first.

    Links that are fixed to the base are included. Rotors act on their joints alone, as everywhere.
    """
    frames = joint_frames(tree, q)
    motions = accelerations(tree, frames, body_rates(tree.S, qd), body_rates(tree.S, qdd))
    through = joint_wrenches(tree, frames, motions)
    total = inertial_wrench(tree.base, base_acceleration(tree))
    for joint, frame, F in zip(tree.joints, frames, through, strict=True):
        if joint.parent < 0:
            total = total_wrench(total, wrench_in_parent(frame, F))
    return [*total.n, *total.f]


def joint_wrenches(
    tree: CanonicalTree, frames: list[JointFrame], motions: list[Acceleration]
) -> list[Wrench]:
    """Return the wrench through each joint for given motions of the bodies."""
    own = [
        inertial_wrench(body, motion) for body, motion in zip(tree.bodies, motions, strict=True)
    ]
    # A joint transmits the wrenches of its body and of all bodies beyond it.
    return tree.inward(own, lambda i, F: wrench_in_parent(frames[i], F), total_wrench)


def inertial_wrench(body: MassMoments, motion: Acceleration) -> Wrench:
    """Return the wrench for a given motion: Newton's and Euler's laws in mass moments."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = body.Sigma
    U = motion.U
    # f = sum m (a + U r) = m a + U h
    f = add(scaled(body.m, motion.a), mat_vec(U, body.h))
    # n = sum m r x (a + U r) = h x a + sum m r x U r,   Sigma = sum m r r^T
    n = [
        xy * U[2][0] - xz * U[1][0] + yz * (U[2][2] - U[1][1]) + yy * U[2][1] - zz * U[1][2],
        yz * U[0][1] - xy * U[2][1] + xz * (U[0][0] - U[2][2]) + zz * U[0][2] - xx * U[2][0],
        xz * U[1][2] - yz * U[0][2] + xy * (U[1][1] - U[0][0]) + xx * U[1][0] - yy * U[0][1],
    ]
    return Wrench(add(n, cross(body.h, motion.a)), f)
