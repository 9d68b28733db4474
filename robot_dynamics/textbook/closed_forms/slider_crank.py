# SPDX-License-Identifier: Apache-2.0
"""The slider-crank: crank, rod and a piston that slides along x.

One coordinate, the crank's angle q from the x-axis, moves all three; the rod's angle phi follows
from sin(phi) = -(r / l) sin(q), the piston's place is x = r cos(q) + l cos(phi). With primes for
derivatives by q, the kinetic energy is 1/2 M(q) qd^2 with

    M = I_1 + m_1 c_1^2 + m_2 r^2 + 2 m_2 c_2 r cos(q - phi) phi'
        + (I_2 + m_2 c_2^2) phi'^2 + m_3 x'^2

and the equation of motion M qdd + 1/2 M' qd^2 + dP/dq = tau, tau being the crank's torque.

Source: Uicker, Pennock and Shigley, Theory of Machines and Mechanisms (2011), chapters 2 and 12.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.textbook.closed_forms.equation_of_motion import Array, EquationOfMotion


@dataclass(frozen=True)
class SliderCrank(EquationOfMotion):
    """The mechanism in a vertical plane; the rod is longer than the crank."""

    r: float  # length of the crank, m
    l: float  # length of the rod, m
    c: tuple[float, float]  # distances of the centres of mass from the links' first joints, m
    m: tuple[float, float, float]  # of crank, rod and piston, kg
    I: tuple[float, float]  # about the centres of mass, kg m^2
    g: float = 9.81  # m/s^2

    def rod_angle(self, q: Array) -> Array:
        """Return phi and its first two derivatives by q (3,)."""
        ratio = self.r / self.l
        phi = -np.arcsin(ratio * np.sin(q[0]))
        # cos(phi) phi' = -(r/l) cos(q)
        first = -ratio * np.cos(q[0]) / np.cos(phi)
        second = (ratio * np.sin(q[0]) + np.sin(phi) * first**2) / np.cos(phi)
        return np.array([phi, first, second])

    def piston(self, q: Array) -> Array:
        """Return x and its first two derivatives by q (3,)."""
        phi, first, second = self.rod_angle(q)
        return np.array(
            [
                self.r * np.cos(q[0]) + self.l * np.cos(phi),
                -self.r * np.sin(q[0]) - self.l * np.sin(phi) * first,
                -self.r * np.cos(q[0]) - self.l * (np.cos(phi) * first**2 + np.sin(phi) * second),
            ]
        )

    def mass_matrix(self, q: Array) -> Array:
        """Return M(q) (1, 1)."""
        return np.array([[self._shares(q)[0] @ self.parameters()[:4]]])

    def coriolis_matrix(self, q: Array, qd: Array) -> Array:
        """Return C(q, qd) (1, 1) = 1/2 M' qd."""
        return np.array([[self._shares(q)[1] @ self.parameters()[:4] * qd[0] / 2]])

    def gravity_torque(self, q: Array) -> Array:
        """Return dP/dq (1,)."""
        return np.array([self._weights(q) @ self.parameters()])

    def potential_energy(self, q: Array) -> Array:
        """Return P(q) [J], the masses times the heights of their centres."""
        (m1, m2, _), (c1, c2) = self.m, self.c
        crank, rod = np.sin(q[0]), np.sin(self.rod_angle(q)[0])
        return np.asarray(self.g * (m1 * c1 * crank + m2 * (self.r * crank + c2 * rod)))

    def regressor(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return Y (1, 5)."""
        M, dM = self._shares(q)
        # M qdd + 1/2 M' qd^2
        moved = np.append(M * qdd[0] + dM * qd[0] ** 2 / 2, 0.0)
        return (moved + self._weights(q))[None]

    def parameters(self) -> Array:
        """Return Theta (5,), the parameters in which M and P are linear."""
        (m1, m2, m3), (c1, c2), (I1, I2) = self.m, self.c, self.I
        return np.array(
            [
                I1 + m1 * c1**2 + m2 * self.r**2,
                m2 * c2,
                I2 + m2 * c2**2,
                m3,
                m1 * c1 + m2 * self.r,
            ]
        )

    def _shares(self, q: Array) -> tuple[Array, Array]:
        """Return the coefficients of the first four parameters in M and M', (4,) each."""
        phi, first, second = self.rod_angle(q)
        _, dx, ddx = self.piston(q)
        across, along = np.sin(q[0] - phi), np.cos(q[0] - phi)
        M = np.array([1.0, 2 * self.r * along * first, first**2, dx**2])
        coupling = 2 * self.r * (along * second - across * (1 - first) * first)
        return M, np.array([0.0, coupling, 2 * first * second, 2 * dx * ddx])

    def _weights(self, q: Array) -> Array:
        """Return the coefficients of the parameters in dP/dq, (5,)."""
        phi, first, _ = self.rod_angle(q)
        # P: g m_2 c_2 sin(phi) of the rod, g (m_1 c_1 + m_2 r) sin(q) of the masses on the crank
        return self.g * np.array([0.0, np.cos(phi) * first, 0.0, 0.0, np.cos(q[0])])
