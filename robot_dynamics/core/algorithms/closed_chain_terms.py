# SPDX-License-Identifier: Apache-2.0
"""Equation of motion of a cut-open mechanism, and the constraint equations of its loop closures.

The closures hold phi(q) = 0. Differentiated twice, with J = dphi/dq and c = dJ/dt qd,

    J qd = 0,        J qdd + c = 0.

A closure of frames a and b has these rows, six-vectors' order, directions before positions:

    x . y                   direction x of a stays perpendicular to direction y of b
    R_a^T (p_b - p_a)       the origins coincide, seen from frame a

In frame a the rows of a planar loop do not depend on how the robot moves the plane.

Source: Haug, Computer Aided Kinematics and Dynamics of Mechanical Systems (1989), sections 9.4
and 11.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from robot_dynamics.common.scalars import Scalar
from robot_dynamics.core.algorithms.crba import crba
from robot_dynamics.core.algorithms.jacobian import forward_kinematics, jacobian, jacobian_dot
from robot_dynamics.core.algorithms.rnea import bias_torque
from robot_dynamics.core.algorithms.vectors import (
    Matrix,
    Vector,
    add,
    cross,
    dot,
    inner,
    mat_vec,
    scaled,
    sub,
)
from robot_dynamics.core.model.canonical import CanonicalTree
from robot_dynamics.core.model.closures import LoopClosure

Rows = list[list[Scalar]]


class ChainTerms(NamedTuple):
    """The tree's M qdd + b = tau, and the m equations phi = 0 of the closures.

    Lists of scalars, or arrays with more axes before these.
    """

    M: Any  # (n, n)
    b: Any  # (n) C qd + g
    phi: Any  # (m)
    J: Any  # (m, n) dphi/dq
    c: Any  # (m) dJ/dt qd


class ClosureState(NamedTuple):
    """Motion of the two frames of a closure, in the base frame."""

    R_a: Matrix
    R_b: Matrix
    d: Vector  # p_b - p_a, m
    w_a: Vector  # rad/s
    w_b: Vector
    w: Vector  # w_b - w_a
    v: Vector  # dd/dt, m/s
    J_a: Matrix  # (6, n)
    J: Matrix  # (6, n) J_b - J_a
    a_a: Vector  # (6) dJ_a/dt qd
    a: Vector  # (6) d(J_b - J_a)/dt qd


def chain_terms(
    tree: CanonicalTree, closures: Sequence[LoopClosure], q: Vector, qd: Vector
) -> ChainTerms:
    """Return all terms of a mechanism with kinematic loops.

    Args:
        tree: the robot with its loops cut open.
        closures: the loop closures.
        q: (n) joint positions, rad or m.
        qd: (n) joint velocities.

    Raises:
        FrameNotFound: the robot has no frame of a closure's name.
    """
    phi: list[Scalar] = []
    J: Rows = []
    c: list[Scalar] = []
    for closure in closures:
        state = closure_state(tree, closure, q, qd)
        for x, y in closure.perpendicular:
            value, row, rest = perpendicular(state, mat_vec(state.R_a, x), mat_vec(state.R_b, y))
            phi, J, c = [*phi, value], [*J, row], [*c, rest]
        for k in range(3):
            value, row, rest = coincident(state, [row[k] for row in state.R_a])
            phi, J, c = [*phi, value], [*J, row], [*c, rest]
    return ChainTerms(crba(tree, q), bias_torque(tree, q, qd), phi, J, c)


def closure_state(
    tree: CanonicalTree, closure: LoopClosure, q: Vector, qd: Vector
) -> ClosureState:
    """Return the poses, velocities and Jacobians of the frames of a closure."""
    frames = (closure.frame_a, closure.frame_b)
    T_a, T_b = (forward_kinematics(tree, q, frame) for frame in frames)
    J_a, J_b = (jacobian(tree, q, frame) for frame in frames)
    Jd_a, Jd_b = (jacobian_dot(tree, q, qd, frame) for frame in frames)
    V_a, V_b, a_a, a_b = ([inner(row, qd) for row in rows] for rows in (J_a, J_b, Jd_a, Jd_b))
    return ClosureState(
        R_a=[row[:3] for row in T_a[:3]],
        R_b=[row[:3] for row in T_b[:3]],
        d=sub([row[3] for row in T_b], [row[3] for row in T_a]),
        w_a=V_a[:3],
        w_b=V_b[:3],
        w=sub(V_b[:3], V_a[:3]),
        v=sub(V_b[3:], V_a[3:]),
        J_a=J_a,
        J=[[y - x for x, y in zip(*rows, strict=True)] for rows in zip(J_a, J_b, strict=True)],
        a_a=a_a,
        a=[y - x for x, y in zip(a_a, a_b, strict=True)],
    )


def perpendicular(
    state: ClosureState, x: Vector, y: Vector
) -> tuple[Scalar, list[Scalar], Scalar]:
    """Return phi, J (n) and c of x . y = 0, x turning with frame a and y with frame b."""
    # d/dt (x . y) = n . (w_b - w_a),   n = y x x
    n = cross(y, x)
    # nd = (w_b x y) x x + y x (w_a x x)
    nd = add(cross(cross(state.w_b, y), x), cross(y, cross(state.w_a, x)))
    row = [dot(n, column) for column in zip(*state.J[:3], strict=True)]
    return dot(x, y), row, dot(n, state.a[:3]) + dot(nd, state.w)


def coincident(state: ClosureState, x: Vector) -> tuple[Scalar, list[Scalar], Scalar]:
    """Return phi, J (n) and c of x . d = 0, d = p_b - p_a, x an axis of frame a."""
    d, v, w_a = state.d, state.v, state.w_a
    # d/dt (x . d) = x . v + (w_a x x) . d = x . v + (x x d) . w_a
    lever = cross(x, d)
    row = [
        dot(x, column[3:]) + dot(lever, turning)
        for column, turning in zip(
            zip(*state.J, strict=True), zip(*state.J_a[:3], strict=True), strict=True
        )
    ]
    # xd = w_a x x;   c = x . a + 2 xd . v + (x x d) . wd_a + (w_a x xd) . d
    xd = cross(w_a, x)
    rest = dot(x, state.a[3:]) + 2.0 * dot(xd, v)
    return dot(x, d), row, rest + dot(lever, state.a_a[:3]) + dot(cross(w_a, xd), d)


def facing(tree: CanonicalTree, closures: Sequence[LoopClosure], q: Vector) -> list[Scalar]:
    """Return the cosines between the directions that must coincide."""
    cosines: list[Scalar] = []
    for closure in closures:
        T_a, T_b = (forward_kinematics(tree, q, f) for f in (closure.frame_a, closure.frame_b))
        for x, y in closure.facing:
            directions = (mat_vec([row[:3] for row in T[:3]], v) for T, v in ((T_a, x), (T_b, y)))
            cosines.append(dot(*directions))
    return cosines


def wrenches(
    tree: CanonicalTree, closures: Sequence[LoopClosure], q: Vector, multipliers: Vector
) -> Rows:
    """Return the wrench (6) by which frame a holds frame b, for each closure.

    World-aligned at b's origin, moment first. `multipliers` (m) belong to the rows of J.
    """
    zero = [0.0] * len(q)
    rest, result = list(multipliers), []
    for closure in closures:
        state = closure_state(tree, closure, q, zero)
        moment: Vector = [0.0, 0.0, 0.0]
        for x, y in closure.perpendicular:
            # J^T lambda of x . y = 0 is that of the moment lambda y x x
            n = cross(mat_vec(state.R_b, y), mat_vec(state.R_a, x))
            moment = add(moment, scaled(rest.pop(0), n))
        # and of R_a^T d = 0 that of the force R_a lambda
        force, rest = mat_vec(state.R_a, rest[:3]), rest[3:]
        result.append([*moment, *force])
    return result
