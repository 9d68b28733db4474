# SPDX-License-Identifier: Apache-2.0
"""Noise of a recording: the variance that was added is found, whatever the motion."""

import numpy as np
import pytest

from robot_dynamics.recordings.noise import MotionNoise, effort_noise, motion_noise
from robot_dynamics.recordings.recording import Recording
from robot_dynamics.recordings.smoothing import low_pass, smooth

RATE = 250.0
T = np.arange(0, 40, 1 / RATE)
W = 2 * np.pi * np.array([0.3, 0.7])


def recorded(of_q=0.0, of_qd=0.0, of_effort=0.0, sign=1.0):
    rng = np.random.default_rng(0)
    q, qd = np.sin(W * T[:, None]), W * np.cos(W * T[:, None])
    e = rng.normal(size=(3, *q.shape))
    effort = 5 * q + of_effort * e[2]
    return Recording(
        ('a', 'b'), T, sign * (q + of_q * e[0]), sign * (qd + of_qd * e[1]), sign * effort
    )


@pytest.mark.parametrize('sign', [1, -1])
@pytest.mark.parametrize('size', [1e-5, 1e-3])
def test_the_noise_of_a_motion_is_found(size, sign):
    found = motion_noise(recorded(size, 20 * size, sign=sign))
    # The largest of the medians of four bands is somewhat above their mean.
    assert found.q / size == pytest.approx(1.05, abs=0.1)
    assert found.qd / (20 * size) == pytest.approx(1.05, abs=0.1)


def test_the_noise_of_accelerations_is_that_of_filtered_derivatives():
    """Noise through an ideal low-pass has the stated ratio, here a steep one."""
    bandwidth, rng = 10.0, np.random.default_rng(1)
    noise = MotionNoise(np.array([1e-3]), np.array([0.05]))
    q, qd = noise.q * rng.normal(size=(40000, 1)), noise.qd * rng.normal(size=(40000, 1))
    f = np.fft.rfftfreq(len(q), 1 / RATE)
    w = 2 * np.pi * f * (f < bandwidth)
    sizes = [
        np.linalg.norm(w**order * np.abs(np.fft.rfft(x[:, 0]))) for x, order in ((q, 2), (qd, 1))
    ]
    ratio = noise.of_accelerations(bandwidth)
    assert ratio == pytest.approx(sizes[0] / sizes[1], rel=0.05)


def test_positions_are_derived_if_velocities_are_not_measured():
    assert (MotionNoise(np.ones(2), None).of_accelerations(10.0) == 0).all()


@pytest.mark.parametrize('cutoff', [5.0, 12.0])
def test_the_noise_of_efforts_is_what_passes_the_low_pass(cutoff):
    effort = recorded(of_effort=0.3).effort
    passed = low_pass(effort - recorded().effort, cutoff, 1 / RATE).std(axis=0)
    # A Butterworth filter there and back passes somewhat less than an ideal low-pass.
    assert effort_noise(effort, 1 / RATE, cutoff) == pytest.approx(passed, rel=0.2)


@pytest.mark.parametrize('per_period', [8, 16])
def test_sparse_samples_are_filtered_as_all_are(per_period):
    (stretch,), _ = smooth(recorded(), 5.0)
    sparse = stretch.sparse(per_period)
    t = sparse.inner(stretch.t[sparse.samples])
    assert sparse.stride == int(RATE / (per_period * 5.0))
    assert t == pytest.approx(stretch.t[stretch.inner][:: sparse.stride], abs=1e-12)
    every = stretch.smoothed(stretch.qdd)[:: sparse.stride]
    assert sparse.sharp(stretch.qdd) == pytest.approx(every, abs=1e-9)
    assert sparse.smooth(stretch.qdd[sparse.samples]) == pytest.approx(every, abs=5e-3)
