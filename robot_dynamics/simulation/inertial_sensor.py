# SPDX-License-Identifier: Apache-2.0
"""Measurements of an inertial sensor on a simulated base: noise, offsets and delay.

    sensing = InertialSensing(InertialSensor(latency=2e-3), cart, seed=0)
    measured = sensing.read(t)
    measured.angular_velocity, measured.proper_acceleration, measured.attitude

Values are those of t - latency, in the axes of the sensor. The same seed gives the same errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.settings import checked, setting
from robot_dynamics.common.spatial import Array, cross
from robot_dynamics.core.base_motion import ALIGNED, AT_ORIGIN
from robot_dynamics.core.model.robot_model import STANDARD_GRAVITY
from robot_dynamics.simulation.prescribed_base_motion import PrescribedBaseMotion

LARGEST = (0.0, 100.0)  # rad/s or m/s^2


@dataclass(frozen=True)
class InertialSensor:
    """Errors of an inertial sensor; by default there are none."""

    gyroscope_noise: float = setting(
        0.0, 'Standard deviation of the noise of angular velocities', 'rad/s', LARGEST
    )
    gyroscope_offset: float = setting(
        0.0, 'Offset of the angular velocity about each axis', 'rad/s', LARGEST
    )
    accelerometer_noise: float = setting(
        0.0, 'Standard deviation of the noise of accelerations', 'm/s^2', LARGEST
    )
    accelerometer_offset: float = setting(
        0.0, 'Offset of the acceleration along each axis', 'm/s^2', LARGEST
    )
    latency: float = setting(0.0, 'Age of the values at the time of their stamp', 's', (0.0, 1.0))


class InertialMeasurement(NamedTuple):
    """Values of an inertial sensor, in its axes."""

    angular_velocity: Array  # (3,) rad/s
    proper_acceleration: Array  # (3,) m/s^2, gravity included: 9.81 upwards at rest
    attitude: Array  # (3, 3) R_ws in the axes of the base at zero, exact


class InertialSensing:
    """An inertial sensor that is fixed to a base."""

    def __init__(
        self,
        sensor: InertialSensor,
        base: PrescribedBaseMotion,
        *,
        seed: int = 0,
        gravity: ArrayLike = STANDARD_GRAVITY,
        orientation: ArrayLike = ALIGNED,
        position: ArrayLike = AT_ORIGIN,
    ):
        """Check the settings.

        Args:
            sensor: its errors.
            base: that carries it.
            seed: of the noise, an integer of 0 or more.
            gravity: (3,) gravity vector in the axes of the base at zero, m/s^2.
            orientation: (3, 3) R_bs of the sensor in the base frame.
            position: (3,) of the sensor in the base frame, m.

        Raises:
            ModelError: a setting is out of range.
        """
        self._sensor, self._base, self._seed = checked(sensor, 0), base, seed
        self._gravity, self._r = (np.array(x, dtype=float) for x in (gravity, position))
        self._R = np.array(orientation, dtype=float)
        self.reset()

    def reset(self) -> None:
        """Begin the noise anew."""
        self._random = np.random.default_rng(self._seed)

    def read(self, t: float) -> InertialMeasurement:
        """Return the measurement that is published at a time, s."""
        sensor, then = self._sensor, t - self._sensor.latency
        w, wd, a = self._base.motion(then, self._gravity)
        # f = a + wd x r + w x (w x r)
        f = a + cross(wd, self._r) + cross(w, cross(w, self._r))
        errors = self._random.standard_normal((2, 3))
        return InertialMeasurement(
            self._R.T @ w + sensor.gyroscope_offset + sensor.gyroscope_noise * errors[0],
            self._R.T @ f + sensor.accelerometer_offset + sensor.accelerometer_noise * errors[1],
            self._base.pose(then)[:3, :3] @ self._R,
        )
