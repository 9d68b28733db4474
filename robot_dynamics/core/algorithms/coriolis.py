# SPDX-License-Identifier: Apache-2.0
"""The Coriolis matrix of Christoffel symbols, with the mass matrix, from composite bodies.

For a robot of particles r of mass m, M = sum m J^T J and, with the derivative of the same
Jacobian, C = sum m J^T Jd. This C is the one of Christoffel symbols: J = dr/dq, so
dJ_j/dq_k = dJ_k/dq_j, which makes sum m J_i . dJ_j/dq_k the symbol c_ijk. Then Md - 2C is
skew-symmetric.

A revolute joint i moves the particles beyond it by J_i = z_i x (r - o_i), so

    Jd_i = zd_i x (r - o_i) + z_i x (rd - od_i).

The sums over particles need only the moments of every subtree in `composite_bodies`, which one
backward pass collects. Propagating columns toward the base then yields row and column of each
joint.

On a base that turns with w_0, particles have the acceleration J qdd + (Jd + 2 [w_0] J) qd + ...,
with J, Jd relative to the base, so that

    C = sum m J^T (Jd + 2 [w_0] J),

whose second part is skew: Md - 2C stays so. The derivative of J in the inertial axes has [w_0] J
once. So C is the one that the recursion gives on a base that turns with 2 w_0.

Sources: lecture notes, Lagrangian formulation, (44) to (46); Spong, Hutchinson and Vidyasagar,
(6.63) and (6.67); Echeandia and Wensing, "Numerical methods to compute the Coriolis matrix and
Christoffel symbols for rigid-body systems", J. Comput. Nonlinear Dyn. 16, 2021 (with a 6x6 matrix
per body in the place of these moments).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from robot_dynamics.common.scalars import Scalar
from robot_dynamics.core.algorithms.column_propagation import (
    Column,
    Projection,
    Z,
    column_matrices,
)
from robot_dynamics.core.algorithms.composite_bodies import (
    MovingBody,
    axial,
    moving_composites,
    unit_momentum,
)
from robot_dynamics.core.algorithms.crba import in_coordinates
from robot_dynamics.core.algorithms.gravity import gravity_torque
from robot_dynamics.core.algorithms.joint_frame import Wrench, joint_frames
from robot_dynamics.core.algorithms.link_kinematics import angular_velocities, relative_velocities
from robot_dynamics.core.algorithms.vectors import (
    ZERO,
    Vector,
    add,
    cross,
    mat_vec,
    scaled,
    sub,
)
from robot_dynamics.core.model.canonical import CanonicalTree
from robot_dynamics.core.model.coordinates import body_rates


class Terms(NamedTuple):
    """Terms of the equation of motion: lists of scalars, or arrays with leading axes."""

    M: Any  # (n, n) mass matrix
    C: Any  # (n, n) Coriolis matrix of Christoffel symbols
    g: Any  # (n) gravity torque


def terms(tree: CanonicalTree, q: Vector, qd: Vector) -> Terms:
    """Return M, C and g of M(q) qdd + C(q, qd) qd + g(q) = tau. Arguments as for `rnea`."""
    M, C = mass_and_coriolis_matrix(tree, q, qd)
    return Terms(M, C, gravity_torque(tree, q))


def coriolis_matrix(tree: CanonicalTree, q: Vector, qd: Vector) -> list[list[Scalar]]:
    """Return C(q, qd) (n, n), such that C qd is the torque. Arguments as for `rnea`."""
    return mass_and_coriolis_matrix(tree, q, qd)[1]


def mass_and_coriolis_matrix(
    tree: CanonicalTree, q: Vector, qd: Vector
) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """Return M(q) and C(q, qd), each (n, n). Arguments as for `rnea`."""
    # sum m J^T (Jd + [2 w_0] J)
    tree = replace(tree, base_w=[2.0 * x for x in tree.base_w])
    frames, rates = joint_frames(tree, q), body_rates(tree.S, qd)
    w = angular_velocities(tree, frames, rates)
    bodies = moving_composites(tree, frames, rates)
    M, C = column_matrices(
        tree,
        frames,
        relative_velocities(tree, frames, w, rates),
        [
            unit_column(frame.revolute, body, w_i)
            for frame, body, w_i in zip(frames, bodies, w, strict=True)
        ],
        [[moving_axis(frame.revolute, w_i)] for frame, w_i in zip(frames, w, strict=True)],
    )
    return in_coordinates(tree, M), tree.of_coordinates(C)


def unit_column(revolute: bool, body: MovingBody, w: Vector) -> Column:
    """Return momentum, its rate (with Jd in the place of J) and spin for a joint's unit velocity.

    Args:
        revolute: the type of the joint.
        body: the composite body beyond the joint.
        w: its angular velocity, in its frame.
    """
    (m, h, Sigma), h_rate, l = body.moments, body.h_rate, body.l
    momentum = unit_momentum(revolute, body.moments)
    # zd = w x z
    zd = [w[1], -w[0], 0.0]
    if not revolute:
        # J = z, Jd = zd:   sum m r x zd,   sum m rd x z,   rd = w x r + r'
        x, y, _ = add(cross(w, h), h_rate)
        return Column(momentum, [Wrench(cross(h, zd), scaled(m, zd))], [y, -x, 0.0])
    # Jd = w x J + z x r':   sum m Jd = w x (z x h) + z x h'
    f = add(cross(w, momentum.f), [-h_rate[1], h_rate[0], 0.0])
    # sum m r x (w x (z x r)) = -z x Sigma w,   sum m (w x r) x (z x r) = Sigma zd
    x, y, _ = mat_vec(Sigma, w)
    # sum m r x (z x r') = (I' z + z x l) / 2,   sum m r' x (z x r) = (I' z - z x l) / 2
    Iz, zl = axial(body.Sigma_rate), [-l[1], l[0], 0.0]
    n = add([y, -x, 0.0], scaled(0.5, add(Iz, zl)))
    spin = add(mat_vec(Sigma, zd), scaled(0.5, sub(Iz, zl)))
    return Column(momentum, [Wrench(n, f)], spin)


def moving_axis(revolute: bool, w: Vector) -> Projection:
    """Return the projection of a column on Jd_j: sum m J_i . Jd_j, in the frame of joint j."""
    # zd = w x z
    zd = [w[1], -w[0], 0.0]
    if not revolute:
        # Jd_j = zd
        return Projection(ZERO, zd, ZERO)
    # J_i . (zd x r) + J_i . (z x rd) = zd . (r x J_i) + z . (rd x J_i)
    return Projection(zd, ZERO, Z)
