# SPDX-License-Identifier: Apache-2.0
"""Euler–Lagrange equations from the kinetic and the potential energy.

The Jacobians of the centres of mass map joint velocities to the velocities of the links, so the
kinetic energy is a quadratic form in qd, K = 1/2 qd^T M(q) qd, with the inertia matrix M.
d/dt (dL/dqd) - dL/dq = tau with L = K - P gives M, the gradient of P, and products of velocities
whose coefficients are derivatives of M: the Christoffel symbols.

The lecture notes on the Lagrangian formulation write the same equation in three forms:

    inverse_dynamics                M qdd + C qd + g                                  (44)
    inverse_dynamics_vector_form    M qdd + Mdot qd - 1/2 d(qd^T M qd)/dq + g         (39)
    inverse_dynamics_detailed_form  sum_j b_ij qdd_j + sum_jk h_ijk qd_k qd_j + g_i   (40)

The sources order the indices of a symbol differently. The same number is called

    c_ijk         Spong, Hutchinson and Vidyasagar: k is the joint of the torque
    Gamma_kij     Lynch and Park, draft
    h_kij         Milićević, Golubović and Slavković
    c_kij         lecture notes, Lagrangian formulation

The Jacobians are those of the nb bodies; the chain rule for q_body = S q + s0 transforms the
results to the n coordinates: S^T M S, S^T g, and one S per index of a derivative.

Source: Spong, Hutchinson and Vidyasagar, sections 6.2 and 6.3; lecture notes, Lagrangian
formulation, (29) to (46). The inertia matrix, M here, is D in the book and B in the notes. The
gravity vector of the book points up; that of the notes and of this project points down.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.common.spatial import Array, skew
from robot_dynamics.core import kinematics as kin
from robot_dynamics.core.model.robot_model import RobotModel, check_vector

# -- the equation of motion, in three forms -----------------------------------------------------


def inverse_dynamics(
    model: RobotModel,
    q: Array,
    qd: Array,
    qdd: Array,
    *,
    tip_wrench: Array | None = None,
    tip_frame: str | None = None,
) -> Array:
    """Return the joint torques of a motion: Christoffel form. Lecture notes, (44).

        tau = M(q) qdd + C(q, qd) qd + g(q) - J(q)^T F

    Args:
        model: the robot.
        q: (n,) joint positions, rad or m.
        qd: (n,) joint velocities.
        qdd: (n,) joint accelerations.
        tip_wrench: (6,) F, moment and force of the environment on the robot, world-aligned at
            the origin of `tip_frame`; h_e of the lecture notes is its opposite.
        tip_frame: name of the frame it acts on, the model's last one if omitted.

    Returns:
        (n,) torques of revolute joints [N m], forces of prismatic ones [N].

    Raises:
        ShapeError: q, qd or qdd is not (n,), or the wrench not (6,).
        FrameNotFound: the frame is unknown.
    """
    check_vector(model, q=q, qd=qd, qdd=qdd)
    tau: Array = mass_matrix(model, q) @ qdd + coriolis_matrix(model, q, qd) @ qd
    tau = tau + gravity_torque(model, q)
    if tip_wrench is None:
        return tau
    # xi = tau - J^T h_e with h_e = -F
    frame = model.frame_names[-1] if tip_frame is None else tip_frame
    return tau - kin.wrench_torque(model, q, tip_wrench, frame)


def inverse_dynamics_vector_form(model: RobotModel, q: Array, qd: Array, qdd: Array) -> Array:
    """Return the same torques by the vector form. Lecture notes, (39)."""
    check_vector(model, q=q, qd=qd, qdd=qdd)
    dM = mass_matrix_partials(model, q)
    # Mdot = sum_k dM/dq_k qd_k
    M_dot = np.tensordot(np.asarray(qd), dM, axes=1)
    # n = Mdot qd - 1/2 (d/dq (qd^T M qd))^T + (dU/dq)^T
    n = M_dot @ qd - dM @ qd @ qd / 2 + gravity_torque(model, q)
    return np.asarray(mass_matrix(model, q) @ qdd + n)


def inverse_dynamics_detailed_form(model: RobotModel, q: Array, qd: Array, qdd: Array) -> Array:
    """Return the same torques by the detailed form. Lecture notes, (40)."""
    check_vector(model, q=q, qd=qd, qdd=qdd)
    b, h, g = mass_matrix(model, q), detailed_symbols(model, q), gravity_torque(model, q)
    # sum_j b_ij qdd_j + sum_j sum_k h_ijk qd_k qd_j + g_i
    return np.asarray(b @ qdd + h @ qd @ qd + g)


# -- energies -----------------------------------------------------------------------------------


def kinetic_energy(model: RobotModel, q: Array, qd: Array) -> Array:
    """Return K [J], a scalar, of links and rotors.

    Spong, Hutchinson and Vidyasagar, (6.46); lecture notes, (34).
    """
    poses, rates = kin.body_poses(model, q), kin.body_velocities(model, qd)
    # Each rotor adds 1/2 B qd^2.
    K = np.asarray(model.reflected_inertia @ np.square(qd) / 2)
    for m, I, J in zip(
        model.mass, _base_inertias(model, poses), kin.com_jacobians(model, poses), strict=True
    ):
        # w = J_O qd,  v = J_P qd: Spong et al., (6.50)
        w, v = np.split(J @ rates, 2)
        # K_i = 1/2 m v^T v + 1/2 w^T (R I R^T) w
        K = K + (m * (v @ v) + w @ I @ w) / 2
    return K


def potential_energy(model: RobotModel, q: Array) -> Array:
    """Return P [J], a scalar, 0 with all centres of mass at base height. Lecture notes, (38)."""
    p = kin.com_positions(model, kin.body_poses(model, q))
    # U = -sum_i m_i g^T p_i
    return np.asarray(-(model.mass @ (p @ model.gravity)))


# -- inertia matrix and its derivatives ---------------------------------------------------------


def mass_matrix(model: RobotModel, q: Array) -> Array:
    """Return the inertia matrix M (n, n).

    D of Spong, Hutchinson and Vidyasagar, (6.53); B of the lecture notes, (37).
    """
    poses = kin.body_poses(model, q)
    M = np.zeros((model.nb, model.nb))
    for m, I, J in zip(
        model.mass, _base_inertias(model, poses), kin.com_jacobians(model, poses), strict=True
    ):
        J_O, J_P = J[:3], J[3:]
        # M = sum_i m_i J_P^T J_P + J_O^T (R_i I_i R_i^T) J_O
        M = M + m * (J_P.T @ J_P) + J_O.T @ I @ J_O
    return np.asarray(model.S.T @ M @ model.S + np.diag(model.reflected_inertia))


def mass_matrix_partials(model: RobotModel, q: Array) -> Array:
    """Return dM/dq (n, n, n), k first: [k] is dM/dq_k, by the derivatives of the Jacobians."""
    poses = kin.body_poses(model, q)
    dM = np.zeros((model.nb, model.nb, model.nb))
    for m, I, J, dJ in zip(
        model.mass,
        _base_inertias(model, poses),
        kin.com_jacobians(model, poses),
        kin.com_jacobian_partials(model, poses),
        strict=True,
    ):
        J_O, J_P, dJ_O, dJ_P = J[:3], J[3:], dJ[:, :3], dJ[:, 3:]
        # d(R I R^T)/dq_k = [w_k] R I R^T - R I R^T [w_k],  w_k = column k of J_O
        dI = np.stack([skew(w) @ I - I @ skew(w) for w in J_O.T])
        # d(J_O^T I J_O) = dJ_O^T I J_O + J_O^T I dJ_O + J_O^T dI J_O, and m J_P^T J_P likewise
        half = m * (J_P.T @ dJ_P) + J_O.T @ I @ dJ_O
        dM = dM + half + half.swapaxes(1, 2) + J_O.T @ dI @ J_O
    # dM/dq_k = sum_m S_mk S^T (dM_body/dq_m) S
    return np.tensordot(model.S.T, model.S.T @ dM @ model.S, axes=1)


# -- Coriolis, centrifugal and gravity terms ----------------------------------------------------


def christoffel_symbols(model: RobotModel, q: Array) -> Array:
    """Return c (n, n, n), c[i, j, k] = c_ijk of the first kind.

    c_ijk qd_i qd_j is a torque on joint k: centrifugal for i = j, Coriolis otherwise. Spong,
    Hutchinson and Vidyasagar, (6.63); lecture notes, (46).
    """
    # d[k, j, i] = dM_kj/dq_i
    d = np.moveaxis(mass_matrix_partials(model, q), 0, 2)
    # c_ijk = 1/2 (dM_kj/dq_i + dM_ki/dq_j - dM_ij/dq_k)
    return np.asarray(np.einsum('kji->ijk', d) + np.einsum('kij->ijk', d) - d) / 2


def detailed_symbols(model: RobotModel, q: Array) -> Array:
    """Return h (n, n, n), h[i, j, k] = h_ijk; h_ijk qd_j qd_k acts on joint i.

    Lecture notes, (41).
    """
    # d[i, j, k] = db_ij/dq_k
    d = np.moveaxis(mass_matrix_partials(model, q), 0, 2)
    # h_ijk = db_ij/dq_k - 1/2 db_jk/dq_i
    return np.asarray(d - np.einsum('jki->ijk', d) / 2)


def coriolis_matrix(model: RobotModel, q: Array, qd: Array) -> Array:
    """Return C (n, n) of Christoffel symbols: Mdot - 2C is skew-symmetric.

    Spong, Hutchinson and Vidyasagar, (6.67); lecture notes, (45).
    """
    check_vector(model, qd=qd)
    # C_kj = sum_i c_ijk qd_i
    return np.tensordot(np.asarray(qd), christoffel_symbols(model, q), axes=1).T


def gravity_torque(model: RobotModel, q: Array) -> Array:
    """Return g (n,), the torques that hold the arm against gravity.

    Spong, Hutchinson and Vidyasagar, (6.68); lecture notes, (42).
    """
    J = kin.com_jacobians(model, kin.body_poses(model, q))
    # g_i = dP/dq_i = -sum_j m_j g^T J_Pi^(j)
    g = [-m * (model.gravity @ J_j[3:]) for m, J_j in zip(model.mass, J, strict=True)]
    return np.asarray(model.S.T @ sum(g))


def _base_inertias(model: RobotModel, poses: Array) -> list[Array]:
    """Return R I R^T (3, 3) of every link about its centre of mass. Spong et al., (6.48)."""
    return [T[:3, :3] @ I @ T[:3, :3].T for T, I in zip(poses, model.inertia_com, strict=True)]
