# SPDX-License-Identifier: Apache-2.0
"""Motions of the base from measurements of a rigid body that moves, and measurements rejected."""

import re

import numpy as np
import pytest

from robot_dynamics.common.errors import ShapeError
from robot_dynamics.common.spatial import axis_rotation, rotation_rpy
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control.base_motion_estimate import BaseMotionSettings
from robot_dynamics.control.base_motion_sources import (
    REST_TIME,
    BaseMotionError,
    CommandSource,
    InertialSource,
    Mounting,
    OdometrySource,
)

STEP = SECOND // 200
GRAVITY = np.array([0.0, 0.0, -9.81])
MOUNTING = Mounting(rotation_rpy(0.4, -0.3, 2.0), np.array([0.3, -0.2, 0.5]))
LEVEL = Mounting(np.eye(3), np.zeros(3))
FAST = BaseMotionSettings(source='imu', low_pass=1000.0)
UP = np.array([0.0, 0.0, 9.81])


class Turning:
    """A base whose angular velocity about a tilted axis rises at a constant rate.

    Its origin is at rest in the world: a = -R^T g.
    """

    axis = np.array([0.6, 0.0, 0.8])

    def __init__(self, sign=1.0):
        self.start, self.rate = sign * 0.8, sign * 1.5  # rad/s and rad/s^2

    def at(self, t):
        """Return R_wb and the motion of the base (9,)."""
        angle = self.start * t + 0.5 * self.rate * t**2
        R = rotation_rpy(0.2, -0.1, 0.0) @ axis_rotation(self.axis, angle)
        w = (self.start + self.rate * t) * self.axis
        return R, np.concatenate([w, self.rate * self.axis, -R.T @ GRAVITY])

    def measured(self, t, mounting):
        """Return w, wd, f and R_ws of a sensor, from the motion of its point in the world."""
        h, (R, motion) = 1e-4, self.at(t)
        points = [self.at(t + k * h)[0] @ mounting.position for k in (-1, 0, 1)]
        acceleration = (points[0] - 2 * points[1] + points[2]) / h**2
        R_ws = R @ mounting.orientation
        w, wd, _ = np.split(motion, 3)
        R_bs = mounting.orientation
        return R_bs.T @ w, R_bs.T @ wd, R_ws.T @ (acceleration - GRAVITY), R_ws


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_an_inertial_sensor_beside_the_origin_gives_the_motion_of_the_base(sign):
    body, source = Turning(sign), InertialSource(FAST)
    for k in range(40):
        w, _, f, R = body.measured(k * STEP / SECOND, MOUNTING)
        sample = source.add(k * STEP, w, f, MOUNTING, GRAVITY, R)
        assert (sample is None) == (k == 0)
    R_wb, motion = body.at(39 * STEP / SECOND)
    # The filter of 1 kHz lags by 0.2 ms
    np.testing.assert_allclose(sample.motion, motion, atol=5e-3)
    np.testing.assert_allclose(sample.weight, R_wb.T @ GRAVITY, atol=1e-9)


def test_odometry_of_a_frame_beside_the_origin_gives_the_motion_of_the_base():
    body, source = Turning(), OdometrySource(FAST)
    for k in range(40):
        t, h = k * STEP / SECOND, 1e-5
        w, _, _, R = body.measured(t, MOUNTING)
        ahead, behind = (body.at(t + d)[0] @ MOUNTING.position for d in (h, -h))
        twist = np.concatenate([w, R.T @ (ahead - behind) / (2 * h)])
        sample = source.add(k * STEP, twist, R, MOUNTING, GRAVITY)
    R_wb, motion = body.at(39 * STEP / SECOND)
    np.testing.assert_allclose(sample.motion, motion, atol=2e-2)
    np.testing.assert_allclose(sample.weight, R_wb.T @ GRAVITY, atol=1e-9)


