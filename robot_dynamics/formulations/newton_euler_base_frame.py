# SPDX-License-Identifier: Apache-2.0
"""Recursive Newton–Euler inverse dynamics, every vector in the base frame.

The original form of the recursion: Newton's and Euler's laws hold in the fixed frame, so no vector
is transformed, but p*, s̄ and the tensors I_i are recomputed in each state.
`newton_euler_link_frame` avoids that; the physics is the same.

Source: Milićević, Golubović and Slavković, section 3.1 and table 1. Its frame i is at the far end
of link i, so joint i rotates about z_{i-1}; ours is at the joint, so the same axis is z_i, fixed
in link i, and p denotes the parent where the source has i - 1. A revolute joint i then shifts no
origin, and the acceleration of o_i is that of a point of the parent, plus the sliding acceleration
of a prismatic joint. The rows of the table are overwritten in the source (v̇ of a revolute link is
missing) and are derived here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.common.spatial import Array, cross
from robot_dynamics.core.model.contact import Contact, contact
from robot_dynamics.core.model.robot_model import RobotModel, check_vector


@dataclass(frozen=True)
class LinkMotion:
    """Pose and motion of link i, every vector in the base frame."""

    R: Array  # (3, 3) orientation of frame i
    p_star: Array  # (3,) p*_i, from the parent's origin to o_i, m
    z: Array  # (3,) axis of joint i, unit
    s: Array  # (3,) s̄_i, from o_i to the centre of mass, m
    w: Array  # (3,) angular velocity, rad/s
    wd: Array  # (3,) angular acceleration, rad/s^2
    vd: Array  # (3,) acceleration of o_i, less gravity, m/s^2
    a: Array  # (3,) ā_i, acceleration of the centre of mass, less gravity, m/s^2


def inverse_dynamics(
    model: RobotModel,
    q: Array,
    qd: Array,
    qdd: Array,
    *,
    tip_wrench: Array | None = None,
    tip_frame: str | None = None,
    viscous: Array | None = None,
) -> Array:
    """Return the joint torques that produce the given motion.

        tau = M(q) qdd + C(q, qd) qd + g(q) - J(q)^T F_ext

    Args:
        model: RobotModel with n coordinates.
        q: (n,) positions, rad or m.
        qd: (n,) velocities.
        qdd: (n,) accelerations.
        tip_wrench: (6,) moment and force of the environment on the robot, in base axes, about the
            origin of `tip_frame`; none if omitted.
        tip_frame: name of the frame the wrench acts at; the model's last one if omitted.
        viscous: (n,) damping coefficients b_i of table 1, which add b_i qd_i; none if omitted.

    Returns:
        (n,) torques of revolute joints [N m], forces of prismatic ones [N].

    Raises:
        ShapeError: an argument does not have the entries it should.
        FrameNotFound: there is no `tip_frame`.
    """
    check_vector(model, q=q, qd=qd, qdd=qdd)
    touch = contact(model, tip_wrench, tip_frame)

    motions = forward_equations(model, q, qd, qdd)
    f, n = backward_equations(model, motions, touch)

    # tau_i = n_i . z_i of a rotational link, f_i . z_i of a translational one
    tau_body = [(n[i] if model.revolute[i] else f[i]) @ motions[i].z for i in range(model.nb)]
    # From bodies to coordinates; rotors add their own torque.
    tau: Array = model.S.T @ np.array(tau_body) + model.reflected_inertia * qdd
    if viscous is not None:
        check_vector(model, viscous=viscous)
        # tau_i = ... + b_i qd_i
        tau = tau + viscous * np.asarray(qd)
    return tau


def forward_equations(model: RobotModel, q: Array, qd: Array, qdd: Array) -> list[LinkMotion]:
    """Return the link motions of q, qd and qdd (n,), base to tips. Table 1, forward equations."""
    theta, thetad, thetadd = model.S @ q + model.s0, model.S @ qd, model.S @ qdd

    # v̇_0 = -g: an upward acceleration of the base is equivalent to gravity.
    zero = np.zeros(3)
    base = LinkMotion(np.eye(3), zero, zero, zero, zero, zero, -model.gravity, -model.gravity)
    motions: list[LinkMotion] = []
    for i in range(model.nb):
        parent = motions[model.parent[i]] if model.parent[i] >= 0 else base
        R_pi, p_pi = model.joint_transform(i, theta[i])
        R, p_star = parent.R @ R_pi, parent.R @ p_pi
        z, s = R @ model.axis[i], R @ model.com[i]

        # Motion of the parent:   w_p,   ẇ_p,   v̇_p + ẇ_p x p* + w_p x (w_p x p*)
        w, wd = parent.w, parent.wd
        vd = parent.vd + cross(wd, p_star) + cross(w, cross(w, p_star))
        if model.revolute[i]:
            # ẇ_i = ẇ_p + z_i q̈_i + w_p x (z_i q̇_i),   w_i = w_p + z_i q̇_i
            wd = wd + z * thetadd[i] + cross(w, z * thetad[i])
            w = w + z * thetad[i]
        else:
            # v̇_i = ... + z_i q̈_i + 2 w_i x (z_i q̇_i)
            vd = vd + z * thetadd[i] + 2 * cross(w, z * thetad[i])

        # ā_i = ẇ_i x s̄_i + w_i x (w_i x s̄_i) + v̇_i
        a = cross(wd, s) + cross(w, cross(w, s)) + vd
        motions.append(LinkMotion(R, p_star, z, s, w, wd, vd, a))
    return motions


def backward_equations(
    model: RobotModel, motions: list[LinkMotion], touch: Contact
) -> tuple[list[Array], list[Array]]:
    """Return forces f_i (3,) [N] and moments n_i (3,) about o_i [N m], on link i by its parent.

    In the base frame. Table 1, backward equations; link i + 1 of the source is here every child of
    link i.
    """
    f: list[Array] = [np.zeros(3)] * model.nb
    n: list[Array] = [np.zeros(3)] * model.nb
    if touch.body >= 0:
        # f_{n+1} is the force of the last link on the environment, the opposite of our sign.
        lever = motions[touch.body].R @ touch.p
        f[touch.body] = -touch.force
        n[touch.body] = -(touch.moment + cross(lever, touch.force))

    for i in reversed(range(model.nb)):
        link = motions[i]
        # I_i about the centre of mass in base axes: R I R^T
        I = link.R @ model.inertia_com[i] @ link.R.T
        # F_i = m_i ā_i,   M_i = I_i ẇ_i + w_i x (I_i w_i)
        F = model.mass[i] * link.a
        M = I @ link.wd + cross(link.w, I @ link.w)
        # f_i = F_i + sum f_c,   n_i = M_i + s̄_i x F_i + sum (n_c + p*_c x f_c)
        f[i] = f[i] + F
        n[i] = n[i] + M + cross(link.s, F)

        p = model.parent[i]
        if p >= 0:
            f[p] = f[p] + f[i]
            n[p] = n[p] + n[i] + cross(link.p_star, f[i])
    return f, n
