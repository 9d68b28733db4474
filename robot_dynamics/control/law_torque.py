# SPDX-License-Identifier: Apache-2.0
"""Torque of a control law of the joints at every state, with the memory of its friction."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.control.arm_on_moving_base import Arm, ArmOnMovingBase
from robot_dynamics.control.control_laws import Law, gravity_only
from robot_dynamics.control.feedforward import Gains, Switches
from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.control.trajectory import Reference
from robot_dynamics.core.friction.coefficients import JointFriction
from robot_dynamics.core.friction.memory import FrictionModel, tracked


class LawSettings(NamedTuple):
    """A law of the joints, and what it takes."""

    law: Law
    gains: Gains
    switches: Switches
    offset: Array  # (n,) N m or N, added to every torque
    lead_friction: float = 0.0  # share of the friction that gravity_only compensates


class LawTorque:
    """Torque of a law at every state and its reference.

    Attributes:
        settings: of the law.
        feedback: (n,) the part of the last torque that follows from the gains, N m or N.
    """

    feedback: Array

    def __init__(self, settings: LawSettings, friction: JointFriction):
        """Begin without the memory of friction."""
        self._set(settings, friction)
        self.feedback = np.zeros(len(settings.offset))
        self.restart()

    def adjust(self, settings: LawSettings, friction: JointFriction) -> None:
        """Continue with other settings; the memory of friction goes on."""
        self._set(settings, friction)
        self._tracked: FrictionModel = tracked(friction, before=self._tracked)

    def _set(self, settings: LawSettings, friction: JointFriction) -> None:
        self.settings = settings._replace(offset=np.array(settings.offset))
        self._friction = friction

    def restart(self) -> None:
        """Begin without the memory of friction."""
        self._tracked = tracked(self._friction)

    @property
    def is_led(self) -> bool:
        """Whether the arm is led by hand."""
        return self.settings.law is gravity_only

    def torque(self, arm: Arm, state: JointReading, reference: Reference) -> Array:
        """Return the torque (n,) of the law; without a velocity that of gravity alone."""
        if state.qd is None:
            self.feedback = np.zeros(len(state.q))
            return self.gravity(arm, state.q)
        law, gains, switches, offset, share = self.settings
        self._tracked.move(state.q if self.is_led else reference.q)
        known = self._compensated(arm, state.q)
        if known is not None:
            switches = replace(switches, gravity=True)
        parts = law(arm, reference, state.q, state.qd, switches, gains, self._tracked)
        tau, self.feedback = parts.tau, parts.feedback
        if known is not None:
            tau = tau - known
        if self.is_led and share:
            tau = tau + share * self._tracked.torque(state.qd, tau)
        return tau + offset

    def gravity(self, arm: Arm, q: Array) -> Array:
        """Return the torque (n,) that holds the arm: gravity, unless the robot compensates it."""
        offset, known = self.settings.offset, self._compensated(arm, q)
        if not self.settings.switches.gravity and known is None:
            return offset.copy()
        tau = arm.gravity_torque(q)
        return (tau if known is None else tau - known) + offset

    def _compensated(self, arm: Arm, q: Array) -> Array | None:
        """Return the torque (n,) by which a robot on a moving base compensates gravity itself.

        It is that of a fixed base: the law adds what the motion causes. None on a fixed base, and
        if the robot compensates nothing.
        """
        if self.settings.switches.gravity or not isinstance(arm, ArmOnMovingBase):
            return None
        return arm.arm.gravity_torque(q)
