# SPDX-License-Identifier: Apache-2.0
"""Generalized momentum, and its rate by the robot's own terms, from the momenta of the subtrees.

    p = M qd,    dp/dt = C^T qd - g + tau,    C^T qd = dT/dq

with the kinetic energy T and the Coriolis matrix C of Christoffel symbols: dM/dt = C + C^T. An
observer of momentum needs both, and no acceleration.

A change of q_i turns the body of joint i and all bodies beyond it, which keep their joint rates.
Seen from the body, the motion (w, v) of its parent turns the other way:

    dw/dq_i = -z x w,    dv/dq_i = -z x v    (prismatic: 0 and -z x w),

and T changes by the work of this on the momentum (n, f) of the subtree. So one pass outwards, of
velocities, and one inwards, of momenta, give both terms.

Sources: De Luca and Mattone, "Actuator failure detection and isolation using generalized momenta",
ICRA 2003; Haddadin, De Luca and Albu-Schäffer, "Robot collisions: a survey on detection,
isolation, and identification", IEEE Trans. Robotics 33(6), 2017; lecture notes, Lagrangian
formulation, (37); Featherstone, Rigid Body Dynamics Algorithms (2008), chapter 2 (products of
motions and momenta).

On a base with angular velocity w and the acceleration a of its origin, less gravity, velocities
relative to the origin begin with w at the base:

    p = sum m J^T (J qd + w x r),    dp/dt = dT/dq - g(a) + tau,

T with these velocities and g(a) of a alone. The angular acceleration is not needed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from robot_dynamics.common.scalars import Scalar, is_zero
from robot_dynamics.core.algorithms.composite_bodies import rotational_inertia
from robot_dynamics.core.algorithms.gravity import weight_torque
from robot_dynamics.core.algorithms.joint_frame import (
    JointFrame,
    Wrench,
    along_joint,
    joint_frames,
    total_wrench,
    wrench_in_parent,
)
from robot_dynamics.core.algorithms.link_kinematics import Velocity, velocities
from robot_dynamics.core.algorithms.vectors import Vector, add, cross, mat_vec, scaled
from robot_dynamics.core.model.canonical import CanonicalTree, MassMoments
from robot_dynamics.core.model.coordinates import body_rates, generalized_forces


class Momentum(NamedTuple):
    """Momentum, and its rate by own terms: lists of scalars, or arrays with leading axes."""

    p: Any  # (n) M(q) qd
    rate: Any  # (n) C(q, qd)^T qd - g(q)


def momentum(tree: CanonicalTree, q: Vector, qd: Vector) -> Momentum:
    """Return p = M qd and C^T qd - g, each (n). Arguments as for `rnea`."""
    frames = joint_frames(tree, q)
    moving = velocities(tree, frames, body_rates(tree.S, qd))
    own = [momentum_of(body, velocity) for body, velocity in zip(tree.bodies, moving, strict=True)]
    beyond = tree.inward(own, lambda i, h: wrench_in_parent(frames[i], h), total_wrench)
    joints = list(zip(frames, moving, beyond, strict=True))
    p = generalized_forces(tree.S, [along_joint(frame.revolute, h) for frame, _, h in joints])
    gradient = generalized_forces(tree.S, [energy_gradient(*joint) for joint in joints])
    return Momentum(
        # Rotors turn with the joints:  p += B qd
        [
            p_j if is_zero(B) else p_j + B * rate
            for p_j, B, rate in zip(p, tree.reflected_inertia, qd, strict=True)
        ],
        [dT - g for dT, g in zip(gradient, weight_torque(tree, q), strict=True)],
    )


def momentum_of(body: MassMoments, velocity: Velocity) -> Wrench:
    """Return the momentum of a body, about the origin of its frame, in the place of a wrench."""
    w, v = velocity
    # f = sum m (v + w x r),   n = sum m r x (v + w x r)
    f = add(scaled(body.m, v), cross(w, body.h))
    return Wrench(add(mat_vec(rotational_inertia(body.Sigma), w), cross(body.h, v)), f)


def energy_gradient(frame: JointFrame, velocity: Velocity, beyond: Wrench) -> Scalar:
    """Return dT/dq_i from the velocity of body i and the momentum beyond its joint."""
    (w, v), (n, f) = velocity, beyond
    if not frame.revolute:
        # -(z x w) . f
        return w[1] * f[0] - w[0] * f[1]
    # -(z x w) . n - (z x v) . f
    return (w[1] * n[0] - w[0] * n[1]) + (v[1] * f[0] - v[0] * f[1])
