"""Smooth friction, stable for any stiffness.

Friction is that of `Dynamics.friction_torque`, b v + c tanh(v / v0). Near standstill its slope
c / v0 can stop a light wrist a thousand times faster than one step: an explicit step would reverse
the joint in every step. Friction is therefore written with its secant slope, f = s(v) v, and
evaluated at the end of the step wherever one step could reverse the joint.

Source: Hairer and Wanner, Solving Ordinary Differential Equations II (1996), section IV.3.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv

from robot_dynamics.algorithms.friction import COULOMB_SPEED
from robot_dynamics.spatial import Array

# The part of the friction that is evaluated.
FrictionPart = Literal['all', 'viscous', 'none']

STANDSTILL = 1e-9  # rad/s or m/s, far below the speeds at which friction laws bend
MAX_ITERATIONS = 20
FAST = 1e6  # rad/s or m/s, beyond any joint's
BISECTIONS = 80
CONVERGED = 1e-10  # relative change of the velocities


class Friction(NamedTuple):
    """Friction of each coordinate."""

    viscous: Array  # (n,) b, N m s/rad or N s/m
    coulomb: Array  # (n,) c, N m or N

    def only(self, kind: FrictionPart) -> Friction | None:
        """Return a part of the friction; None for none."""
        if kind == 'none':
            return None
        return self if kind == 'all' else Friction(self.viscous, np.zeros(len(self.coulomb)))

    def torque(self, v: Array) -> Array:
        """Return the friction torque (n,)."""
        # f = b v + c tanh(v / v_0)
        return np.asarray(self.viscous * v + self.coulomb * np.tanh(v * (1 / COULOMB_SPEED)))

    def stiff_below(self, mobility: Array, h: float) -> Array:
        """Return the speeds (n,) below which friction could stop a joint within a step.

        Where h s(v) v / m >= v, with mobility 1 / m (n,): above any joint speed where it
        holds at all speeds, negative where at none.
        """
        slow, fast = np.zeros(len(mobility)), np.full(len(mobility), FAST)
        stiff = h * mobility
        for _ in range(BISECTIONS):
            # The slope falls with speed.
            middle = (slow + fast) / 2
            holds = stiff * self.slope(middle) >= 1
            slow, fast = np.where(holds, middle, slow), np.where(holds, fast, middle)
        return np.where(stiff * self.slope(0 * slow) >= 1, fast, -1.0)

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


def braked_velocity(friction: Friction, H: Array, b: Array, v: Array, h: float) -> Array:
    """Return the velocities (n,) at the end of a step, where friction is that of these velocities.

    Args:
        friction: of the joints.
        H: (n, n) mass matrix.
        b: (n,) momentum without friction.
        v: (n,) a guess.
        h: the step, s.
    """
    n = len(v)
    for _ in range(MAX_ITERATIONS):
        # (H + h s(v)) v' = b
        braked = H.copy()
        braked.reshape(-1)[:: n + 1] += h * friction.slope(v)
        previous, v = v, dposv(braked, b)[1]
        if np.abs(v - previous).max() <= CONVERGED * np.abs(v).max():
            break
    return v
