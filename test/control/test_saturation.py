"""Clamps and rate limits."""

import numpy as np
import pytest

from robot_dynamics.control import RateLimiter, ramp, saturate


def test_torques_beyond_the_limit_are_clamped_and_named():
    tau, active = saturated = saturate([[5.0, -50.0, 1e9], [0.0, 1.0, 2.0]], [10.0, 10.0, np.inf])
    assert np.array_equal(tau, [[5.0, -10.0, 1e9], [0.0, 1.0, 2.0]])
    assert np.array_equal(active, [[False, True, False], [False] * 3])
    assert saturated.report(('a', 'b', 'c')) == ['b']


def test_the_limit_itself_is_no_saturation():
    assert not saturate([10.0, -10.0], [10.0, 10.0]).active.any()


def test_changes_are_bounded_by_rate_and_reach_the_target():
    limiter = RateLimiter([100.0, np.inf])
    assert np.array_equal(limiter([0.0, 0.0], 0.01).tau, [0.0, 0.0])
    steps = [limiter([2.5, 7.0], 0.01) for _ in range(4)]
    assert np.allclose([s.tau for s in steps], [[1.0, 7.0], [2.0, 7.0], [2.5, 7.0], [2.5, 7.0]])
    assert [s.active.tolist() for s in steps] == [[True, False]] * 2 + [[False, False]] * 2


@pytest.mark.parametrize('dt', [0.0, -1.0])
def test_without_time_nothing_changes(dt):
    limiter = RateLimiter([100.0, np.inf])
    limiter([1.0, 1.0], 0.01)
    assert np.array_equal(limiter([5.0, 5.0], dt).tau, [1.0, 1.0])


def test_reset_discards_the_last_torque_or_starts_from_one():
    limiter = RateLimiter(10.0)
    limiter.reset([1.0])
    assert np.allclose(limiter([9.0], 0.1).tau, [2.0])
    limiter.reset()
    assert np.allclose(limiter([9.0], 0.1).tau, [9.0])


def test_a_rate_of_zero_is_rejected():
    with pytest.raises(ValueError, match='must be positive'):
        RateLimiter([1.0, 0.0])


def test_a_soft_start_rises_without_a_jump_in_torque_or_its_rate():
    t = np.linspace(-0.5, 2.5, 3001)
    s = np.array([ramp(time, 2.0) for time in t])
    assert (s[t <= 0] == 0).all()
    assert (s[t >= 2] == 1).all()
    rate = np.diff(s) / np.diff(t)
    assert rate.min() >= 0
    # Its steepest is 3/2 of the mean, in the middle, and it starts and ends flat.
    assert rate.max() == pytest.approx(1.5 / 2.0, rel=1e-3)
    assert np.abs(np.diff(rate)).max() < 2e-3


def test_without_a_duration_there_is_no_soft_start():
    assert ramp(0.0, 0.0) == 1.0
    # Nor where the clock was put back.
    assert ramp(-0.1, 0.0) == 1.0
