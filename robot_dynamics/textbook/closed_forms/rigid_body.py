# SPDX-License-Identifier: Apache-2.0
"""One free rigid body: Newton's and Euler's laws in the body frame, in two forms.

The frame {b} sits at the centre of mass and turns with the body. Twists are V = (w, v), wrenches
F = (m, f), angular part first; v_b is the velocity of the origin in body axes.

Source: Lynch and Park, draft, section 9.2, (9.14)-(9.34).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.textbook.closed_forms.equation_of_motion import Array


def bracket(w: Array) -> Array:
    """Return [w] (3, 3), with [w] u = w x u."""
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


@dataclass(frozen=True)
class RigidBody:
    """A body of mass m [kg] and inertia I_b (3, 3) [kg m^2] about its centre of mass."""

    m: float
    I_b: Array

    @property
    def G(self) -> Array:
        """Return the spatial inertia G_b (6, 6). (9.23)."""
        zero = np.zeros((3, 3))
        return np.block([[self.I_b, zero], [zero, self.m * np.eye(3)]])

    def classical_wrench(self, V: Array, Vd: Array) -> Array:
        """Return (m_b, f_b) (6,) by Newton's and Euler's separate laws. (9.17), (9.20)."""
        w, v, wd, vd = V[:3], V[3:], Vd[:3], Vd[3:]
        # m_b = I_b wd + w x I_b w,   f_b = m (vd + w x v)
        moment = self.I_b @ wd + bracket(w) @ self.I_b @ w
        return np.concatenate([moment, self.m * (vd + bracket(w) @ v)])

    def twist_wrench(self, V: Array, Vd: Array) -> Array:
        """Return F_b (6,) in one equation. (9.33)."""
        w, v = bracket(V[:3]), bracket(V[3:])
        # [ad_V] = [[w], 0; [v], [w]]        (9.29)
        ad_V = np.block([[w, np.zeros((3, 3))], [v, w]])
        # F_b = G_b Vd - [ad_V]^T G_b V
        return np.asarray(self.G @ Vd - ad_V.T @ self.G @ V)

    def kinetic_energy(self, V: Array) -> Array:
        """Return 1/2 V^T G V [J], a scalar. (9.24)."""
        return np.asarray(V @ self.G @ V / 2)

    def momentum(self, V: Array) -> Array:
        """Return the spatial momentum P_b = G V (6,). (9.25)."""
        return np.asarray(self.G @ V)

    def inertial_momentum(self, R: Array, V: Array) -> Array:
        """Return h and m v (6,) in the inertial frame, where {b} has the orientation R (3, 3).

        Their time derivatives are moment and force: (9.14) and (9.15).
        """
        P_b = self.momentum(V)
        return np.concatenate([R @ P_b[:3], R @ P_b[3:]])
