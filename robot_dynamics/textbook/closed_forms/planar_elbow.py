# SPDX-License-Identifier: Apache-2.0
"""The planar elbow arm, with its five-parameter regressor.

Source: Spong, Hutchinson and Vidyasagar, section 6.4.2, figure 6.9 and
(6.78)-(6.91); section 6.5.4, below (6.122).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.textbook.closed_forms.equation_of_motion import Array, EquationOfMotion


@dataclass(frozen=True)
class PlanarElbow(EquationOfMotion):
    """Two links in a vertical plane, both joints revolute; figure 6.9.

    q1 is measured from the horizontal, q2 from the first link.
    """

    l1: float  # length of link 1, m
    lc1: float  # distance of its centre of mass from joint 1, m
    lc2: float  # distance of the second centre of mass from joint 2, m
    m1: float  # kg
    m2: float  # kg
    I1: float  # about the axis out of the plane through the centre of mass, kg m^2
    I2: float  # kg m^2
    g: float = 9.81  # m/s^2

    def mass_matrix(self, q: Array) -> Array:
        """Return D(q) (2, 2). (6.86)."""
        l1, lc1, lc2, m1, m2 = self.l1, self.lc1, self.lc2, self.m1, self.m2
        cos2 = np.cos(q[1])
        d11 = m1 * lc1**2 + m2 * (l1**2 + lc2**2 + 2 * l1 * lc2 * cos2) + self.I1 + self.I2
        d12 = m2 * (lc2**2 + l1 * lc2 * cos2) + self.I2
        d22 = m2 * lc2**2 + self.I2
        return np.array([[d11, d12], [d12, d22]])

    def christoffel_symbols(self, q: Array) -> Array:
        """Return c (2, 2, 2), c[i, j, k] = c_ijk, in the order of the book, below (6.86)."""
        # h = c_121 = c_211 = c_221 = -c_112, the others are zero
        h = -self.m2 * self.l1 * self.lc2 * np.sin(q[1])
        c = np.zeros((2, 2, 2))
        c[0, 1, 0] = c[1, 0, 0] = c[1, 1, 0] = h
        c[0, 0, 1] = -h
        return c

    def coriolis_matrix(self, q: Array, qd: Array) -> Array:
        """Return C(q, qd) (2, 2), below (6.90)."""
        h = -self.m2 * self.l1 * self.lc2 * np.sin(q[1])
        return np.array([[h * qd[1], h * qd[1] + h * qd[0]], [-h * qd[0], 0 * h]])

    def gravity_torque(self, q: Array) -> Array:
        """Return g(q) (2,), the gradient of the potential energy; above (6.90)."""
        cos1, cos12 = np.cos(q[0]), np.cos(q[0] + q[1])
        g2 = self.m2 * self.lc2 * self.g * cos12
        g1 = (self.m1 * self.lc1 + self.m2 * self.l1) * self.g * cos1 + g2
        return np.array([g1, g2])

    def potential_energy(self, q: Array) -> Array:
        """Return P(q) [J], zero with both centres of mass at the height of joint 1."""
        y1 = self.lc1 * np.sin(q[0])
        y2 = self.l1 * np.sin(q[0]) + self.lc2 * np.sin(q[0] + q[1])
        return np.asarray(self.g * (self.m1 * y1 + self.m2 * y2))

    def regressor(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return Y(q, qd, qdd) (2, 5); below (6.122)."""
        cos2, sin2 = np.cos(q[1]), np.sin(q[1])
        gravity1, gravity12 = self.g * np.cos(q[0]), self.g * np.cos(q[0] + q[1])
        y12 = cos2 * (2 * qdd[0] + qdd[1]) - sin2 * (qd[1] ** 2 + 2 * qd[0] * qd[1])
        y22 = cos2 * qdd[0] + sin2 * qd[0] ** 2
        return np.array(
            [
                [qdd[0], y12, qdd[1], gravity1, gravity12],
                [0.0, y22, qdd[0] + qdd[1], 0.0, gravity12],
            ]
        )

    def parameters(self) -> Array:
        """Return Theta (5,); below (6.122)."""
        l1, lc1, lc2, m1, m2 = self.l1, self.lc1, self.lc2, self.m1, self.m2
        return np.array(
            [
                m1 * lc1**2 + m2 * (l1**2 + lc2**2) + self.I1 + self.I2,
                m2 * l1 * lc2,
                m2 * lc2**2 + self.I2,
                m1 * lc1 + m2 * l1,
                m2 * lc2,
            ]
        )
