# SPDX-License-Identifier: Apache-2.0
"""One moving part: a particle, a link behind a gear, and a link behind a gear and a spring.

Source: Spong, Hutchinson and Vidyasagar, section 6.1 with examples 6.1 and 6.2;
Lynch and Park, draft, section 9.1.1. Two misprints of the former are corrected: the damping
at the link is B = r^2 B_m + B_l, and in example 6.2 q1 belongs to the link, q2 to the motor.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.textbook.closed_forms.equation_of_motion import Array, EquationOfMotion


@dataclass(frozen=True)
class VerticalParticle(EquationOfMotion):
    """A particle on a vertical line, y its height."""

    m: float  # kg
    g: float = 9.81  # m/s^2

    def mass_matrix(self, q: Array) -> Array:
        """Return D (1, 1)."""
        return np.array([[self.m]])

    def coriolis_matrix(self, q: Array, qd: Array) -> Array:
        """Return C (1, 1), zero."""
        return np.zeros((1, 1))

    def gravity_torque(self, q: Array) -> Array:
        """Return g (1,): m ydd + m g = f."""
        return np.array([self.m * self.g])

    def potential_energy(self, q: Array) -> Array:
        """Return the scalar P = m g y [J]."""
        return np.asarray(self.m * self.g * q[0])

    def regressor(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return Y (1, 1)."""
        return np.array([[qdd[0] + self.g]])

    def parameters(self) -> Array:
        """Return Theta (1,) = (m)."""
        return np.array([self.m])


@dataclass(frozen=True)
class GearedLink(EquationOfMotion):
    """A link in a vertical plane, driven by a motor through a gear; example 6.1.

    The coordinate q is the link's angle theta_l from the hanging position; the motor's is r q.
    """

    r: float  # gear ratio, motor turns per turn of the link
    Jm: float  # inertia of the motor about its shaft, kg m^2
    Jl: float  # inertia of the link about the joint's axis, kg m^2
    M: float  # mass of the link, kg
    l: float  # distance of its centre of mass from the axis, m
    Bm: float = 0.0  # damping at the motor's shaft, N m s/rad
    Bl: float = 0.0  # damping at the joint, N m s/rad
    g: float = 9.81  # m/s^2

    @property
    def inertia(self) -> float:
        """Return I = r^2 J_m + J_l, the inertia at the link; above (6.9)."""
        return self.r**2 * self.Jm + self.Jl

    @property
    def damping(self) -> float:
        """Return B = r^2 B_m + B_l, the damping at the link; r^2 is missing in print."""
        return self.r**2 * self.Bm + self.Bl

    def motor_torque(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return tau_m (1,), the torque of the motor's shaft, damping included.

        The whole equation of motion, I qdd + B qd + M g l sin q = u, with u = r tau_m.
        """
        u = self.inverse_dynamics(q, qd, qdd) + self.damping * np.asarray(qd)
        return np.asarray(u / self.r)

    def mass_matrix(self, q: Array) -> Array:
        """Return D (1, 1)."""
        return np.array([[self.inertia]])

    def coriolis_matrix(self, q: Array, qd: Array) -> Array:
        """Return C (1, 1), zero."""
        return np.zeros((1, 1))

    def gravity_torque(self, q: Array) -> Array:
        """Return g (1,): M g l sin q."""
        return np.array([self.M * self.g * self.l * np.sin(q[0])])

    def potential_energy(self, q: Array) -> Array:
        """Return the scalar P = M g l (1 - cos q) [J]."""
        return np.asarray(self.M * self.g * self.l * (1 - np.cos(q[0])))

    def regressor(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return Y (1, 3), of the torque u = r tau_m with damping."""
        return np.array([[qdd[0], qd[0], self.g * np.sin(q[0])]])

    def parameters(self) -> Array:
        """Return Theta (3,) = (I, B, M l)."""
        return np.array([self.inertia, self.damping, self.M * self.l])


@dataclass(frozen=True)
class ElasticJoint(EquationOfMotion):
    """A link and a motor with a torsion spring between them; example 6.2.

    q1 is the link's angle, from the hanging position, and q2 the motor's, reflected to the link:
    the shaft turns by r q2. Generalized forces are (0, u) with u = r tau_m without an external
    torque on the link.
    """

    r: float  # gear ratio
    Jm: float  # inertia of the motor about its shaft, kg m^2
    Jl: float  # inertia of the link about the joint's axis, kg m^2
    M: float  # mass of the link, kg
    l: float  # distance of its centre of mass from the axis, m
    k: float  # stiffness of the spring, N m/rad
    g: float = 9.81  # m/s^2

    def mass_matrix(self, q: Array) -> Array:
        """Return D (2, 2), diagonal: K = 1/2 J_l q1d^2 + 1/2 r^2 J_m q2d^2."""
        return np.diag([self.Jl, self.r**2 * self.Jm])

    def coriolis_matrix(self, q: Array, qd: Array) -> Array:
        """Return C (2, 2), zero."""
        return np.zeros((2, 2))

    def gravity_torque(self, q: Array) -> Array:
        """Return dP/dq (2,) of gravity and spring."""
        spring = self.k * (q[0] - q[1])
        # J_l q1dd + M g l sin q1 + k (q1 - q2) = 0,   r^2 J_m q2dd + k (q2 - q1) = u
        return np.array([self.M * self.g * self.l * np.sin(q[0]) + spring, -spring])

    def potential_energy(self, q: Array) -> Array:
        """Return the scalar P = M g l (1 - cos q1) + 1/2 k (q1 - q2)^2 [J]."""
        gravity = self.M * self.g * self.l * (1 - np.cos(q[0]))
        return np.asarray(gravity + self.k * (q[0] - q[1]) ** 2 / 2)

    def regressor(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return Y (2, 4)."""
        gravity, stretch = self.g * np.sin(q[0]), q[0] - q[1]
        return np.array([[qdd[0], 0.0, gravity, stretch], [0.0, qdd[1], 0.0, -stretch]])

    def parameters(self) -> Array:
        """Return Theta (4,) = (J_l, r^2 J_m, M l, k)."""
        return np.array([self.Jl, self.r**2 * self.Jm, self.M * self.l, self.k])
