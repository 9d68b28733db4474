# SPDX-License-Identifier: Apache-2.0
"""Smoothing: no lag, accurate derivatives, no interpolation over gaps."""

import numpy as np
import pytest
from recorded_runs import lively

from robot_dynamics.common.resources import share_file
from robot_dynamics.recordings.noise import MotionNoise
from robot_dynamics.recordings.recording import Recording, RecordingError
from robot_dynamics.recordings.smoothing import (
    OF_MOTION,
    cutoff_of,
    derivative,
    low_pass,
    smooth,
)
from robot_dynamics.urdf.loading import load_urdf

RATE, CUTOFF = 500.0, 20.0
PANDA = load_urdf(share_file('urdf/panda.urdf'))


def recording(t, q, qd=None, effort=None):
    names = tuple(f'joint{j}' for j in range(q.shape[1]))
    return Recording(names, t, q, qd, np.zeros_like(q) if effort is None else effort)


def sine(f, t):
    return np.sin(2 * np.pi * f * t)[:, None]


def amplitude_and_lag(x, f, t):
    """Return the amplitude, and the delay in s, of a sine of f Hz."""
    c = np.linalg.lstsq(np.hstack([sine(f, t), np.cos(2 * np.pi * f * t)[:, None]]), x, rcond=None)
    a, b = c[0][:, 0]
    return np.hypot(a, b), -np.arctan2(b, a) / (2 * np.pi * f)


@pytest.mark.parametrize('f', [0.5, 5.0, 10.0, 20.0, 40.0])
def test_the_low_pass_has_its_amplitude_and_no_lag(f):
    t = np.arange(0, 10, 1 / RATE)
    inner = slice(1000, 4000)
    x = low_pass(sine(f, t), CUTOFF, 1 / RATE)[inner]
    amplitude, lag = amplitude_and_lag(x, f, t[inner])
    # Fourth-order Butterworth there and back, by the bilinear transform with its frequency kept.
    warped = np.tan(np.pi * f / RATE) / np.tan(np.pi * CUTOFF / RATE)
    assert amplitude == pytest.approx(1 / (1 + warped**8), abs=1e-6)
    if amplitude > 1e-3:
        assert abs(lag) < 1e-6


