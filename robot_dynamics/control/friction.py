"""Viscous and dry friction of the joints, as a compensation knows them.

    friction(qd) = F_v qd + F_s tanh(qd / v_0)

`Dynamics.friction_torque` is the same law with the numbers of the URDF compiled in; here they are
data, for a compensation that is tuned while the robot runs.

Source: 003, generalized forces (viscous F_v qd and Coulomb F_s sgn(qd), rounded at zero speed).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.algorithms.friction import COULOMB_SPEED
from robot_dynamics.spatial import Array


def coefficients(name: str, value: ArrayLike) -> Array:
    """Return a read-only copy of numbers per joint. Raises ValueError unless finite and >= 0."""
    array = np.array(value, dtype=float)
    if not (np.isfinite(array).all() and (array >= 0).all()):
        raise ValueError(f'{name} is {array}; it must be finite and not negative')
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class Friction:
    """The friction of n joints.

    Attributes:
        viscous: (n,) or one number, F_v, N m s/rad or N s/m.
        coulomb: (n,) or one number, F_s, N m or N.

    Raises:
        ValueError: a coefficient is negative or not finite.
    """

    viscous: Array
    coulomb: Array

    def __post_init__(self) -> None:
        for name in ('viscous', 'coulomb'):
            object.__setattr__(self, name, coefficients(name, getattr(self, name)))

    def torque(self, qd: Array) -> Array:
        """Return what the motors must supply (..., n) at the velocities qd (..., n)."""
        return np.asarray(self.viscous * qd + self.coulomb * np.tanh(qd / COULOMB_SPEED))
