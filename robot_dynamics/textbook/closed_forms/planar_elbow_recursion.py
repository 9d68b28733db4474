# SPDX-License-Identifier: Apache-2.0
"""The planar elbow by Newton and Euler: every vector of the recursion, written out.

Frames 1 and 2 are fixed in the links, their x axes along them; only the x and y components of
accelerations and forces and the z components of moments differ from zero, and only these appear.
Accelerations are true ones and gravity is a force on each link, as in the book.

Source: Spong, Hutchinson and Vidyasagar, section 6.6.2, (6.164)-(6.179).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robot_dynamics.textbook.closed_forms.equation_of_motion import Array
from robot_dynamics.textbook.closed_forms.planar_elbow import PlanarElbow


class Recursion(NamedTuple):
    """Vectors of the recursion, of link i in frame i: in the plane (2,), along z scalars."""

    w1: float  # angular velocities, rad/s
    w2: float
    alpha1: float  # angular accelerations, rad/s^2
    alpha2: float
    a_c1: Array  # accelerations of the centres of mass, m/s^2
    a_e1: Array  # acceleration of the end of link 1, m/s^2
    a_c2: Array
    g1: Array  # gravity vector, m/s^2
    g2: Array
    f1: Array  # forces of joint i on link i, N
    f2: Array
    tau1: float  # moments of joint i on link i, N m
    tau2: float


@dataclass(frozen=True)
class PlanarElbowRecursion:
    """Forward and backward recursion of the arm `elbow`."""

    elbow: PlanarElbow

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return tau (2,)."""
        steps = self.steps(q, qd, qdd)
        return np.array([steps.tau1, steps.tau2])

    def steps(self, q: Array, qd: Array, qdd: Array) -> Recursion:
        """Return every vector of the recursion; q, qd and qdd are (2,) [rad, s]."""
        e, sin2, cos2 = self.elbow, np.sin(q[1]), np.cos(q[1])
        # (6.164): the rotations are all about z
        w1, alpha1 = qd[0], qdd[0]
        w2, alpha2 = qd[0] + qd[1], qdd[0] + qdd[1]

        # (6.167): a_c1 = -lc1 q1d^2 i + lc1 q1dd j, and a_e1 with l1 in place of lc1
        direction = np.array([-(w1**2), alpha1])
        a_c1, a_e1 = e.lc1 * direction, e.l1 * direction
        # (6.172): a_c2 = R_21 a_e1 + (-lc2 w2^2) i + lc2 alpha2 j
        R_21 = np.array([[cos2, sin2], [-sin2, cos2]])
        a_c2 = R_21 @ a_e1 + e.lc2 * np.array([-(w2**2), alpha2])
        # (6.168), (6.173): -g j of the base, in link frames
        q12 = q[0] + q[1]
        g1 = -e.g * np.array([np.sin(q[0]), np.cos(q[0])])
        g2 = -e.g * np.array([np.sin(q12), np.cos(q12)])

        # (6.174): f2 = m2 a_c2 - m2 g2
        f2 = e.m2 * (a_c2 - g2)
        # (6.176): tau2 = I2 alpha2 + lc2 i x f2
        tau2 = e.I2 * alpha2 + e.lc2 * f2[1]
        # (6.177): f1 = m1 a_c1 + R_12 f2 - m1 g1
        f2_in_1 = R_21.T @ f2
        f1 = e.m1 * (a_c1 - g1) + f2_in_1
        # (6.178): tau1 = tau2 + I1 alpha1 + lc1 i x f1 + (l1 - lc1) i x R_12 f2
        tau1 = tau2 + e.I1 * alpha1 + e.lc1 * f1[1] + (e.l1 - e.lc1) * f2_in_1[1]
        return Recursion(
            w1, w2, alpha1, alpha2, a_c1, a_e1, a_c2, g1, g2, f1, f2, float(tau1), float(tau2)
        )
