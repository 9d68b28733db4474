# SPDX-License-Identifier: Apache-2.0
"""Gravity torque, from the first mass moments of the subtrees.

It takes half the operations of the recursive Newton-Euler algorithm at rest.

Turning joint j turns the bodies beyond it, which is as turning gravity the other way: for j that
carries i, and the momentum u_i = sum m J_i of the bodies beyond joint i for unit velocity of it,
g_i = u_i . a changes by

    dg_i/dq_j = u_i . (a x z_j) = z_j . (u_i x a),    a = -gravity,

which is symmetric, the Hessian of the potential energy, and 0 if joint j slides.

On a moving base, g is what holds the joints at rest relative to the base,

    g = sum m J^T (a + wd x r + w x (w x r)),

from the recursive Newton-Euler algorithm. It has a potential only without wd.

Sources: Spong, Hutchinson and Vidyasagar, (6.68); lecture notes, Lagrangian formulation, (42).
"""

from __future__ import annotations

from robot_dynamics.common.scalars import Scalar
from robot_dynamics.core.algorithms.column_propagation import Column, column_matrices
from robot_dynamics.core.algorithms.joint_frame import JointFrame, Wrench, joint_frames
from robot_dynamics.core.algorithms.rnea import rnea
from robot_dynamics.core.algorithms.vectors import ZERO, Vector, add, cross, scaled
from robot_dynamics.core.model.canonical import CanonicalTree
from robot_dynamics.core.model.coordinates import generalized_forces

FirstMoments = tuple[Scalar, Vector]  # m, h = sum m r


def gravity_torque(tree: CanonicalTree, q: Vector) -> list[Scalar]:
    """Return g(q) (n), the torques that hold the robot at rest. Arguments as for `rnea`."""
    if tree.base_rotates:
        return rnea(tree, q, [0.0] * tree.n, [0.0] * tree.n)
    return weight_torque(tree, q)


def weight_torque(tree: CanonicalTree, q: Vector) -> list[Scalar]:
    """Return g(q) (n) of gravity alone, without the rotation of the base."""
    frames = joint_frames(tree, q)
    directions = upward_directions(tree, frames)
    g = [
        # z . (h x a), or m z . a, where a = -gravity
        h[0] * a[1] - h[1] * a[0] if frame.revolute else m * a[2]
        for frame, (m, h), a in zip(frames, first_moments(tree, frames), directions, strict=True)
    ]
    return generalized_forces(tree.S, g)


def weight_torque_derivative(tree: CanonicalTree, q: Vector) -> list[list[Scalar]]:
    """Return the derivative (n, n) of `weight_torque`, symmetric. Arguments as for `rnea`."""
    frames = joint_frames(tree, q)
    directions = upward_directions(tree, frames)
    columns = [
        # z . (h x a) = (z x h) . a,   m z . a
        Column(
            Wrench(cross([-h[1], h[0], 0.0] if frame.revolute else [0.0, 0.0, m], a), ZERO),
            (),
            ZERO,
        )
        for frame, (m, h), a in zip(frames, first_moments(tree, frames), directions, strict=True)
    ]
    at_rest, none = [ZERO] * tree.nb, [()] * tree.nb
    (G,) = column_matrices(tree, frames, at_rest, columns, none)
    matrix: list[list[Scalar]] = tree.of_coordinates(G)
    return matrix


def upward_directions(tree: CanonicalTree, frames: list[JointFrame]) -> list[Vector]:
    """Return -gravity in the frame of every body."""
    upward: Vector = [-x for x in tree.gravity]
    return tree.outward(upward, lambda i, parent: frames[i].down(parent))


def first_moments(tree: CanonicalTree, frames: list[JointFrame]) -> list[FirstMoments]:
    """Return m and h of every body with all bodies beyond it, in its own frame."""
    return tree.inward(
        [(body.m, body.h) for body in tree.bodies],
        lambda i, moments: moments_in_parent(frames[i], moments),
        lambda a, b: (a[0] + b[0], add(a[1], b[1])),
    )


def moments_in_parent(frame: JointFrame, moments: FirstMoments) -> FirstMoments:
    """Return m and h in the parent's frame, about its origin."""
    # h_p = R h + m p
    m, h = moments
    return m, add(frame.up(h), scaled(m, frame.p))
