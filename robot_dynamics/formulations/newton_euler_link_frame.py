# SPDX-License-Identifier: Apache-2.0
"""Recursive Newton–Euler inverse dynamics, every vector in its own link's frame.

Forward, from the base to the tips, the motion of each link follows from that of its parent;
backward, from the tips to the base, the force and moment through each joint follow from Newton's
and Euler's laws. In link frames the inertia tensors are constant, so each step is cheap and the
cost is linear in the number of joints.

Source: Milićević, Golubović and Slavković, section 3.2 and table 2; Spong, Hutchinson and
Vidyasagar, section 6.6. Their frames are at the far end of each link, ours at its joint, one per
link i with parent p; p*_i of the source, from origin to origin, is `p_pi` here, and s̄_i, from the
origin to the centre of mass, is `c`. The linear accelerations and backward equations of table 2
are illegible in the source and derived here: see the comments. The book treats gravity as a force
-m g on each link; here, as in the paper, the base accelerates upwards instead, so that `a` is a_e
of the book less gravity, and `a_com` its a_c less gravity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.common.spatial import Array, cross
from robot_dynamics.core.model.contact import Contact, contact
from robot_dynamics.core.model.robot_model import RobotModel, check_vector


@dataclass(frozen=True)
class LinkMotion:
    """Motion of link i, every vector expressed in frame i."""

    R_pi: Array  # (3, 3) orientation of frame i in its parent's frame
    p_pi: Array  # (3,) origin of frame i in its parent's frame, m
    w: Array  # (3,) angular velocity, rad/s
    wd: Array  # (3,) angular acceleration, rad/s^2
    a: Array  # (3,) acceleration of the origin, less gravity, m/s^2
    a_com: Array  # (3,) acceleration of the centre of mass, less gravity, m/s^2


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
        viscous: (n,) damping coefficients b_i of table 2, which add b_i qd_i; none if omitted.

    Returns:
        (n,) torques of revolute joints [N m], forces of prismatic ones [N].

    Raises:
        ShapeError: an argument does not have the entries it should.
        FrameNotFound: there is no `tip_frame`.
    """
    check_vector(model, q=q, qd=qd, qdd=qdd)
    touch = contact(model, tip_wrench, tip_frame)

    motions = forward_equations(model, q, qd, qdd)
    forces, moments = backward_equations(model, motions, touch)

    # tau_i = n_i . z_i of a revolute joint, f_i . z_i of a prismatic one
    tau_body = [
        (moments[i] if model.revolute[i] else forces[i]) @ model.axis[i] for i in range(model.nb)
    ]
    # From bodies to coordinates; rotors add their own torque.
    tau: Array = model.S.T @ np.array(tau_body) + model.reflected_inertia * qdd
    if viscous is not None:
        check_vector(model, viscous=viscous)
        # tau_i = ... + b_i qd_i
        tau = tau + viscous * np.asarray(qd)
    return tau


def forward_equations(model: RobotModel, q: Array, qd: Array, qdd: Array) -> list[LinkMotion]:
    """Return the link motions, from the base to the tips. Table 2, forward equations."""
    theta, thetad, thetadd = model.S @ q + model.s0, model.S @ qd, model.S @ qdd

    # An upward acceleration of the base is equivalent to gravity.
    zero = np.zeros(3)
    base = LinkMotion(np.eye(3), zero, zero, zero, -model.gravity, -model.gravity)
    motions: list[LinkMotion] = []
    for i in range(model.nb):
        parent = motions[model.parent[i]] if model.parent[i] >= 0 else base
        R_pi, p_pi = model.joint_transform(i, theta[i])
        R_ip, z, c = R_pi.T, model.axis[i], model.com[i]

        # Motion of the parent: w_p, wd_p, and a_p + wd_p x p + w_p x (w_p x p)
        w, wd = R_ip @ parent.w, R_ip @ parent.wd
        a = R_ip @ (parent.a + cross(parent.wd, p_pi) + cross(parent.w, cross(parent.w, p_pi)))

        if model.revolute[i]:
            # wd_i = R (wd_p + w_p x z qd + z qdd),   w_i = R (w_p + z qd)
            wd = wd + cross(w, z) * thetad[i] + z * thetadd[i]
            w = w + z * thetad[i]
        else:
            # a_i = ... + z qdd + 2 w x z qd
            a = a + z * thetadd[i] + 2 * cross(w, z) * thetad[i]

        # a_c = a + wd x c + w x (w x c)        Spong et al., (6.160)
        a_com = a + cross(wd, c) + cross(w, cross(w, c))
        motions.append(LinkMotion(R_pi, p_pi, w, wd, a, a_com))
    return motions


def backward_equations(
    model: RobotModel, motions: list[LinkMotion], touch: Contact
) -> tuple[list[Array], list[Array]]:
    """Return force and moment through each joint, from the tips to the base, in link frames.

    Table 2, backward equations; Spong, Hutchinson and Vidyasagar, (6.148) and (6.149).
    """
    forces: list[Array] = [np.zeros(3)] * model.nb
    moments: list[Array] = [np.zeros(3)] * model.nb
    if touch.body >= 0:
        # The wrench of the environment reduces the wrench through the joint.
        f, n = in_link_frame(model, motions, touch)
        forces[touch.body], moments[touch.body] = -f, -n

    for i in reversed(range(model.nb)):
        link, c, m, I = motions[i], model.com[i], model.mass[i], model.inertia_com[i]

        # Newton: F = m a_c            Euler: N = I wd + w x (I w)
        F = m * link.a_com
        N = I @ link.wd + cross(link.w, I @ link.w)
        # f_i = F + sum R f_child      n_i = N + c x F + sum (R n_child + p x R f_child)
        forces[i] = forces[i] + F
        moments[i] = moments[i] + N + cross(c, F)

        p = model.parent[i]
        if p >= 0:
            # The reaction to f_i and n_i acts on the parent.
            f = link.R_pi @ forces[i]
            forces[p] = forces[p] + f
            moments[p] = moments[p] + link.R_pi @ moments[i] + cross(link.p_pi, f)
    return forces, moments


def in_link_frame(
    model: RobotModel, motions: list[LinkMotion], touch: Contact
) -> tuple[Array, Array]:
    """Return the contact's force and its moment about the link's origin, in the link's frame."""
    R_0i: Array = np.eye(3)
    for k in model.support(touch.body):
        R_0i = R_0i @ motions[k].R_pi
    # f_i = R^T f,   n_i = R^T n + p x f_i
    f = R_0i.T @ touch.force
    return f, R_0i.T @ touch.moment + cross(touch.p, f)
