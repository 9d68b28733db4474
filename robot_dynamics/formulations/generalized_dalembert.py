# SPDX-License-Identifier: Apache-2.0
"""Generalized d'Alembert equations in vectors, with separate terms of translation and rotation.

(4.3) of the source is incomplete and (4.4) is missing; this is their derivation. d'Alembert: in a
virtual displacement dq, the work of the joint torques equals that of the inertial forces,

    tau . dq = sum_s [ m_s (a_s - g) . dr_s + (I_s wd_s + w_s x I_s w_s) . dphi_s ].

With b_is the velocity of the centre of mass of link s per unit velocity of joint i, and z_i the
joint axis (zero in the rotational terms of a prismatic joint),

    dr_s = sum_i b_is dq_i          dphi_s = sum_i z_i dq_i
    a_s  = sum_j b_js qdd_j + a0_s    wd_s = sum_j z_j qdd_j + gamma_s.

The factors of qdd form D; the terms without it are h^tran (from a0) and h^rot (from gamma and the
gyroscopic moment), and the terms of -m g are c. At constant joint velocities the angular
acceleration is gamma_s, since the links before it rotate each axis, and the acceleration a0_s of
the centre of mass is a sum along the chain: a vector p* fixed in link k adds
w_k x (w_k x p*) + gamma_k x p*, a prismatic joint k adds the Coriolis acceleration
2 w_k x z_k qd_k.

Prismatic joints and trees are additions to the source, which treats revolute chains. Its frame
i - 1, which contains axis i, is the frame of body i here: z_{i-1} becomes z_i, p_{i-1} becomes
o_i, p*_k runs from joint k to the next joint toward link s, and c_s = r_s - o_s.

Source: Milićević, Golubović and Slavković, section 4, (4.1), (4.2), (4.5), and the text on (4.3)
and (4.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array, cross
from robot_dynamics.core import kinematics as kin
from robot_dynamics.core.model.robot_model import RobotModel, check_vector


@dataclass(frozen=True)
class Geometry:
    """Geometry of one posture, in the base frame."""

    z: Array  # (nb, 3) joint axes
    o: Array  # (nb, 3) origins of the body frames, on the axes
    r: Array  # (nb, 3) centres of mass
    I: list[Array]  # (3, 3) tensors about the centres of mass
    b: dict[tuple[int, int], Array]  # b[i, s] (3,) for every joint i that carries link s


class VelocityTorques(NamedTuple):
    """Four parts of the velocity-dependent torques h, each (n,)."""

    centrifugal_tran: Array  # from the links' translation, terms in qd_j^2
    coriolis_tran: Array  # from the links' translation, terms in qd_j qd_k, j != k
    centrifugal_rot: Array  # from the links' rotation, terms in qd_j^2
    coriolis_rot: Array  # from the links' rotation, terms in qd_j qd_k, j != k


def inverse_dynamics(model: RobotModel, q: Array, qd: Array, qdd: Array) -> Array:
    """Return the joint torques that produce the given motion. (4.1).

        tau = D(q) qdd + h^tran(q, qd) + h^rot(q, qd) + c(q)

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
    at = geometry(model, q)
    h_tran, h_rot = _velocity_torque_parts(model, at, qd)
    return np.asarray(_mass_matrix(model, at) @ qdd + h_tran + h_rot + _gravity_torque(model, at))


def mass_matrix(model: RobotModel, q: Array) -> Array:
    """Return D (n, n), the two parts of (4.2) and the rotors' inertia."""
    return _mass_matrix(model, geometry(model, q))


def mass_matrix_parts(model: RobotModel, q: Array) -> tuple[Array, Array]:
    """Return D^rot and D^tran, both (n, n). (4.2)."""
    return _mass_matrix_parts(model, geometry(model, q))


def velocity_torque_parts(model: RobotModel, q: Array, qd: Array) -> tuple[Array, Array]:
    """Return h^tran and h^rot, both (n,). (4.3) and (4.4), derived above.

    They are the Coriolis and centrifugal torques of the translation and of the rotation of the
    links.

    Raises:
        ShapeError: q or qd is not (n,).
    """
    return _velocity_torque_parts(model, geometry(model, q), qd)


def velocity_torques(model: RobotModel, q: Array, qd: Array) -> VelocityTorques:
    """Return h^tran and h^rot, each split into centrifugal and Coriolis torques.

    In the sums over p and q of (4.3) and (4.4), the terms with p = q are centrifugal and those
    with p != q are Coriolis (section 4, below (4.5)). If joint j alone moves, only p = q = j
    remains, so the centrifugal torque is the sum of h(q, e_j qd_j) over the joints, and the rest
    of h is the Coriolis torque.

    Args:
        model: the robot.
        q: (n,) joint positions, rad or m.
        qd: (n,) joint velocities.

    Raises:
        ShapeError: q or qd is not (n,).
    """
    check_vector(model, q=q, qd=qd)
    at = geometry(model, q)
    tran, rot = _velocity_torque_parts(model, at, qd)
    alone = [_velocity_torque_parts(model, at, one) for one in np.diag(qd)]
    centrifugal_tran, centrifugal_rot = np.sum(alone, axis=0)
    return VelocityTorques(
        centrifugal_tran, tran - centrifugal_tran, centrifugal_rot, rot - centrifugal_rot
    )


def gravity_torque(model: RobotModel, q: Array) -> Array:
    """Return c (n,), the gravity loading. (4.5)."""
    return _gravity_torque(model, geometry(model, q))


# -- the terms, once the geometry is known --------------------------------------------------------


