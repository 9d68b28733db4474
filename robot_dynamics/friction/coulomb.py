"""Viscous and dry friction, smooth at zero velocity.

Dry friction is discontinuous where the velocity changes sign; tanh smooths it for integrators and
derivatives.

Source: lecture notes, Lagrangian formulation, generalized forces (viscous F_v qd and Coulomb
F_s sgn(qd)).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from robot_dynamics.scalars import Scalar, is_zero, tanh

# Speed at which dry friction has reached tanh(1) = 76 % of its full size, rad/s or m/s.
COULOMB_SPEED = 1e-2


def friction_torque(
    viscous: Sequence[Scalar], coulomb: Sequence[Scalar], qd: Sequence[Scalar]
) -> list[Scalar]:
    """Return the torques that the motors supply against friction (n).

    Args:
        viscous: (n) N m s/rad or N s/m.
        coulomb: (n) N m or N.
        qd: (n) joint velocities.
    """
    return [joint_friction(b, c, v) for b, c, v in zip(viscous, coulomb, qd, strict=True)]


def joint_friction(viscous: Any, coulomb: Any, qd: Any) -> Any:
    """Return the friction of one joint; of many, elementwise, if the arguments are arrays."""
    # friction = F_v qd + F_s tanh(qd / v_0)
    if is_zero(coulomb):
        return viscous * qd
    return viscous * qd + coulomb * tanh(qd * (1 / COULOMB_SPEED))
