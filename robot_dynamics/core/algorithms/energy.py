# SPDX-License-Identifier: Apache-2.0
"""Kinetic and potential energy.

Sources: Spong, Hutchinson and Vidyasagar, section 6.2, where (6.53) is the mass matrix of K;
lecture notes, Lagrangian formulation, (36) and (38).
"""

from __future__ import annotations

from robot_dynamics.common.scalars import Scalar, is_zero
from robot_dynamics.core.algorithms.composite_bodies import rotational_inertia
from robot_dynamics.core.algorithms.gravity import first_moments, moments_in_parent
from robot_dynamics.core.algorithms.joint_frame import joint_frames
from robot_dynamics.core.algorithms.link_kinematics import Velocity, velocities
from robot_dynamics.core.algorithms.vectors import Vector, add, cross, dot, mat_vec, scaled
from robot_dynamics.core.model.canonical import CanonicalTree, MassMoments
from robot_dynamics.core.model.coordinates import body_rates


def kinetic_energy(tree: CanonicalTree, q: Vector, qd: Vector) -> Scalar:
    """Return K = qd^T M(q) qd / 2 [J], rotors included. Arguments as for `rnea`."""
    moving = velocities(tree, joint_frames(tree, q), body_rates(tree.S, qd))
    twice: Scalar = 0.0
    for body, velocity in zip(tree.bodies, moving, strict=True):
        twice = twice + _twice_kinetic(body, velocity)
    for B, rate in zip(tree.reflected_inertia, qd, strict=True):
        if not is_zero(B):
            twice = twice + B * (rate * rate)
    return 0.5 * twice


def _twice_kinetic(body: MassMoments, velocity: Velocity) -> Scalar:
    """Return sum m |v + w x r|^2 = v . (m v + 2 w x h) + w . I w."""
    w, v = velocity
    through_origin = dot(v, add(scaled(body.m, v), scaled(2.0, cross(w, body.h))))
    return through_origin + dot(w, mat_vec(rotational_inertia(body.Sigma), w))


def potential_energy(tree: CanonicalTree, q: Vector) -> Scalar:
    """Return P(q) [J], zero for a centre of mass at the height of the base's origin."""
    frames = joint_frames(tree, q)
    h = tree.base_moment
    for i, moments in enumerate(first_moments(tree, frames)):
        if tree.joints[i].parent < 0:
            h = add(h, moments_in_parent(frames[i], moments)[1])
    # P = -sum m g . r
    return -dot(tree.gravity, h)
