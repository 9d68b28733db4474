"""Euler–Lagrange: the equations of motion from the kinetic and the potential energy.

The Jacobians of the centres of mass turn joint velocities into the velocities of the links, so
the kinetic energy is a quadratic form in qd, K = 1/2 qd^T M(q) qd, and its matrix is the inertia
matrix. Putting L = K - P into d/dt (dL/dqd) - dL/dq = tau leaves, beside M and the gradient of P,
products of velocities whose coefficients are derivatives of M: the Christoffel symbols.

003 writes the same equation three ways, and so does this file:

    inverse_dynamics                M qdd + C qd + g                               003, (44)
    inverse_dynamics_vector_form    M qdd + Mdot qd - 1/2 d(qd^T M qd)/dq + g      003, (39)
    inverse_dynamics_detailed_form  sum_j b_ij qdd_j + sum_jk h_ijk qd_k qd_j + g_i    003, (40)

Each source numbers the symbols in its own way. The same number is called

    000: c_ijk    001: Gamma_kij    002: h_kij    003: c_kij

that is, 000 puts the joint that feels the torque last, the others put it first.

The links' Jacobians are those of the nb bodies; the chain rule of q_body = S q + s0 takes the
results to the n coordinates: S^T M S, S^T g, and S once per index of a derivative.

Source: 000, sections 6.2 and 6.3; 003, (29) to (46). 000 calls the inertia matrix D, 003 calls it
B; here it is M. 000 measures gravity upwards, 003 and this project the way things fall.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics import kinematics as kin
from robot_dynamics.model.robot_model import RobotModel, check_vector
from robot_dynamics.spatial import Array, skew

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
    """Return the joint torques that produce the given motion: Christoffel form, 003, (44).

        tau = M(q) qdd + C(q, qd) qd + g(q) - J(q)^T F

    Args:
        model: the robot.
        q: (n,) joint positions, rad or m.
        qd: (n,) joint velocities.
        qdd: (n,) joint accelerations.
        tip_wrench: (6,) F, moment and force of the environment on the robot, world-aligned at
            the origin of `tip_frame`. 003's h_e is its opposite.
        tip_frame: name of the frame it acts on, the model's last one if omitted.

    Returns:
        (n,) torques of revolute joints [N m], forces of prismatic ones [N].

    Raises:
        ShapeError: q, qd or qdd is not (n,), or the wrench not (6,).
        FrameNotFound: the model has no frame of that name.
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
    """Return the same torques by the vector form. 003, (39)."""
    check_vector(model, q=q, qd=qd, qdd=qdd)
    dM = mass_matrix_partials(model, q)
    # Mdot = sum_k dM/dq_k qd_k
    M_dot = np.tensordot(np.asarray(qd), dM, axes=1)
    # n = Mdot qd - 1/2 (d/dq (qd^T M qd))^T + (dU/dq)^T
    n = M_dot @ qd - dM @ qd @ qd / 2 + gravity_torque(model, q)
    return np.asarray(mass_matrix(model, q) @ qdd + n)


def inverse_dynamics_detailed_form(model: RobotModel, q: Array, qd: Array, qdd: Array) -> Array:
    """Return the same torques by the detailed form. 003, (40)."""
    check_vector(model, q=q, qd=qd, qdd=qdd)
    b, h, g = mass_matrix(model, q), detailed_symbols(model, q), gravity_torque(model, q)
    # sum_j b_ij qdd_j + sum_j sum_k h_ijk qd_k qd_j + g_i
    return np.asarray(b @ qdd + h @ qd @ qd + g)


# -- energies -----------------------------------------------------------------------------------


def kinetic_energy(model: RobotModel, q: Array, qd: Array) -> Array:
    """Return K [J], a scalar: that of every link, and of the rotors. 000, (6.46); 003, (34)."""
    poses, rates = kin.body_poses(model, q), kin.body_velocities(model, qd)
    # A rotor that turns with its joint alone adds 1/2 B qd^2.
    K = np.asarray(model.reflected_inertia @ np.square(qd) / 2)
    for m, I, J in zip(
        model.mass, _base_inertias(model, poses), kin.com_jacobians(model, poses), strict=True
    ):
        # w = J_O qd,  v = J_P qd: 000, (6.50)
        w, v = np.split(J @ rates, 2)
        # K_i = 1/2 m v^T v + 1/2 w^T (R I R^T) w
        K = K + (m * (v @ v) + w @ I @ w) / 2
    return K


def potential_energy(model: RobotModel, q: Array) -> Array:
    """Return P [J], a scalar, zero with all centres of mass at base height. 003, (38)."""
    p = kin.com_positions(model, kin.body_poses(model, q))
    # U = -sum_i m_i g^T p_i
    return np.asarray(-(model.mass @ (p @ model.gravity)))


# -- inertia matrix and its derivatives ---------------------------------------------------------


def mass_matrix(model: RobotModel, q: Array) -> Array:
    """Return M (n, n), the inertia matrix D of 000, (6.53), and B of 003, (37)."""
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
    """Return c (n, n, n), c[i, j, k] = c_ijk of the first kind. 000, (6.63); 003, (46).

    Joint k feels the torque c_ijk qd_i qd_j: centrifugal where i = j, Coriolis elsewhere.
    """
    # d[k, j, i] = dM_kj/dq_i
    d = np.moveaxis(mass_matrix_partials(model, q), 0, 2)
    # c_ijk = 1/2 (dM_kj/dq_i + dM_ki/dq_j - dM_ij/dq_k)
    return np.asarray(np.einsum('kji->ijk', d) + np.einsum('kij->ijk', d) - d) / 2


def detailed_symbols(model: RobotModel, q: Array) -> Array:
    """Return h (n, n, n), h[i, j, k] = h_ijk; joint i feels h_ijk qd_j qd_k. 003, (41)."""
    # d[i, j, k] = db_ij/dq_k
    d = np.moveaxis(mass_matrix_partials(model, q), 0, 2)
    # h_ijk = db_ij/dq_k - 1/2 db_jk/dq_i
    return np.asarray(d - np.einsum('jki->ijk', d) / 2)


def coriolis_matrix(model: RobotModel, q: Array, qd: Array) -> Array:
    """Return C (n, n) of Christoffel symbols: Mdot - 2C is skew. 000, (6.67); 003, (45)."""
    check_vector(model, qd=qd)
    # C_kj = sum_i c_ijk qd_i
    return np.tensordot(np.asarray(qd), christoffel_symbols(model, q), axes=1).T


def gravity_torque(model: RobotModel, q: Array) -> Array:
    """Return g (n,), the torques that hold the arm against gravity. 000, (6.68); 003, (42)."""
    J = kin.com_jacobians(model, kin.body_poses(model, q))
    # g_i = dP/dq_i = -sum_j m_j g^T J_Pi^(j)
    g = [-m * (model.gravity @ J_j[3:]) for m, J_j in zip(model.mass, J, strict=True)]
    return np.asarray(model.S.T @ sum(g))


def _base_inertias(model: RobotModel, poses: Array) -> list[Array]:
    """Return R I R^T (3, 3) of every link about its centre of mass, base axes. 000, (6.48)."""
    return [T[:3, :3] @ I @ T[:3, :3].T for T, I in zip(poses, model.inertia_com, strict=True)]
