# SPDX-License-Identifier: Apache-2.0
"""Recordings of simulated arms: consistency, noise, tracking and repeatability."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics import Dynamics
from robot_dynamics.common.errors import ModelError, ShapeError
from robot_dynamics.common.resources import share_file
from robot_dynamics.control import Gains, Reference
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.recordings import Recording
from robot_dynamics.simulation import (
    Actuators,
    FrictionSettings,
    HardwareProfile,
    Sensors,
    encoder_resolution,
    load_profile,
    record_motion,
    record_servo,
    record_tracking,
)
from robot_dynamics.urdf.loading import load_urdf

MODEL = planar_2r().with_actuation(viscous=[0.5, 0.2], coulomb=[1.0, 0.3])
ARM = Dynamics(MODEL)
RATE = 1000.0
REAL = HardwareProfile(
    Sensors(
        position_resolution=encoder_resolution(18),
        velocity='differentiated',
        velocity_cutoff=80.0,
        effort_noise=0.1,
        effort_bandwidth=30.0,
        latency=1e-3,
        jitter=3e-4,
    ),
    Actuators(bandwidth=80.0, gain=[1.03, 0.97], ripple=0.05, ripple_periods=20.0),
    FrictionSettings('load_memory', load=0.02),
)


def fourier(n, duration, amplitude=0.4, centre=0.0, seed=0):
    """Return a periodic motion (k, n) of ten seconds, sampled at RATE."""
    t = np.arange(round(duration * RATE))[:, None] / RATE
    rng = np.random.default_rng(seed)
    w = 2 * np.pi * 0.1 * np.arange(1, 5)[:, None]
    a, b = amplitude * rng.uniform(-1, 1, (2, 4, n)) / np.arange(1, 5)[:, None]
    s, c = np.sin(t * w.T), np.cos(t * w.T)
    return Reference(
        centre + s @ a + c @ b, c @ (w * a) - s @ (w * b), -s @ (w * w * a) - c @ (w * w * b)
    )


def rms(x):
    return np.sqrt((x * x).mean(axis=0))


def test_an_exact_motion_without_errors_satisfies_the_equation_of_motion():
    motion = fourier(2, 5.0)
    (one,) = record_motion(ARM, motion, HardwareProfile())
    for measured, true in zip(one[1:3], motion, strict=False):
        assert np.array_equal(measured, true)
    expected = ARM.inverse_dynamics(*motion) + ARM.friction_torque(motion.qd)
    assert one.effort == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert one.t == pytest.approx(np.arange(5000) / RATE)


def test_the_reported_effort_differs_from_the_torque_by_gain_and_ripple():
    motion = fourier(2, 5.0)
    drives = HardwareProfile(drives=REAL.drives)
    (one,) = record_motion(ARM, motion, drives)
    reported = [1.03, 0.97] * one.effort + 0.05 * np.sin(20.0 * motion.q)
    assert reported == pytest.approx(one.torque, abs=1e-12)


@pytest.mark.parametrize('law', ['coulomb', 'load', 'stribeck', 'coulomb_memory', 'load_memory'])
def test_a_tracked_motion_satisfies_the_equation_of_motion(law):
    motion = fourier(2, 6.0)
    profile = HardwareProfile(friction=FrictionSettings(law))
    (one,) = record_tracking(ARM, motion, profile)
    # The efforts of a sample are those of the period before it.
    qdd = np.diff(one.true_qd, axis=0) * RATE
    q, qd = ((x[1:] + x[:-1]) / 2 for x in (one.true_q, one.true_qd))
    rigid = ARM.inverse_dynamics(q, qd, qdd)
    residual = np.abs((one.torque - one.friction)[1:] - rigid)
    # The friction is that of the last of the steps of a sample.
    assert (np.median(residual, axis=0) < 1e-3 * rms(rigid)).all()
    assert np.abs(one.true_q - motion.q).max() < 5e-3


def test_a_tracked_motion_follows_better_with_the_right_model():
    motion = fourier(2, 4.0)
    wrong = Dynamics(HardwareProfile(model_error=(0.1, 0.1)).actual(MODEL, 0))
    errors = [
        rms(record_tracking(ARM, motion, HardwareProfile(), controller=model)[0].q - motion.q)
        for model in (ARM, wrong)
    ]
    assert np.linalg.norm(errors[0]) < 0.05 * np.linalg.norm(errors[1])


@pytest.mark.parametrize('record', [record_motion, record_tracking])
def test_a_seed_gives_the_same_bits_alone_and_in_a_batch(record):
    motion = fourier(2, 0.5)
    several = record(ARM, motion, REAL, seeds=[5, 6, 7])
    (alone,) = record(ARM, motion, REAL, seeds=[6])
    for a, b in zip(several[1], alone, strict=True):
        assert np.array_equal(a, b)
    assert not np.array_equal(several[0].effort, alone.effort)


def test_the_lag_of_the_drives_delays_a_tracked_motion():
    motion = fourier(2, 4.0)
    slow = HardwareProfile(drives=Actuators(bandwidth=20.0))
    exact, late = (record_tracking(ARM, motion, p)[0] for p in (HardwareProfile(), slow))
    assert (rms(late.true_q - motion.q) > 3 * rms(exact.true_q - motion.q)).all()
    # A first-order lag delays a slow torque by 1 / (2 pi f_c), 8 ms.
    shifted = [rms(late.effort[k:] - exact.effort[: len(exact.effort) - k])[0] for k in range(20)]
    assert 4 <= int(np.argmin(shifted)) <= 10


@pytest.mark.parametrize('record', [record_motion, record_tracking])
def test_residuals_of_the_panda_profile_are_those_of_a_real_arm(record):
    profile = load_profile(share_file('config/realistic_panda.yaml'))
    nominal = load_urdf(share_file('urdf/panda.urdf'))
    arm = Dynamics(profile.actual(nominal, 0))
    posture = np.array([0.0, -0.4, 0.0, -1.8, 0.0, 1.9, 0.0])
    motion = fourier(7, 10.0, 0.2, posture, seed=3)
    (one,) = record(arm, motion, profile)
    residual = (one.effort - profile.sensors.effort_offset) * profile.drives.gain - one.torque
    assert rms(residual) == pytest.approx([0.14, 0.18, 0.12, 0.15, 0.07, 0.04, 0.04], rel=0.15)


@pytest.mark.parametrize(
    'motion',
    [
        Reference(np.zeros((5, 3)), np.zeros((5, 3)), np.zeros((5, 3))),
        Reference(np.zeros((5, 2)), np.zeros((4, 2)), np.zeros((5, 2))),
        Reference(np.zeros(2), np.zeros(2), np.zeros(2)),
    ],
)
@pytest.mark.parametrize('record', [record_motion, record_tracking])
def test_a_motion_of_the_wrong_shape_is_rejected(record, motion):
    with pytest.raises(ShapeError, match=r'it must be \(k, 2\)'):
        record(ARM, motion, HardwareProfile())


@pytest.mark.parametrize('record', [record_motion, record_tracking])
def test_the_opposite_motion_has_the_opposite_recording(record):
    """Of an arm without gravity, whose drives lose torque at the speed of the motion."""
    arm = Dynamics(MODEL.with_gravity((0.0, 0.0, 0.0)))
    drives = Actuators(bandwidth=80.0, gain=[1.03, 0.97], ripple=0.05, ripple_periods=20.0)
    sensors = Sensors(velocity='differentiated', velocity_cutoff=80.0)
    quiet = HardwareProfile(sensors, drives, FrictionSettings('load_memory', load=0.02))
    motion = fourier(2, 2.0)
    weak = replace(quiet, drives=replace(drives, velocity_limit=np.abs(motion.qd).max() / 2))
    (one,), (other,) = (
        record(arm, Reference(*(side * x for x in motion)), weak) for side in (1.0, -1.0)
    )
    for x, y in zip(one[1:], other[1:], strict=True):
        assert y == pytest.approx(-x, abs=1e-9 * np.abs(x).max())
    if record is record_tracking:
        (strong,) = record(arm, motion, quiet)
        assert np.abs(strong.effort - one.effort).max() > 0.1 * np.abs(strong.effort).max()


@pytest.mark.parametrize(
    ('name', 'noisy'), [('position_noise', 'q'), ('velocity_noise', 'qd'), ('effort_noise', '')]
)
def test_the_feedback_is_of_the_measured_state(name, noisy):
    gains = Gains(np.array([100.0, 50.0]), np.array([10.0, 5.0]))
    motion = fourier(2, 1.0)
    still, shaken = (
        record_tracking(ARM, motion, HardwareProfile(Sensors(**{name: size})), gains=gains)[0]
        for size in (0.0, 1e-3)
    )
    # Noise of white sensors reaches the torque of the next sample by its gain.
    reached = (shaken.torque - still.torque)[1:].std(axis=0)
    expected = {'q': 1e-3 * gains.kp, 'qd': 1e-3 * gains.kd}.get(noisy, np.zeros(2))
    assert reached == pytest.approx(expected, rel=0.15)


def test_no_substeps_are_rejected():
    with pytest.raises(ValueError, match='substeps is 0'):
        record_tracking(ARM, fourier(2, 0.1), HardwareProfile(), substeps=0)


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_the_environment_pushes_the_arm_and_a_payload_is_grasped(sign):
    arm = Dynamics(planar_2r())
    motion = Reference(*(np.zeros((4000, 2)) for _ in range(3)))
    push = sign * np.array([1.0, 2.0])
    pushed = np.zeros((4000, 2, 2))
    pushed[:, 1] = push
    free, held = record_tracking(arm, motion, HardwareProfile(), seeds=(0, 1), external=pushed)
    loaded = arm.with_payload(arm.model.moving_links[-1], 2.0, [0.1, 0.0, 0.0])
    (grasped,) = record_tracking(arm, motion, HardwareProfile(), grasp=(200, loaded))
    np.testing.assert_array_equal(grasped.q[:200], free.q[:200])
    # At rest the drives hold the weight, less what the environment exerts.
    for one, robot, external in ((free, arm, 0.0), (held, arm, push), (grasped, loaded, 0.0)):
        weight = robot.gravity_torque(one.true_q[-1])
        assert np.abs(one.effort[-1] + external - weight).max() < 5e-3 * np.abs(weight).max()


def test_external_torques_of_another_shape_are_rejected():
    motion = Reference(*(np.zeros((10, ARM.model.n)) for _ in range(3)))
    with pytest.raises(ShapeError, match='external'):
        record_tracking(ARM, motion, HardwareProfile(), external=np.zeros((9, ARM.model.n)))


def test_a_servo_recording_has_commands_and_positions_of_the_encoder():
    hobby = load_profile(share_file('config/hobby_servo.yaml'))
    arm = Dynamics(planar_2r())
    commands = np.zeros((100, 2))
    commands[25:, 1] = 0.2
    with pytest.raises(ModelError, match='torque_limit has shape'):
        record_servo(arm, commands, replace(hobby, servo=replace(hobby.servo, torque_limit=[1.0])))
    servo = replace(hobby.servo, kp=[900.0, 400.0], kd=[40.0, 15.0], torque_limit=200.0)
    one, two = record_servo(arm, commands, replace(hobby, servo=servo), seeds=[0, 1])
    assert one.t[:3] == pytest.approx([0.0, 0.02, 0.04])
    assert np.array_equal(one.q, two.q)  # an encoder without noise
    step = 1.534e-3
    assert np.abs(one.q - one.true_q).max() <= step / 2 + 1e-12
    assert np.array_equal(one.q, step * np.round(one.q / step))
    # kp (u - q) = g(q) at the end, within friction
    loaded = arm.gravity_torque(one.true_q[-1])
    assert np.abs(servo.kp * (commands[-1] - one.true_q[-1]) - loaded).max() < 0.1 * 1.01
    recording = Recording(arm.model.joint_names, one.t, one.q, None, None, command=one.command)
    assert np.array_equal(recording.command, commands)
    expected = commands.copy()
    commands[:] = 9.0
    assert np.array_equal(one.command, expected)


def test_a_servo_recording_needs_a_servo_and_whole_steps():
    hobby = load_profile(share_file('config/hobby_servo.yaml'))
    still = np.zeros((3, 2))
    for profile, commands, more, error, why in (
        (REAL, still, {}, ModelError, 'the profile has no servo'),
        (hobby, still[:, :1], {}, ShapeError, r'commands has shape \(3, 1\)'),
        (hobby, still, {'rate': 0.0}, ValueError, 'rate is 0 Hz'),
        (hobby, still, {'rate': np.nan}, ValueError, 'rate is nan Hz'),
        (hobby, still, {'rate': 30.0}, ValueError, 'rate is 30 Hz with a time_step of 0.001 s'),
    ):
        with pytest.raises(error, match=why):
            record_servo(ARM, commands, profile, **more)
