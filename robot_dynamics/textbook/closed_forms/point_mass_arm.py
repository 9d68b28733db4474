# SPDX-License-Identifier: Apache-2.0
"""The planar 2R arm with point masses at the ends of its links.

Source: Lynch and Park, draft, section 9.1.1, (9.7) and (9.8) with the equations below them.
Misprints corrected: in tau_1 the coupling inertia has cos theta_2; in tau_2 the velocity term is +
m2 L1 L2 thetad_1^2 sin theta_2 and gravity is + m2 g L2 cos(theta_1 + theta_2); in K_2 the mass m2
multiplies all of the bracket.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.textbook.closed_forms.equation_of_motion import Array, EquationOfMotion


@dataclass(frozen=True)
class PointMassArm(EquationOfMotion):
    """Gravity pulls along -y; theta_1 is from the x axis, theta_2 from the first link."""

    m1: float  # kg, at the end of link 1
    m2: float  # kg, at the end of link 2
    L1: float  # m
    L2: float  # m
    g: float = 9.81  # m/s^2

    def mass_matrix(self, q: Array) -> Array:
        """Return M (2, 2)."""
        m1, m2, L1, L2, cos2 = self.m1, self.m2, self.L1, self.L2, np.cos(q[1])
        m11 = (m1 + m2) * L1**2 + m2 * (2 * L1 * L2 * cos2 + L2**2)
        m12 = m2 * (L1 * L2 * cos2 + L2**2)
        return np.array([[m11, m12], [m12, m2 * L2**2]])

    def coriolis_matrix(self, q: Array, qd: Array) -> Array:
        """Return C (2, 2), of the Christoffel symbols (9.13)."""
        h = self.m2 * self.L1 * self.L2 * np.sin(q[1])
        # tau_1: -2 h thetad_1 thetad_2 - h thetad_2^2,   tau_2: +h thetad_1^2
        return np.array([[-h * qd[1], -h * (qd[0] + qd[1])], [h * qd[0], 0.0]])

    def gravity_torque(self, q: Array) -> Array:
        """Return g (2,)."""
        g2 = self.m2 * self.g * self.L2 * np.cos(q[0] + q[1])
        return np.array([(self.m1 + self.m2) * self.L1 * self.g * np.cos(q[0]) + g2, g2])

    def kinetic_energy(self, q: Array, qd: Array) -> Array:
        """Return the scalar K_1 + K_2 [J]; below (9.7), with m2 over all of the bracket."""
        m2, L1, L2, cos2 = self.m2, self.L1, self.L2, np.cos(q[1])
        K1 = self.m1 * L1**2 * qd[0] ** 2 / 2
        bracket = (L1**2 + 2 * L1 * L2 * cos2 + L2**2) * qd[0] ** 2
        bracket = bracket + 2 * (L2**2 + L1 * L2 * cos2) * qd[0] * qd[1] + L2**2 * qd[1] ** 2
        return np.asarray(K1 + m2 * bracket / 2)

    def potential_energy(self, q: Array) -> Array:
        """Return the scalar P_1 + P_2 [J]."""
        y1 = self.L1 * np.sin(q[0])
        return np.asarray(self.g * (self.m1 * y1 + self.m2 * (y1 + self.L2 * np.sin(q[0] + q[1]))))

    def regressor(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return Y (2, 2): the lengths are known, so the parameters are the two masses."""
        L1, L2, cos2, sin2 = self.L1, self.L2, np.cos(q[1]), np.sin(q[1])
        weight1, weight2 = self.g * np.cos(q[0]), self.g * np.cos(q[0] + q[1])
        y11 = L1**2 * qdd[0] + L1 * weight1
        y22 = (L1 * L2 * cos2 + L2**2) * qdd[0] + L2**2 * qdd[1]
        y22 = y22 + L1 * L2 * sin2 * qd[0] ** 2 + L2 * weight2
        y12 = (L1**2 + 2 * L1 * L2 * cos2 + L2**2) * qdd[0] + (L1 * L2 * cos2 + L2**2) * qdd[1]
        y12 = y12 - L1 * L2 * sin2 * (2 * qd[0] * qd[1] + qd[1] ** 2)
        y12 = y12 + L1 * weight1 + L2 * weight2
        return np.array([[y11, y12], [0.0, y22]])

    def parameters(self) -> Array:
        """Return Theta (2,) = (m1, m2)."""
        return np.array([self.m1, self.m2])