def test_derivatives_are_of_fourth_order():
    errors = []
    for step in (0.04, 0.02):
        t = np.arange(0, 4, step)
        inner = slice(len(t) // 4, -len(t) // 4)
        d = derivative(sine(0.5, t), t)[inner, 0]
        errors.append(np.abs(d - np.pi * np.cos(np.pi * t[inner])).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4, abs=0.2)


@pytest.mark.parametrize('measured', [True, False])
@pytest.mark.parametrize('jitter', [0.0, 0.2])
def test_accelerations_are_those_of_the_motion(measured, jitter):
    even, *_ = lively(PANDA, rate=RATE)
    t = even + jitter / RATE * np.random.default_rng(0).uniform(-1, 1, len(even))
    # Samples at any time, from ones so close that their chords are the curve.
    fine, *motion = lively(PANDA, rate=20 * RATE)
    q, qd, _ = (at(t, fine, x) for x in motion)
    (stretch,), _ = smooth(recording(t, q, qd if measured else None), CUTOFF)
    inner = stretch.inner
    # Positions are continued beyond their ends with the acceleration reversed, which does not
    # quite fade within what is cut off.
    tolerances = (1e-4, 1e-4, 1e-3) if measured else (1e-4, 1e-3, 5e-3)
    got = stretch.q, stretch.qd, stretch.qdd
    for x, true, tolerance in zip(got, motion, tolerances, strict=True):
        error = x[inner] - at(stretch.t[inner], fine, true)
        assert np.abs(error).max() < tolerance * np.abs(true).max()


def at(t, times, values):
    return np.array([np.interp(t, times, x) for x in values.T]).T


def test_a_recording_is_divided_at_gaps_and_where_the_clock_is_set_back():
    t = np.arange(0, 12, 1 / RATE)
    kept = ~((t > 4) & (t < 4.1)) & ~((t > 8) & (t < 8.02))
    back = np.concatenate([t[kept], t[kept][:1000]])
    stretches, left_out = smooth(recording(back, sine(0.5, back)), CUTOFF)
    # 20 ms are less than half a period of 20 Hz; 100 ms are more.
    spans = [(s.t[0], s.t[-1]) for s in stretches]
    wanted = [(0.0, 4.0), (4.1, t[-1]), (0.0, t[999])]
    assert np.allclose(spans, wanted, atol=1.5 / RATE)
    assert left_out == {'at the ends of stretches': 3 * 2 * 2 * RATE / CUTOFF}
    for s in stretches:
        inner = s.inner
        assert np.abs(s.qd[inner] - np.pi * np.cos(np.pi * s.t[inner])[:, None]).max() < 1e-3


def test_short_stretches_are_omitted_and_counted():
    t = np.arange(0, 10, 1 / RATE)
    kept = ~((t > 4) & (t < 4.5)) & ~((t > 4.7) & (t < 5))
    stretches, left_out = smooth(recording(t[kept], sine(0.5, t[kept])), CUTOFF)
    assert len(stretches) == 2
    island = ((t >= 4.5) & (t <= 4.7)).sum()
    assert left_out['in stretches too short to be smoothed'] == island


@pytest.mark.parametrize(
    ('rate', 'duration', 'cutoff', 'message'),
    [
        (30.0, 10, 20.0, r'30 samples per second are too few .* 20 Hz; expected at most 5.7 Hz'),
        (500.0, 0.3, 20.0, r'lasts 0.298 s; at 20 Hz it must be 0.4 s at least'),
        (500.0, 10, 0.0, 'must be positive'),
        (500.0, 10, np.nan, 'must be positive'),
        (500.0, 0.002, 20.0, '1 samples are too few'),
    ],
)
def test_too_few_samples_are_rejected(rate, duration, cutoff, message):
    t = np.arange(0, duration, 1 / rate)
    with pytest.raises(RecordingError, match=message):
        smooth(recording(t, sine(0.5, t)), cutoff)


def test_the_cutoff_of_the_error_message_is_accepted():
    t = np.arange(0, 10, 1 / 30)
    stretches, _ = smooth(recording(t, sine(0.5, t)), 5.7)
    assert len(stretches) == 1


@pytest.mark.parametrize('measured', [True, False])
@pytest.mark.parametrize('fastest', [3.0, 6.0, 12.0])
@pytest.mark.parametrize('rate', [100.0, 500.0])
def test_the_cutoff_is_where_the_motion_ends(fastest, rate, measured):
    """Of one joint that moves up to a frequency, and one that hardly moves, both with noise."""
    rng = np.random.default_rng(0)
    t = np.arange(0, 20, 1 / rate)
    f = np.linspace(0.3, fastest, 12)[:, None]
    phase = rng.uniform(0, 2 * np.pi, f.shape)
    q = (np.sin(2 * np.pi * f * t + phase) / f).sum(axis=0)
    qd = (2 * np.pi * np.cos(2 * np.pi * f * t + phase)).sum(axis=0)
    q, qd = (np.column_stack([x, 0.001 * x]) for x in (q, qd))
    q += 1e-4 * rng.normal(size=q.shape)
    qd += 0.01 * qd.std(axis=0)[0] * rng.normal(size=qd.shape)
    found = cutoff_of(recording(t, q, qd if measured else None))
    assert fastest <= found < 1.5 * fastest


def test_the_cutoff_of_a_motion_without_noise_is_the_highest_that_samples_allow():
    t = np.arange(0, 20, 1 / 50)
    q = sine(0.5, t)
    qd = np.pi * np.cos(np.pi * t)[:, None]
    found = cutoff_of(recording(t, q, qd))
    assert 2.5 <= found <= 50 / 5
    smooth(recording(t, q, qd), found)


def test_noise_alone_has_the_lowest_cutoff():
    noise = np.random.default_rng(0).normal(size=(2000, 2))
    assert cutoff_of(recording(np.arange(2000) / RATE, noise, noise)) == 2.5


@pytest.mark.parametrize('measured', [True, False])
def test_added_noise_changes_its_sign_as_a_whole_and_has_its_size(measured):
    t = np.arange(20_000) / RATE
    given = recording(t, sine(0.5, t), sine(0.7, t) if measured else None)
    noise = MotionNoise(np.array([0.1]), np.array([3.0]) if measured else None)
    plus, minus = (noise.added(given, np.random.default_rng(0), sign) for sign in (1.0, -1.0))
    for name in ('q', 'qd')[: 1 + measured]:
        added = getattr(plus, name) - getattr(given, name)
        np.testing.assert_allclose(added, getattr(given, name) - getattr(minus, name), atol=1e-12)
        assert added.std() == pytest.approx(getattr(noise, name)[0], rel=0.02)
    assert measured or plus.qd is None


@pytest.mark.parametrize('ratio', [0.8, 1.25])
@pytest.mark.parametrize('cutoff', [5.0, 20.0])
def test_velocities_are_derived_where_that_gives_accelerations_less_noise(cutoff, ratio):
    """White noise in accelerations below the cut-off: q'' has w^4 of it, qd' has w^2."""
    w = 2 * np.pi * np.linspace(0.0, OF_MOTION * cutoff, 10_001)
    of_q, of_qd = ((w**power).sum() for power in (4, 2))
    t = np.arange(8000) / RATE
    noise = np.random.default_rng(1).normal(size=(2, len(t), 1))
    # Equal errors of accelerations at a ratio of 1.
    size = 1e-3 * np.sqrt(of_q / of_qd) * ratio
    motion, velocity = sine(0.5, t), np.gradient(sine(0.5, t), t, axis=0)
    (stretch,), _ = smooth(
        recording(t, motion + 1e-3 * noise[0], velocity + size * noise[1]), cutoff
    )
    (without,), _ = smooth(recording(t, motion + 1e-3 * noise[0]), cutoff)
    assert np.array_equal(stretch.qd, without.qd) == (ratio > 1)
