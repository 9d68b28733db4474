# SPDX-License-Identifier: Apache-2.0
"""Measurements: quantization, spectra, delays and repeatability by seed."""

from itertools import pairwise

import numpy as np
import pytest

from robot_dynamics.common.errors import ModelError
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.simulation import Sensors, encoder_resolution
from robot_dynamics.simulation.sensors import Sensing

MODEL = planar_2r()
H = 1e-3
T = np.arange(40_000) * H
# A slow motion: accelerations of at most 2 rad/s^2.
Q = np.stack([np.sin(T), 0.5 * np.cos(2 * T)], axis=-1)[:, None]
QD = np.stack([np.cos(T), -np.sin(2 * T)], axis=-1)[:, None]
EFFORT = np.stack([20 * np.cos(T), 3 * np.sin(3 * T)], axis=-1)[:, None]


def read(sensors, q=Q, qd=QD, effort=EFFORT, seeds=(0,)):
    q, qd, effort = (np.repeat(x, len(seeds), axis=1) for x in (q, qd, effort))
    return Sensing(MODEL, sensors, H, seeds).read(q, qd, effort)


def errors(sensors, seeds=(0,)):
    measured = read(sensors, seeds=seeds)
    return [m - x for m, x in zip(measured, (Q, QD, EFFORT), strict=True)]


def autocorrelation(x, lag):
    return (x[lag:] * x[:-lag]).mean(axis=0) / (x * x).mean(axis=0)


def test_sensors_without_errors_return_the_same_bits():
    for measured, true in zip(read(Sensors()), (Q, QD, EFFORT), strict=True):
        assert np.array_equal(measured, true)


def test_positions_are_multiples_of_the_resolution_within_half_a_step():
    step = encoder_resolution([10, 14])
    q = read(Sensors(position_resolution=step)).q
    assert q / step == pytest.approx(np.rint(q / step), abs=1e-9)
    assert np.abs(q - Q).max(axis=(0, 1)) == pytest.approx(step / 2, rel=0.02)
    # The error of rounding is uniform.
    assert (q - Q).std(axis=(0, 1)) == pytest.approx(step / np.sqrt(12), rel=0.02)


def test_an_encoder_of_n_bits_has_2_to_the_n_steps_per_turn():
    assert 2**14 * encoder_resolution(14) == pytest.approx(2 * np.pi)


@pytest.mark.parametrize('kind', ['position', 'velocity', 'effort'])
def test_noise_is_white_and_of_the_variance_that_was_set(kind):
    sigma = [0.1, 0.9]
    error = errors(Sensors(**{f'{kind}_noise': sigma}))[
        ['position', 'velocity', 'effort'].index(kind)
    ]
    assert error.std(axis=(0, 1)) == pytest.approx(sigma, rel=0.02)
    assert (np.abs(error.mean(axis=(0, 1))) < 5 * np.array(sigma) / np.sqrt(len(T))).all()
    assert np.abs(autocorrelation(error[:, 0], 1)) == pytest.approx([0, 0], abs=0.02)
    # The joints are independent.
    assert abs(np.corrcoef(error[:, 0].T)[0, 1]) < 0.02


def test_noise_of_a_bandwidth_has_its_variance_and_correlation():
    sensors = Sensors(effort_noise=0.3, effort_bandwidth=[10.0, 100.0])
    error = np.concatenate([errors(sensors, [seed])[2][:, 0] for seed in range(3)])
    assert error.std(axis=0) == pytest.approx([0.3, 0.3], rel=0.05)
    # exp(-2 pi f_c lag h)
    for lag in (1, 3):
        expected = np.exp(-2 * np.pi * np.array([10.0, 100.0]) * lag * H)
        assert autocorrelation(error, lag) == pytest.approx(expected, abs=0.02)


def test_noise_of_a_bandwidth_is_stationary_from_the_first_sample_on():
    still, arms = np.zeros((6, 1, 2)), range(2000)
    noise = read(Sensors(effort_noise=1.0, effort_bandwidth=1.0), *[still] * 3, arms).effort
    # The standard deviation of 4000 numbers has a standard error of 1.1 %.
    assert noise.std(axis=(1, 2)) == pytest.approx(np.ones(6), rel=0.05)


def test_the_offset_is_added_to_the_effort():
    error = errors(Sensors(effort_offset=[-0.5, 0.25]))[2]
    assert error == pytest.approx(np.broadcast_to([-0.5, 0.25], error.shape), abs=1e-12)


def test_differentiated_velocities_are_the_quotients_of_measured_positions():
    measured = read(Sensors(position_resolution=1e-3, velocity='differentiated'))
    assert measured.qd[1:] == pytest.approx(np.diff(measured.q, axis=0) / H, abs=1e-9)
    # So they are multiples of the resolution per period.
    assert measured.qd[1:] == pytest.approx(np.rint(measured.qd[1:]), abs=1e-9)


def test_the_low_pass_of_velocities_is_of_first_order():
    sensors = Sensors(velocity_cutoff=[5.0, 20.0])
    step = np.ones_like(Q[:200])
    step[0] = 0.0
    qd = read(sensors, np.zeros_like(step), step, np.zeros_like(step)).qd[:, 0]
    # 1 - exp(-2 pi f_c k h) after k samples
    k = np.arange(200)[:, None]
    assert qd == pytest.approx(1 - np.exp(-2 * np.pi * np.array([5.0, 20.0]) * k * H), abs=1e-12)


