# SPDX-License-Identifier: Apache-2.0
"""Servos identified from commands and positions of simulated arms, and what cannot be."""

import functools
from dataclasses import replace

import numpy as np
import pytest
import servo_arms
from servo_arms import commands, drawn_servos, positions, recording, table_arm

from robot_dynamics.identification.estimation.excitation_check import RefusedError
from robot_dynamics.identification.servo.servo_identification import identify_servo
from robot_dynamics.recordings.recording import RecordingError

TORQUE_OF = {'lag': 'D', 'armature': 'A', 'coulomb': 'fc', 'limit': 'tmax'}


@functools.cache
def recorded(kind='mix', joints=2, seconds=18.0, seed=3, presliding=1e-5):
    """Return the servos of an arm and a recording."""
    servos = drawn_servos(joints, seed)
    t, u = commands(getattr(servo_arms, kind), joints, seconds, seed)
    return servos, recording(t, u, positions(servos, t, u, presliding=presliding))


def ratio(servos, name):
    """Return the true ratio (n,) of a name of `ServoIdentification.ratios`."""
    return servos[TORQUE_OF[name]] / servos['kp']


@functools.cache
def identified():
    return identify_servo(table_arm(2), [recorded()[1]])


def test_ratios_delay_and_kp_where_gravity_shows_it():
    servos, found = recorded()[0], identified()
    for name, allowed in (('lag', 0.01), ('coulomb', 0.03), ('armature', 0.04)):
        assert found.ratios[name] == pytest.approx(ratio(servos, name), rel=allowed)
    assert found.delay == pytest.approx(servos['delay'], abs=1e-3)
    # pan turns about gravity, lift carries the arm
    assert found.scale[0].startswith('torque scale not identifiable: no gravity on this joint')
    assert found.scale[1] == 'gravity'
    assert np.isnan(found.absolute['stiffness'][0])
    assert np.isnan(found.absolute['damping'][0])
    assert found.absolute['stiffness'][1] == pytest.approx(servos['kp'][1], rel=0.01)
    # A description's masses may be wrong by 10 %.
    assert found.absolute_errors['stiffness'][1] > 0.099 * servos['kp'][1]
    assert not found.refused
    assert not found.worse


def test_validation_predicts_motion_that_was_not_fitted_to_the_encoder():
    v = identified().validation
    assert v.source == 'last third'
    assert (v.after_rms < 0.6 * servo_arms.ENCODER).all()
    assert (v.before_rms > 10 * servo_arms.ENCODER).all()
    assert (v.explained > 0.999).all()
    assert not (v.described_rms < v.after_rms).any()


def test_known_stiffness_gives_torques_of_every_joint():
    servos, one = recorded()
    found = identify_servo(table_arm(2), [one], kp=servos['kp'])
    assert found.scale == ('given', 'given')
    assert found.absolute['stiffness'].tolist() == servos['kp'].tolist()
    assert found.absolute['damping'] == pytest.approx(servos['D'], rel=0.01)
    assert found.absolute['armature'] == pytest.approx(servos['A'], rel=0.04)


def test_given_stiffness_that_gravity_contradicts_is_named():
    servos, one = recorded()
    for kp, wrong in ((servos['kp'], False), (1.6 * servos['kp'], True), (80.0, True)):
        notes = identify_servo(table_arm(2), [one], kp=kp).notes
        assert any(n.startswith('lift: kp is given as') for n in notes) == wrong
        assert not any(n.startswith('pan: kp is given as') for n in notes)


def test_saturation_is_found_and_without_it_a_bound_is_given():
    servos, one = recorded('steps')
    far, limit = np.abs(one.command - one.q).max(axis=0), ratio(servos, 'limit')
    assert far[0] < limit[0]  # pan stays just below its limit,
    assert far[1] > 1.5 * limit[1]  # and lift does not
    found = identify_servo(table_arm(2), [one])
    assert np.isnan(found.ratios['limit'][0])
    assert 0.9 * limit[0] < found.bounds[0] < limit[0]
    assert found.ratios['limit'][1] == pytest.approx(limit[1], rel=0.01)
    assert np.isnan(found.bounds[1])


@pytest.mark.slow
def test_error_of_an_encoders_zero_is_found_where_gravity_shows_it():
    servos, one = recorded()
    moved = replace(one, q=one.q - 0.1, command=one.command - 0.1)
    fixed = identify_servo(table_arm(2), [moved])
    found = identify_servo(table_arm(2), [moved], zero='fit')
    assert found.zero[1] == pytest.approx(0.1, abs=0.01)
    assert abs(found.zero[1] - 0.1) < 3 * found.errors['zero'][1] < 0.05
    assert found.absolute['stiffness'][1] == pytest.approx(servos['kp'][1], rel=0.02)
    off = abs(fixed.absolute['stiffness'] - servos['kp'])[1]
    assert off > 3 * abs(found.absolute['stiffness'] - servos['kp'])[1]


