# SPDX-License-Identifier: Apache-2.0
"""Hamiltonian mechanics: generalized momentum, total energy, and two first-order equations.

The momentum of a joint is p_k = dL/dqd_k, so p = M(q) qd. With (q, p) as the state instead of
(q, qd), the total energy H = K + V generates the motion,

    qd = dH/dp        pd = -dH/dq + tau        and        dH/dt = qd^T tau,

the last since H changes only by the work of the joint torques.

No derivative of M is needed. A link has the linear momentum m v and, about its centre of mass, the
angular momentum L = I w, both in base axes. Its Jacobian maps them to the generalized momentum,
and their rates, by Newton's and Euler's laws, to its rate:

    p  = sum_i J_i^T (L_i, m_i v_i)
    pd = sum_i Jdot_i^T (L_i, m_i v_i) + J_i^T (Ldot_i, m_i a_i).

Hamilton's second equation gives the torques of a motion: tau = pd + dH/dq. Since L = K - V, dH/dq
at constant p is -dL/dq = -dK/dq + dV/dq at constant qd.

Source: Spong, Hutchinson and Vidyasagar, end of chapter 6 (generalized momentum, Hamiltonian).
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.common.errors import SingularityError
from robot_dynamics.common.spatial import Array, cross
from robot_dynamics.core import kinematics as kin
from robot_dynamics.core.model.robot_model import RobotModel, check_vector


def inverse_dynamics(model: RobotModel, q: Array, qd: Array, qdd: Array) -> Array:
    """Return the joint torques that produce the given motion, tau = pd + dH/dq.

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
    # dH/dq at constant p = -dK/dq at constant qd + dV/dq
    dH_dq = -kinetic_energy_gradient(model, q, qd) + gravity_torque(model, q)
    return np.asarray(momentum_rate(model, q, qd, qdd) + dH_dq)


# -- Hamilton's equations -----------------------------------------------------------------------


def hamiltonian(model: RobotModel, q: Array, p: Array) -> Array:
    """Return the total energy H(q, p) [J], a scalar.

    Raises:
        ShapeError: q or p is not (n,).
        SingularityError: M(q) is singular.
    """
    # sum_k p_k qd_k = 2 K, so H = sum_k p_k qd_k - L = 1/2 p^T M^-1 p + V
    return np.asarray(np.dot(p, velocity(model, q, p)) / 2 + potential_energy(model, q))


def hamiltons_equations(model: RobotModel, q: Array, p: Array, tau: Array) -> tuple[Array, Array]:
    """Return (qd, pd), both (n,): the rate of the state (q, p) under joint torques tau (n,).

    Raises:
        ShapeError: q, p or tau is not (n,).
        SingularityError: M(q) is singular.
    """
    check_vector(model, q=q, p=p, tau=tau)
    dH_dq, dH_dp = gradient(model, q, p)
    # qd = dH/dp        pd = -dH/dq + tau
    return dH_dp, tau - dH_dq


def gradient(model: RobotModel, q: Array, p: Array) -> tuple[Array, Array]:
    """Return dH/dq and dH/dp, both (n,)."""
    # dH/dp = M^-1 p        dH/dq = -dK/dq + dV/dq
    qd = velocity(model, q, p)
    return -kinetic_energy_gradient(model, q, qd) + gravity_torque(model, q), qd


def energy_rate(model: RobotModel, q: Array, p: Array, tau: Array) -> Array:
    """Return dH/dt [W] along the motion, by the chain rule; in theory qd^T tau."""
    dH_dq, dH_dp = gradient(model, q, p)
    qd, pd = hamiltons_equations(model, q, p, tau)
    # dH/dt = dH/dq qd + dH/dp pd
    return np.asarray(dH_dq @ qd + dH_dp @ pd)


# -- momentum and energy ------------------------------------------------------------------------


def generalized_momentum(model: RobotModel, q: Array, qd: Array) -> Array:
    """Return p (n,), p_k = dL/dqd_k: N m s of revolute joints, N s of prismatic ones.

    Raises:
        ShapeError: q or qd is not (n,).
    """
    poses, rates = kin.body_poses(model, q), kin.body_velocities(model, qd)
    momenta = body_momenta(model, poses, rates)
    # p = sum_i J_i^T (L_i, m_i v_i)
    p = sum(J.T @ h for J, h in zip(kin.com_jacobians(model, poses), momenta, strict=True))
    return np.asarray(model.S.T @ p + model.reflected_inertia * qd)


