# SPDX-License-Identifier: Apache-2.0
"""Recursive inverse dynamics with twists and wrenches.

Angular and linear motion form a twist V = (w, v), moment and force a wrench F = (m, f), both in
the link's own frame {i} at its centre of mass. Newton's and Euler's laws become one equation,

    F = G dV/dt - ad_V^T (G V),

and the Newton–Euler recursion four lines: (9.54) to (9.57).

Source: Lynch and Park, draft, sections 9.2 and 9.3. Corrected misprints: A_i is in frame {i}
(9.51), the twist of the parent is transformed by Ad(T_{i,i-1}) in (9.47) and (9.58), and gravity
enters as an upward acceleration of the base, dV_0/dt = (0, -g). In a tree, every child takes the
place of link i + 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.common.errors import ShapeError
from robot_dynamics.common.spatial import Array, adjoint, cross, inverse_pose, lie_bracket, pose
from robot_dynamics.core.model.contact import Contact, contact
from robot_dynamics.core.model.robot_model import RobotModel, check_vector
from robot_dynamics.core.model.screws import exponential, to_screws


@dataclass(frozen=True)
class LinkMotion:
    """Motion of link i, in its frame {i} at the centre of mass."""

    T_pi: Array  # (4, 4) pose of frame {i} in its parent's frame
    A: Array  # (6,) screw of joint i
    G: Array  # (6, 6) spatial inertia
    V: Array  # (6,) twist
    Vd: Array  # (6,) its time derivative, less gravity


def bracket_of_own_twist(V: Array, V_carried: Array, A: Array, thetad: Any) -> Array:
    """Return [V_i, A_i] thetad_i, the velocity term of the acceleration. (9.55)."""
    return np.asarray(lie_bracket(V) @ A * thetad)


def bracket_of_carried_twist(V: Array, V_carried: Array, A: Array, thetad: Any) -> Array:
    """Return [Ad(T_ip) V_p, A_i] thetad_i, equal since [A_i, A_i] = 0. (9.58)."""
    return np.asarray(lie_bracket(V_carried) @ A * thetad)


def inverse_dynamics(
    model: RobotModel,
    q: Array,
    qd: Array,
    qdd: Array,
    *,
    tip_wrench: Array | None = None,
    tip_frame: str | None = None,
    base_twist: Array | None = None,
    base_acceleration: Array | None = None,
    bracket: Callable[[Array, Array, Array, Any], Array] = bracket_of_own_twist,
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
        base_twist: (6,) V_0 of a moving base, in its own frame; at rest if omitted.
        base_acceleration: (6,) dV_0/dt, without gravity; zero if omitted.
        bracket: `bracket_of_own_twist` (9.55) or `bracket_of_carried_twist` (9.58).

    Returns:
        (n,) torques of revolute joints [N m], forces of prismatic ones [N].

    Raises:
        ShapeError: an argument does not have the entries it should.
        FrameNotFound: there is no `tip_frame`.
    """
    check_vector(model, q=q, qd=qd, qdd=qdd)
    touch = contact(model, tip_wrench, tip_frame)
    V_0 = _six('base_twist', base_twist)
    # dV_0/dt - (0, g): an upward acceleration of the base is equivalent to gravity.
    Vd_0 = _six('base_acceleration', base_acceleration) - np.append(np.zeros(3), model.gravity)

    motions = forward_iteration(model, q, qd, qdd, V_0, Vd_0, bracket)
    F = backward_iteration(model, motions, touch)

    # tau_i = F_i^T A_i        (9.57)
    tau_body = np.array([F[i] @ motions[i].A for i in range(model.nb)])
    # From bodies to coordinates; rotors add their own torque.
    tau: Array = model.S.T @ tau_body + model.reflected_inertia * qdd
    return tau


