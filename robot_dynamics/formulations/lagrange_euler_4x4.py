# SPDX-License-Identifier: Apache-2.0
"""Lagrange–Euler equations with 4x4 homogeneous transforms and pseudo-inertias.

A point of link i is a constant vector r in the frame of the link, and the transform T_wi contains
all of its motion. The kinetic energy therefore needs only the derivatives of the transforms,
U_ij = dT_wi/dq_j and U_ijk = dU_ij/dq_k, and one matrix of second mass moments per link,
J_i = integral of r r^T dm. All terms are traces of products of these 4x4 matrices. The form is
compact and explicit; its cost grows with the fourth power of n.

The source multiplies by Q_j from the left of the joint transform, since a Denavit–Hartenberg frame
is at the far end of its link. Here a body frame is at its joint, where the axis is constant, so
Q_j is on the right: dT_pj/dq_j = T_pj Q_j. The rest follows the source, in its letters, also for
trees: U_ij is zero unless joint j carries link i, and "j = max(i, k) ... n" becomes "every link
that both joints carry".

Source: Milićević, Golubović and Slavković, section 2, (2.3) to (2.15).
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from robot_dynamics.common.spatial import Array, inverse_pose, skew
from robot_dynamics.core import kinematics as kin
from robot_dynamics.core.model.inertia import pseudo_inertia
from robot_dynamics.core.model.robot_model import RobotModel, check_vector

Indexed = dict[tuple[int, ...], Array]


def inverse_dynamics(model: RobotModel, q: Array, qd: Array, qdd: Array) -> Array:
    """Return the joint torques that produce the given motion. (2.6).

        tau = D(q) qdd + h(q, qd) + c(q)

    Args:
        model: the robot.
        q: (n,) joint positions, rad or m.
        qd: (n,) joint velocities.
        qdd: (n,) joint accelerations.

    Returns:
        (n,) torques of revolute joints [N m], forces of prismatic ones [N].

    Raises:
        ShapeError: q, qd or qdd is not (n,).
    """
    check_vector(model, q=q, qd=qd, qdd=qdd)
    # tau_i = sum_k D_ik qdd_k + sum_k sum_m h_ikm qd_k qd_m + c_i
    h = velocity_coefficients(model, q) @ qd @ qd
    return np.asarray(mass_matrix(model, q) @ qdd + h + gravity_torque(model, q))


def lagrangian(model: RobotModel, q: Array, qd: Array) -> Any:
    """Return the Lagrangian L = E_K - E_P, J, rotors included. (2.3).

    The potential energy is zero with all centres of mass at base height.

    Args:
        model: the robot.
        q: (n,) joint positions, rad or m.
        qd: (n,) joint velocities.

    Raises:
        ShapeError: q or qd is not (n,).
    """
    check_vector(model, q=q, qd=qd)
    poses, rates = kin.body_poses(model, q), kin.body_velocities(model, qd)
    U = first_derivatives(model, poses)
    g = np.append(model.gravity, 0.0)
    # The energy of the rotors is an addition to (2.3).
    L: Any = np.sum(model.reflected_inertia * qd * qd) / 2
    for i, J_i in enumerate(_pseudo_inertias(model)):
        for j in model.support(i):
            for k in model.support(i):
                # 1/2 sum_i sum_j sum_k Tr(U_ij J_i U_ik^T) qd_j qd_k
                L = L + np.trace(U[i, j] @ J_i @ U[i, k].T) * rates[j] * rates[k] / 2
        # + sum_i m_i g 0A_i r_i
        L = L + model.mass[i] * (g @ poses[i] @ np.append(model.com[i], 1.0))
    return L


# -- derivatives of the transforms --------------------------------------------------------------


def first_derivatives(model: RobotModel, poses: Array) -> Indexed:
    """Return U_ij = d(0A_i)/dq_j, (4, 4), for every link i and every joint j that carries it.

    Below (2.3). Omitted pairs are zero.
    """
    Q = joint_generators(model)
    U: Indexed = {}
    for i in range(model.nb):
        for j in model.support(i):
            A_ji = inverse_pose(poses[j]) @ poses[i]
            # U_ij = 0A_j Q_j jA_i
            U[i, j] = poses[j] @ Q[j] @ A_ji
    return U


def second_derivatives(model: RobotModel, poses: Array) -> Indexed:
    """Return U_ijk = dU_ij/dq_k, (4, 4), for joints j and k that carry link i; U_ijk = U_ikj."""
    Q = joint_generators(model)
    U: Indexed = {}
    for i in range(model.nb):
        support = model.support(i)
        for k in support:
            for j in (j for j in support if j >= k):
                A_kj = inverse_pose(poses[k]) @ poses[j]
                A_ji = inverse_pose(poses[j]) @ poses[i]
                # U_ijk = 0A_k Q_k kA_j Q_j jA_i,  k before j
                U[i, j, k] = U[i, k, j] = poses[k] @ Q[k] @ A_kj @ Q[j] @ A_ji
    return U


def joint_generators(model: RobotModel) -> list[Array]:
    """Return Q_j (4, 4), the generators of the joint transforms: dA/dq_j = A Q_j."""
    generators = []
    for axis, revolute in zip(model.axis, model.revolute, strict=True):
        Q = np.zeros((4, 4))
        # Q = [[axis], 0; 0, 0] for rotation about the axis,  [0, axis; 0, 0] for translation
        if revolute:
            Q[:3, :3] = skew(axis)
        else:
            Q[:3, 3] = axis
        generators.append(Q)
    return generators


# -- the dynamic coefficients -------------------------------------------------------------------


def mass_matrix(model: RobotModel, q: Array) -> Array:
    """Return D (n, n), the inertial acceleration-related matrix. (2.11)."""
    U = first_derivatives(model, kin.body_poses(model, q))
    D: list[list[Any]] = [[0.0] * model.nb for _ in range(model.nb)]
    for j, J_j in enumerate(_pseudo_inertias(model)):
        for k in model.support(j):
            for i in model.support(j):
                # D_ik = sum_j Tr(U_jk J_j U_ji^T)
                D[i][k] = D[i][k] + np.trace(U[j, k] @ J_j @ U[j, i].T)
    return np.asarray(model.S.T @ np.array(D) @ model.S + np.diag(model.reflected_inertia))


def velocity_coefficients(model: RobotModel, q: Array) -> Array:
    """Return h (n, n, n), h[i, k, m] = h_ikm, symmetric in k and m. (2.14).

    h_ikm qd_k qd_m is a torque on joint i: centrifugal for k = m, Coriolis otherwise.
    """
    poses, nb, S = kin.body_poses(model, q), model.nb, model.S
    U, U2 = first_derivatives(model, poses), second_derivatives(model, poses)
    h: list[list[list[Any]]] = [[[0.0] * nb for _ in range(nb)] for _ in range(nb)]
    for j, J_j in enumerate(_pseudo_inertias(model)):
        support = model.support(j)
        for k, m in product(support, repeat=2):
            UJ = U2[j, k, m] @ J_j
            for i in support:
                # h_ikm = sum_j Tr(U_jkm J_j U_ji^T)
                h[i][k][m] = h[i][k][m] + np.trace(UJ @ U[j, i].T)
    # The three indices go from bodies to coordinates, one factor S each.
    return np.tensordot(S.T, S.T @ np.array(h) @ S, axes=1)


def coriolis_matrix(model: RobotModel, q: Array, qd: Array) -> Array:
    """Return C (n, n), C_ik = sum_m h_ikm qd_m: h_ikm is a Christoffel symbol of D."""
    check_vector(model, qd=qd)
    return np.asarray(velocity_coefficients(model, q) @ qd)


def gravity_torque(model: RobotModel, q: Array) -> Array:
    """Return c (n,), the gravity loading. (2.15)."""
    U = first_derivatives(model, kin.body_poses(model, q))
    # A direction has the fourth coordinate 0, a point has 1.
    g = np.append(model.gravity, 0.0)
    r = [np.append(com, 1.0) for com in model.com]
    c: list[Any] = [0.0] * model.nb
    for j in range(model.nb):
        for i in model.support(j):
            # c_i = sum_j -m_j g U_ji r_j
            c[i] = c[i] - model.mass[j] * (g @ U[j, i] @ r[j])
    return np.asarray(model.S.T @ np.array(c))


def _pseudo_inertias(model: RobotModel) -> list[Array]:
    """Return J_i (4, 4) of every link about its frame."""
    return [pseudo_inertia(model.inertial(i)) for i in range(model.nb)]