def velocity(model: RobotModel, q: Array, p: Array) -> Array:
    """Return the joint velocities qd = M^-1 p (n,) of a momentum p (n,).

    Raises:
        ShapeError: q or p is not (n,).
        SingularityError: M(q) is singular.
    """
    check_vector(model, p=p)
    try:
        return np.linalg.solve(mass_matrix(model, q), p)
    except np.linalg.LinAlgError as error:
        raise SingularityError(
            f'robot {model.name!r}: the mass matrix is singular, so momentum does not determine '
            f'velocity; joints that move no inertia: {model.massless_joints() or "none"}'
        ) from error


def mass_matrix(model: RobotModel, q: Array) -> Array:
    """Return M (n, n). Momentum is linear in velocity, so column j is the momentum of qd_j = 1."""
    # p = M qd
    return np.stack([generalized_momentum(model, q, e) for e in np.eye(model.n)], axis=1)


def potential_energy(model: RobotModel, q: Array) -> Array:
    """Return V [J], a scalar, zero with all centres of mass at base height."""
    # V = -sum_i m_i g . r_i
    r = kin.com_positions(model, kin.body_poses(model, q))
    return np.asarray(-(model.mass @ (r @ model.gravity)))


def gravity_torque(model: RobotModel, q: Array) -> Array:
    """Return g = dV/dq (n,), the torques that hold the arm against gravity."""
    J = kin.com_jacobians(model, kin.body_poses(model, q))
    # dV/dq_k = -sum_i m_i g . dr_i/dq_k
    dV = [-m * (model.gravity @ J_i[3:]) for m, J_i in zip(model.mass, J, strict=True)]
    return np.asarray(model.S.T @ sum(dV))


def kinetic_energy_gradient(model: RobotModel, q: Array, qd: Array) -> Array:
    """Return dK/dq (n,) at constant velocities qd (n,)."""
    poses, rates = kin.body_poses(model, q), kin.body_velocities(model, qd)
    momenta = body_momenta(model, poses, rates)
    dK = np.zeros(model.nb)
    for J, dJ, h in zip(
        kin.com_jacobians(model, poses),
        kin.com_jacobian_partials(model, poses),
        momenta,
        strict=True,
    ):
        # At constant qd the velocity changes by dJ/dq_k qd, ...
        dK = dK + (dJ @ rates) @ h
        # ... and the tensor rotates with the link: 1/2 w . d(R I R^T)/dq_k w = (w x w_k) . L
        w, L = (J @ rates)[:3], h[:3]
        dK = dK + np.array([cross(w, w_k) @ L for w_k in J[:3].T])
    return np.asarray(model.S.T @ dK)


def momentum_rate(model: RobotModel, q: Array, qd: Array, qdd: Array) -> Array:
    """Return pd (n,) = d/dt (M qd) of the given motion, by the laws of Newton and Euler.

    Raises:
        ShapeError: q, qd or qdd is not (n,).
    """
    check_vector(model, q=q, qd=qd, qdd=qdd)
    poses, rates = kin.body_poses(model, q), kin.body_velocities(model, qd)
    accelerations = kin.body_velocities(model, qdd)
    momenta = body_momenta(model, poses, rates)
    pd = np.zeros(model.nb)
    for i, (J, J_dot, h) in enumerate(
        zip(
            kin.com_jacobians(model, poses),
            kin.com_jacobian_dots(model, poses, rates),
            momenta,
            strict=True,
        )
    ):
        # (wd, a) = J qdd + Jdot qd
        wd, a = np.split(J @ accelerations + J_dot @ rates, 2)
        w, L, R = (J @ rates)[:3], h[:3], poses[i, :3, :3]
        # d(m v)/dt = m a,  dL/dt = I wd + w x L
        L_dot = R @ model.inertia_com[i] @ R.T @ wd + cross(w, L)
        # pd = sum_i Jdot_i^T h_i + J_i^T hdot_i
        pd = pd + J_dot.T @ h + J.T @ np.concatenate([L_dot, model.mass[i] * a])
    return np.asarray(model.S.T @ pd + model.reflected_inertia * qdd)


def body_momenta(model: RobotModel, poses: Array, rates: Array) -> list[Array]:
    """Return (L, m v) (6,) of every link: angular momentum about its centre of mass, and linear.

    `rates` (nb,) are the joint velocities of the bodies.
    """
    momenta = []
    for i, J in enumerate(kin.com_jacobians(model, poses)):
        w, v = np.split(J @ rates, 2)
        R = poses[i, :3, :3]
        # L = R I R^T w
        L = R @ model.inertia_com[i] @ R.T @ w
        momenta.append(np.concatenate([L, model.mass[i] * v]))
    return momenta
