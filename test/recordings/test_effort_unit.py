# SPDX-License-Identifier: Apache-2.0
"""The unit of efforts: by word and unit of a header, by option; currents are no torques."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.evaluation import evaluate
from robot_dynamics.identification import estimate_payload
from robot_dynamics.recordings import BagError, Recording, RecordingError, read_recording
from robot_dynamics.recordings.effort_unit import UNSTATED
from robot_dynamics.recordings.recording import scale_of, stated

ARM = Dynamics(planar_2r())
NAMES = ARM.model.joint_names
T = np.arange(600) / 100
Q = np.sin(np.outer(T, [3.0, 4.0]))
ONE = Recording(NAMES, T, Q, np.cos(np.outer(T, [3.0, 4.0])) * [3.0, 4.0], 1.0 + Q)


def read(tmp_path, *efforts, columns=()):
    file = tmp_path / 'run.csv'
    head = ['t', *(f'q_{name}' for name in NAMES), *efforts]
    rows = np.column_stack([T, Q, *[1.0 + Q[:, :1]] * len(efforts)])
    np.savetxt(file, rows, delimiter=';', header=';'.join(head), comments='')
    return read_recording(file, columns=columns).recording(NAMES)


@pytest.mark.parametrize(
    ('first', 'second', 'unit'),
    [
        ('tau_{}', 'tau_{}', 'torque'),
        ('{} torque', '{} torque', 'torque'),
        ('effort_{} [N m]', 'effort_{} [Nm]', 'torque'),
        ('{} current', '{} current', 'current'),
        ('Current_{} [A]', 'Current_{} [A]', 'current'),
        ('effort_{} [A]', 'effort_{}', 'current'),
        ('effort_{}', 'effort_{}', 'unknown'),
        ('effort_{} []', '{}/effort', 'unknown'),
    ],
)
def test_the_unit_is_that_of_word_or_bracket(tmp_path, first, second, unit):
    efforts = first.format(NAMES[0]), second.format(NAMES[1])
    assert read(tmp_path, *efforts).effort_unit == unit


def test_columns_state_the_unit_as_a_header_does(tmp_path):
    columns = ['time', 'q', 'current']
    assert read(tmp_path, 'a', 'b', columns=columns).effort_unit == 'current'


def test_the_unit_of_a_joint_that_is_not_used_does_not_count(tmp_path):
    efforts = [f'tau_{name}' for name in NAMES]
    assert read(tmp_path, *efforts, 'gripper current').effort_unit == 'torque'


@pytest.mark.parametrize(
    ('first', 'second', 'reason'),
    [
        ('tau_{}', '{} current', 'effort of .* is a torque, effort of .* a current; expected one'),
        ('tau_{} [A]', 'tau_{}', r'column tau_.* \[A\]: tau is a torque, \[a\] a current; expect'),
        ('{} current [Nm]', '{} current', r'\[nm\] is a torque, current a current; expected one'),
        ('effort_{} [mA]', 'effort_{}', r'\[mA\]: unit ma; expected N m, N or A'),
        ('effort_{} [rad]', 'effort_{}', 'unit rad; expected N m, N or A'),
    ],
)
def test_units_that_contradict_each_other_are_rejected(tmp_path, first, second, reason):
    with pytest.raises(BagError, match=f'run.csv.*{reason}'):
        read(tmp_path, first.format(NAMES[0]), second.format(NAMES[1]))


def test_an_option_states_what_a_file_does_not():
    assert stated(ONE, 'torques', False).effort_unit == 'torque'
    assert stated(ONE, 'currents', False).effort_unit == 'current'
    assert stated(ONE, None, True) is ONE
    remarked = stated(stated(ONE, None, False), None, False)
    assert (remarked.notes, remarked.effort_unit) == ((UNSTATED,), 'unknown')
    currents = replace(ONE, effort_unit='current')
    with pytest.raises(RecordingError, match='currents by the header of the file, and torques by'):
        stated(currents, 'torques', False)
    assert stated(currents, 'torques', True) is currents
    with pytest.raises(RecordingError, match="effort_unit is 'A'; expected torque, current, unk"):
        replace(ONE, effort_unit='A')


@pytest.mark.parametrize(
    'answer',
    [
        lambda one, **scale: evaluate(ARM, one, **scale).rms_effort,
        lambda one, **scale: estimate_payload(ARM, one, 'link2', **scale).mass,
    ],
)
def test_currents_need_a_scale_and_are_torques_with_one(answer):
    tau = ARM.inverse_dynamics(Q, ONE.qd, -Q * [9.0, 16.0])
    torques = replace(ONE, effort=tau, effort_unit='torque')
    currents = replace(ONE, effort=tau / 4.0, effort_unit='current')
    with pytest.raises(RecordingError, match=f'{NAMES[0]}, {NAMES[1]} are currents of unknown'):
        answer(currents)
    np.testing.assert_array_equal(answer(currents, effort_scale=4.0), answer(torques))
    np.testing.assert_array_equal(answer(replace(torques, effort_unit='unknown')), answer(torques))


def test_a_scale_of_one_may_be_stated():
    assert scale_of(ARM.model, None).tolist() == [1.0, 1.0]
    assert scale_of(ARM.model, 1.0, 'current').tolist() == [1.0, 1.0]
