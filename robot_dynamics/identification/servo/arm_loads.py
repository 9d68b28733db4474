# SPDX-License-Identifier: Apache-2.0
"""Inertia about each joint and torques of the arm along a motion: what one servo moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics


@dataclass(frozen=True, eq=False)
class Loads:
    """Arrays (k, n) along a motion.

    Attributes:
        inertia: M_jj, kg m^2 or kg, without the armature of drives.
        load: all other torques of the arm, N m or N: M_ji qdd_i + C qd + g.
        gravity: g.
        slope: derivative of g_j by q_j, N m/rad or N/m.
    """

    inertia: Array
    load: Array
    gravity: Array
    slope: Array


def bare(arm: Dynamics) -> Dynamics:
    """Return the arm without friction and without the armature of its drives."""
    return Dynamics(arm.model.with_actuation(rotor_inertia=0.0, viscous=0.0, coulomb=0.0))


def loads(arm: Dynamics, q: Array, qd: Array, qdd: Array, zero: Array) -> Loads:
    """Return what an arm without drives does to its joints along a motion.

    Args:
        arm: as `bare`.
        q: (k, n) positions as encoders read them.
        qd: (k, n) velocities.
        qdd: (k, n) accelerations.
        zero: (n,) by which the joints are beyond these positions.
    """
    q = q + zero
    # tau = M qdd + C qd + g
    tau = arm.inverse_dynamics(q, qd, qdd)
    inertia = np.einsum('kii->ki', arm.mass_matrix(q))
    slope = np.einsum('kii->ki', arm.gravity_torque_derivative(q))
    return Loads(inertia, tau - inertia * qdd, arm.gravity_torque(q), slope)
