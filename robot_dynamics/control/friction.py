"""Viscous and dry friction of the joints, as a compensation knows them.

    friction(qd) = F_v qd + F_s tanh(qd / v_0)

`Dynamics.friction_torque` is the same law with the numbers of the URDF compiled in; here they are
data, for a compensation that is tuned while the robot runs.

Source: 003, generalized forces (viscous F_v qd and Coulomb F_s sgn(qd), rounded at zero speed).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.algorithms.friction import COULOMB_SPEED
from robot_dynamics.spatial import Array


@dataclass(frozen=True, eq=False)
class Friction:
    """The friction of n joints.

    Attributes:
        viscous: (n,) F_v, N m s/rad or N s/m.
        coulomb: (n,) F_s, N m or N.
    """

    viscous: Array
    coulomb: Array

    def torque(self, qd: Array) -> Array:
        """Return what the motors must supply (..., n) at the velocities qd (..., n)."""
        return np.asarray(self.viscous * qd + self.coulomb * np.tanh(qd / COULOMB_SPEED))