def _mass_matrix(model: RobotModel, at: Geometry) -> Array:
    D_rot, D_tran = _mass_matrix_parts(model, at)
    return np.asarray(D_rot + D_tran + np.diag(model.reflected_inertia))


def _mass_matrix_parts(model: RobotModel, at: Geometry) -> tuple[Array, Array]:
    rot, tran = _zero_matrix(model.nb), _zero_matrix(model.nb)
    for s in range(model.nb):
        for i, j in product(model.support(s), repeat=2):
            if model.revolute[i] and model.revolute[j]:
                # D_ij^rot = sum_s z_i^T I_s z_j
                rot[i][j] = rot[i][j] + at.z[i] @ at.I[s] @ at.z[j]
            # D_ij^tran = sum_s m_s b_js . b_is
            tran[i][j] = tran[i][j] + model.mass[s] * (at.b[j, s] @ at.b[i, s])
    S = model.S
    return np.asarray(S.T @ np.array(rot) @ S), np.asarray(S.T @ np.array(tran) @ S)


def _velocity_torque_parts(model: RobotModel, at: Geometry, qd: Array) -> tuple[Array, Array]:
    rates = kin.body_velocities(model, qd)
    w, gamma = angular_motion(model, at, rates)
    a0 = velocity_accelerations(model, at, rates, w, gamma)
    tran: list[Any] = [0.0] * model.nb
    rot: list[Any] = [0.0] * model.nb
    for s in range(model.nb):
        I_w, I_gamma = at.I[s] @ w[s], at.I[s] @ gamma[s]
        for i in model.support(s):
            # h_i^tran = sum_s m_s b_is . a0_s
            tran[i] = tran[i] + model.mass[s] * (at.b[i, s] @ a0[s])
            if model.revolute[i]:
                # h_i^rot = sum_s z_i^T I_s gamma_s + (z_i x w_s)^T I_s w_s
                rot[i] = rot[i] + at.z[i] @ I_gamma + cross(at.z[i], w[s]) @ I_w
    return np.asarray(model.S.T @ np.array(tran)), np.asarray(model.S.T @ np.array(rot))


def _gravity_torque(model: RobotModel, at: Geometry) -> Array:
    c: list[Any] = [0.0] * model.nb
    for s in range(model.nb):
        for i in model.support(s):
            # c_i = -g . sum_s m_s b_is, for a revolute joint -g . [z_i x sum_s m_s (r_s - o_i)]
            c[i] = c[i] - model.gravity @ (model.mass[s] * at.b[i, s])
    return np.asarray(model.S.T @ np.array(c))


def geometry(model: RobotModel, q: Array) -> Geometry:
    """Return axes, points, tensors and velocities b_is at the joint positions q (n,)."""
    poses = kin.body_poses(model, q)
    z, o, r = kin.joint_axes(model, poses), poses[:, :3, 3], kin.com_positions(model, poses)
    # I_s = R_s I_com R_s^T
    R = poses[:, :3, :3]
    I = [R[s] @ model.inertia_com[s] @ R[s].T for s in range(model.nb)]
    # b_is = z_i x (r_s - o_i) for a revolute joint, z_i for a prismatic one
    b = {
        (i, s): cross(z[i], r[s] - o[i]) if model.revolute[i] else z[i]
        for s in range(model.nb)
        for i in model.support(s)
    }
    return Geometry(z, o, r, I, b)


def angular_motion(
    model: RobotModel, at: Geometry, rates: Array
) -> tuple[list[Array], list[Array]]:
    """Return w_k and gamma_k (3,) of every link, at the joint velocities `rates` (nb,).

    w_k is its angular velocity, gamma_k its angular acceleration while no joint accelerates.
    """
    w: list[Array] = []
    gamma: list[Array] = []
    for k in range(model.nb):
        p = model.parent[k]
        w_p, gamma_p = (w[p], gamma[p]) if p >= 0 else (np.zeros(3), np.zeros(3))
        # w_k = sum_p z_p qd_p,  gamma_k = sum_p w_{p-1} x z_p qd_p, over the revolute joints
        turn = at.z[k] * rates[k] if model.revolute[k] else np.zeros(3)
        w.append(w_p + turn)
        gamma.append(gamma_p + cross(w_p, turn))
    return w, gamma


def velocity_accelerations(
    model: RobotModel, at: Geometry, rates: Array, w: list[Array], gamma: list[Array]
) -> list[Array]:
    """Return a0_s (3,), the acceleration of every centre of mass at constant joint velocities.

    The braces of (4.3).
    """

    def carried(k: int, vector: Array) -> Array:
        # w_k x (w_k x p) + gamma_k x p
        return np.asarray(cross(w[k], cross(w[k], vector)) + cross(gamma[k], vector))

    accelerations = []
    for s in range(model.nb):
        chain = model.support(s)
        # ... + w_s x (w_s x c_s) + gamma_s x c_s
        a0 = carried(s, at.r[s] - at.o[s])
        for k, following in pairwise(chain):
            # sum_{k < s} w_k x (w_k x p*_k) + gamma_k x p*_k
            a0 = a0 + carried(k, at.o[following] - at.o[k])
        for k in chain:
            if not model.revolute[k]:
                # + 2 w_k x z_k qd_k for every prismatic joint
                a0 = a0 + 2 * cross(w[k], at.z[k]) * rates[k]
        accelerations.append(a0)
    return accelerations


def _zero_matrix(size: int) -> list[list[Any]]:
    return [[0.0] * size for _ in range(size)]
