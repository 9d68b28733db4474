# SPDX-License-Identifier: Apache-2.0
"""Drives as far as a robot description does not hold them: friction law, offset, delay.

    effort(t + delay) = M qdd + C qd + g + friction + offset

of the motion at t, in N m or N. `identify` estimates them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.friction.coefficients import JointFriction
from robot_dynamics.identification.recordings.recording import Recording
from robot_dynamics.spatial import Array


@dataclass(frozen=True, eq=False)
class Drives:
    """Drives of n joints.

    Attributes:
        offset: constant part of the efforts, N m or N, one number or (n,).
        delay: s, by which the efforts are later than the motion.
        friction: its law; viscous and Coulomb friction of the model if None.
    """

    offset: ArrayLike = 0.0
    delay: float = 0.0
    friction: JointFriction | None = None

    def effort(self, arm: Dynamics, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the efforts (k, n) along a motion without gaps [N m or N]."""
        if self.friction is None:
            return np.asarray(arm.motor_torque(q, qd, qdd) + self.offset)
        tau = arm.inverse_dynamics(q, qd, qdd)
        z = self.friction.law.sliding_direction(q, qd, self.friction.presliding)
        return np.asarray(tau + self.friction.torque(qd, tau, z) + self.offset)

    def aligned(self, recording: Recording) -> Recording:
        """Return a recording with the efforts earlier by the delay."""
        if not self.delay:
            return recording
        edges = np.flatnonzero(np.diff(recording.t) <= 0) + 1  # where the clock was set back
        parts = zip(np.split(recording.t, edges), np.split(recording.effort, edges), strict=True)
        earlier = [
            np.column_stack([np.interp(t + self.delay, t, column) for column in effort.T])
            for t, effort in parts
        ]
        return replace(recording, effort=np.concatenate(earlier))


AS_DESCRIBED = Drives()
