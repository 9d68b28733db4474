# SPDX-License-Identifier: Apache-2.0
"""An inertial sensor on a simulated base: what it measures, its errors and its delay."""

import numpy as np
import pytest

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.spatial import rotation_rpy
from robot_dynamics.core.base_motion import BaseMotion
from robot_dynamics.simulation import (
    InertialSensing,
    InertialSensor,
    MotionComponent,
    PrescribedBaseMotion,
    Ramp,
    Sine,
)

SHIP = PrescribedBaseMotion(
    x=MotionComponent(sines=[Sine(0.5, 0.4)]),
    roll=MotionComponent(sines=[Sine(0.4, 0.7)]),
    pitch=MotionComponent(offset=0.3, sines=[Sine(0.3, 0.5, 1.0)]),
    yaw=MotionComponent(velocity=0.5, ramps=[Ramp(0.0, 9.0, velocity=-1.0)]),
)
G = np.array([0.3, -0.2, -9.0])
R, POSITION = rotation_rpy(0.4, -1.0, 2.0), np.array([0.2, -0.1, 0.15])


def test_base_motion_from_its_measurements_is_the_motion_of_the_base():
    sensing = InertialSensing(InertialSensor(), SHIP, gravity=G, orientation=R, position=POSITION)
    for t in (0.0, 0.7, 3.1):
        measured, true = sensing.read(t), SHIP.motion(t, G)
        found = BaseMotion.from_imu(
            *measured[:2], R.T @ true.angular_acceleration, orientation=R, position=POSITION
        )
        np.testing.assert_allclose(found.array(), true.array(), rtol=0, atol=1e-13)
        np.testing.assert_allclose(measured.attitude, SHIP.pose(t)[:3, :3] @ R, atol=1e-15)


def test_its_acceleration_is_that_of_its_own_point():
    """Second differences of its position, less gravity, in its axes."""
    h, t = 1e-4, 1.3
    p = [SHIP.pose(x)[:3, :3] @ POSITION + SHIP.pose(x)[:3, 3] for x in (t - h, t, t + h)]
    proper = (p[0] - 2 * p[1] + p[2]) / h**2 - G
    measured = InertialSensing(InertialSensor(), SHIP, gravity=G, position=POSITION).read(t)
    np.testing.assert_allclose(measured.attitude @ measured.proper_acceleration, proper, atol=1e-6)


def test_offset_noise_and_delay():
    errors = InertialSensor(0.02, 0.1, 0.3, 0.5, latency=0.05)
    sensing, exact = InertialSensing(errors, SHIP, seed=3), InertialSensing(InertialSensor(), SHIP)
    t = np.arange(2000) * 1e-3
    rows = [np.concatenate(sensing.read(x)[:2]) for x in t]
    off = np.array(rows) - [np.concatenate(exact.read(x - 0.05)[:2]) for x in t]
    # Mean and deviation within five of their own standard deviations
    sigma = np.repeat([0.02, 0.3], 3)
    assert (abs(off.mean(0) - np.repeat([0.1, 0.5], 3)) < 5 * sigma / 2000**0.5).all()
    assert (abs(off.std(0) / sigma - 1) < 5 / 4000**0.5).all()
    sensing.reset()
    np.testing.assert_array_equal(np.concatenate(sensing.read(0.0)[:2]), rows[0])


@pytest.mark.parametrize(
    ('errors', 'message'),
    [
        ({'latency': -0.1}, 'latency is -0.1 s; it must be finite and not negative'),
        ({'gyroscope_noise': np.nan}, 'gyroscope_noise is nan rad/s'),
        ({'accelerometer_offset': 1e3}, r'accelerometer_offset is 1000.0 m/s\^2; it must be in'),
    ],
)
def test_an_invalid_error_is_rejected_by_name(errors, message):
    with pytest.raises(ModelError, match=message):
        InertialSensing(InertialSensor(**errors), SHIP)
