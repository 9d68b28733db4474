# SPDX-License-Identifier: Apache-2.0
"""Drives with delay, limits, bandwidth, gain errors, offset and torque ripple.

In the order in which they act on a commanded torque:

1. delay: the command of some steps ago; zero before the first one arrives;
2. rate limit: the torque changes by at most rate_limit h per step;
3. bandwidth: a first-order lag, exact for torques that are held over a step;
4. torque limit of the model;
5. speed limit: over the last tenth below the limit, the torque in the direction of motion falls
   linearly to zero, as at the edge of a motor's torque-speed curve. Braking torque and other
   torques on the joint are not affected.

This is the torque that the drive reports, from its current. The torque on the joint is gain times
that, minus a constant offset, plus a ripple that depends on the motor's position theta alone
(cogging):

    ripple sin(ripple_periods theta).

It is the gradient of a potential: it does no work in a period.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.settings import (
    EFFORT,
    GAIN,
    LOWEST_RATE,
    RATE,
    checked,
    joint_setting,
    setting,
)
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.simulation.argument_checks import low_pass_share

# Share of the speed limit over which the torque falls to zero.
DERATING = 0.1


@dataclass(frozen=True)
class Actuators:
    """Properties of the drives besides torque limits; one number for all joints, or one each.

    The delay is rounded to the nearest whole step (halves to the even one). A velocity limit of
    None is that of the model.
    """

    delay: float = setting(0.0, 'Delay of the drives', 's', (0.0, 1.0))
    rate_limit: ArrayLike = joint_setting(
        np.inf, 'Rate limit of the torque', 'N m/s or N/s', EFFORT, zero='none'
    )
    velocity_limit: ArrayLike | None = joint_setting(
        np.inf, 'Velocity at which a drive has no torque', 'rad/s or m/s', GAIN
    )
    bandwidth: ArrayLike = joint_setting(
        np.inf,
        'Bandwidth of the torque, a first-order lag',
        'Hz',
        RATE,
        LOWEST_RATE,
        zero='no lag',
    )
    gain: ArrayLike = joint_setting(
        1.0, 'Torque on the joint per torque that the drive reports', bounds=(1e-3, 1e3)
    )
    offset: ArrayLike = joint_setting(
        0.0,
        'Torque that the drive reports beyond that while it moves nothing',
        'N m or N',
        (-EFFORT[1], EFFORT[1]),
    )
    ripple: ArrayLike = joint_setting(
        0.0, "Amplitude of a torque ripple, a sine of the motor's position", 'N m or N', EFFORT
    )
    ripple_periods: ArrayLike = joint_setting(
        1.0, 'Factor of the position in that sine', 'per rad or m', GAIN
    )


class DriveState(NamedTuple):
    """State of the drives."""

    limited: Array  # (..., n) torque after the rate limit, in the last step
    lagged: Array  # (..., n) after the lag
    queue: tuple[Array, ...] = ()  # delayed commands, the oldest first


class Drives:
    """The actuators of one robot, or of a batch of such robots, stepped at one rate.

    Attributes:
        ideal: whether they supply the commanded torque, up to the model's limits.
    """

    def __init__(self, model: RobotModel, actuators: Actuators, time_step: float):
        """Check the properties.

        Raises:
            ModelError: a property is out of range, or neither a number nor (n,).
        """
        if actuators.velocity_limit is None:
            actuators = replace(actuators, velocity_limit=model.velocity_limit)
        given = checked(actuators, model.n)
        self.n = model.n
        self.delay_steps = round(given.delay / time_step)
        self.change = time_step * given.rate_limit
        self.velocity_limit = given.velocity_limit
        self.effort_limit = model.effort_limit
        self.share = low_pass_share(given.bandwidth, time_step)
        self.lags = bool((self.share < 1).any())
        self.gain, self.offset = given.gain, given.offset
        self.ripple, self.ripple_periods = given.ripple, given.ripple_periods
        self.exact = bool((self.gain == 1).all()) and not (self.ripple.any() or self.offset.any())
        self.derates = bool(np.isfinite(self.velocity_limit).any())
        limited = self.derates or bool(np.isfinite(self.change).any())
        self.ideal = self.exact and not (self.lags or self.delay_steps or limited)

    def rest(self) -> DriveState:
        """Return the state before the first command."""
        zero = np.zeros(self.n)
        return DriveState(zero, zero, (zero,) * self.delay_steps)

    def apply(self, state: DriveState, command: Array, qd: Array) -> tuple[Array, DriveState]:
        """Return the torques (..., n) that the drives report over the next step, and their state.

        Args:
            state: of the drives.
            command: (..., n) torques.
            qd: (..., n) velocities of the motors, seen at the joints.
        """
        queue = (*state.queue, command)
        wanted, queue = np.clip(queue[0], -self.effort_limit, self.effort_limit), queue[1:]
        limited = effort = np.minimum(
            np.maximum(wanted, state.limited - self.change), state.limited + self.change
        )
        if self.lags:
            effort = state.lagged + self.share * (limited - state.lagged)
        after = DriveState(limited, effort, queue)
        if not self.derates:
            return effort, after
        # (1 - |v| / v_limit) / 0.1: one up to 0.9 v_limit, zero from v_limit on
        left = np.clip((1 - np.abs(qd) / self.velocity_limit) / DERATING, 0.0, 1.0)
        return np.where(effort * qd > 0, left * effort, effort), after

    def on_joints(self, effort: Array, theta: Array) -> Array:
        """Return the torques (..., n) on the joints.

        Args:
            effort: (..., n) as the drives report them.
            theta: (..., n) positions of the motors, seen at the joints, rad or m.
        """
        if self.exact:
            return effort
        ripple = self.ripple * np.sin(self.ripple_periods * theta)
        return np.asarray(self.gain * effort - self.offset + ripple)

    def reported(self, torque: Array, theta: Array) -> Array:
        """Return the torques (..., n) that the drives report for those on the joints."""
        if self.exact:
            return torque
        ripple = self.ripple * np.sin(self.ripple_periods * theta)
        return np.asarray((torque + self.offset - ripple) / self.gain)


def drives_of(model: RobotModel, actuators: Actuators | None, time_step: float) -> Drives | None:
    """Return the drives of a robot, None if they are ideal. Raises ModelError."""
    drives = None if actuators is None else Drives(model, actuators, time_step)
    return None if drives is None or drives.ideal else drives


def stored_torques(state: DriveState | None) -> int:
    """Return the number of torques (n,) that drives store; 0 for ideal ones."""
    return 0 if state is None else 1 + len(state.queue)
