"""Drives with delay, rate limit and speed limit.

In the order in which they act on a commanded torque:

1. delay: the command of some steps ago; zero before the first one arrives;
2. rate limit: the torque changes by at most rate_limit h per step;
3. speed limit: over the last tenth below the limit, the torque in the direction of motion falls
   linearly to zero, as at the edge of a motor's torque-speed curve. Braking torque and other
   torques on the joint are not affected;
4. torque limit of the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.errors import ModelError
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.simulation.arguments import limit_per_joint
from robot_dynamics.spatial import Array

# Share of the speed limit over which the torque falls to zero.
DERATING = 0.1


@dataclass(frozen=True)
class Actuators:
    """Limits of the drives besides their torque; one number for all joints, or one each.

    Attributes:
        delay: s, rounded to the nearest whole step (halves to the even one); for all drives.
        rate_limit: N m/s or N/s, inf for none.
        velocity_limit: rad/s or m/s, inf for none; None for that of the model.
    """

    delay: float = 0.0
    rate_limit: ArrayLike = np.inf
    velocity_limit: ArrayLike | None = np.inf


class DriveState(NamedTuple):
    """State of the drives."""

    torque: Array  # (n,) after the rate limit, in the last step
    queue: tuple[Array, ...] = ()  # delayed commands, the oldest first


class Drives:
    """The actuators of one robot, stepped at one rate."""

    def __init__(self, model: RobotModel, actuators: Actuators, time_step: float):
        """Check the limits.

        Raises:
            ModelError: a limit is not positive, has another shape than () or (n,), or the delay is
                negative or not finite.
        """
        if not (np.isfinite(actuators.delay) and actuators.delay >= 0):
            raise ModelError(f'delay is {actuators.delay} s; it must be finite and >= 0')
        speed = actuators.velocity_limit
        self.n = model.n
        self.delay_steps = round(actuators.delay / time_step)
        self.change = time_step * limit_per_joint(model, 'rate_limit', actuators.rate_limit)
        self.velocity_limit = limit_per_joint(
            model, 'velocity_limit', model.velocity_limit if speed is None else speed
        )
        self.effort_limit = model.effort_limit

    def rest(self) -> DriveState:
        """Return the state before the first command."""
        zero = np.zeros(self.n)
        return DriveState(zero, (zero,) * self.delay_steps)

    def apply(self, state: DriveState, command: Array, qd: Array) -> tuple[Array, DriveState]:
        """Return the torques (n,) that act over the next step, and the state after it.

        Args:
            state: of the drives.
            command: (n,) torques.
            qd: (n,) velocities of the motors, seen at the joints.
        """
        queue = (*state.queue, command)
        wanted, queue = queue[0], queue[1:]
        torque = np.clip(wanted, state.torque - self.change, state.torque + self.change)
        effort = np.clip(torque, -self.effort_limit, self.effort_limit)
        # (1 - |v| / v_limit) / 0.1: one up to 0.9 v_limit, zero from v_limit on
        left = np.clip((1 - np.abs(qd) / self.velocity_limit) / DERATING, 0.0, 1.0)
        return np.where(effort * qd > 0, left * effort, effort), DriveState(torque, queue)