def test_zero_that_is_not_plausible_is_not_fitted():
    # Off by 0.6 rad, such as of another description: a fit would agree with that, and with more.
    _, one = recorded()
    moved = replace(one, q=one.q - 0.6, command=one.command - 0.6)
    found = identify_servo(table_arm(2), [moved], zero='fit')
    assert found.zero.tolist() == [0.0, 0.0]
    assert any(n.startswith('lift: the zero of its encoder is not identif') for n in found.notes)


@pytest.mark.slow
def test_several_recordings_that_differ_have_larger_errors():
    servos, one = recorded()
    slower = {**servos, 'D': 1.1 * servos['D']}
    other = recording(one.t, one.command, positions(slower, one.t, one.command))
    same = identify_servo(table_arm(2), [one, one])
    found = identify_servo(table_arm(2), [one, other])
    assert (found.errors['lag'] > 0.03 * found.ratios['lag']).all()
    assert (found.errors['lag'] > 5 * same.errors['lag']).all()


def test_commanded_velocities_split_damping():
    joints, seed = 1, 5
    servos = drawn_servos(joints, seed)
    t, u = commands(servo_arms.mix, joints, 18.0, seed)
    # An independent signal: a gain on the rate of the command acts much as an earlier command.
    qd = np.random.default_rng(1).normal(size=len(t)).cumsum()[:, None] * 0.1
    kd = 0.25 * servos['D']
    q = positions(servos, t, u + kd / servos['kp'] * qd)
    one = replace(recording(t, u, q), command_qd=qd)
    found = identify_servo(table_arm(1), [one])
    assert found.ratios['velocity_gain'] == pytest.approx(kd / servos['kp'], rel=0.03)
    assert found.ratios['lag'] == pytest.approx(ratio(servos, 'lag'), rel=0.02)
    known = identify_servo(table_arm(1), [one], kp=servos['kp'], kd=kd)
    assert known.absolute['velocity_gain'] == pytest.approx(kd, rel=1e-9)
    assert known.absolute['damping'] == pytest.approx(servos['D'], rel=0.02)


def test_feedforward_torque_shows_the_scale_without_gravity():
    joints, seed = 1, 6
    servos = drawn_servos(joints, seed)
    t, u = commands(servo_arms.chirp, joints, 15.0, seed)
    torque = 0.5 * np.sin(1.7 * t)[:, None]
    q = positions(servos, t, u + torque / servos['kp'])
    found = identify_servo(table_arm(1), [replace(recording(t, u, q), feedforward=torque)])
    assert found.scale == ('gravity',)
    assert found.absolute['stiffness'] == pytest.approx(servos['kp'], rel=0.02)


# -- what cannot be ---------------------------------------------------------------------------


def altered(**columns):
    one = recorded()[1]
    return replace(one, **{name: change(getattr(one, name)) for name, change in columns.items()})


def of_joint(j, make):
    """Return a change of column j."""

    def change(x):
        x = x.copy()
        x[:, j] = make(x[:, j])
        return x

    return change


def test_commands_that_are_the_measured_positions_are_refused():
    one = recorded()[1]
    with pytest.raises(RefusedError, match='pan: the command equals the measured position'):
        identify_servo(table_arm(2), [replace(one, command=one.q)])


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (lambda u: 5 * u, r'lift: its position varies by 0.2\d* times as much as its command'),
        (lambda u: u + 2 * np.pi, 'lift: its command is 6.2. from its position'),
        (np.negative, r'lift: its position does not follow its command \(correlation'),
        (lambda u: np.roll(u, 300), 'lift: its position does not follow its command'),
    ],
)
def test_commands_of_something_else_are_refused(change, message):
    with pytest.raises(RefusedError, match=message):
        identify_servo(table_arm(2), [altered(command=of_joint(1, change))])


def test_joint_that_is_not_commanded_is_named_and_the_others_are_identified():
    # Held by its command, it is moved by the others or by hand.
    found = identify_servo(table_arm(2), [altered(command=of_joint(1, lambda u: 0 * u + 0.2))])
    assert found.refused['lift'].startswith('its command varies by 0 and its position by')
    assert np.isnan(found.ratios['lag'][1])
    assert found.ratios['lag'][0] == pytest.approx(ratio(recorded()[0], 'lag')[0], rel=0.02)


