# SPDX-License-Identifier: Apache-2.0
"""Repeated periods: found, counted and averaged; the spread is that of the noise."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tiers import soak

from robot_dynamics.recordings.periods import MARGIN, averaged
from robot_dynamics.recordings.recording import Recording

RATE, CUTOFF, PERIOD, LEAD = 200.0, 8.0, 5.0, 3.0
NAMES = ('base', 'tip')
W = 2 * np.pi / PERIOD


def motion(t):
    """Return q, qd (k, 2) of two joints in different motion, of the same period."""
    a = np.stack([W * t, 2 * W * t + 0.7], axis=1)
    other = np.stack([3 * W * t + 0.3, W * t], axis=1)
    q = [1.0, -0.6] * np.sin(a) + [0.2, 0.3] * np.sin(other)
    rates = W * np.array([[1.0, 2.0], [3.0, 1.0]])
    qd = [1.0, -0.6] * rates[0] * np.cos(a) + [0.2, 0.3] * rates[1] * np.cos(other)
    return q, qd


def recorded(number, *, noise=0.0, mirrored=False, measured=True, start=0.0, lead=LEAD):
    """Return a recording at rest, then `number` periods with ramps at both ends, then at rest."""
    rng = np.random.default_rng(3)
    t = np.arange(round((number * PERIOD + 2 * lead) * RATE)) / RATE
    inside = np.clip(t - lead, 0.0, number * PERIOD)
    q, qd = motion(inside)
    outside = (t < lead) | (t > lead + number * PERIOD)
    qd = np.where(outside[:, None], 0.0, qd)
    effort = 5.0 * q + 2.0 * qd + noise * rng.normal(size=q.shape)
    if mirrored:
        q, qd, effort = -q, -qd, -effort
    return Recording(NAMES, start + t, q, qd if measured else None, effort)


@pytest.mark.parametrize('mirrored', [False, True])
@pytest.mark.parametrize('measured', [True, False])
@pytest.mark.parametrize('number', [*soak([3]), 5])
def test_periods_are_found_counted_and_averaged(number, measured, mirrored):
    one = recorded(number, measured=measured, mirrored=mirrored, start=1e3)
    found = averaged(one, CUTOFF)
    assert found.period == pytest.approx(PERIOD, rel=1e-3)
    # Beginning and end are found within the window over which accelerations are compared.
    assert found.number in (number, number - 1)
    t, q = found.recording.t, found.recording.q
    assert t[0] == 0.0
    assert t[-1] == pytest.approx(PERIOD + 2 * MARGIN, abs=0.02)
    # The continuation at both ends is that of a periodic motion.
    once = round(PERIOD * RATE)
    assert_allclose(q[once:], q[:-once], atol=1e-9)
    # The phase of the average is free: find it from the first joint's motion, compare the second.
    phases = np.linspace(0, PERIOD, 2001)
    sign = -1.0 if mirrored else 1.0
    errors = [np.abs(sign * q - motion(t + phase)[0]).max() for phase in phases]
    best = phases[int(np.argmin(errors))]
    assert min(errors) < 0.01
    qd = sign * motion(t + best)[1]
    if measured:
        assert_allclose(found.recording.qd, qd, atol=0.05)
    else:
        assert found.recording.qd is None
    assert_allclose(found.recording.effort, 5.0 * q + 2.0 * qd, atol=0.15)


@pytest.mark.parametrize('mirrored', [False, True])
@pytest.mark.parametrize('rest', [1.0, 6.0, 20.0])
@pytest.mark.parametrize('seed', range(4))
def test_periods_are_those_of_the_motion_whatever_is_at_rest_beside_it(seed, rest, mirrored):
    """Recordings as of a sent motion: at rest, to the start, ramp, two periods, ramp, at rest."""
    rng = np.random.default_rng(seed)
    period, ramp, way = rng.uniform(4.0, 8.0), 1.3, 3.6
    begin = rest + way + ramp
    t = np.arange(round((begin + 2 * period + ramp + rng.uniform(1.0, 8.0)) * RATE)) / RATE
    size, phase = rng.normal(size=(3, 2)), rng.uniform(0.0, 6.0, (3, 2))
    harmonics = np.arange(1, 4)[:, None, None]
    waves = np.sin(2 * np.pi / period * harmonics * (t - begin)[:, None] + phase[:, None])
    grown = smooth_step((t - begin + ramp) / ramp)
    faded = smooth_step((begin + 2 * period + ramp - t) / ramp)
    q = smooth_step((t - begin + ramp + way) / way)[:, None] * rng.normal(size=2)
    q += (grown * faded)[:, None] * (size[:, None] * waves).sum(axis=0)
    q = -q if mirrored else q
    found = averaged(Recording(NAMES, t, q, None, 5.0 * q), CUTOFF)
    assert found.number == 2
    assert found.period == pytest.approx(period, rel=1e-3)
    # An average that has samples of a ramp is no average of equal periods.
    assert (found.spread < 0.005 * found.recording.effort.std(axis=0)).all()


def smooth_step(t):
    """Return 0 before 0, 1 after 1, with continuous accelerations in between."""
    t = np.clip(t, 0.0, 1.0)
    return t**3 * (10 - 15 * t + 6 * t**2)


def test_the_average_has_less_noise_and_the_spread_is_that_of_one_period():
    noise, number = 0.5, 6
    exact, noisy = (averaged(recorded(number, noise=size), CUTOFF) for size in (0.0, noise))
    assert noisy.number == exact.number
    rest = (noisy.recording.effort - exact.recording.effort).std(axis=0)
    assert rest == pytest.approx(noise / np.sqrt(noisy.number), rel=0.1)
    # White noise below the cut-off, of that below half the sample rate.
    assert noisy.spread == pytest.approx(noise * np.sqrt(CUTOFF / (RATE / 2)), rel=0.2)
    assert (exact.spread < 0.02).all()


def test_a_motion_once_at_rest_or_never_repeated_has_no_periods():
    t = np.arange(round(20 * RATE)) / RATE
    growing = np.stack([0.3 * t, 0.02 * t**2], axis=1)
    still = np.zeros((len(t), 2))
    for q in (growing, still, growing + np.sin(W * t)[:, None]):
        assert averaged(Recording(NAMES, t, q, None, q), CUTOFF) is None
    assert averaged(recorded(1), CUTOFF) is None


def test_a_gap_or_a_clock_set_back_has_no_periods():
    one = recorded(3)
    assert averaged(one, CUTOFF) is not None
    keep = np.abs(one.t - 8.0) > 0.5
    gap = Recording(NAMES, one.t[keep], one.q[keep], one.qd[keep], one.effort[keep])
    assert averaged(gap, CUTOFF) is None
    back = Recording(NAMES, one.t - 9.0 * (one.t > 8.0), one.q, one.qd, one.effort)
    assert averaged(back, CUTOFF) is None


def test_a_joint_at_rest_stays_at_rest():
    one = recorded(3)
    q, qd = (x * [1.0, 0.0] for x in (one.q, one.qd))
    found = averaged(Recording(NAMES, one.t, q, qd, one.effort), CUTOFF)
    assert found.period == pytest.approx(PERIOD, rel=1e-3)
    assert not found.recording.q[:, 1].any()
