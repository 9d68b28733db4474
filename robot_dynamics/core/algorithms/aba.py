# SPDX-License-Identifier: Apache-2.0
"""Articulated body algorithm: forward dynamics in a time linear in the number of joints.

The articulated inertia of a body includes the bodies beyond it, whose joints are free to move. The
backward pass adds to each parent the part of it that the joint transmits; the forward pass
computes the joint accelerations one after the other.

The articulated inertia maps acceleration to wrench about the same origin,

    n = J wd + H a + n_0,      f = H^T wd + A a + f_0,      J, A symmetric,

and (n_0, f_0) is the bias wrench due to velocities.

Source: Featherstone, Rigid Body Dynamics Algorithms (2008), table 7.1, here with accelerations of
the origins instead of spatial ones.
"""

from __future__ import annotations

from typing import NamedTuple

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.scalars import Scalar, is_zero
from robot_dynamics.core.algorithms.composite_bodies import rotational_inertia
from robot_dynamics.core.algorithms.joint_frame import (
    JointFrame,
    Wrench,
    along_joint,
    joint_frames,
    total_wrench,
    wrench_in_parent,
)
from robot_dynamics.core.algorithms.link_kinematics import angular_velocities
from robot_dynamics.core.algorithms.vectors import (
    ZERO,
    Matrix,
    Vector,
    add,
    cross,
    dot,
    mat_add,
    mat_mul,
    mat_sub,
    mat_vec,
    outer,
    scaled,
    skew,
    symmetric,
    transposed,
)
from robot_dynamics.core.model.canonical import CanonicalTree, MassMoments


class ArticulatedBody(NamedTuple):
    """Wrench of a body and its subtree as a function of acceleration, in the body's frame."""

    J: Matrix  # moment per angular acceleration
    H: Matrix  # moment per acceleration of the origin
    A: Matrix  # force per acceleration of the origin
    bias: Wrench  # n_0, f_0


class FreeJoint(NamedTuple):
    """Acceleration of a joint: qdd = (u - U . (wd, a)) / d.

    (wd, a) is the acceleration of its body without that of the joint.
    """

    U: Wrench  # wrench per unit acceleration of the joint
    d_inverse: Scalar
    u: Scalar  # torque less the bias
    rotor: bool  # whether a rotor contributes to d


class Acceleration(NamedTuple):
    """Acceleration of a body in its own frame, less gravity."""

    wd: Vector
    a: Vector
    qdd: Scalar  # of its joint


def aba(tree: CanonicalTree, q: Vector, qd: Vector, tau: Vector) -> list[Scalar]:
    """Return the accelerations qdd (n) under the torques tau (n). Others as for `rnea`.

    Raises:
        ModelError: the robot's coordinates are not its joints (mimic joints, remote drives): the
            recursion needs joints that move on their own. `forward_dynamics` has no such limit.
    """
    _check_independent(tree)
    frames = joint_frames(tree, q)
    w = angular_velocities(tree, frames, qd)
    w_parents = tree.of_parent(w, tree.base_w)
    drift = [
        _drift(frame, w_p, w_i, rate)
        for frame, w_p, w_i, rate in zip(frames, w_parents, w, qd, strict=True)
    ]

    def free_joint(i: int, body: ArticulatedBody) -> FreeJoint:
        return _free_joint(frames[i].revolute, body, tree.reflected_inertia[i], tau[i])

    def passed_on(i: int, body: ArticulatedBody) -> ArticulatedBody:
        reduced = _transmitted(frames[i].revolute, body, free_joint(i, body), drift[i])
        return _in_parent(frames[i], reduced)

    own = [_rigid(body, w_i) for body, w_i in zip(tree.bodies, w, strict=True)]
    free = [free_joint(i, body) for i, body in enumerate(tree.inward(own, passed_on, _total))]
    base = Acceleration(tree.base_wd, [-x for x in tree.gravity], 0.0)
    motions = tree.outward(base, lambda i, parent: _moved(frames[i], parent, drift[i], free[i]))
    return [motion.qdd for motion in motions]


def dependent_joints(tree: CanonicalTree) -> list[int]:
    """Return the bodies whose joint is not a coordinate of its own: mimics, remote drives."""
    return [
        i
        for i, row in enumerate(tree.S)
        if len(row) != tree.nb or any(s != float(i == j) for j, s in enumerate(row))
    ]


def _check_independent(tree: CanonicalTree) -> None:
    for i in dependent_joints(tree):
        raise ModelError(
            f'the articulated body algorithm needs S = 1 (every joint a coordinate), but row {i} '
            f'of S is {tree.S[i]}: use forward_dynamics'
        )


def _drift(frame: JointFrame, w_p: Vector, w: Vector, qd: Scalar) -> tuple[Vector, Vector]:
    """Return (wd, a) of a body due to velocities, without acceleration of parent or joint."""
    # a = R (w_p x (w_p x p))
    a = frame.down(cross(w_p, cross(w_p, frame.p)))
    if frame.revolute:
        # wd = (R w_p) x z qd
        return [w[1] * qd, -(w[0] * qd), 0.0], a
    # a += 2 w x z qd
    return ZERO, [a[0] + 2.0 * (w[1] * qd), a[1] - 2.0 * (w[0] * qd), a[2]]


