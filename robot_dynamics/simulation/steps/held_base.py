# SPDX-License-Identifier: Apache-2.0
"""Arm on a moving base, whose motion is held over a step at that of the middle of the step.

    M(q) qdd + C(q, qd, w) qd + g(q; w, wd, a) + friction(qd) = tau + J(q)^T F_ext

Its kinetic energy is that of the motion relative to the base, K = qd^T M qd / 2. C has no power
beyond dM/dt, so that

    dK/dt = qd^T (tau + J^T F_ext - friction - g):

weight and inertial forces g do work, and have no potential energy here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import ShapeError
from robot_dynamics.common.spatial import Array
from robot_dynamics.control.arm_on_moving_base import ArmOnMovingBase
from robot_dynamics.core.base_motion import BaseMotion
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.programs import SIZES
from robot_dynamics.simulation.argument_checks import protect
from robot_dynamics.simulation.errors import NotFinite


class MovingBase(Protocol):
    """A base whose motion is known at any time."""

    def motion(self, t: float, gravity: ArrayLike) -> BaseMotion:
        """Return the motion at a time, s, under the gravity vector (3,) of the model."""


class HeldBase:
    """The motion of a base that counts at present, of all arms on it.

    Attributes:
        now: (9,) angular velocity, angular and proper acceleration, as `MovingBaseDynamics`.
    """

    def __init__(self, base: MovingBase, gravity: Array):
        """Hold the motion at time zero; `gravity` is that of the model. Raises as `hold`."""
        self._base, self._gravity = base, gravity
        self._arms: list[ArmOnHeldBase] = []
        self.hold(0.0)

    def hold(self, t: float) -> None:
        """Hold the motion at a time [s] from now on. Raises ShapeError and NotFinite."""
        motion = self._base.motion(t, self._gravity).array()
        if motion.shape != (SIZES['base'],):
            raise ShapeError(
                f'motion of the base at t = {t:.6g} s has shape {motion.shape}; it must be '
                f'({SIZES["base"]},)'
            )
        if not np.isfinite(motion).all():
            raise NotFinite(f'motion of the base at t = {t:.6g} s is {motion}; it must be finite')
        protect(motion)
        self.now = motion
        for arm in self._arms:
            arm.motion = motion

    def carry(self, arm: ArmOnHeldBase) -> None:
        """Give an arm the present motion, and those held later."""
        arm.motion = self.now
        self._arms.append(arm)


class ArmOnHeldBase(ArmOnMovingBase):
    """An arm at the held motion of its base."""

    def __init__(self, arm: Dynamics, base: HeldBase):
        super().__init__(arm)
        self._base = base
        base.carry(self)

    def carrying(self, load: Callable[[Dynamics], Dynamics]) -> ArmOnHeldBase:
        """Return the arm with the payloads that `load` adds."""
        return ArmOnHeldBase(load(self.arm), self._base)

    def forward_dynamics(self, q: Array, qd: Array, torque: Array) -> Array:
        """Return qdd (n,) without friction."""
        return self.moving.forward_dynamics(q, qd, torque, self.motion)

    def kinetic_energy(self, q: Array, qd: Array) -> float:
        """Return the kinetic energy relative to the base, J."""
        return float(self.arm.kinetic_energy(q, qd))

    def potential_energy(self, _q: Array) -> float:
        """Return 0: weight and inertial forces have no potential energy."""
        return 0.0


def on_base(arm: Dynamics, base: HeldBase | None) -> Dynamics | ArmOnHeldBase:
    """Return the arm on a held base, itself if the base is fixed."""
    return arm if base is None else ArmOnHeldBase(arm, base)


def weight_work(arm: Dynamics | ArmOnHeldBase, q: Array, after: Array) -> float:
    """Return the work of weight and inertial forces on a moving base over a step, J.

    It is 0 on a fixed base, where gravity has potential energy.
    """
    if isinstance(arm, Dynamics):
        return 0.0
    # -g . (q' - q), of the middle
    return -float(arm.gravity_torque((q + after) / 2) @ (after - q))
