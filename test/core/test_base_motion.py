# SPDX-License-Identifier: Apache-2.0
"""Motion of the base from sensors, against differences of a motion in the world."""

import numpy as np
import pytest

from robot_dynamics import BaseMotion, ModelError, ShapeError
from robot_dynamics.common.spatial import rotation_rpy
from robot_dynamics.core.base_motion import zero_moment_point

G = np.array([0.0, 0.0, -9.81])
R_BS, P_BS = rotation_rpy(0.4, -0.3, 2.0), np.array([0.2, -0.1, 0.5])
H = 1e-3


def pose(t):
    """Return attitude R_wb and origin of the base in the world."""
    R = rotation_rpy(0.5 * np.sin(2 * t), 0.3 * np.cos(t), t)
    return R, np.array([np.sin(t), t**2, 0.4 * np.cos(3 * t)])


def first(f, t):
    """Return df/dt, to H^4."""
    return (8 * (f(t + H) - f(t - H)) - (f(t + 2 * H) - f(t - 2 * H))) / (12 * H)


def angular_velocity(t):
    W = pose(t)[0].T @ first(lambda s: pose(s)[0], t)
    return np.array([W[2, 1], W[0, 2], W[1, 0]])


def proper_acceleration(t, p=(0.0, 0.0, 0.0)):
    """Return that of a point of the base, in base axes."""

    def at(s):
        R, origin = pose(s)
        return origin + R @ p

    return pose(t)[0].T @ (first(lambda s: first(at, s), t) - G)


@pytest.mark.parametrize('t', [0.3, -0.8])
def test_from_imu_takes_off_the_lever_arm(t):
    w, wd = angular_velocity(t), first(angular_velocity, t)
    measured = (R_BS.T @ x for x in (w, proper_acceleration(t, P_BS), wd))
    found = BaseMotion.from_imu(*measured, orientation=R_BS, position=P_BS)
    expected = [w, wd, proper_acceleration(t)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)
    assert found.array().shape == (9,)
    np.testing.assert_array_equal(found.array(), np.concatenate(found))


@pytest.mark.parametrize('t', [0.3, -0.8])
def test_from_odometry_turns_with_its_frame(t):
    def twist(s):
        R, _ = pose(s)
        v = R.T @ first(lambda x: pose(x)[1] + pose(x)[0] @ P_BS, s)
        return np.concatenate([R_BS.T @ angular_velocity(s), R_BS.T @ v])

    attitude = pose(t)[0] @ R_BS
    found = BaseMotion.from_odometry(
        twist(t), first(twist, t), attitude, orientation=R_BS, position=P_BS
    )
    expected = [angular_velocity(t), first(angular_velocity, t), proper_acceleration(t)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)


def test_gravity_is_the_motion_of_a_base_at_rest():
    np.testing.assert_array_equal(BaseMotion.at_rest().array(), [0.0] * 8 + [9.81])
    # Leaning forwards about y: gravity points to +x
    leaning = BaseMotion.at_rest(rotation_rpy(0.0, 0.2, 0.0))
    expected = [-9.81 * np.sin(0.2), 0.0, 9.81 * np.cos(0.2)]
    np.testing.assert_allclose(leaning.proper_acceleration, expected, rtol=1e-14)


def test_rows_of_samples_give_rows():
    rng = np.random.default_rng(0)
    w, f, wd = rng.normal(size=(3, 5, 3))
    rows = BaseMotion.from_imu(w, f, wd, orientation=R_BS, position=P_BS).array()
    each = [
        BaseMotion.from_imu(*x, orientation=R_BS, position=P_BS).array()
        for x in zip(w, f, wd, strict=True)
    ]
    np.testing.assert_allclose(rows, each, rtol=1e-14)


@pytest.mark.parametrize('R', [2.0 * np.eye(3), -np.eye(3), np.eye(2), np.full((3, 3), np.nan)])
def test_an_orientation_that_is_no_rotation_is_rejected(R):
    with pytest.raises(ModelError, match=r'orientation is .* expected a rotation matrix'):
        BaseMotion.from_imu(np.zeros(3), -G, np.zeros(3), orientation=R)


def test_vectors_of_another_size_are_rejected_by_name():
    still, level = np.zeros(3), np.eye(3)
    calls = {
        'angular_velocity': lambda: BaseMotion.from_imu([0, 0, 0, 1], -G, still),
        'angular_acceleration': lambda: BaseMotion.from_imu(still, -G, 0.0),
        'position': lambda: BaseMotion.from_imu(still, -G, still, position=[1, 2]),
        'gravity': lambda: BaseMotion.at_rest(gravity=-9.81),
        'twist': lambda: BaseMotion.from_odometry(still, np.zeros(6), level),
        'twist_rate': lambda: BaseMotion.from_odometry(np.zeros(6), np.zeros(7), level),
        'wrench': lambda: zero_moment_point(still),
    }
    for name, call in calls.items():
        with pytest.raises(ShapeError, match=rf'^{name} has shape \(.*; it must be \(\.\.\., '):
            call()
