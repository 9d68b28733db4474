# SPDX-License-Identifier: Apache-2.0
"""Thresholds of contact from free motion whose statistics are known."""

from types import SimpleNamespace

import numpy as np
import pytest

from robot_dynamics.control.contact_thresholds import CLEAN, Debounced, FreeMotion
from robot_dynamics.control.momentum_observer import ObserverSettings

STEP = 4e-3  # s: at this rate nothing is debounced
NOISE, SLOPE = np.array([0.2, 0.1, 0.3]), np.array([0.0, 0.5, 0.1])


def free_motion(seconds, seed=0, jitter=0.0, known=True, step=STEP):
    """Return samples of normal noise whose size is that of NOISE and SLOPE."""
    rng = np.random.default_rng(seed)
    free = FreeMotion(3)
    for k in range(round(seconds / step)):
        p = rng.uniform(-2.0, 2.0, 3)
        r = np.hypot(NOISE, SLOPE * p) * rng.normal(size=3)
        fast = NOISE * rng.normal(size=3) + jitter * rng.normal() * p
        state = SimpleNamespace(p=p, along=0.3 * fast, across=0.7 * fast)
        free.add(
            step * k,
            SimpleNamespace(
                external_torque=r,
                state=state,
                settings=ObserverSettings(),
                friction_known=np.broadcast_to(known, 3),
            ),
        )
    return free.learned()


def test_noise_grows_with_the_momentum_as_it_does():
    learned = free_motion(400.0)
    thresholds = learned.thresholds
    assert thresholds.learned == pytest.approx(400.0, rel=1e-4)
    np.testing.assert_allclose(thresholds.noise, NOISE, rtol=0.05)
    np.testing.assert_allclose(thresholds.noise_per_momentum, SLOPE, atol=0.02)
    # The largest of 100,000 normal numbers
    assert (np.abs(thresholds.level - 4.4) < 0.5).all()
    assert not learned.missing


def test_the_factor_leaves_the_stated_share_of_hours_clean():
    learned = free_motion(600.0, seed=1)
    limit = learned.factor * np.asarray(learned.thresholds.level)
    # Of normal noise: P(|x| < limit)^samples of an hour
    from scipy.stats import norm

    clean = np.prod((1 - 2 * norm.sf(limit)) ** (3600.0 / STEP))
    assert 0.5 * (1 - CLEAN) / 5 < 1 - clean < 5 * (1 - CLEAN)


def test_less_than_two_minutes_give_no_factor():
    assert np.isnan(free_motion(60.0).factor)


@pytest.mark.parametrize(
    ('jitter', 'least', 'most'), [(0.0, 0.5, 0.65), (0.1, 0.5, 0.8), (5.0, 0.97, 1.0)]
)
def test_jitter_of_stamps_is_what_follows_the_momentum(jitter, least, most):
    # 1 / sqrt(3) by chance
    learned = free_motion(40.0, jitter=jitter)
    assert least < learned.correlation < most
    assert learned.stamps_jitter == (jitter > 1)


def test_a_joint_whose_friction_is_unknown_is_not_learned():
    learned = free_motion(4.0, known=[True, False, True])
    assert learned.missing == (1,)
    assert learned.thresholds.level[1] == 0


@pytest.mark.parametrize(('step', 'count'), [(1e-3, 3), (2e-3, 2), (4e-3, 1)])
def test_peaks_shorter_than_the_window_are_left_out(step, count):
    debounced = Debounced()
    values = np.array([1.0, 5.0, 2.0, -6.0, -7.0, 8.0, 9.0, 1.0])
    found = [float(debounced.add(step * k, np.array([x]))[0]) for k, x in enumerate(values)]
    for k in range(count - 1, len(values)):
        assert found[k] == np.abs(values[k - count + 1 : k + 1]).min()


def test_a_gap_begins_anew():
    debounced = Debounced()
    debounced.add(0.0, np.array([1.0]))
    assert debounced.add(1.0, np.array([3.0])) == 3.0
    assert debounced.add(0.5, np.array([2.0])) == 2.0
