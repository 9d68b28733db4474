# SPDX-License-Identifier: Apache-2.0
"""Recursion of twists and wrenches as one matrix equation.

All twists are stacked into one vector of 6 n rows, and so are the wrenches. The recursion becomes
V = Gamma V + A thetad, which L = (1 - Gamma)^-1 solves, and M, c and g follow in closed form.
Gamma connects each body to its parent and is the only matrix that depends on the posture; A and G,
screws and inertias, are constant. In a tree, Gamma has its blocks at (child, parent).

The same equations give three matrices C with equal torque C qd: see `coriolis_matrix` and the two
functions after it.

Source: Lynch and Park, draft, section 9.4, (9.62)-(9.88). Corrected misprints: the term with
ad(A thetad) has a minus sign in (9.73), (9.78) and (9.83), since [V_i, A_i] thetad =
-ad(A_i thetad) V_i; and the base accelerates by (0, -g). Frames {i} are at the centres of mass.
Joint angles theta of the nb bodies follow from the n coordinates by theta = S q + s0, so every A
of the source is A S here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array, adjoint, inverse_pose, lie_bracket, pose
from robot_dynamics.core.model.contact import contact
from robot_dynamics.core.model.robot_model import RobotModel, check_vector
from robot_dynamics.core.model.screws import exponential, to_screws


@dataclass(frozen=True)
class Stacked:
    """The matrices of one posture."""

    A: Array  # (6 nb, n) screws A_i on the diagonal (9.64), mapped to the coordinates
    G: Array  # (6 nb, 6 nb) inertias G_i on the diagonal (9.65)
    Gamma: Array  # (6 nb, 6 nb) Ad(T_ip) at (i, parent of i) (9.68)
    L: Array  # (6 nb, 6 nb) (1 - Gamma)^-1: Ad(T_ij) wherever j carries i (9.76)
    B: Array  # (6 nb, 6) Ad(T_i0) of the bodies on the base: V_base = B V_0 (9.69)
    T: list[Array]  # nb poses T_0i (4, 4)

    @property
    def J(self) -> Array:
        """L A (6 nb, n), the body Jacobians J_ib of all links: V = J qd. (9.60)."""
        return np.asarray(self.L @ self.A)


class Recursion(NamedTuple):
    """Twists, accelerations and wrenches, each stacked by bodies."""

    V: Array  # (6 nb,) twists
    Vd: Array  # (6 nb,) their derivatives, less gravity
    F: Array  # (6 nb,) wrenches through the joints
    tau: Array  # (n,) torques


class VelocityTorques(NamedTuple):
    """Centrifugal and Coriolis torques; Spong, Hutchinson and Vidyasagar, below (6.65)."""

    centrifugal: Array  # (n,) terms in qd_j^2
    coriolis: Array  # (n,) terms in qd_j qd_k, j != k


def inverse_dynamics(
    model: RobotModel,
    q: Array,
    qd: Array,
    qdd: Array,
    *,
    tip_wrench: Array | None = None,
    tip_frame: str | None = None,
) -> Array:
    """Return the joint torques that produce the given motion.

        tau = M(q) qdd + c(q, qd) + g(q) - J(q)^T F_ext        (9.81)

    Args:
        model: RobotModel with n coordinates.
        q: (n,) positions, rad or m.
        qd: (n,) velocities.
        qdd: (n,) accelerations.
        tip_wrench: (6,) moment and force of the environment on the robot, in base axes, about the
            origin of `tip_frame`; none if omitted.
        tip_frame: name of the frame the wrench acts at; the model's last one if omitted.

    Returns:
        (n,) torques of revolute joints [N m], forces of prismatic ones [N].

    Raises:
        ShapeError: an argument has the wrong shape.
        FrameNotFound: `tip_frame` is unknown.
    """
    check_vector(model, qdd=qdd)
    inertia = mass_matrix(model, q) @ qdd
    tip = stack(model, q).J.T @ tip_wrenches(model, q, tip_wrench, tip_frame)
    tau: Array = inertia + coriolis_torque(model, q, qd) + gravity_torque(model, q) + tip
    return tau


def mass_matrix(model: RobotModel, q: Array) -> Array:
    """Return M (n, n), rotors included. (9.82) and (9.61)."""
    s = stack(model, q)
    # M = A^T L^T G L A
    return np.asarray(s.J.T @ s.G @ s.J + np.diag(model.reflected_inertia))


def coriolis_torque(model: RobotModel, q: Array, qd: Array) -> Array:
    """Return c (n,), the Coriolis and centrifugal torque. (9.83)."""
    return np.asarray(coriolis_matrix_of_recursion(model, q, qd) @ qd)


def gravity_torque(model: RobotModel, q: Array) -> Array:
    """Return g (n,), the torques that hold the arm against gravity. (9.84)."""
    s = stack(model, q)
    # g = A^T L^T G L Vd_base,   Vd_base = B (0, -g)
    Vd_base = s.B @ np.append(np.zeros(3), -model.gravity)
    return np.asarray(s.J.T @ s.G @ s.L @ Vd_base)


def coriolis_matrix(model: RobotModel, q: Array, qd: Array) -> Array:
    """Return C (n, n) of the Christoffel symbols: dM/dt - 2 C is skew-symmetric. (9.87)."""
    check_vector(model, qd=qd)
    # c_ij = sum_k Gamma_ijk qd_k
    return np.asarray(christoffel_symbols(model, q) @ qd)


def coriolis_matrix_of_recursion(model: RobotModel, q: Array, qd: Array) -> Array:
    """Return the C (n, n) of (9.83): the torque C qd is correct, but dM/dt - 2 C is not skew.

    A counter-example: stability proofs need more of C than the correct torque.
    """
    check_vector(model, qd=qd)
    s = stack(model, q)
    ad_A, ad_V = block_lie_bracket(s.A @ qd), block_lie_bracket(s.J @ qd)
    # C = -A^T L^T (G L [ad_A thetad] Gamma + [ad_V]^T G) L A
    return np.asarray(-s.J.T @ (s.G @ s.L @ ad_A @ s.Gamma + ad_V.T @ s.G) @ s.J)


def coriolis_matrix_skew(model: RobotModel, q: Array, qd: Array) -> Array:
    """Return a third C (n, n): dM/dt - 2 C is skew-symmetric, but C is not Christoffel's.

    G [ad_V] adds no torque, since [V, V] = 0, but makes [ad_V]^T G skew-symmetric.
    """
    check_vector(model, qd=qd)
    s = stack(model, q)
    ad_A, ad_V = block_lie_bracket(s.A @ qd), block_lie_bracket(s.J @ qd)
    # C = -A^T L^T (G L [ad_A thetad] Gamma + [ad_V]^T G - G [ad_V]) L A
    inner = s.G @ s.L @ ad_A @ s.Gamma + ad_V.T @ s.G - s.G @ ad_V
    return np.asarray(-s.J.T @ inner @ s.J)


def christoffel_symbols(model: RobotModel, q: Array) -> Array:
    """Return Gamma_ijk (n, n, n), symmetric in j and k. (9.86)."""
    D = mass_matrix_partials(model, q)
    # Gamma_ijk = (dm_ij/dq_k + dm_ik/dq_j - dm_jk/dq_i) / 2,   with D[k, i, j] = dm_ij/dq_k
    return np.asarray((D.transpose(1, 2, 0) + D.transpose(1, 0, 2) - D) / 2)


def velocity_torques(model: RobotModel, q: Array, qd: Array) -> VelocityTorques:
    """Return the centrifugal and the Coriolis torques (n,) at q and qd (n,); their sum is c."""
    check_vector(model, qd=qd)
    Gamma, squares = christoffel_symbols(model, q), np.asarray(qd) ** 2
    # sum_j Gamma_ijj qd_j^2
    centrifugal = np.einsum('ijj->ij', Gamma) @ squares
    return VelocityTorques(centrifugal, Gamma @ qd @ qd - centrifugal)


def mass_matrix_partials(model: RobotModel, q: Array) -> Array:
    """Return dM/dq_k (n, n, n), k first, without a difference quotient.

    Only Gamma depends on q: block k of it, Ad(T_kp), has the derivative -[ad_A_k] Ad(T_kp), and
    dL = L dGamma L. So d(L A)/dtheta_k = -L [ad_A_k] Gamma L A, with ad_A_k in block k alone.
    """
    s, J = stack(model, q), stack(model, q).J
    A = to_screws(model).A
    body_partials = []
    for k in range(model.nb):
        rows = slice(6 * k, 6 * k + 6)
        dJ = -s.L[:, rows] @ lie_bracket(A[k]) @ (s.Gamma @ J)[rows]
        # dM = dJ^T G J + J^T G dJ
        half = J.T @ s.G @ dJ
        body_partials.append(half + half.T)
    # dM/dq_m = sum_k dM/dtheta_k S_km
    return np.tensordot(model.S.T, np.array(body_partials), axes=1)


def recursion(
    model: RobotModel,
    q: Array,
    qd: Array,
    qdd: Array,
    *,
    tip_wrench: Array | None = None,
    tip_frame: str | None = None,
    base_twist: Sequence[float] = (0, 0, 0, 0, 0, 0),
    base_acceleration: Sequence[float] = (0, 0, 0, 0, 0, 0),
) -> Recursion:
    """Return all twists, accelerations and wrenches. (9.77)-(9.80).

    Args are those of `inverse_dynamics`, and V_0 and dV_0/dt (6,) of a moving base, in its own
    frame, without gravity.
    """
    check_vector(model, qd=qd, qdd=qdd)
    s = stack(model, q)
    V_base = s.B @ np.asarray(base_twist)
    Vd_base = s.B @ (np.asarray(base_acceleration) - np.append(np.zeros(3), model.gravity))

    # V = L (A qd + V_base)        (9.77)
    V = s.L @ (s.A @ qd + V_base)
    # Vd = L (A qdd - [ad_A qd] (Gamma V + V_base) + Vd_base)        (9.78)
    ad_A = block_lie_bracket(s.A @ qd)
    Vd = s.L @ (s.A @ qdd - ad_A @ (s.Gamma @ V + V_base) + Vd_base)
    # F = L^T (G Vd - [ad_V]^T G V + F_tip)        (9.79)
    F_tip = tip_wrenches(model, q, tip_wrench, tip_frame)
    F = s.L.T @ (s.G @ Vd - block_lie_bracket(V).T @ s.G @ V + F_tip)
    # tau = A^T F        (9.80)
    return Recursion(V, Vd, F, s.A.T @ F + model.reflected_inertia * qdd)


def stack(model: RobotModel, q: Array) -> Stacked:
    """Return the stacked matrices of the posture q (n,). (9.64)-(9.76)."""
    check_vector(model, q=q)
    theta, nb = model.S @ q + model.s0, model.nb
    A, M, G = to_screws(model)
    zero, one = np.zeros((6, 6)), np.eye(6)

    Gamma_rows: list[Array] = []
    L_rows: list[Array] = []
    B_rows: list[Array] = []
    T: list[Array] = []
    for i in range(nb):
        p = model.parent[i]
        # T_pi = M_pi exp([A_i] theta_i)
        T_pi = M[i] @ exponential(A[i], theta[i])
        Ad_ip = adjoint(inverse_pose(T_pi))
        T.append((T[p] if p >= 0 else np.eye(4)) @ T_pi)
        Gamma_rows.append(np.hstack([Ad_ip if j == p else zero for j in range(nb)]))
        B_rows.append(zero if p >= 0 else Ad_ip)
        # L = 1 + Gamma L, solved from the base to the tips
        unit = np.hstack([one if j == i else zero for j in range(nb)])
        L_rows.append(unit + Ad_ip @ L_rows[p] if p >= 0 else unit)
    return Stacked(
        block_diagonal(list(A[:, :, None])) @ model.S,
        block_diagonal(list(G)),
        np.vstack(Gamma_rows),
        np.vstack(L_rows),
        np.vstack(B_rows),
        T,
    )


def tip_wrenches(
    model: RobotModel, q: Array, tip_wrench: Array | None, tip_frame: str | None
) -> Array:
    """Return F_tip (6 nb,), the wrench of the robot on the environment. (9.71)."""
    touch = contact(model, tip_wrench, tip_frame)
    blocks: list[Array] = [np.zeros(6)] * model.nb
    if touch.body >= 0:
        # The tip frame {t} has the base's axes; Ad(T_ti)^T F_t, with the opposite of our sign.
        R_0i, i = stack(model, q).T[touch.body][:3, :3], touch.body
        T_it = pose(R_0i.T, touch.p - model.com[i])
        F_ext = np.concatenate([touch.moment, touch.force])
        blocks[i] = -adjoint(inverse_pose(T_it)).T @ F_ext
    return np.concatenate(blocks)


def block_lie_bracket(V: Array) -> Array:
    """Return [ad_V] (6 nb, 6 nb) of stacked twists (6 nb,). (9.66) and (9.67)."""
    return block_diagonal([lie_bracket(V_i) for V_i in np.split(V, len(V) // 6)])


def block_diagonal(blocks: list[Array]) -> Array:
    """Return the matrix with blocks (k, k) on its diagonal and zeros elsewhere."""
    return np.block(
        [
            [X if i == j else np.zeros((X.shape[0], Y.shape[1])) for j, Y in enumerate(blocks)]
            for i, X in enumerate(blocks)
        ]
    )
