# SPDX-License-Identifier: Apache-2.0
"""Regressor of the joint torques in the inertial parameters: Y(q, qd, qdd) pi = tau.

pi holds ten numbers per body, about the body's own frame and in the order
m, m c_x, m c_y, m c_z, I_xx, I_xy, I_xz, I_yy, I_yz, I_zz. Rotors are not among them: with
rotor inertia B,  Y pi + B qdd = tau.

The torque of joint j due to body i is the power of the body's inertial wrench at the velocity
(alpha, beta) that joint j gives the body at unit rate:

    alpha . (I wd + w x I w + h x a) + beta . (m a + U h)

Sources: Spong, Hutchinson and Vidyasagar, (6.122); Atkeson, An and Hollerbach, "Estimation of
inertial parameters of manipulator loads and links", IJRR 5(3), 1986.
"""

from __future__ import annotations

from collections.abc import Iterator

from robot_dynamics.common.scalars import Scalar
from robot_dynamics.core.algorithms.joint_frame import JointFrame, joint_frames
from robot_dynamics.core.algorithms.link_kinematics import (
    Acceleration,
    Velocity,
    accelerations,
    base_acceleration,
)
from robot_dynamics.core.algorithms.vectors import (
    IDENTITY,
    ZERO,
    Vector,
    add,
    cross,
    dot,
    mat_mul,
    mat_vec,
    transposed,
)
from robot_dynamics.core.model.canonical import CanonicalTree, Placement
from robot_dynamics.core.model.coordinates import body_rates, generalized_forces


def regressor(tree: CanonicalTree, q: Vector, qd: Vector, qdd: Vector) -> list[list[Scalar]]:
    """Return Y (n, 10 nb). Arguments as for `rnea`."""
    frames = joint_frames(tree, q)
    motions = accelerations(tree, frames, body_rates(tree.S, qd), body_rates(tree.S, qdd))
    Y: list[list[Scalar]] = [[0.0] * (10 * tree.nb) for _ in range(tree.nb)]
    for i, place in enumerate(tree.body_frames):
        motion = _of_body_frame(place, motions[i])
        for j, unit in _unit_velocities(tree, frames, i):
            Y[j][10 * i : 10 * i + 10] = _power(motion, _velocity_of_body_frame(place, unit))
    # Y_p = S^T Y
    columns = [generalized_forces(tree.S, column) for column in zip(*Y, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]


def base_wrench_regressor(
    tree: CanonicalTree, q: Vector, qd: Vector, qdd: Vector
) -> list[list[Scalar]]:
    """Return Y (6, 10 nb + 10) of the wrench of `base_wrench`. Arguments as for `rnea`.

    The last ten columns belong to the links fixed to the base, about its frame.
    """
    frames = joint_frames(tree, q)
    motions = accelerations(tree, frames, body_rates(tree.S, qd), body_rates(tree.S, qdd))
    units = [Velocity(e, ZERO) for e in IDENTITY] + [Velocity(ZERO, e) for e in IDENTITY]
    # The velocities of all bodies as the base moves at unit rate and no joint does
    carried = tree.outward(units, lambda i, us: [_carried(frames[i], unit) for unit in us])
    Y: list[list[Scalar]] = [[] for _ in units]
    for place, motion, moving in zip(tree.body_frames, motions, carried, strict=True):
        own = _of_body_frame(place, motion)
        for row, unit in zip(Y, moving, strict=True):
            row += _power(own, _velocity_of_body_frame(place, unit))
    for row, unit in zip(Y, units, strict=True):
        row += _power(base_acceleration(tree), unit)
    return Y


def _unit_velocities(
    tree: CanonicalTree, frames: list[JointFrame], i: int
) -> Iterator[tuple[int, Velocity]]:
    """Yield each joint j that carries body i, with the velocity it gives frame i at unit rate."""
    chain = tree.support(i)
    for k, j in enumerate(chain):
        z = [0.0, 0.0, 1.0]
        unit = Velocity(z, ZERO) if frames[j].revolute else Velocity(ZERO, z)
        for child in chain[k + 1 :]:
            unit = _carried(frames[child], unit)
        yield j, unit


def _carried(frame: JointFrame, unit: Velocity) -> Velocity:
    """Return the velocity of a body that its parent carries along, the joint between at rest."""
    # w_c = R w,   v_c = R (v + w x p)
    return Velocity(frame.down(unit.w), frame.down(add(unit.v, cross(unit.w, frame.p))))


def _of_body_frame(place: Placement, motion: Acceleration) -> Acceleration:
    """Return the acceleration of the model's body frame, fixed at `place` in the canonical one."""
    R_bc = transposed(place.R)
    # a_b = R (a + U p),   U_b = R U R^T
    return Acceleration(
        mat_vec(R_bc, motion.w),
        mat_vec(R_bc, motion.wd),
        mat_mul(mat_mul(R_bc, motion.U), place.R),
        mat_vec(R_bc, add(motion.a, mat_vec(motion.U, place.p))),
    )


def _velocity_of_body_frame(place: Placement, unit: Velocity) -> Velocity:
    R_bc = transposed(place.R)
    return Velocity(mat_vec(R_bc, unit.w), mat_vec(R_bc, add(unit.v, cross(unit.w, place.p))))


def _power(motion: Acceleration, unit: Velocity) -> list[Scalar]:
    """Return the ten factors of a body's parameters in the power of its inertial wrench."""
    w, wd, U, a = motion
    alpha, beta = unit
    # h:  beta . U h + alpha . (h x a) = (U^T beta + a x alpha) . h
    first = add(mat_vec(transposed(U), beta), cross(a, alpha))
    # I:  alpha . I wd + alpha . (w x I w) = alpha . I wd + (alpha x w) . I w
    return [dot(beta, a), *first, *_inertia_factors(alpha, wd, cross(alpha, w), w)]


def _inertia_factors(a: Vector, b: Vector, c: Vector, d: Vector) -> list[Scalar]:
    """Return the factors of I_xx, I_xy, I_xz, I_yy, I_yz, I_zz in a . I b + c . I d."""

    def factor(x: int, y: int) -> Scalar:
        if x == y:
            return a[x] * b[x] + c[x] * d[x]
        return a[x] * b[y] + a[y] * b[x] + (c[x] * d[y] + c[y] * d[x])

    return [factor(x, y) for x in range(3) for y in range(x, 3)]
