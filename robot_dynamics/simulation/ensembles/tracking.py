# SPDX-License-Identifier: Apache-2.0
"""Control law for a batch of arms: feed-forward of a model along a trajectory, with PD feedback.

The model of the controller may differ from the arms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.control import Gains, Switches, Trajectory, feedforward
from robot_dynamics.control.feedforward import EVERYTHING, require_order
from robot_dynamics.core.dynamics import Dynamics


@dataclass(frozen=True, eq=False)
class Tracking:
    """A law of `simulate_batch`; see `control.feedforward`.

    Attributes:
        believed: the controller's model of the arms.
        trajectory: what to follow, joints in the order of the model.
        gains: of the feedback on positions and velocities.
        switches: which parts of the model to use.

    Raises:
        TrajectoryError: the trajectory has other joints, or another order of them.
    """

    believed: Dynamics
    trajectory: Trajectory
    gains: Gains
    switches: Switches = EVERYTHING

    def __post_init__(self) -> None:
        require_order(self.believed, self.trajectory)

    def __call__(self, t: float, q: Array, qd: Array) -> Array:
        """Return the torques (N, n) of arms at q, qd (N, n) at a time [s]."""
        desired = self.trajectory.sample(t)
        # Along the desired motion: the same for all arms.
        ahead = feedforward(self.believed, desired, desired.q, desired.qd, self.switches).tau
        # tau = tau_d + Kp (q_d - q) + Kd (qd_d - qd)
        error, rate = desired.q - q, desired.qd - qd
        return np.asarray(ahead + self.gains.kp * error + self.gains.kd * rate)