@pytest.mark.parametrize('latency', [0.003, 0.0045, 0.0])
@pytest.mark.parametrize('effort_delay', [0.0, 0.0004, 0.002])
def test_values_are_older_than_their_stamp_by_the_latency(latency, effort_delay):
    k = 3000
    sensors = Sensors(latency=latency, effort_delay=effort_delay)
    q, qd, effort = read(sensors, Q[:k], QD[:k], EFFORT[:k])
    late = T[:k] - latency
    settled = slice(20, None)
    # Linear interpolation errs by h^2 / 8 of the second derivative.
    expected = np.stack([np.sin(late), 0.5 * np.cos(2 * late)], axis=-1)
    assert q[settled, 0] == pytest.approx(expected[settled], abs=H**2 / 4)
    expected = np.stack([np.cos(late), -np.sin(2 * late)], axis=-1)
    assert qd[settled, 0] == pytest.approx(expected[settled], abs=H**2)
    late = late - effort_delay
    expected = np.stack([20 * np.cos(late), 3 * np.sin(3 * late)], axis=-1)
    assert effort[settled, 0] == pytest.approx(expected[settled], abs=30 * H**2)


@pytest.mark.parametrize('j', [0, 1])
@pytest.mark.parametrize(
    ('name', 'value', 'none'),
    [
        ('position_resolution', 0.01, 0.0),
        ('position_noise', 0.1, 0.0),
        ('velocity_noise', 0.1, 0.0),
        ('velocity_cutoff', 5.0, np.inf),
        ('effort_noise', 1.0, 0.0),
        ('effort_offset', -0.5, 0.0),
        ('effort_bandwidth', 5.0, np.inf),
    ],
)
def test_an_error_of_one_joint_is_that_of_its_setting_and_leaves_the_other(name, value, none, j):
    noise = {'effort_noise': 1.0} if name == 'effort_bandwidth' else {}
    of_one = np.where(np.arange(2) == j, value, none)
    sensors = Sensors(**{name: of_one}, **noise)
    assert not Sensing(MODEL, sensors, H).exact
    one, both = read(sensors), read(Sensors(**{name: value}, **noise))
    for x, y, true in zip(one, both, (Q, QD, EFFORT), strict=True):
        assert np.array_equal(x[..., j], y[..., j])
        assert noise or np.array_equal(x[..., 1 - j], true[..., 1 - j])


def test_jitter_is_uniform_and_equal_for_all_values_of_a_sample():
    ramp = np.repeat(T[:, None, None], 2, axis=2)
    q, qd, effort = read(Sensors(latency=2e-3, jitter=3e-3), ramp, ramp, ramp)
    assert np.array_equal(q, qd)
    assert np.array_equal(q, effort)
    age = (ramp - q)[10:]
    assert age.min() == pytest.approx(2e-3, abs=1e-5)
    assert age.max() == pytest.approx(5e-3, abs=1e-5)
    assert age.std() == pytest.approx(3e-3 / np.sqrt(12), rel=0.02)


def test_values_before_the_first_sample_are_those_of_the_start():
    assert np.array_equal(read(Sensors(latency=0.01)).q[:10], np.repeat(Q[:1], 10, axis=0))


EVERYTHING = Sensors(
    position_resolution=encoder_resolution(16),
    position_noise=1e-4,
    velocity='differentiated',
    velocity_cutoff=30.0,
    effort_noise=0.2,
    effort_bandwidth=15.0,
    effort_offset=0.1,
    effort_delay=5e-4,
    latency=1.2e-3,
    jitter=4e-4,
)


@pytest.mark.parametrize(
    'sensors', [EVERYTHING, Sensors(position_noise=1e-3, velocity_noise=0.1, effort_noise=1.0)]
)
def test_the_same_seed_gives_the_same_bits_for_any_number_of_samples_per_call(sensors):
    path = [np.repeat(x[:600], 2, axis=1) for x in (Q, QD, EFFORT)]
    whole = Sensing(MODEL, sensors, H, [3, 4]).read(*path)
    sensing = Sensing(MODEL, sensors, H, [3, 4])
    cuts = [0, 1, 2, 5, 300, 301, 600]
    for _ in range(2):
        parts = [sensing.read(*(x[begin:end] for x in path)) for begin, end in pairwise(cuts)]
        for whole_kind, part_kind in zip(whole, zip(*parts, strict=True), strict=True):
            assert np.array_equal(whole_kind, np.concatenate(part_kind))
        sensing.reset()
    one = sensing.read(*(x[0] for x in path))
    assert np.array_equal(one.effort, whole.effort[0])


def test_an_arm_has_the_same_errors_alone_and_in_a_batch():
    among = read(EVERYTHING, seeds=[7, 8, 9])
    alone = read(EVERYTHING, seeds=[8])
    for a, b in zip(among, alone, strict=True):
        assert np.array_equal(a[:, 1], b[:, 0])
        assert not np.array_equal(a[:, 0], b[:, 0])


@pytest.mark.parametrize(
    ('sensors', 'message'),
    [
        (Sensors(position_noise=-1.0), 'position_noise is -1.0; it must not be negative'),
        (Sensors(effort_noise=[1.0]), r'effort_noise has shape \(1,\)'),
        (Sensors(velocity='none'), "velocity is 'none'; it must be one of measured, diff"),
        (Sensors(latency=-1e-3), 'latency is -0.001 s; it must be finite and not negative'),
        (Sensors(jitter=np.nan), 'jitter is nan s'),
        (Sensors(velocity_cutoff=0.0), 'velocity_cutoff is 0.0; it must be positive'),
        (Sensors(effort_offset=np.inf), 'effort_offset is .*inf.*; it must be finite'),
    ],
)
def test_invalid_settings_are_rejected(sensors, message):
    with pytest.raises(ModelError, match=message):
        Sensing(MODEL, sensors, H)
