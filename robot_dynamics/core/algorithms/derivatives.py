# SPDX-License-Identifier: Apache-2.0
"""Derivatives of inverse dynamics with respect to positions and velocities.

With particles r of mass m (as in `coriolis.py`) and A = rdd - gravity, tau_i = sum m J_i . A.
Since dr/dq_j = J_j, and the order of differentiation does not matter,

    dtau_i/dqd_j  = 2 sum m J_i . Jd_j = 2 C_ij
    dtau_i/dq_j   = sum m J_i . Jdd_j + sum m (dJ_i/dq_j) . A,        dtau/dqdd = M.

dJ_i/dq_j turns J_j or J_i with the other's axis, whichever joint is nearer to the base: z_j x J_i
where j carries i, z_i x J_j where i carries j. In the first case

    sum m (z_j x J_i) . A = z_j . sum m J_i x A.

In both, most of the relative acceleration cancels by Jacobi's identity,
u x (v x w) + v x (w x u) + w x (u x v) = 0, and the rest is in the wrench (N, F) through
the joint: moments of second derivatives are not needed.

The second derivative of a Jacobian's column is, with zdd = U z,

    Jdd_j = zdd x (r - o_j) + 2 zd x (rd - od_j) + z x (rdd - odd_j).

Sources: Carpentier and Mansard, "Analytical derivatives of rigid body dynamics algorithms", RSS
2018; Echeandia and Wensing (2021), see `coriolis.py`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from robot_dynamics.core.algorithms.column_propagation import Column, Projection, column_matrices
from robot_dynamics.core.algorithms.composite_bodies import (
    MovingBody,
    moving_composites,
    rotational_inertia,
)
from robot_dynamics.core.algorithms.coriolis import moving_axis, unit_column
from robot_dynamics.core.algorithms.crba import in_coordinates
from robot_dynamics.core.algorithms.gravity import weight_torque_derivative
from robot_dynamics.core.algorithms.joint_frame import JointFrame, Wrench, joint_frames
from robot_dynamics.core.algorithms.link_kinematics import (
    Acceleration,
    accelerations,
    relative_velocities,
)
from robot_dynamics.core.algorithms.rnea import joint_wrenches
from robot_dynamics.core.algorithms.vectors import (
    ZERO,
    Vector,
    add,
    cross,
    dot,
    mat_vec,
    scaled,
    sub,
)
from robot_dynamics.core.model.canonical import CanonicalTree
from robot_dynamics.core.model.coordinates import body_rates


class Derivatives(NamedTuple):
    """Partial derivatives of tau: lists of scalars, or arrays with leading axes."""

    dtau_dq: Any  # (n, n), row i belongs to tau_i
    dtau_dqd: Any  # (n, n)
    M: Any  # (n, n) dtau/dqdd


def inverse_dynamics_derivatives(
    tree: CanonicalTree, q: Vector, qd: Vector, qdd: Vector
) -> Derivatives:
    """Return dtau/dq, dtau/dqd and M = dtau/dqdd, (n, n) each. Arguments as for `rnea`."""
    frames, rates = joint_frames(tree, q), body_rates(tree.S, qd)
    motions = accelerations(tree, frames, rates, body_rates(tree.S, qdd))
    through = joint_wrenches(tree, frames, motions)
    bodies = moving_composites(tree, frames, rates)
    M, C, D = column_matrices(
        tree,
        frames,
        relative_velocities(tree, frames, [motion.w for motion in motions], rates),
        [_unit_column(*each) for each in zip(frames, bodies, motions, through, strict=True)],
        [
            [
                moving_axis(frame.revolute, motion.w),
                _accelerating_axis(frame.revolute, motion),
            ]
            for frame, motion in zip(frames, motions, strict=True)
        ],
    )
    return Derivatives(
        tree.of_coordinates(D), tree.scaled(2.0, tree.of_coordinates(C)), in_coordinates(tree, M)
    )


def gravity_torque_derivative(tree: CanonicalTree, q: Vector) -> Any:
    """Return dg/dq (n, n), symmetric on a base without angular acceleration; as for `rnea`."""
    if tree.base_rotates:
        # g = ID(q, 0, 0)
        return inverse_dynamics_derivatives(tree, q, [0.0] * tree.n, [0.0] * tree.n).dtau_dq
    return weight_torque_derivative(tree, q)


def _unit_column(
    frame: JointFrame, body: MovingBody, motion: Acceleration, through: Wrench
) -> Column:
    """Return the column of a joint as for C, and d/dq_i of sum m (r - o) x A and sum m A.

    Args:
        frame: of the joint's body in its parent's.
        body: the composite body beyond the joint.
        motion: of the joint's body.
        through: the wrench through the joint.
    """
    w, _, U, a = motion
    m, h, Sigma = body.moments
    N, F = through
    first = unit_column(frame.revolute, body, w)
    # zd = w x z,   zdd = U z
    zd, zdd = [w[1], -w[0], 0.0], [row[2] for row in U]
    if not frame.revolute:
        # J = z:   sum m r x zdd + z x sum m A,   sum m zdd
        n = add(cross(h, zdd), [-F[1], F[0], 0.0])
        return first._replace(rates=[*first.rates, Wrench(n, scaled(m, zdd))])
    # sum m Jdd = zdd x h + 2 zd x hd + z x hdd,
    # hd = sum m rd = w x h + h',   zd x (w x h) = (zd . h) w,   hdd = sum m rdd = F - m a
    hdd, zd_2, w_2 = sub(F, scaled(m, a)), scaled(2.0, zd), scaled(2.0, w)
    f = add(cross(zdd, h), add(scaled(dot(zd, h), w_2), cross(zd_2, body.h_rate)))
    f = add(f, [-hdd[1], hdd[0], 0.0])
    # sum m r x (zdd x r) = I zdd,   sum m r x (zd x (w x r)) = -w x Sigma zd
    n = sub(mat_vec(rotational_inertia(Sigma), zdd), cross(w_2, mat_vec(Sigma, zd)))
    # 2 sum m r x (zd x r') = I' zd + zd x l
    n = add(n, add(mat_vec(rotational_inertia(body.Sigma_rate), zd), cross(zd, body.l)))
    # r x (z x rdd) + (z x r) x A = z x (r x A) - r x (z x a),   A = a + rdd
    n = add(n, sub([-N[1], N[0], 0.0], cross(h, [-a[1], a[0], 0.0])))
    return first._replace(rates=[*first.rates, Wrench(n, f)])


def _accelerating_axis(revolute: bool, motion: Acceleration) -> Projection:
    """Return the projection of a column that is dtau_i/dq_j, in the frame of joint j."""
    w, _, U, a = motion
    zd_2, zdd = [2.0 * w[1], -2.0 * w[0], 0.0], [row[2] for row in U]
    if not revolute:
        # J_i . zdd; a prismatic joint turns no axis
        return Projection(ZERO, zdd, ZERO)
    # J_i . (zdd x r + 2 zd x rd + z x rdd) + z . (J_i x A),   A = a + rdd: what has rdd cancels
    return Projection(zdd, [a[1], -a[0], 0.0], zd_2)
