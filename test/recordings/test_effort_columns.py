# SPDX-License-Identifier: Apache-2.0
"""Columns of an episode: efforts of the model, and torques from outside."""

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.core.friction.coefficients import coulomb_friction
from robot_dynamics.recordings.drives import Drives
from robot_dynamics.recordings.effort_columns import with_effort_columns
from robot_dynamics.recordings.recording import RecordingError

ARM = rd.Dynamics(rd.load_urdf('panda'))
N = ARM.model.n
VISCOUS = Drives(friction=coulomb_friction(np.full(N, 0.4), np.zeros(N)), offset=0.2)


def motion(rate, duration=12.0):
    """Return times, positions, velocities and accelerations of sines below 0.6 Hz."""
    t = np.arange(0.0, duration, 1 / rate)
    w = 2 * np.pi * np.linspace(0.2, 0.6, N)
    phase = np.outer(t, w)
    middle = np.array([0.0, -0.3, 0.0, -1.8, 0.0, 1.6, 0.5])
    return t, middle + 0.2 * np.sin(phase), 0.2 * w * np.cos(phase), -0.2 * w**2 * np.sin(phase)


@pytest.mark.parametrize('rate', [30.0, 200.0])
@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_torques_from_outside_are_found(rate, sign):
    t, q, qd, qdd = motion(rate)
    external = sign * np.where((t > 4)[:, None] & (t < 8)[:, None], np.linspace(1.0, 3.0, N), 0.0)
    model = VISCOUS.effort(ARM, q, qd, qdd)
    episode = {'t': t, 'q': q, 'qd': qd, 'effort': (model + external) / 0.5, 'image': np.zeros(3)}
    found = with_effort_columns(ARM, episode, effort_scale=0.5, drives=VISCOUS)
    assert set(found) == {*episode, 'effort_model', 'effort_external'}
    known = np.isfinite(found['effort_model']).all(axis=1)
    assert known[(t > 3) & (t < 9)].all()
    largest = np.abs(model).max()
    np.testing.assert_allclose(found['effort_model'][known], model[known], atol=5e-3 * largest)
    error = found['effort_external'][known] - external[known]
    assert np.abs(error).max() < 5e-3 * largest
    np.testing.assert_array_equal(found['effort'], episode['effort'])


def test_an_episode_without_velocities_and_efforts_has_those_of_the_model():
    t, q, qd, qdd = motion(100.0)
    found = with_effort_columns(ARM, {'t': t, 'q': q}, drives=VISCOUS)
    assert 'effort_external' not in found
    known = np.isfinite(found['effort_model']).all(axis=1)
    model = VISCOUS.effort(ARM, q, qd, qdd)
    assert known.mean() > 0.6
    np.testing.assert_allclose(
        found['effort_model'][known], model[known], atol=1e-2 * np.abs(model).max()
    )


def test_velocities_that_are_all_0_count_as_not_measured():
    t, q, _, _ = motion(100.0)
    expected = with_effort_columns(ARM, {'t': t, 'q': q})
    found = with_effort_columns(ARM, {'t': t, 'q': q, 'qd': np.zeros_like(q)})
    np.testing.assert_array_equal(found['effort_model'], expected['effort_model'])


def test_there_is_no_value_in_a_gap_and_at_the_ends():
    t, q, qd, _ = motion(50.0, 30.0)
    there = (t < 12) | (t > 15)
    found = with_effort_columns(ARM, {'t': t[there], 'q': q[there], 'qd': qd[there]})
    known = np.isfinite(found['effort_model']).all(axis=1)
    assert not known[0]
    assert not known[-1]
    beside = (t[there] > 11.9) & (t[there] < 15.1)
    assert not known[beside].any()
    assert known.any()


def test_the_arrays_of_the_caller_stay_as_they_are():
    t, q, _, _ = motion(50.0)
    episode = {'t': t, 'q': q.copy()}
    found = with_effort_columns(ARM, episode)
    found['q'][:] = 0.0
    np.testing.assert_array_equal(episode['q'], q)
    assert set(episode) == {'t', 'q'}


@pytest.mark.parametrize(
    ('change', 'scale', 'reason'),
    [
        ({'effort': np.zeros((600, N))}, None, 'effort_scale is missing'),
        ({'effort': np.zeros((600, N))}, 0.0, 'effort_scale is'),
        ({'effort': np.zeros((600, N - 1))}, 1.0, 'effort has shape'),
        ({'q': None}, 1.0, 'q has shape \\(\\)'),
        ({'qd': np.full((600, N), np.nan)}, 1.0, 'qd of sample 0 is'),
        ({'t': np.zeros(600)}, 1.0, 'expected increasing times'),
        ({'t': 0.02 * np.arange(599)}, 1.0, 'q has shape'),
        ({'q': np.full((600, N), 'x')}, 1.0, 'no numbers'),
        ({'q': np.degrees(motion(50.0)[1])}, 1.0, 'are the positions in degrees'),
        ({'qd': np.degrees(motion(50.0)[2])}, 1.0, 'are the velocities in degrees/s'),
        ({'t': 1e3 * motion(50.0)[0]}, 1.0, 'the samples are 20 apart; expected seconds'),
    ],
)
def test_other_episodes_are_rejected(change, scale, reason):
    t, q, _, _ = motion(50.0)
    with pytest.raises(RecordingError, match=reason):
        with_effort_columns(ARM, {'t': t, 'q': q} | change, effort_scale=scale)
    with pytest.raises(RecordingError, match='the episode has no t'):
        with_effort_columns(ARM, {'q': q})
