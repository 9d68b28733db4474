# SPDX-License-Identifier: Apache-2.0
"""State of friction with memory along one motion; its equation is in `laws`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.friction.coefficients import JointFriction
from robot_dynamics.core.friction.laws import moved_direction


def tracked(friction: JointFriction, before: FrictionModel | None = None) -> FrictionModel:
    """Return friction that follows a motion, if it has memory.

    Args:
        friction: of the joints.
        before: the result for other coefficients, whose motion goes on.
    """
    return TrackedFriction(friction, before) if friction.law.memory else friction


class TrackedFriction:
    """Friction of joints along one motion, by a law with memory.

    `move` is called with the positions of each step; `torque` then uses the direction of sliding
    that they have led to.

    Attributes:
        coefficients: by name, (n,) or one number each.
        uses_load: whether friction depends on the torque that the drives transmit.
    """

    def __init__(self, friction: JointFriction, before: FrictionModel | None = None):
        """Begin without a direction, or with that of the motion before."""
        self._friction = friction
        self.coefficients, self.uses_load = friction.coefficients, friction.uses_load
        self._q: Array | None = None
        self._z: Array | None = None
        if isinstance(before, TrackedFriction):
            self._q, self._z = before._q, before._z

    def move(self, q: Array) -> None:
        """Take the positions (n,) of the next step, rad or m."""
        if self._q is None or self._z is None:
            self._z = np.zeros_like(q)
        else:
            self._z = moved_direction(self._z, q - self._q, self._friction.presliding)
        self._q = np.array(q)

    def torque(self, qd: Array, tau: ArrayLike = 0.0) -> Array:
        """Return the torque (n,) that overcomes friction: see `JointFriction.torque`."""
        return self._friction.torque(qd, tau, self._z)


class FrictionWithOffset:
    """Friction, and a constant torque that the drives need besides.

    Attributes:
        coefficients: those of the friction.
        uses_load: whether friction depends on the torque that the drives transmit.
    """

    coefficients: Mapping[str, Array]
    uses_load: bool

    def __init__(self, friction: FrictionModel, offset: Array):
        """Add an offset (n,), N m or N, to friction of n joints."""
        self._friction = friction
        self._offset: Array = np.array(offset)
        self.coefficients, self.uses_load = friction.coefficients, friction.uses_load

    def move(self, q: Array) -> None:
        """Take the positions (n,) of the next step of a motion."""
        self._friction.move(q)

    def torque(self, qd: Array, tau: ArrayLike = 0.0) -> Array:
        """Return the torque (..., n) of both, for the arguments of `JointFriction.torque`."""
        return self._friction.torque(qd, tau) + self._offset


FrictionModel = JointFriction | TrackedFriction | FrictionWithOffset
