# SPDX-License-Identifier: Apache-2.0
"""The planar elbow with both motors at the base, the second one driving through a belt.

The coordinates are absolute angles: p2 does not change when p1 does. The joints' own angles are
q1 = p1 and q2 = p2 - p1. With this drive the arm has no Coriolis torques, only centrifugal ones.

Source: Spong, Hutchinson and Vidyasagar, section 6.4.3, figures 6.10 and 6.11, (6.92)-(6.99).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.textbook.closed_forms.equation_of_motion import Array, EquationOfMotion


@dataclass(frozen=True)
class RemoteElbow(EquationOfMotion):
    """Two links in a vertical plane; p1 and p2 are measured from the horizontal."""

    l1: float  # length of link 1, m
    lc1: float  # distance of its centre of mass from joint 1, m
    lc2: float  # distance of the second centre of mass from joint 2, m
    m1: float  # kg
    m2: float  # kg
    I1: float  # about the axis out of the plane through the centre of mass, kg m^2
    I2: float  # kg m^2
    g: float = 9.81  # m/s^2

    def com_positions(self, p: Array) -> Array:
        """Return the centres of mass (2, 2) in the plane, link by link."""
        along1 = np.array([np.cos(p[0]), np.sin(p[0])])
        along2 = np.array([np.cos(p[1]), np.sin(p[1])])
        return np.array([self.lc1 * along1, self.l1 * along1 + self.lc2 * along2])

    def com_jacobians(self, p: Array) -> Array:
        """Return J_vc (2, 2, 2) of both links: v_ci = J_vc[i] pd. (6.92) and (6.93)."""
        turn1 = np.array([-np.sin(p[0]), np.cos(p[0])])
        turn2 = np.array([-np.sin(p[1]), np.cos(p[1])])
        J1 = np.column_stack([self.lc1 * turn1, 0 * turn1])
        J2 = np.column_stack([self.l1 * turn1, self.lc2 * turn2])
        return np.array([J1, J2])

    def mass_matrix(self, q: Array) -> Array:
        """Return D(p) (2, 2). (6.96)."""
        d11 = self.m1 * self.lc1**2 + self.m2 * self.l1**2 + self.I1
        d12 = self.m2 * self.l1 * self.lc2 * np.cos(q[1] - q[0])
        d22 = self.m2 * self.lc2**2 + self.I2
        return np.array([[d11, d12], [d12, d22]])

    def christoffel_symbols(self, q: Array) -> Array:
        """Return c (2, 2, 2), c[i, j, k] = c_ijk, below (6.96)."""
        # c_221 = -c_112 = -m2 l1 lc2 sin(p2 - p1), the others are zero
        c_221 = -self.m2 * self.l1 * self.lc2 * np.sin(q[1] - q[0])
        c = np.zeros((2, 2, 2))
        c[1, 1, 0], c[0, 0, 1] = c_221, -c_221
        return c

    def coriolis_matrix(self, q: Array, qd: Array) -> Array:
        """Return C(p, pd) (2, 2)."""
        c_221 = -self.m2 * self.l1 * self.lc2 * np.sin(q[1] - q[0])
        return np.array([[0.0, c_221 * qd[1]], [-c_221 * qd[0], 0.0]])

    def gravity_torque(self, q: Array) -> Array:
        """Return g(p) (2,). Above (6.99)."""
        g1 = (self.m1 * self.lc1 + self.m2 * self.l1) * self.g * np.cos(q[0])
        g2 = self.m2 * self.lc2 * self.g * np.cos(q[1])
        return np.array([g1, g2])

    def potential_energy(self, q: Array) -> Array:
        """Return P(p) [J], zero with both centres of mass at the height of joint 1."""
        y1 = self.lc1 * np.sin(q[0])
        y2 = self.l1 * np.sin(q[0]) + self.lc2 * np.sin(q[1])
        return np.asarray(self.g * (self.m1 * y1 + self.m2 * y2))

    def regressor(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return Y (2, 5)."""
        cos21, sin21 = np.cos(q[1] - q[0]), np.sin(q[1] - q[0])
        y12 = cos21 * qdd[1] - sin21 * qd[1] ** 2
        y22 = cos21 * qdd[0] + sin21 * qd[0] ** 2
        return np.array(
            [
                [qdd[0], y12, 0.0, self.g * np.cos(q[0]), 0.0],
                [0.0, y22, qdd[1], 0.0, self.g * np.cos(q[1])],
            ]
        )

    def parameters(self) -> Array:
        """Return Theta (5,): d11, m2 l1 lc2, d22 and the two first moments of mass."""
        return np.array(
            [
                self.m1 * self.lc1**2 + self.m2 * self.l1**2 + self.I1,
                self.m2 * self.l1 * self.lc2,
                self.m2 * self.lc2**2 + self.I2,
                self.m1 * self.lc1 + self.m2 * self.l1,
                self.m2 * self.lc2,
            ]
        )