@pytest.mark.parametrize('first', ['twist', 'acceleration'])
def test_a_command_has_no_delay_and_is_matched_by_stamp(first):
    body, source = Turning(), CommandSource(FAST)
    for k in range(10):
        w, wd, f, _ = body.measured(k * STEP / SECOND, MOUNTING)
        calls = [
            lambda k=k, w=w: source.add_twist(k * STEP, w, MOUNTING),
            lambda k=k, wd=wd, f=f: source.add_acceleration(k * STEP, wd, f, MOUNTING, GRAVITY),
        ]
        found = [call() for call in (calls if first == 'twist' else calls[::-1])]
    sample = found[-1]
    assert sample.stamp == 9 * STEP
    np.testing.assert_allclose(sample.motion, body.at(9 * STEP / SECOND)[1], atol=1e-5)
    # One that belongs to no acceleration
    source = CommandSource(FAST)
    source.add_acceleration(0, np.zeros(3), UP, LEVEL, GRAVITY)
    assert source.add_twist(STEP, np.ones(3), LEVEL) is None
    source.add_acceleration(STEP, np.zeros(3), UP, LEVEL, GRAVITY)
    assert source.add_acceleration(2 * STEP, np.zeros(3), UP, LEVEL, GRAVITY) is None
    for k in range(3, 12):
        source.add_acceleration(k * STEP, np.zeros(3), UP, LEVEL, GRAVITY)
    with pytest.raises(BaseMotionError, match=r'0\.055 s apart; expected less than a period'):
        source.add_acceleration(12 * STEP, np.zeros(3), UP, LEVEL, GRAVITY)


def rest(source, f, seconds=1.0, start=0, attitude=None, w=(0.0, 0.0, 0.0)):
    """Return the reason of the last measurement of a sensor at rest, or ''."""
    why = ''
    for k in range(round(seconds * SECOND / STEP)):
        try:
            source.add(start + k * STEP, w, f, LEVEL, GRAVITY, attitude)
            why = ''
        except BaseMotionError as error:
            why = str(error)
    return why


@pytest.mark.parametrize(
    ('f', 'why'),
    [
        ([0.01, 0.0, -0.02], r'0\.0224 m/s\^2; expected 9\.81: it is without gravity'),
        ([0.0, 0.0, 1.0], r'is 1 m/s\^2; expected 9\.81: it is in multiples of g'),
        ([0.0, 0.6, -0.8], 'it is in multiples of g'),
        ([0.0, 0.0, 32.2], r'is 32\.2 m/s\^2; expected 9\.81$'),
    ],
)
def test_an_acceleration_that_is_no_weight_is_rejected_from_the_first(f, why):
    for seconds in (STEP / SECOND, 1.0):
        assert re.search(why, rest(InertialSource(FAST), f, seconds))
    source = CommandSource(FAST)
    with pytest.raises(BaseMotionError, match=why):
        source.add_acceleration(0, np.zeros(3), f, LEVEL, GRAVITY)