def forward_iteration(
    model: RobotModel,
    q: Array,
    qd: Array,
    qdd: Array,
    V_0: Array,
    Vd_0: Array,
    bracket: Callable[[Array, Array, Array, Any], Array] = bracket_of_own_twist,
) -> list[LinkMotion]:
    """Return the link motions, from the base to the tips. (9.53)-(9.55)."""
    theta, thetad, thetadd = model.S @ q + model.s0, model.S @ qd, model.S @ qdd
    screws = to_screws(model)
    motions: list[LinkMotion] = []
    for i in range(model.nb):
        p = model.parent[i]
        V_p, Vd_p = (motions[p].V, motions[p].Vd) if p >= 0 else (V_0, Vd_0)
        A, G = screws.A[i], screws.G[i]

        # T_pi = M_pi exp([A_i] theta_i)        (9.53)
        T_pi = screws.M[i] @ exponential(A, theta[i])
        Ad_ip = adjoint(inverse_pose(T_pi))
        # V_i = Ad(T_ip) V_p + A_i thetad_i        (9.54)
        V_carried = Ad_ip @ V_p
        V = V_carried + A * thetad[i]
        # Vd_i = Ad(T_ip) Vd_p + [V_i, A_i] thetad_i + A_i thetadd_i        (9.55)
        Vd = Ad_ip @ Vd_p + bracket(V, V_carried, A, thetad[i]) + A * thetadd[i]
        motions.append(LinkMotion(T_pi, A, G, V, Vd))
    return motions


def backward_iteration(
    model: RobotModel, motions: list[LinkMotion], touch: Contact
) -> list[Array]:
    """Return F_i (6,), the wrench of the parent on link i, in frame {i}. (9.56)."""
    F: list[Array] = [np.zeros(6)] * model.nb
    if touch.body >= 0:
        # F_{n+1} is the wrench of the last link on the environment, the opposite of our sign.
        F[touch.body] = -in_link_frame(model, motions, touch)

    for i in reversed(range(model.nb)):
        link = motions[i]
        # F_i = sum Ad(T_ci)^T F_c + G_i Vd_i - ad(V_i)^T (G_i V_i)        (9.56)
        F[i] = F[i] + body_wrench(link.G, link.V, link.Vd)
        p = model.parent[i]
        if p >= 0:
            F[p] = F[p] + adjoint(inverse_pose(link.T_pi)).T @ F[i]
    return F


def body_wrench(G: Array, V: Array, Vd: Array) -> Array:
    """Return the wrench F (6,) on a body of inertia G with twist V and acceleration Vd.

    The equation holds in any frame of the body. (9.33).
    """
    # F = G Vd - ad_V^T (G V)
    return np.asarray(G @ Vd - lie_bracket(V).T @ (G @ V))


def body_moment_and_force(
    mass: float, inertia_com: Array, V: Array, Vd: Array
) -> tuple[Array, Array]:
    """Return moment and force on a body, in its frame at the centre of mass: the classical form.

    Equal to `body_wrench`, by Euler's and Newton's separate laws. (9.17) and (9.20).
    """
    (w, v), (wd, vd) = np.split(V, 2), np.split(Vd, 2)
    # m_b = I wd + w x (I w),   f_b = m (vd + w x v): v is in a rotating frame
    moment = inertia_com @ wd + cross(w, inertia_com @ w)
    return moment, mass * (vd + cross(w, v))


def in_link_frame(model: RobotModel, motions: list[LinkMotion], touch: Contact) -> Array:
    """Return the contact's wrench (6,) in the frame {i} of its link."""
    T_0i: Array = np.eye(4)
    for k in model.support(touch.body):
        T_0i = T_0i @ motions[k].T_pi
    # The tip frame {t} of the wrench has the base's axes; F_i = Ad(T_ti)^T F_t
    T_it = pose(T_0i[:3, :3].T, touch.p - model.com[touch.body])
    return np.asarray(adjoint(inverse_pose(T_it)).T @ np.concatenate([touch.moment, touch.force]))


def _six(name: str, vector: Array | None) -> Array:
    if vector is None:
        return np.zeros(6)
    if np.shape(vector) != (6,):
        raise ShapeError(f'{name} has shape {np.shape(vector)}; it must be (6,), angular first')
    return np.asarray(vector)
