# SPDX-License-Identifier: Apache-2.0
"""Stops at the position limits: inelastic, or springs with dampers.

A joint that meets an inelastic stop loses its velocity at that instant, by an impulse in the
metric of the mass matrix there. It is then exactly at its limit, and stays while a force holds it
there. A step of order 1 ends exactly at the limit, and the velocity is lost in the next one.

A spring-damper stop allows a penetration x > 0 and exerts F = max(0, k x + d xd): it never pulls.
Its energy 1/2 k x^2 is stored and returned at most once, since

    d/dt (K + 1/2 k x^2) = -(F - k x) xd <= 0:

inward (xd > 0) F >= k x; outward (xd < 0) F <= k x. Force and penetration are taken at the end of
the step, which preserves this for a joint with constant inertia and steps of any length. With
coupled joints the mass matrix changes over the step, and the energy by O(h^2), of either sign.
Such a step is of first order, whatever the integrator (`steps/motion.py`).

A joint that starts beyond a limit may return, and an inelastic stop exerts no force on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.settings import GAIN, joint_setting
from robot_dynamics.common.spatial import Array


@dataclass(frozen=True)
class InelasticStop:
    """Rigid stops at the position limits of the model."""


@dataclass(frozen=True)
class SpringDamperStop:
    """Spring stops at the position limits of the model; one number for all joints, or one each."""

    stiffness: ArrayLike = joint_setting(
        10000.0, 'Stiffness of spring stops', 'N m/rad or N/m', GAIN, positive=True, required=True
    )
    damping: ArrayLike = joint_setting(0.0, 'Damping of spring stops', 'N m s/rad or N s/m', GAIN)


Stops = InelasticStop | SpringDamperStop


class Pads(NamedTuple):
    """Impulses of spring-damper stops in one step: s (v - edge) [N m s or N s] beyond the edge.

    With x the penetration, to the side where it grows, the force at the end of the step is
    F = k (x + h v) + d v where positive: h F = s (v - edge), s = h^2 k + h d, edge = -h k x / s.
    """

    s: Array  # (m,)
    lower: Array  # (m,) edges: velocities below which the lower stops exert a force
    upper: Array  # (m,)


class Yielding(NamedTuple):
    """Spring-damper stops of each coordinate that is stepped."""

    k: Array  # (m,) N m/rad or N/m
    d: Array  # (m,) N m s/rad or N s/m
    lower: Array  # (m,)
    upper: Array  # (m,)

    def pads(self, y: Array, h: float) -> Pads:
        """Return the impulses of the stops in a step that starts at y (m,)."""
        # A damper acts while in contact, not in the step in which the stop is reached.
        d = np.where((y <= self.lower) | (y >= self.upper), self.d, 0.0)
        s = h * (h * self.k + d)
        present = s > 0
        # h k / s of the remaining distance
        share = np.divide(h * self.k, s, out=np.zeros(len(s)), where=present)
        left = (
            np.where(present, self.lower - y, -np.inf),
            np.where(present, self.upper - y, np.inf),
        )
        return Pads(s, *(np.multiply(share, x, out=x, where=present) for x in left))

    def energy(self, y: Array) -> float:
        """Return the energy of the springs, J."""
        x = np.maximum(np.maximum(self.lower - y, y - self.upper), 0.0)
        # 1/2 k x^2
        return 0.5 * float(self.k @ (x * x))