def _rigid(body: MassMoments, w: Vector) -> ArticulatedBody:
    """Return the inertia and bias of a rigid body: Newton's and Euler's laws at its origin."""
    # n = I wd + h x a + w x I w,   f = m a - h x wd + w x (w x h)
    J, m = rotational_inertia(body.Sigma), body.m
    bias = Wrench(cross(w, mat_vec(J, w)), cross(w, cross(w, body.h)))
    return ArticulatedBody(J, skew(body.h), [[m, 0.0, 0.0], [0.0, m, 0.0], [0.0, 0.0, m]], bias)


def _free_joint(revolute: bool, body: ArticulatedBody, rotor: Scalar, tau: Scalar) -> FreeJoint:
    """Return the coefficients of the acceleration of a body's joint under the torque tau."""
    # U = (J z, H^T z), or (H z, A z) if it slides;   d = z . U + rotor;   u = tau - z . bias
    if revolute:
        U = Wrench(_column_z(body.J), body.H[2])
    else:
        U = Wrench(_column_z(body.H), _column_z(body.A))
    d = along_joint(revolute, U) + rotor
    return FreeJoint(U, 1.0 / d, tau - along_joint(revolute, body.bias), not is_zero(rotor))


def _transmitted(
    revolute: bool, body: ArticulatedBody, free: FreeJoint, drift: tuple[Vector, Vector]
) -> ArticulatedBody:
    """Return the articulated inertia that the joint transmits, with its drift in the bias."""
    (n, f), (wd, a) = free.U, drift
    n_d, f_d = scaled(free.d_inverse, n), scaled(free.d_inverse, f)
    # J - n n^T / d,   H - n f^T / d,   A - f f^T / d
    J = _minus_symmetric(body.J, n_d, n)
    H = mat_sub(body.H, outer(n_d, f))
    A = _minus_symmetric(body.A, f_d, f)
    if not free.rotor:
        J, H, A = _free_along_z(revolute, J, H, A)
    # bias + (J wd + H a, H^T wd + A a) + U u / d
    bias = Wrench(
        add(add(body.bias.n, add(mat_vec(J, wd), mat_vec(H, a))), scaled(free.u, n_d)),
        add(
            add(body.bias.f, add(mat_vec(transposed(H), wd), mat_vec(A, a))),
            scaled(free.u, f_d),
        ),
    )
    return ArticulatedBody(J, H, A, bias)


def _free_along_z(revolute: bool, J: Matrix, H: Matrix, A: Matrix) -> tuple[Matrix, ...]:
    """Return the same with exact zeros where a joint without rotor transmits nothing."""
    if revolute:
        return _without_z(J), [H[0], H[1], ZERO], A
    return J, [[row[0], row[1], 0.0] for row in H], _without_z(A)


def _without_z(A: Matrix) -> Matrix:
    return [[A[0][0], A[0][1], 0.0], [A[1][0], A[1][1], 0.0], ZERO]


def _in_parent(frame: JointFrame, body: ArticulatedBody) -> ArticulatedBody:
    """Return the articulated inertia about the parent's origin, in its frame, X = [p]."""
    # wd = R^T wd_p,   a = R^T (a_p - X wd_p),   n_p = R n + X R f
    X = skew(frame.p)
    J, H, A = frame.up_symmetric(body.J), frame.up_matrix(body.H), frame.up_symmetric(body.A)
    # H_p = H + X A,   J_p = J - H_p X + X H^T
    H_p = mat_add(H, mat_mul(X, A))
    J_p = mat_add(mat_sub(J, mat_mul(H_p, X)), mat_mul(X, transposed(H)))
    return ArticulatedBody(_symmetric(J_p), H_p, A, wrench_in_parent(frame, body.bias))


def _moved(
    frame: JointFrame, parent: Acceleration, drift: tuple[Vector, Vector], free: FreeJoint
) -> Acceleration:
    """Return the acceleration of a body from that of its parent."""
    # wd = R wd_p + drift,   a = R (a_p + wd_p x p) + drift
    wd = add(frame.down(parent.wd), drift[0])
    a = add(frame.down(add(parent.a, cross(parent.wd, frame.p))), drift[1])
    # qdd = (u - U . (wd, a)) / d
    qdd = (free.u - (dot(free.U.n, wd) + dot(free.U.f, a))) * free.d_inverse
    along = [0.0, 0.0, qdd]
    return (
        Acceleration(add(wd, along), a, qdd)
        if frame.revolute
        else Acceleration(wd, add(a, along), qdd)
    )


def _total(a: ArticulatedBody, b: ArticulatedBody) -> ArticulatedBody:
    return ArticulatedBody(
        mat_add(a.J, b.J), mat_add(a.H, b.H), mat_add(a.A, b.A), total_wrench(a.bias, b.bias)
    )


def _column_z(A: Matrix) -> Vector:
    return [row[2] for row in A]


def _symmetric(A: Matrix) -> Matrix:
    """Return the symmetric matrix of an upper triangle."""
    return symmetric([A[0], A[1][1:], A[2][2:]])


def _minus_symmetric(A: Matrix, u: Vector, v: Vector) -> Matrix:
    """Return A - u v^T, known to be symmetric."""
    return symmetric([[A[i][j] - u[i] * v[j] for j in range(i, 3)] for i in range(3)])
