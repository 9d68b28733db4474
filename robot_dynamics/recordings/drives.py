# SPDX-License-Identifier: Apache-2.0
"""Drives as far as a robot description does not hold them: friction law, offset, delays.

    effort(t + delay) = M qdd + C qd + g + friction + offset

of the motion at t, in N m or N; velocities are recorded at t + velocity_lag. `identify` estimates
these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coefficients import JointFriction
from robot_dynamics.recordings.recording import Recording, earlier, efforts_of
from robot_dynamics.recordings.velocities import with_earlier_velocities


@dataclass(frozen=True, eq=False)
class Drives:
    """Drives of n joints.

    Attributes:
        offset: constant part of the efforts, N m or N, one number or (n,).
        delay: s, by which the efforts are later than the motion.
        velocity_lag: s, by which recorded velocities are later than the positions.
        errors: (n,) standard errors of identified values, by names of the parameters.
        friction: its law; viscous and Coulomb friction of the model if None.
    """

    offset: ArrayLike = 0.0
    delay: float = 0.0
    friction: JointFriction | None = None
    velocity_lag: float = 0.0
    errors: Mapping[str, Array] = field(default_factory=dict)

    def effort(self, arm: Dynamics, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the efforts (k, n) along a motion without gaps [N m or N]."""
        if self.friction is None:
            return np.asarray(arm.motor_torque(q, qd, qdd) + self.offset)
        tau = arm.inverse_dynamics(q, qd, qdd)
        z = self.friction.law.sliding_direction(q, qd, self.friction.presliding)
        return np.asarray(tau + self.friction.torque(qd, tau, z) + self.offset)

    def aligned(self, recording: Recording) -> Recording:
        """Return a recording with efforts and velocities earlier, at the time of the positions."""
        recording = with_earlier_velocities(recording, self.velocity_lag)
        if not self.delay:
            return recording
        return replace(recording, effort=earlier(recording.t, efforts_of(recording), self.delay))


AS_DESCRIBED = Drives()
