# SPDX-License-Identifier: Apache-2.0
"""Friction laws with the coefficients of n joints, as a controller tunes them at run time.

`Dynamics.friction_torque` is the law 'coulomb' with the parameters of the model compiled in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.friction.coulomb import sliding_direction
from robot_dynamics.core.friction.laws import (
    LAWS,
    PRESLIDING,
    FrictionLaw,
    FrictionLawError,
    law_torque,
    sliding_level,
)


def coefficients(name: str, value: ArrayLike) -> Array:
    """Return a read-only copy of numbers per joint. Raises ValueError unless finite and >= 0."""
    array = np.array(value, dtype=float)
    if not (np.isfinite(array).all() and (array >= 0).all()):
        raise ValueError(f'{name} is {array}; it must be finite and not negative')
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class JointFriction:
    """A friction law with the coefficients of n joints.

    Attributes:
        law: the law.
        coefficients: by term, (n,) or one number each; a term without one is zero.
        presliding: delta of the laws with memory, (n,) or one number, rad or m.

    Raises:
        FrictionLawError: a coefficient that the law does not have, negative or not finite; a
            pre-sliding length that is not positive.
    """

    law: FrictionLaw
    coefficients: Mapping[str, Array]
    presliding: Array = field(default_factory=lambda: np.array(PRESLIDING))

    def __post_init__(self) -> None:
        if unknown := [term for term in self.coefficients if term not in self.law.terms]:
            raise FrictionLawError(
                f'friction law {self.law.name!r} has no coefficient {unknown[0]!r}; expected '
                f'{", ".join(self.law.terms)}'
            )
        try:
            values = {
                term: coefficients(term, self.coefficients.get(term, np.zeros(())))
                for term in self.law.terms
            }
            presliding = coefficients('presliding', self.presliding)
        except ValueError as error:
            raise FrictionLawError(str(error)) from error
        if not presliding.all():
            raise FrictionLawError(f'presliding is {presliding}; it must be positive')
        object.__setattr__(self, 'coefficients', values)
        object.__setattr__(self, 'presliding', presliding)

    @property
    def uses_load(self) -> bool:
        """Whether friction depends on the torque that the drives transmit."""
        return 'load' in self.law.terms

    def move(self, q: Array) -> None:
        """Without memory nothing changes; `memory.tracked` has it."""

    def torque(self, qd: ArrayLike, tau: ArrayLike = 0.0, z: ArrayLike | None = None) -> Array:
        """Return the torque (..., n) that overcomes friction [N m or N].

        Args:
            qd: (..., n) velocities, rad/s or m/s.
            tau: (..., n) torque of the rigid-body model.
            z: (..., n) direction of sliding, of `moved_direction`; that without memory if omitted.
        """
        if z is None:
            z = sliding_direction(np.asarray(qd))
        return np.asarray(law_torque(self.coefficients, np.asarray(qd), np.asarray(tau), z))

    def sliding_level(self, qd: ArrayLike, tau: ArrayLike) -> Array:
        """Return c + k |tau| + s exp(-(v / v_s)^2), the factor of z [N m or N], for (..., n)."""
        return np.asarray(sliding_level(self.coefficients, np.asarray(qd), np.asarray(tau)))


def coulomb_friction(viscous: Array | float, coulomb: Array | float) -> JointFriction:
    """Return viscous and Coulomb friction of n joints: (n,) or one number each."""
    coefficients = {'viscous': np.array(viscous), 'coulomb': np.array(coulomb)}
    return JointFriction(LAWS['coulomb'], coefficients)
