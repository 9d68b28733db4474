# SPDX-License-Identifier: Apache-2.0
"""An arm at the present motion of its base, with the methods of `Dynamics` that laws use.

arm = ArmOnMovingBase(dynamics)
arm.motion = base
parts = computed_torque(arm, reference, q, qd, gains=gains)
"""

from __future__ import annotations

from typing import TypeAlias

from numpy.typing import ArrayLike

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.algorithms.coriolis import Terms
from robot_dynamics.core.base_motion import BaseMotion
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robot_model import RobotModel


class ArmOnMovingBase:
    """An arm at one motion of its base; results are those of `MovingBaseDynamics`.

    Attributes:
        arm: the same arm on a fixed base.
        moving: its dynamics for any motion of the base.
        motion: the present one, (9,) as for `MovingBaseDynamics`; at first at rest.
    """

    def __init__(self, arm: Dynamics):
        """Begin with a base at rest under the gravity of the arm."""
        self.arm, self.moving = arm, arm.on_moving_base()
        self.motion: Array = BaseMotion.at_rest(gravity=arm.model.gravity).array()

    @property
    def model(self) -> RobotModel:
        """The robot with its payload."""
        return self.arm.model

    @property
    def joint_without_inertia(self) -> str | None:
        """A joint that moves no inertia, or None."""
        return self.arm.joint_without_inertia

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return M, which does not depend on the base."""
        return self.arm.mass_matrix(q)

    def friction_torque(self, qd: ArrayLike) -> Array:
        """Return the friction of the model, which does not depend on the base."""
        return self.arm.friction_torque(qd)

    def gravity_torque(self, q: ArrayLike) -> Array:
        """Return g at the present motion."""
        return self.moving.gravity_torque(q, self.motion)

    def coriolis_matrix(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return C at the present motion."""
        return self.moving.coriolis_matrix(q, qd, self.motion)

    def coriolis_torque(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return C qd at the present motion."""
        return self.moving.coriolis_torque(q, qd, self.motion)

    def inverse_dynamics(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Return M qdd + C qd + g at the present motion."""
        return self.moving.inverse_dynamics(q, qd, qdd, self.motion)

    def terms(self, q: ArrayLike, qd: ArrayLike) -> Terms:
        """Return M, C and g at the present motion."""
        return self.moving.terms(q, qd, self.motion)


Arm: TypeAlias = Dynamics | ArmOnMovingBase
