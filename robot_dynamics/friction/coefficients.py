"""Viscous and dry friction as data, for a compensation that is tuned at run time.

    friction(qd) = F_v qd + F_s tanh(qd / v_0)

`Dynamics.friction_torque` is the same law with the parameters of the model compiled in.

Source: lecture notes, Lagrangian formulation, generalized forces (viscous F_v qd and Coulomb
F_s sgn(qd), smoothed at zero velocity).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.friction.coulomb import joint_friction
from robot_dynamics.spatial import Array


def coefficients(name: str, value: ArrayLike) -> Array:
    """Return a read-only copy of numbers per joint. Raises ValueError unless finite and >= 0."""
    array = np.array(value, dtype=float)
    if not (np.isfinite(array).all() and (array >= 0).all()):
        raise ValueError(f'{name} is {array}; it must be finite and not negative')
    array.setflags(write=False)
    return array


class FrictionModel(Protocol):
    """Friction of n joints: viscous and Coulomb (`Friction`), or a law of `friction_laws`."""

    @property
    def coefficients(self) -> Mapping[str, Array]:
        """Coefficients by name, (n,) or one number each."""

    @property
    def uses_load(self) -> bool:
        """Whether friction depends on the torque that the drives transmit."""

    def move(self, q: Array) -> None:
        """Take the positions (n,) of the next step of a motion, if friction has memory."""

    def torque(self, qd: Array, tau: ArrayLike = 0.0) -> Array:
        """Return the torque (..., n) that overcomes friction [N m or N].

        Args:
            qd: (..., n) velocities, rad/s or m/s.
            tau: (..., n) torque of the rigid-body model.
        """


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

    uses_load = False

    @property
    def coefficients(self) -> Mapping[str, Array]:
        """Both coefficients by name."""
        return {'viscous': self.viscous, 'coulomb': self.coulomb}

    def move(self, q: Array) -> None:
        """Without memory nothing changes."""

    def torque(self, qd: Array, tau: ArrayLike = 0.0) -> Array:
        """Return the torque (..., n) that overcomes friction at qd (..., n); tau has no effect."""
        return np.asarray(joint_friction(self.viscous, self.coulomb, qd))


@dataclass(frozen=True, eq=False)
class FrictionWithOffset:
    """Friction, and a constant torque that the drives need besides.

    Attributes:
        friction: of n joints.
        offset: (n,) N m or N.
    """

    friction: FrictionModel
    offset: Array

    @property
    def coefficients(self) -> Mapping[str, Array]:
        """Those of the friction."""
        return self.friction.coefficients

    @property
    def uses_load(self) -> bool:
        """Whether friction depends on the torque that the drives transmit."""
        return self.friction.uses_load

    def move(self, q: Array) -> None:
        """Take the positions (n,) of the next step of a motion."""
        self.friction.move(q)

    def torque(self, qd: Array, tau: ArrayLike = 0.0) -> Array:
        """Return the torque (..., n) of both, for the arguments of `FrictionModel.torque`."""
        return self.friction.torque(qd, tau) + self.offset
