# SPDX-License-Identifier: Apache-2.0
"""Velocities of a recording: the lag of the driver is removed; positions instead, where better."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robot_dynamics.recordings.recording import Recording
from robot_dynamics.recordings.smoothing import OF_MOTION
from robot_dynamics.recordings.velocities import LONGEST, with_better_velocities

RATE, CUTOFF = 500.0, 10.0
NAMES = ('base', 'tip')


def motion(t):
    angle = 2 * np.pi * np.stack([0.4 * t, 0.7 * t + 0.1], axis=1)
    rate = 2 * np.pi * np.array([0.4, 0.7])
    return np.sin(angle), rate * np.cos(angle)


def recorded(*, lag=0.0, of_q=1e-5, of_qd=1e-4, sign=1.0, duration=20.0, set_back=None):
    """Return a recording with velocities that are late, and white noise (standard deviations)."""
    rng = np.random.default_rng(5)
    t = np.arange(round(duration * RATE)) / RATE
    q, qd = sign * motion(t)[0], sign * motion(t - lag)[1]
    q = q + of_q * rng.normal(size=q.shape)
    qd = qd + of_qd * rng.normal(size=q.shape)
    stamps = t if set_back is None else t - np.where(t > duration / 2, set_back, 0.0)
    return Recording(NAMES, stamps, q, qd, q)


@pytest.mark.parametrize('sign', [1.0, -1.0])
@pytest.mark.parametrize('lag', [0.004, 0.02, -0.01])
@pytest.mark.parametrize('set_back', [None, 3.0])
def test_the_lag_is_found_and_removed(lag, sign, set_back):
    one = recorded(lag=lag, sign=sign, set_back=set_back)
    found = with_better_velocities(one, CUTOFF)
    assert not found.derived
    assert found.lag == pytest.approx(lag, rel=0.01)
    exact = sign * motion(np.arange(len(one.t)) / RATE)[1]
    away = np.ones(len(one.t), dtype=bool)
    for end in (0, len(away) // 2, len(away)):  # the ends of stretches cannot be moved
        away[max(0, end - 20) : end + 20] = False
    assert_allclose(found.recording.qd[away], exact[away], atol=2e-3)
    for name in ('t', 'q', 'effort'):
        assert getattr(found.recording, name) is getattr(one, name)


@pytest.mark.parametrize('lag', [0.0, 1.2 * LONGEST])
def test_velocities_without_lag_or_with_too_long_a_one_stay(lag):
    one = recorded(lag=lag, of_qd=0.01, of_q=1e-3)
    found = with_better_velocities(one, CUTOFF)
    assert (found.lag, found.derived) == (0.0, False)
    assert found.recording.qd is one.qd


@pytest.mark.parametrize('ratio', [0.7, 1.4])
@pytest.mark.parametrize('cutoff', [5.0, 20.0])
def test_the_source_with_less_noise_in_accelerations_is_used(cutoff, ratio):
    """White noise below the bandwidth: accelerations have w^4 of it, or w^2 from velocities."""
    w = 2 * np.pi * np.linspace(0.0, OF_MOTION * cutoff, 10_001)
    equal = np.sqrt((w**4).sum() / (w**2).sum())
    one = recorded(of_q=1e-3, of_qd=1e-3 * equal * ratio)
    found = with_better_velocities(one, cutoff)
    assert found.derived == (ratio > 1)
    assert (found.recording.qd is None) == found.derived


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_the_lag_of_velocities_that_are_not_used_is_known(sign):
    found = with_better_velocities(recorded(lag=sign * 0.005, of_qd=0.02, of_q=1e-6), CUTOFF)
    assert found.derived
    assert found.lag == pytest.approx(sign * 0.005, rel=0.02)


def test_a_recording_without_velocities_stays_as_it_is():
    one = recorded()
    without = Recording(NAMES, one.t, one.q, None, one.effort)
    found = with_better_velocities(without, CUTOFF)
    assert found.recording is without
    assert (found.lag, found.derived) == (0.0, False)


def test_an_arm_at_rest_has_no_lag():
    one = recorded()
    rng = np.random.default_rng(0)
    noise = 1e-6 * rng.normal(size=(2, *one.q.shape))
    still = Recording(NAMES, one.t, noise[0], noise[1], one.effort)
    found = with_better_velocities(still, CUTOFF)
    assert found.lag == 0.0
    assert found.recording.qd is still.qd