def test_driver_that_returns_its_commands_is_refused():
    late = recorded()[1].command[np.r_[0, : len(recorded()[1].t) - 1]]
    with pytest.raises(RefusedError, match='pan: the position is the command of 1 sample before'):
        identify_servo(table_arm(2), [altered(q=lambda _: late)])


def test_recording_in_degrees_or_of_another_robot_is_rejected():
    with pytest.raises(RecordingError, match=r'pan .* are the positions in degrees\?'):
        identify_servo(table_arm(2), [altered(q=np.degrees, command=np.degrees)])
    with pytest.raises(RecordingError, match='the recording is of pan, lift, the model of pan'):
        identify_servo(table_arm(4), [recorded()[1]])


def test_commands_between_sparse_samples_are_part_of_the_errors():
    servos, one = recorded()
    few = one.samples(np.arange(len(one.t)) % 5 == 0)
    found = identify_servo(table_arm(2), [few])
    true = ratio(servos, 'lag') + servos['delay']
    off = np.abs(found.ratios['lag'] + found.delay - true)
    assert (off < 2 * found.errors['whole_lag']).all()
    limit = found.ratios['limit']
    known = np.isfinite(limit)
    assert (np.abs(limit - ratio(servos, 'limit')) < 2 * found.errors['limit'])[known].all()
    assert any(note.startswith('pan: samples are 100 ms apart') for note in found.notes)


def test_fitted_recording_is_no_test():
    one = recorded()[1]
    with pytest.raises(RecordingError, match='a test recording is fitted as well'):
        identify_servo(table_arm(2), [one], test=[one])


def test_prediction_worse_than_an_offset_is_no_better():
    moved = altered(command=of_joint(0, lambda x: x + 0.3))
    assert 'pan' in identify_servo(table_arm(2), [moved]).worse


def test_motion_that_follows_within_the_encoder_is_refused():
    one = recorded()[1]
    near = replace(one, command=one.q + 1e-3 * np.sign(np.sin(one.t))[:, None])
    with pytest.raises(RefusedError, match=r'record faster motion, with steps'):
        identify_servo(table_arm(2), [near])


def test_joint_that_does_not_move_is_named_and_the_others_are_identified():
    still = of_joint(0, lambda x: 0 * x)
    one = altered(q=still, command=still)
    found = identify_servo(table_arm(2), [one])
    assert list(found.refused) == ['pan']
    assert 'travels' in found.refused['pan']
    assert np.isnan(found.ratios['lag'][0])
    assert found.ratios['lag'][1] == pytest.approx(ratio(recorded()[0], 'lag')[1], rel=0.02)


def test_recording_without_commands_is_rejected():
    one = recorded()[1]
    with pytest.raises(RecordingError, match='has no commanded positions'):
        identify_servo(table_arm(2), [replace(one, command=None, effort=one.q)])


def test_stop_is_reported_and_left_out():
    servos, one = recorded()
    # At the end pan reaches a stop, far before its command.
    k = len(one.t) - 120
    command, q = one.command.copy(), one.q.copy()
    command[k:, 0] += 0.8
    q[k + 2 :, 0] = q[k + 2, 0]
    found = identify_servo(table_arm(2), [replace(one, command=command, q=q)])
    assert any(note.startswith('pan: rests far from its command for') for note in found.notes)
    assert found.ratios['lag'][0] == pytest.approx(ratio(servos, 'lag')[0], rel=0.02)
    assert found.ratios['coulomb'][0] == pytest.approx(ratio(servos, 'coulomb')[0], rel=0.05)


def test_slow_motion_with_memory_of_friction_is_doubted():
    _, one = recorded('smooth', presliding=5e-3)
    found = identify_servo(table_arm(2), [one])
    assert any('friction with memory' in note for note in found.notes)
    _, one = recorded('smooth')
    assert not any('memory' in n for n in identify_servo(table_arm(2), [one]).notes)


def test_delay_of_more_than_two_periods_is_doubted():
    late = of_joint(1, lambda x: np.concatenate([x[3:], x[-1:].repeat(3)]))
    found = identify_servo(table_arm(2), [altered(command=late)])
    assert any(n.startswith('lift: the delay of') for n in found.notes)


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'kp': -1.0}, 'kp is -1'),
        ({'kp': [np.nan, 1.0]}, 'kp is'),
        ({'kd': 1.0}, 'kd is given without kp'),
        ({'terms': ('friction',)}, 'terms has friction'),
        ({'zero': 'free'}, "zero is 'free'"),
    ],
)
def test_options_out_of_range_are_rejected(options, message):
    with pytest.raises(ValueError, match=message):
        identify_servo(table_arm(2), [recorded()[1]], **options)
