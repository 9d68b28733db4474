# SPDX-License-Identifier: Apache-2.0
"""Payloads of arms that differ from their description: errors of both are part of the answer."""

from dataclasses import replace

import numpy as np
import pytest
from drawn_arms import COM, LINK, MASS, drawn, six_joints

from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.inertia import to_parameters
from robot_dynamics.identification.payload.model_errors import CAD, likeliest, link_errors
from robot_dynamics.identification.payload.payload import PayloadError, estimate_payload
from robot_dynamics.identification.payload.payload_report import as_json, text
from robot_dynamics.recordings.effort_unit import EffortUnitError


def estimate(arm, mass=MASS, **options):
    """Return the payload, and the errors of mass and centre in units of the stated ones."""
    found = estimate_payload(Dynamics(arm.described), arm.recording(mass), LINK, **options)
    off = np.array([found.mass - mass, *(found.com - COM)])
    return found, off / np.array([found.mass_error, *found.com_error])


@pytest.mark.parametrize('seed', [3, 5])
def test_an_arm_unlike_its_description_is_weighed_within_the_errors(seed):
    found, z = estimate(drawn(seed))
    assert np.abs(z).max() < 3
    # Not by errors that are too large.
    assert found.mass_error < 0.15 * MASS
    assert found.com_error.max() < 0.03
    assert found.conditional_on == ()
    assert 'the scales of the efforts and the model' in text(found).split('\n')[0]
    assert 'the masses of the description are off by about' in text(found)
    assert as_json(found)['conditional_on'] == []
    assert 0.01 < as_json(found)['model_error'] < 0.1


def test_a_description_that_is_taken_for_an_identified_model_is_named():
    found, _ = estimate(drawn(3), identified=True)
    assert found.conditional_on == ('description',)
    first = text(found).split('\n')[0]
    assert first.endswith('the description is not identified: ± is conditional on it')


@pytest.mark.slow
@pytest.mark.parametrize(
    ('size', 'number'),
    [(1.0, 8), *(pytest.param(size, 20, marks=pytest.mark.soak) for size in (0.5, 1.0, 2.0))],
)
def test_errors_cover_the_truth_of_arms_unlike_their_description(size, number):
    """Masses off by up to 8 % and centres by up to 5 mm, half of that and twice as much."""
    arms = [drawn(seed, size * 0.08, size * 0.005) for seed in range(number)]
    found = [estimate(arm) for arm in arms]
    z = np.array([one[1] for one in found if not one[0].conditional_on])
    assert len(z) >= 0.75 * number
    assert (np.abs(z) < 3).all(axis=1).mean() >= 0.95
    assert (np.sqrt((z**2).mean(axis=0)) > 0.15).all()
    # Without a payload none is found.
    empty = [estimate(arm, 0.0)[0] for arm in arms[: number // 2]]
    assert max(abs(one.mass) / one.mass_error for one in empty) < 3
    assert not any(one.determined for one in empty)


@pytest.mark.slow
def test_a_motion_without_the_payload_tells_errors_of_the_model_from_it():
    arm = drawn(0)
    alone, _ = estimate(arm)
    found, z = estimate(arm, unloaded=arm.recording(0.0, motion=1))
    assert np.abs(z).max() < 3
    assert found.conditional_on == ()
    assert found.mass_error < alone.mass_error / 2
    assert found.com_error[2] < alone.com_error[2] / 2
    still = arm.recording(0.0, duration=3.0, motion=1)
    with pytest.raises(PayloadError, match=r'moves for .* s in the recording without the payload'):
        estimate(arm, unloaded=still)


@pytest.mark.parametrize('units', [('torque', 'current'), ('current', 'torque')])
def test_recordings_with_and_without_the_payload_have_one_unit(units):
    arm = drawn(0)
    one, other = (
        replace(arm.recording(m, duration=3.0, motion=1), effort_unit=unit)
        for m, unit in zip((2.0, 0.0), units, strict=True)
    )
    with pytest.raises(EffortUnitError, match=r'is a torque, .* a current'):
        estimate_payload(Dynamics(arm.described), one, LINK, unloaded=other, effort_scale=2.0)


def test_errors_of_links_are_those_of_their_parameters():
    model = six_joints()
    errors = link_errors(model)
    for i, E in enumerate(errors):
        body = model.inertial(i)
        np.testing.assert_allclose(E[:, 0], CAD.mass * to_parameters(body), rtol=1e-12)
        for k in range(3):
            step = E[1 + k, 1 + k] / body.mass
            moved = replace(body, com=body.com + 1e-6 * np.eye(3)[k])
            slope = (to_parameters(moved) - to_parameters(body)) / 1e-6
            np.testing.assert_allclose(E[:, 1 + k], step * slope, rtol=1e-5, atol=1e-6)
            assert step >= CAD.centre * (1 - 1e-12)
    assert not link_errors(replace(model, mass=0 * model.mass)).any()


@pytest.mark.parametrize('true', [(2.0, 0.3), (0.2, 3.0)])
def test_sizes_are_those_of_the_errors(true):
    """Of many unknowns, whatever the free ones are; and near zero if there are no errors."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5 + 80 + 60))
    of_errors = np.concatenate([true[0] * rng.normal(size=80), true[1] * rng.normal(size=60)])
    for free in (0.0, 1e3):
        y = X @ np.concatenate([np.full(5, free), of_errors]) + rng.normal(size=600)
        assert likeliest(X.T @ X, X.T @ y, 5, 60) == pytest.approx(true, rel=0.25)
    y = X[:, :5].sum(axis=1) + rng.normal(size=600)
    assert max(likeliest(X.T @ X, X.T @ y, 5, 60)) < 0.03
