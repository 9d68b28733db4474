# SPDX-License-Identifier: Apache-2.0
"""The two-link Cartesian arm: two prismatic joints at right angles, uncoupled.

Source: Spong, Hutchinson and Vidyasagar, section 6.4.1 and figure 6.8, (6.69)-(6.77).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.textbook.closed_forms.equation_of_motion import Array, EquationOfMotion


@dataclass(frozen=True)
class CartesianArm(EquationOfMotion):
    """Joint 1 lifts both links, joint 2 moves the second one sideways."""

    m1: float  # kg
    m2: float  # kg
    g: float = 9.81  # m/s^2

    def mass_matrix(self, q: Array) -> Array:
        """Return D (2, 2), constant and diagonal."""
        return np.diag([self.m1 + self.m2, self.m2])

    def coriolis_matrix(self, q: Array, qd: Array) -> Array:
        """Return C (2, 2), zero since D is constant."""
        return np.zeros((2, 2))

    def gravity_torque(self, q: Array) -> Array:
        """Return g (2,): g1 = g (m1 + m2), g2 = 0."""
        return np.array([self.g * (self.m1 + self.m2), 0.0])

    def potential_energy(self, q: Array) -> Array:
        """Return the scalar P = g (m1 + m2) q1 [J]."""
        return np.asarray(self.g * (self.m1 + self.m2) * q[0])

    def regressor(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return Y (2, 2): (m1 + m2) q1dd + g (m1 + m2) = f1, m2 q2dd = f2."""
        return np.array([[qdd[0] + self.g, qdd[0] + self.g], [0.0, qdd[1]]])

    def parameters(self) -> Array:
        """Return Theta (2,) = (m1, m2)."""
        return np.array([self.m1, self.m2])
