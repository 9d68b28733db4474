# SPDX-License-Identifier: Apache-2.0
"""Stages of an identification by themselves: inputs, rows, delay, friction law, SI units."""

from dataclasses import replace

import numpy as np
import pytest
from arms_to_identify import recorded, wrong

from robot_dynamics.common.resources import share_file
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.identification.estimation.equations import Estimate
from robot_dynamics.identification.estimation.excitation_check import Refusals, refused
from robot_dynamics.identification.estimation.identification_records import PayloadRecording
from robot_dynamics.identification.estimation.identification_result import in_si
from robot_dynamics.identification.estimation.inputs import (
    EffortOptions,
    FitOptions,
    Recordings,
    checked_inputs,
)
from robot_dynamics.identification.estimation.parameter_fit import Fit
from robot_dynamics.identification.estimation.prepared_rows import (
    BLOCKS,
    GAP,
    folds_of,
    prepared_rows,
    until,
)
from robot_dynamics.identification.estimation.stages import (
    described,
    with_delay,
    with_friction_law,
)
from robot_dynamics.urdf.loading import load_urdf

ELBOW = load_urdf(share_file('urdf/planar_2r.urdf'))
REAL = wrong(ELBOW, viscous=0.4, coulomb=0.3)
LINK = ELBOW.link_names[-1]


def quiet(step):
    pass


def inputs_of(recordings, friction='coulomb', **efforts):
    options = FitOptions(friction, cutoff=8.0)
    return checked_inputs(Dynamics(ELBOW), recordings, EffortOptions(**efforts), options, None)


def task_of(*recordings, payload=None, **options):
    inputs = inputs_of(Recordings(recordings, payload=payload), **options)
    return described(inputs, prepared_rows(inputs, Refusals(refused), quiet))


@pytest.fixture(scope='module')
def one():
    return recorded(REAL, noise=0.0)


def test_all_recordings_are_inputs(one):
    loaded = PayloadRecording(one, LINK, 1.0)
    scale = {ELBOW.joint_names[1]: -2.0}
    recordings = Recordings([one, one], test=one, payload=loaded)
    inputs = inputs_of(recordings, efforts='currents', scale=scale)
    assert len(inputs.recordings.every) == 4
    assert not inputs.of_header
    # The scale that is given is no unknown; the other one is 1 until it is estimated.
    assert inputs.preparation.scale.tolist() == [1.0, -2.0]
    assert inputs.unknown.tolist() == [True, False]


@pytest.mark.parametrize('duration', [20.0, 12.0])
def test_rows_that_are_held_out_are_apart_from_those_that_are_fitted(duration):
    rows = task_of(recorded(REAL, duration=duration)).rows
    whole = rows.whole[0].rows.t
    held_out = np.concatenate([fold.held_out[0].rows.t for fold in rows.folds])
    if rows.source == 'blocks':
        # A row on the border of two blocks is in both.
        assert np.unique(held_out).tolist() == whole.tolist()
        assert len(held_out) < len(whole) + len(rows.folds) == len(whole) + BLOCKS
    else:
        assert held_out.tolist() == whole[-len(held_out) :].tolist()
        assert len(held_out) == pytest.approx(len(whole) / 3, rel=0.01)
    duration = whole[-1] - whole[0]
    gap = min(GAP, duration / BLOCKS**2)
    for fold in rows.folds:
        apart = fold.fitted[0].rows.t[:, None] - fold.held_out[0].rows.t
        assert np.abs(apart).min() >= gap - 1e-9


def test_all_rows_are_fitted_beside_a_test_recording(one):
    whole = task_of(one).rows.whole
    (fold,), source = folds_of(whole, whole[0].rows)
    assert source == 'test'
    assert fold.fitted is whole
    assert [seen.recording for seen in fold.held_out] == [-1]  # mean of the offsets


def test_the_delay_is_taken_from_no_row_that_is_held_out(one):
    rows = task_of(one).rows
    (used,) = rows.used()
    assert used.t[-1] < rows.folds[0].held_out[0].rows.t[0]
    assert until(one, 3.0).t[-1] == pytest.approx(3.0)


@pytest.mark.parametrize('delay', [0.008, -0.008])
def test_a_given_delay_is_removed_from_the_rows(one, delay):
    late = np.column_stack([np.interp(one.t - delay, one.t, x) for x in one.effort.T])
    task = task_of(replace(one, effort=late), delay=delay)
    assert task.delay.removed == 0.0
    moved = with_delay(task, quiet)
    (actual,) = moved.adjusted(moved.rows.whole)
    (expected,) = task_of(one).rows.whole
    size = np.abs(expected.rows.effort).max()
    inner = slice(8, -8)  # the first and last efforts are unknown
    assert actual.rows.effort[inner] == pytest.approx(expected.rows.effort[inner], abs=1e-3 * size)
    before = task.rows.whole[0].rows.effort - expected.rows.effort
    assert np.abs(before[inner]).max() > 1e-2 * size


def test_the_law_is_of_the_first_rows_and_of_those_with_the_payload(one):
    payload = PayloadRecording(one, LINK, 1.0)
    task = task_of(one, payload=payload, friction='load', efforts='currents', delay=0.0)
    fitted = with_friction_law(with_delay(task, quiet), quiet)
    assert fitted.problem.law.name == 'load'
    assert fitted.held_out == {'load': 1.0}
    first, loaded = fitted.problem.recordings
    assert (first.loaded, loaded.loaded) == (False, True)
    assert (first.recording, loaded.recording) == (0, 1)
    assert first.rows.t[-1] < task.rows.whole[0].rows.t[-1]
    # The description has viscous and dry friction, whatever the law.
    assert fitted.problem.start.friction[:, :2] == pytest.approx(task.problem.start.friction)


def test_the_estimate_in_si_units_predicts_the_same_efforts(one):
    problem = task_of(one, efforts='currents').problem
    rng = np.random.default_rng(0)
    x = replace(
        problem.start,
        friction=rng.uniform(0, 1, (2, 2)),
        offset=rng.uniform(-1, 1, (1, 2)),
        rotor=rng.uniform(0, 1, 2),
        gain=np.array([0.5, 3.0]),
    )
    terms = problem.terms(x)
    error = Estimate(**{name: 0.01 * np.abs(value) for name, value in vars(x).items()})
    found = in_si(Fit(problem, x, terms, terms.effort, np.ones(2), error, error.theta))
    si = replace(found.value, offset=found.value.offset[None], gain=np.ones(2))
    assert found.value.gain * terms.predicted(x) == pytest.approx(terms.predicted(si))
    # Without a load no scale of currents is known, and none is part of the errors.
    assert not found.known.any()
    assert found.error.rotor == pytest.approx(0.01 * si.rotor)
    one_known = replace(problem, unknown=np.array([True, False]))
    found = in_si(Fit(one_known, x, terms, terms.effort, np.ones(2), error, error.theta))
    assert found.known.all()
    assert found.error.rotor == pytest.approx(0.01 * np.sqrt(2) * si.rotor)


def test_offsets_of_recordings_differ_by_more_than_their_errors(one):
    problem = task_of(one, one).problem
    x = replace(problem.start, offset=np.array([[1.0, 2.0], [3.0, 2.0]]))
    zero = Estimate(**{name: 0 * value for name, value in vars(x).items()})
    terms = problem.terms(x)
    found = in_si(Fit(problem, x, terms, terms.effort, np.ones(2), zero, zero.theta))
    assert found.value.offset.tolist() == [2.0, 2.0]
    # Standard error of the mean of 1 and 3: sqrt(2) / sqrt(2)
    assert found.error.offset == pytest.approx([1.0, 0.0])
