# SPDX-License-Identifier: Apache-2.0
"""Recordings by joint: any order, extra joints, and omitted samples, each counted."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from recorded_runs import START, samples

from robot_dynamics import Dynamics, parse_urdf
from robot_dynamics.evaluation import evaluate
from robot_dynamics.identification import estimate_payload, identify
from robot_dynamics.recordings.recording import (
    CONTRADICTORY,
    DRIVES_OFF,
    INCOMPLETE,
    NO_EFFORT,
    NO_VELOCITY,
    NOT_FINITE,
    OUT_OF_RANGE,
    REPEATED,
    STALE,
    UNSTAMPED,
    Recording,
    RecordingError,
    by_joint,
)

NAMES = ('a', 'b')
T = np.arange(10) * 0.01
Q = np.arange(20.0).reshape(10, 2)
EMPTY = np.zeros(0)
TWO_JOINTS = (
    '<robot name="r"><link name="base"/>'
    + ''.join(
        f'<link name="{link}"><inertial><origin xyz="0.1 0.05 0.02"/><mass value="1"/><inertia '
        'ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{link}"/>'
        '<origin xyz="0.3 0 0"/><axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="50" '
        'velocity="5"/></joint>'
        for name, parent, link in (('a', 'base', 'upper'), ('b', 'upper', 'lower'))
    )
    + '</robot>'
)


def states(**changed):
    values = {'names': NAMES, 't': T, 'q': Q, 'qd': Q + 100, 'effort': Q + 200, **changed}
    return samples(*values.values())


def replaced(k, **fields):
    result = states()
    result[k] = result[k]._replace(**fields)
    return result


def test_joints_are_mapped_by_name_and_others_ignored():
    wide = np.column_stack([Q[:, 1], 7 + Q[:, 0], Q[:, 0]])
    found = by_joint(states(names=('b', 'gripper', 'a'), q=wide, qd=wide, effort=wide), NAMES)
    for x in (found.q, found.qd, found.effort):
        assert np.array_equal(x, Q)
    assert np.allclose(found.t, T)
    assert found.joint_names == NAMES
    assert not found.left_out
    assert not found.notes


@pytest.mark.parametrize(
    ('fields', 'reason'),
    [
        ({'names': ('a', 'c')}, INCOMPLETE),
        ({'position': np.zeros(1)}, CONTRADICTORY),
        ({'velocity': np.zeros(1)}, CONTRADICTORY),
        ({'effort': np.zeros(3)}, CONTRADICTORY),
        ({'names': ('a', 'b', 'c')}, CONTRADICTORY),
        ({'effort': EMPTY}, NO_EFFORT),
        ({'velocity': EMPTY}, NO_VELOCITY),
        ({'velocity': np.array([0.0, np.nan])}, NO_VELOCITY),
        ({'position': np.array([np.inf, 0.0])}, NOT_FINITE),
        ({'position': np.array([0.0, -np.inf])}, NOT_FINITE),
        ({'effort': np.array([np.nan, 0.0])}, NOT_FINITE),
        ({'effort': np.array([0.0, -np.inf])}, NOT_FINITE),
        ({'effort': np.zeros(2)}, DRIVES_OFF),
        ({'stamp': START + 40_000_000}, REPEATED),
        ({'position': Q[4], 'velocity': Q[4] + 100, 'effort': Q[4] + 200}, STALE),
    ],
)
def test_an_unusable_sample_is_omitted_and_counted(fields, reason):
    found = by_joint(replaced(5, **fields), NAMES)
    assert found.left_out == {reason: 1}
    kept = [k for k in range(10) if k != 5]
    assert np.array_equal(found.q, Q[kept])
    assert np.array_equal(found.qd, Q[kept] + 100)
    assert np.array_equal(found.effort, Q[kept] + 200)
    assert np.allclose(found.t, T[kept])


@pytest.mark.parametrize(
    ('field', 'kind', 'value'),
    [('position', 'position', -1e30), ('velocity', 'velocity', 1e30), ('effort', 'effort', 2e9)],
)
def test_a_value_out_of_range_is_omitted_counted_and_named(field, kind, value):
    changed = getattr(states()[5], field).copy()
    changed[1] = value
    found = by_joint(replaced(5, **{field: changed}), NAMES)
    assert found.left_out == {OUT_OF_RANGE: 1}
    assert len(found.t) == 9
    (note,) = found.notes
    assert note.startswith(f'b: {kind} {value:.3g}, expected at most 1')


@pytest.mark.parametrize('qd', [None, np.full_like(Q, np.nan)])
def test_without_velocities_there_are_none(qd):
    found = by_joint(states(qd=qd), NAMES)
    assert found.qd is None
    assert np.array_equal(found.q, Q)
    assert found.notes == ('no velocities: they are derivatives of the positions',)


def test_without_header_stamps_the_time_of_recording_is_used():
    unstamped = [s._replace(stamp=0) for s in states()]
    found = by_joint(unstamped, NAMES)
    assert np.allclose(found.t, T)
    assert found.notes == ("headers without stamps: time is the recorder's",)


@pytest.mark.parametrize('k', [0, 4, 9])
def test_a_stamp_of_0_among_others_is_no_time(k):
    found = by_joint(replaced(k, stamp=0), NAMES)
    assert found.left_out == {UNSTAMPED: 1}
    assert not found.notes
    kept = np.delete(np.arange(10), k)
    assert np.array_equal(found.q, Q[kept])
    assert np.allclose(found.t, T[kept] - T[kept[0]])


@pytest.mark.parametrize('k', [0, 4, 9])
def test_one_stamp_among_zeros_is_the_only_time(k):
    unstamped = [s._replace(stamp=0) for s in states()]
    unstamped[k] = states()[k]
    found = by_joint(unstamped, NAMES)
    assert np.array_equal(found.q, Q[k : k + 1])
    assert found.left_out == {UNSTAMPED: 9}


def test_a_joint_whose_efforts_are_all_0_is_named():
    effort = Q + 200
    effort[:, 1] = 0
    assert by_joint(states(effort=effort), NAMES).notes == ('b: all efforts are 0',)


@pytest.mark.parametrize(
    ('recorded', 'message'),
    [
        ([], 'no joint states of a, b; there are none'),
        (states(names=('a', 'c')), 'no joint states of b; there are a, c: another robot, or'),
        (states(effort=np.zeros((10, 0))), 'none of 10 samples can be used: 10 without efforts'),
        (
            [s._replace(names=('a',), position=Q[0, :1], velocity=EMPTY, effort=Q[0, :1])
             for s in states()[:5]]
            + [s._replace(names=('b',), position=Q[0, :1], velocity=EMPTY, effort=Q[0, :1])
               for s in states()[5:]],
            'none of 10 samples can be used: 10 without all joints',
        ),
        (states(effort=Q * [1, np.nan]), 'b has no finite efforts in any of 10 samples'),
        (states(q=Q * [np.nan, 1]), 'a has no finite positions in any of 10 samples'),
        (states(q=Q + np.array([0, 1e30])), r'no sample of 10 can be used: b: position 1e\+30'),
        (states(effort=0 * Q), 'all efforts are 0 in 10 samples: they are not measured'),
        (
            states(q=np.where(np.eye(2)[np.arange(10) % 2], np.nan, Q)),
            'each of 10 samples has a value that is not finite',
        ),
    ],
)  # fmt: skip
def test_an_unusable_recording_is_rejected_with_the_reason(recorded, message):
    with pytest.raises(RecordingError, match=message):
        by_joint(recorded, NAMES)


def test_a_state_that_repeats_at_rest_is_a_sample():
    still = np.ones_like(Q)
    found = by_joint(states(q=still, qd=0 * still, effort=still), NAMES)
    assert len(found.t) == 10
    assert not found.left_out


@pytest.mark.parametrize(
    ('velocity', 'changed', 'stale'),
    [
        ((0.5, 0.0), None, True),
        ((-0.5, 0.0), None, True),
        ((0.0, 0.5), None, True),
        ((0.0, -0.5), None, True),
        ((0.001, -0.001), None, False),
        ((0.5, 0.5), 'position', False),
        ((0.5, 0.5), 'effort', False),
        ((0.5, 0.5), 'velocity', True),
    ],
)
@pytest.mark.parametrize('j', [0, 1])
def test_a_repeated_state_is_stale_if_a_joint_moves_either_way(velocity, changed, stale, j):
    before = states()[4]._replace(velocity=np.array(velocity))
    recorded = states()
    recorded[4] = before
    recorded[5] = before._replace(stamp=recorded[5].stamp, logged=recorded[5].logged)
    if changed is not None:
        value = getattr(before, changed) + 1e-3 * (np.arange(2) == j)
        recorded[5] = recorded[5]._replace(**{changed: value})
    assert by_joint(recorded, NAMES).left_out == ({STALE: 1} if stale else {})


@pytest.mark.parametrize('moves', [True, False])
def test_velocities_that_are_0_in_motion_are_not_measured(moves):
    found = by_joint(states(q=Q if moves else 0 * Q, qd=0 * Q), NAMES)
    assert (found.qd is None) == moves
    assert any('derivatives of the positions' in note for note in found.notes) == moves


@pytest.mark.parametrize('j', [0, 1])
def test_one_effort_of_0_is_no_sign_of_drives_that_are_off(j):
    effort = np.where(np.arange(2) == j, 0.0, 7.0)
    assert by_joint(replaced(5, effort=effort), NAMES).left_out == {}


def test_samples_of_a_recording_keep_each_array_with_its_row():
    arrays = {name: Q + k for k, name in enumerate(('qd', 'command', 'feedforward'))}
    one = Recording(NAMES, T, Q, effort=None, **arrays)
    few = one.samples(T > 0.045)
    assert few.effort is None
    assert few.command_qd is None
    assert np.array_equal(few.t, T[5:])
    for name, values in {'q': Q, **arrays}.items():
        assert np.array_equal(getattr(few, name), values[5:]), name


@pytest.mark.parametrize('name', ['command', 'command_qd', 'feedforward', 'effort'])
def test_arrays_of_another_length_are_rejected_by_name(name):
    with pytest.raises(RecordingError, match=rf'{name} has shape \(9, 2\); expected \(10, 2\)'):
        Recording(NAMES, T, Q, None, **{'effort': None, name: Q[1:]})


@pytest.mark.parametrize('needs', [evaluate, identify, partial(estimate_payload, link='lower')])
def test_efforts_that_are_missing_are_an_error_of_the_functions_that_need_them(needs):
    arm = Dynamics(parse_urdf(TWO_JOINTS))
    t = np.arange(3000) * 0.01
    q = np.column_stack([np.sin(1.7 * t), np.cos(2.3 * t)])
    moved = Recording(NAMES, t, q, None, q)
    for one in (moved, replace(moved, qd=np.gradient(q, t, axis=0))):
        with pytest.raises(RecordingError, match=r'no efforts.*identify --efforts none'):
            needs(arm, replace(one, effort=None, command=q))
