"""Viscous friction and dry friction that is smooth at standstill, of the coordinates of an arm."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from robot_dynamics.friction.coulomb import COULOMB_SPEED
from robot_dynamics.spatial import Array

# The part of the friction that is evaluated.
FrictionPart = Literal['viscous', 'none']

STANDSTILL = 1e-9  # rad/s or m/s, far below the speeds at which friction laws bend
MAX_ITERATIONS = 20
CONVERGED = 1e-10  # relative change of the velocities


class Friction(NamedTuple):
    """Friction of each coordinate."""

    viscous: Array  # (n,) b, N m s/rad or N s/m
    coulomb: Array  # (n,) c, N m or N

    def only(self, kind: FrictionPart) -> Friction | None:
        """Return a part of the friction; None for none."""
        if kind == 'none':
            return None
        return Friction(self.viscous, np.zeros(len(self.coulomb)))

    def torque(self, v: Array) -> Array:
        """Return the friction torque (n,)."""
        # f = b v + c tanh(v / v_0)
        return np.asarray(self.viscous * v + self.coulomb * np.tanh(v * (1 / COULOMB_SPEED)))

    def slope(self, v: Array) -> Array:
        """Return s (n,) with f = s v, N m s/rad or N s/m; largest at standstill."""
        speed = np.maximum(np.abs(v), STANDSTILL)
        return np.asarray(
            self.viscous + self.coulomb * np.tanh(speed * (1 / COULOMB_SPEED)) / speed
        )

    def tangent(self, v: Array) -> Array:
        """Return df/dv (n,), N m s/rad or N s/m."""
        t = np.tanh(v * (1 / COULOMB_SPEED))
        return np.asarray(self.viscous + self.coulomb / COULOMB_SPEED * (1 - t * t))
