# SPDX-License-Identifier: Apache-2.0
"""Viscous and dry friction of a model, smooth at zero velocity.

Dry friction is discontinuous where the velocity changes sign; tanh smooths it for integrators and
derivatives.

Source: lecture notes, Lagrangian formulation, generalized forces (viscous F_v qd and Coulomb
F_s sgn(qd)).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from robot_dynamics.common.scalars import Scalar, is_zero, tanh

# Speed at which dry friction has reached tanh(1) = 76 % of its full size, rad/s or m/s.
COULOMB_SPEED = 1e-2


class Friction(NamedTuple):
    """Coefficients of each joint or coordinate: arrays (n,), or sequences of n scalars."""

    viscous: Any  # F_v, N m s/rad or N s/m
    coulomb: Any  # F_s, N m or N

    def torque(self, qd: Any) -> list[Scalar]:
        """Return the torques that the motors supply against friction (n), at velocities (n)."""
        return [joint_friction(b, c, v) for b, c, v in zip(*self, qd, strict=True)]

    def damping(self, qd: Any) -> list[Scalar]:
        """Return the derivatives of the torques by the velocities (n)."""
        return [_joint_damping(b, c, v) for b, c, v in zip(*self, qd, strict=True)]


def joint_friction(viscous: Scalar, coulomb: Scalar, qd: Scalar) -> Scalar:
    """Return the friction of one joint; of many, elementwise, if the arguments are arrays."""
    # friction = F_v qd + F_s tanh(qd / v_0)
    if is_zero(coulomb):
        return viscous * qd
    return viscous * qd + coulomb * sliding_direction(qd)


def _joint_damping(viscous: Scalar, coulomb: Scalar, qd: Scalar) -> Scalar:
    # F_v + F_s (1 - z^2) / v_0
    if is_zero(coulomb):
        return viscous
    z = sliding_direction(qd)
    return viscous + coulomb * (1 / COULOMB_SPEED) * (1.0 - z * z)


def sliding_direction(qd: Scalar, width: float = COULOMB_SPEED) -> Scalar:
    """Return z = tanh(qd / v_0), the direction of sliding without memory.

    Args:
        qd: velocity; of many joints, elementwise, if it is an array.
        width: v_0, in the unit of the velocity.
    """
    return tanh(qd * (1 / width))