def test_a_wrong_scale_is_found_at_rest_and_a_right_one_lets_the_sensor_move():
    source = InertialSource(FAST)
    assert rest(source, 0.85 * UP, REST_TIME - 0.01) == ''
    assert 'is 8.34 m/s^2; expected 9.81' in rest(source, 0.85 * UP, 1.0, SECOND // 2)
    assert rest(source, UP, 1.0, 2 * SECOND) == ''  # after a gap of a second
    moving = InertialSource(FAST)
    assert rest(moving, 0.85 * UP, w=(0.0, 0.2, 0.0)) == ''
    assert rest(moving, UP, 1.0, SECOND) == ''
    assert rest(moving, 0.1 * UP, 0.3, 2 * SECOND) == ''  # accelerates downwards


def test_an_attitude_in_axes_with_z_down_is_rejected():
    north_east_down = rotation_rpy(np.pi, 0.0, 0.0)
    source = InertialSource(FAST)
    assert 'REP 103' in rest(source, UP, attitude=north_east_down)
    assert rest(InertialSource(FAST), UP, attitude=np.eye(3)) == ''


UPSIDE_DOWN, SIDEWAYS = np.diag([1.0, -1.0, -1.0]), rotation_rpy(np.pi / 2, 0.0, 0.0)


@pytest.mark.parametrize('attitude', [None, np.eye(3)])
@pytest.mark.parametrize('mounted', [UPSIDE_DOWN, SIDEWAYS])
def test_a_sensor_mounted_otherwise_than_described_is_rejected_from_the_first(mounted, attitude):
    """It measures the weight, and its attitude, in axes that are not those of the description."""
    f = mounted.T @ UP
    attitude = attitude if attitude is None else attitude @ mounted
    inertial, command = InertialSource(FAST), CommandSource(FAST)
    for k in range(200):
        with pytest.raises(BaseMotionError, match=r'base_orientation and the pose of the sensor'):
            inertial.add(k * STEP, np.zeros(3), f, LEVEL, GRAVITY, attitude, GRAVITY)
        with pytest.raises(BaseMotionError, match='expected less than 60 degrees'):
            command.add_acceleration(k * STEP, np.zeros(3), f, LEVEL, GRAVITY, GRAVITY)
        with pytest.raises(BaseMotionError, match=r'z up \(REP 103\)'):
            OdometrySource(FAST).add(k, np.zeros(6), mounted, LEVEL, GRAVITY, GRAVITY)
    # As described: on the sensor, or on the base
    right = Mounting(mounted, np.zeros(3))
    inertial = InertialSource(FAST)
    for k in range(2):
        inertial.add(k * STEP, np.zeros(3), f, right, GRAVITY, attitude, GRAVITY)
        command = CommandSource(FAST)
        command.add_acceleration(k * STEP, np.zeros(3), f, LEVEL, GRAVITY, mounted.T @ GRAVITY)
        OdometrySource(FAST).add(k, np.zeros(6), mounted, LEVEL, GRAVITY, mounted.T @ GRAVITY)


def test_a_base_that_has_stood_as_described_may_lean_by_any_angle():
    source = InertialSource(FAST)
    for k in range(400):
        lean = rotation_rpy(max(k - 150, 0) * 0.01, 0.0, 0.0)
        w = [2.0 * (k > 150), 0.0, 0.0]
        sample = source.add(k * STEP, w, lean.T @ UP, LEVEL, GRAVITY, None, GRAVITY)
        assert (sample is None) == (k == 0)
    # and after a gap
    assert source.add(600 * STEP, w, lean.T @ UP, LEVEL, GRAVITY, None, GRAVITY) is None
    source.add(601 * STEP, w, lean.T @ UP, LEVEL, GRAVITY, None, GRAVITY)


def reason(source, stamp, f):
    """Return why a measurement of a sensor that turns is rejected, or ''."""
    try:
        source.add(stamp, [0.0, 0.0, 0.3], f, LEVEL, GRAVITY)
    except BaseMotionError as error:
        return str(error)
    return ''


@pytest.mark.parametrize('first', [0.0, 3.0])
def test_one_wrong_acceleration_at_first_does_not_reject_a_sensor_that_never_rests(first):
    source, why = InertialSource(FAST), []
    for k in range(400):
        f = first * UP if k == 0 else UP + 3.0 * np.sin(k / 20) * np.eye(3)[0]
        why.append(reason(source, k * STEP, f))
    assert all('acceleration' in text for text in why[: round(REST_TIME * 200)])
    assert not any(why[round(REST_TIME * 200) :])


def test_a_sensor_without_gravity_is_found_while_it_moves():
    source, why = InertialSource(FAST), []
    for k in range(400):
        f = [6.0, 0.0, 0.0] if k < 20 else [1.5 * np.sin(k / 20), 0.0, 0.0]
        why.append(reason(source, k * STEP, f))
    assert not any(why[: round(REST_TIME * 200)])
    assert all('acceleration' in text for text in why[round(REST_TIME * 200) :])
    assert 'without gravity' in why[-1]


def test_a_second_sensor_on_the_topic_is_rejected_and_the_first_is_used():
    upside_down = Mounting(UPSIDE_DOWN, np.zeros(3))
    inertial, odometry, w = InertialSource(FAST), OdometrySource(FAST), np.array([0.0, 0.0, 1.0])
    for k in range(50):
        t = k * STEP
        sample = inertial.add(t, k * w, UP, LEVEL, GRAVITY)
        with pytest.raises(BaseMotionError, match='sensors at two poses'):
            inertial.add(t + STEP // 2, -k * w, -UP, upside_down, GRAVITY)
        odometry.add(t, np.zeros(6), np.eye(3), LEVEL, GRAVITY)
        with pytest.raises(BaseMotionError, match='sensors at two poses'):
            odometry.add(t + STEP // 2, np.zeros(6), np.eye(3), upside_down, GRAVITY)
    np.testing.assert_allclose(sample.motion[2:6], [49.0, 0.0, 0.0, 200.0], rtol=0.02)
    np.testing.assert_allclose(sample.motion[6:], UP, atol=1e-9)
    # Another one after a gap
    assert inertial.add(SECOND, 0 * w, -UP, upside_down, GRAVITY) is None
    sample = inertial.add(SECOND + STEP, 0 * w, -UP, upside_down, GRAVITY)
    np.testing.assert_allclose(sample.motion[6:], UP)


def test_a_command_names_the_part_that_is_missing():
    source = CommandSource(FAST)
    assert source.missing == ''
    source.add_acceleration(0, np.zeros(3), UP, LEVEL, GRAVITY)
    assert source.missing == 'no angular velocity belongs to the accelerations'
    source.add_twist(0, np.zeros(3), LEVEL)
    assert source.missing == ''
    source.restart()
    source.add_twist(0, np.zeros(3), LEVEL)
    assert source.missing == 'no acceleration belongs to the angular velocities'
    for k in range(4, 10):
        source.add_acceleration(k * STEP, np.zeros(3), UP, LEVEL, GRAVITY)
        source.add_twist((k - 3) * STEP, np.zeros(3), LEVEL)
    assert 'are 0.015 s apart; expected less than a period' in source.missing


def test_stamps_that_stand_still_go_back_or_are_far_apart_have_a_reason():
    for source, add in (
        (s := InertialSource(FAST), lambda t, s=s: s.add(t, np.zeros(3), UP, LEVEL, GRAVITY)),
        (
            s := OdometrySource(FAST),
            lambda t, s=s: s.add(t, np.zeros(6), np.eye(3), LEVEL, GRAVITY),
        ),
        (s := CommandSource(FAST), lambda t, s=s: s.add_twist(t, np.zeros(3), LEVEL)),
    ):
        add(10 * SECOND)
        add(10 * SECOND + STEP)
        for back in (0, STEP):
            with pytest.raises(BaseMotionError, match=r'before the last one; expected later'):
                add(10 * SECOND + STEP - back)
        # A clock that is set back begins anew
        assert add(SECOND) is None
        add(SECOND + STEP)
        add(2 * SECOND)
        with pytest.raises(BaseMotionError, match=r'1 s apart; expected at most 0\.05 s'):
            add(3 * SECOND)
        source.restart()
        assert add(3 * SECOND) is None


def test_values_that_no_base_has_are_rejected_by_name():
    inertial, odometry, command = (
        kind(FAST) for kind in (InertialSource, OdometrySource, CommandSource)
    )
    zero, bad = np.zeros(3), np.array([0.0, np.nan, 0.0])
    with pytest.raises(
        BaseMotionError, match=r'angular velocity is \(0, nan, 0\) rad/s; expected'
    ):
        inertial.add(0, bad, UP, LEVEL, GRAVITY)
    with pytest.raises(BaseMotionError, match=r'acceleration is \(0, 0, 1e\+04\) m/s\^2'):
        inertial.add(0, zero, [0.0, 0.0, 1e4], LEVEL, GRAVITY)
    with pytest.raises(BaseMotionError, match=r'velocity is \(-inf, 0, 0\) m/s; .* at most 100'):
        odometry.add(0, [0, 0, 0, -np.inf, 0, 0], np.eye(3), LEVEL, GRAVITY)
    with pytest.raises(BaseMotionError, match='angular acceleration'):
        command.add_acceleration(0, bad, UP, LEVEL, GRAVITY)
    with pytest.raises(ShapeError, match=r'velocity has shape \(2,\)'):
        odometry.add(0, np.zeros(5), np.eye(3), LEVEL, GRAVITY)
    # None of them has begun
    assert inertial.add(0, zero, UP, LEVEL, GRAVITY) is None
    assert inertial.add(STEP, zero, UP, LEVEL, GRAVITY) is not None


def test_the_low_pass_delays_by_a_fifth_of_its_period():
    rate, cutoff = 4.0, 10.0
    source = InertialSource(BaseMotionSettings(source='imu', low_pass=cutoff))
    for k in range(400):
        t = k * STEP / SECOND
        sample = source.add(k * STEP, [0.0, 0.0, rate * t], UP, LEVEL, GRAVITY)
    delay = t - sample.motion[2] / rate
    assert delay == pytest.approx(0.205 / cutoff, rel=0.3)
    assert sample.motion[5] == pytest.approx(rate, rel=1e-6)
