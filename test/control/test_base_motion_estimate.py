# SPDX-License-Identifier: Apache-2.0
"""Motion of the base at joint states: held, interpolated, faded, and never with a jump."""

import numpy as np
import pytest

from robot_dynamics.common.stamps import SECOND
from robot_dynamics.control.base_motion_estimate import (
    FADE,
    BaseMotionEstimate,
    BaseMotionSettings,
    MotionSample,
)

MS = SECOND // 1000
GRAVITY = np.array([0.0, 0.0, -9.81])
LEVEL = np.array([0.0] * 8 + [9.81])
MOTION = np.array([0.3, -0.2, 0.5, 1.0, -2.0, 0.5, 1.5, -0.5, 9.0])
TILTED = np.array([3.0, 0.0, -9.34])
IMU = BaseMotionSettings(source='imu')


def give(one, times, motion=MOTION, weight=None):
    for t in times:
        one.add(MotionSample(t * MS, motion, weight))


def along(one, times):
    """Return the motions (k, 9) at times [ms]."""
    return np.array([one.at(t * MS, GRAVITY) for t in times])


def test_between_samples_it_is_interpolated_and_after_the_last_held():
    one = BaseMotionEstimate(IMU)
    give(one, [0])
    give(one, [10], 3 * MOTION)
    np.testing.assert_allclose(along(one, [4, 10, 40]), np.outer([1.8, 3.0, 3.0], MOTION))
    assert one.is_known
    # A sample with the same stamp replaces the last one
    give(one, [10], MOTION)
    np.testing.assert_array_equal(along(one, [50])[0], MOTION)
    # and one after a gap is not joined to those before
    give(one, [200], 5 * MOTION)
    np.testing.assert_array_equal(along(one, [199])[0], 5 * MOTION)


@pytest.mark.parametrize(
    ('weight', 'fallback', 'end', 'name'),
    [
        (TILTED, 'tilt', np.concatenate([np.zeros(6), -TILTED]), 'tilt'),
        (TILTED, 'gravity', LEVEL, 'gravity'),
        (None, 'tilt', LEVEL, 'gravity'),
    ],
)
def test_samples_that_stop_fade_to_the_fallback_and_fade_in_again(weight, fallback, end, name):
    one = BaseMotionEstimate(BaseMotionSettings(source='imu', fallback=fallback))
    give(one, range(0, 101, 5), weight=weight)
    motions = [*along(one, range(100, 400))]
    np.testing.assert_array_equal(motions[:51], [MOTION] * 51)
    assert 'older than the joint state; expected at most 0.05 s' in one.lost
    assert one.fallback == name
    np.testing.assert_array_equal(motions[-1], end)
    # Half of the way, linearly
    np.testing.assert_allclose(motions[151], (MOTION + end) / 2, atol=0.02)
    for t in range(400, 700):
        give(one, [t], -MOTION, weight)
        motions.append(one.at(t * MS, GRAVITY))
    assert one.is_known
    np.testing.assert_array_equal(motions[-1], -MOTION)
    # No step is larger than that of a fade of the largest difference
    largest = np.abs(end + MOTION).max() * 1e-3 / FADE
    assert np.abs(np.diff(motions, axis=0)).max() < 1.3 * max(
        largest, np.abs(end - MOTION).max() / 200
    )


def test_data_that_stop_and_return_before_the_fade_ends_have_no_jump():
    one, motions = BaseMotionEstimate(IMU), []
    for t in range(2000):
        if t % 130 < 40:  # each time for 40 ms
            give(one, [t], MOTION * (1 + t % 3))
        motions.append(one.at(t * MS, GRAVITY))
    largest = 2 * np.abs(3 * MOTION).max()
    steps = np.abs(np.diff(motions[40:], axis=0)).max(axis=1)
    assert steps.max() < 2.1 * np.abs(MOTION).max()  # those of the samples themselves
    assert np.sort(steps)[: len(steps) // 2].max() < 1.1 * largest * 1e-3 / FADE


def test_before_any_sample_it_is_at_rest_and_the_first_ones_fade_in():
    one = BaseMotionEstimate(IMU)
    np.testing.assert_array_equal(along(one, [0])[0], LEVEL)
    assert one.lost == 'no motion has been received'
    give(one, [1])
    motions = along(one, range(1, 30))
    assert not one.lost
    assert one.fading
    assert np.abs(motions[0] - LEVEL).max() < 1e-9
    # Without a state before there is nothing to fade from
    other = BaseMotionEstimate(IMU)
    give(other, [1])
    np.testing.assert_array_equal(along(other, [1])[0], MOTION)


def test_samples_of_another_clock_or_set_back_are_not_used():
    one = BaseMotionEstimate(IMU)
    give(one, [5000, 5005])
    np.testing.assert_array_equal(along(one, [0])[0], LEVEL)
    assert one.lost == 'the last motion is 5 s ahead of the joint states: another clock'
    give(one, [0])  # drops those before
    np.testing.assert_allclose(along(one, [1, 250])[0], LEVEL, atol=0.1)
    one.restart()
    give(one, [1000])
    np.testing.assert_array_equal(along(one, [1000])[0], MOTION)
    give(one, [900])
    found = along(one, [1001, 1300])
    assert 'older' in one.lost
    np.testing.assert_allclose(found[0], MOTION, atol=0.1)
    np.testing.assert_array_equal(found[1], LEVEL)


@pytest.mark.parametrize('late', [100, -5000])
def test_an_attitude_of_samples_that_are_not_used_has_no_jump(late):
    """A sensor returns leaning otherwise, too late or of another clock."""
    one, motions = BaseMotionEstimate(IMU), []
    give(one, [0], weight=TILTED)
    for t in range(3000):
        if t > 500 and t % 5 == 0:
            give(one, [t - late], weight=TILTED * [-1, 1, 1])
        motions.append(one.at(t * MS, GRAVITY))
    assert one.lost
    largest = np.abs(np.diff(motions[300:], axis=0)).max()
    assert 0 < largest < 1.1 * 2 * TILTED[0] * 1e-3 / FADE
    np.testing.assert_allclose(motions[-1][6:], -TILTED * [-1, 1, 1], atol=1e-3)


def test_settings_may_change_at_any_time_without_a_jump():
    one = BaseMotionEstimate(BaseMotionSettings(source='imu', age_limit=0.01))
    give(one, [0], weight=TILTED)
    found = along(one, [0, 300])
    one.settings = BaseMotionSettings(source='imu', age_limit=0.01, fallback='gravity')
    found = np.vstack([found, along(one, range(301, 600))])
    assert np.abs(np.diff(found[1:], axis=0)).max() < 1.1 * np.abs(TILTED - GRAVITY).max() / 200
    np.testing.assert_array_equal(found[-1], LEVEL)
