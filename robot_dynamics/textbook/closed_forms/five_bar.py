# SPDX-License-Identifier: Apache-2.0
"""The five-bar linkage: a closed chain that can be decoupled.

Links 1 and 2 turn on the base, link 3 hangs on the end of link 2 parallel to link 1, link 4 on the
end of link 1 parallel to link 2; l3 = l1 makes the loop a parallelogram. The forearm, link 4, runs
beyond link 1 the other way: its centre of mass lies at the angle q2 - pi. If

    m3 l2 lc3 = m4 l1 lc4,

the inertia matrix is diagonal and constant, and the equations of the two motors are independent.

Source: Spong, Hutchinson and Vidyasagar, section 6.4.4, figure 6.12, (6.100)-(6.111).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.textbook.closed_forms.equation_of_motion import Array, EquationOfMotion


@dataclass(frozen=True)
class FiveBarLinkage(EquationOfMotion):
    """The linkage in a vertical plane; q1 and q2 of links 1 and 2 are from the horizontal."""

    l1: float  # length of links 1 and 3, m
    l2: float  # length of link 2, and of link 4 between its joints, m
    lc: tuple[float, float, float, float]  # distances of the centres of mass, m
    m: tuple[float, float, float, float]  # kg
    I: tuple[float, float, float, float]  # about the centres of mass, kg m^2
    g: float = 9.81  # m/s^2

    def com_positions(self, q: Array) -> Array:
        """Return the centres of mass (4, 2) in the plane. (6.100)-(6.103)."""
        along1 = np.array([np.cos(q[0]), np.sin(q[0])])
        along2 = np.array([np.cos(q[1]), np.sin(q[1])])
        c1, c2, c3, c4 = self.lc
        return np.array(
            [
                c1 * along1,
                c2 * along2,
                self.l2 * along2 + c3 * along1,
                # cos(q2 - pi) = -cos q2
                self.l1 * along1 - c4 * along2,
            ]
        )

    def com_jacobians(self, q: Array) -> Array:
        """Return J_vc (4, 2, 2) of all links: v_ci = J_vc[i] qd. (6.104)."""
        turn1 = np.array([-np.sin(q[0]), np.cos(q[0])])
        turn2 = np.array([-np.sin(q[1]), np.cos(q[1])])
        c1, c2, c3, c4 = self.lc
        columns = [(c1, 0.0), (0.0, c2), (c3, self.l2), (self.l1, -c4)]
        return np.array([np.column_stack([a * turn1, b * turn2]) for a, b in columns])

    def mass_matrix(self, q: Array) -> Array:
        """Return D(q) (2, 2). (6.107)."""
        d11, coupling, d22 = self.parameters()[:3]
        d12 = coupling * np.cos(q[1] - q[0])
        return np.array([[d11, d12], [d12, d22]])

    def coriolis_matrix(self, q: Array, qd: Array) -> Array:
        """Return C(q, qd) (2, 2), zero in the decoupled linkage."""
        # c_221 = dd12/dq2, c_112 = dd12/dq1, the others are zero
        c_221 = -self.parameters()[1] * np.sin(q[1] - q[0])
        return np.array([[0.0, c_221 * qd[1]], [-c_221 * qd[0], 0.0]])

    def gravity_torque(self, q: Array) -> Array:
        """Return g(q) (2,): g1 depends on q1 alone, g2 on q2 alone. (6.110)."""
        moment1, moment2 = self.parameters()[3:]
        return self.g * np.array([moment1 * np.cos(q[0]), moment2 * np.cos(q[1])])

    def potential_energy(self, q: Array) -> Array:
        """Return P(q) [J], the masses times the heights of their centres. (6.109)."""
        return np.asarray(self.g * (np.array(self.m) @ self.com_positions(q)[:, 1]))

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
        """Return Theta (5,): d11, the coupling, d22 and the two first moments of mass."""
        (m1, m2, m3, m4), (c1, c2, c3, c4), (I1, I2, I3, I4) = self.m, self.lc, self.I
        l1, l2 = self.l1, self.l2
        return np.array(
            [
                m1 * c1**2 + m3 * c3**2 + m4 * l1**2 + I1 + I3,
                # zero in the decoupled linkage: (6.108)
                m3 * l2 * c3 - m4 * l1 * c4,
                m2 * c2**2 + m3 * l2**2 + m4 * c4**2 + I2 + I4,
                m1 * c1 + m3 * c3 + m4 * l1,
                m2 * c2 + m3 * l2 - m4 * c4,
            ]
        )
