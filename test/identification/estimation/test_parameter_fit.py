# SPDX-License-Identifier: Apache-2.0
"""Weights, signs and bounds of the fit of all parameters."""

from dataclasses import replace

import numpy as np
import pytest
import tiers
from arms_to_identify import load_memory, recorded, wrong
from recorded_runs import lively

from robot_dynamics.common.resources import share_file
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.identification.estimation.covariance import INEXACT
from robot_dynamics.identification.estimation.estimation import identify
from robot_dynamics.identification.estimation.identification_records import PayloadRecording
from robot_dynamics.identification.estimation.inputs import load_of
from robot_dynamics.identification.estimation.parameter_fit import (
    coefficient,
    own_weights,
)
from robot_dynamics.urdf.loading import load_urdf

RNG = np.random.default_rng
ELBOW = load_urdf(share_file('urdf/planar_2r.urdf'))


@pytest.mark.slow
def test_a_joint_with_correlated_residuals_keeps_its_weight():
    one = recorded(wrong(ELBOW, viscous=0.4, coulomb=0.3), noise=0.003)
    # Vibration of joint 2, of one size in each second.
    rng, size = RNG(3), 0.1 * one.effort.std(axis=0)
    steps = rng.normal(size=(21, 2))[one.t.astype(int)]
    slow = replace(one, effort=one.effort + size * steps * [0, 1])
    fits = [identify(Dynamics(ELBOW), r, cutoff=8.0).fit for r in (one, slow)]
    rms = [
        np.sqrt(((f.terms.effort - f.terms.predicted(f.estimate)) ** 2).mean(axis=0)) for f in fits
    ]
    assert rms[1][1] > 3 * rms[0][1]
    # Weights of both joints differ by their residuals alone; the correlation is in the spread.
    weighted = np.median(fits[1].weight, axis=0) * rms[1]
    assert weighted[1] == pytest.approx(weighted[0], rel=0.5)
    assert fits[1].spread[1] > 3 * fits[1].spread[0]


def fitted(effort):
    """Return the fit of a recording, and v = mean (w r)^2 (2,) of its weighted residuals."""
    one = recorded(wrong(ELBOW, viscous=0.4, coulomb=0.3), noise=0.003)
    found = identify(Dynamics(ELBOW), replace(one, effort=one.effort * effort), cutoff=8.0).fit
    r = found.terms.effort - found.terms.predicted(found.estimate)
    return found, (found.weight**2 * r**2).mean(axis=0)


@pytest.mark.slow
@pytest.mark.parametrize('side', [1.0, -1.0])
def test_joints_of_inexact_scales_have_weights_of_what_the_fit_leaves(side):
    exact, inexact = fitted([1.0, 1.0])[1], fitted(1 + 0.02 * side * np.array([1.0, -1.0]))[1]
    # Weights are 1 / sqrt(c) of what is left, whether noise or scales leave it.
    assert exact[0] == pytest.approx(exact[1], rel=0.3)
    assert inexact[0] == pytest.approx(inexact[1], rel=0.3)


def test_a_joint_that_is_fitted_badly_keeps_its_weight():
    found, left = fitted([1.0, 1.3])  # no scale that is known to 2 %
    own, alike = own_weights(found.problem, found.terms)
    variance = (own**2 / found.weight**2 / alike).mean(axis=0)
    largest = 1 + INEXACT**2 * (own**2 * found.terms.effort**2).mean(axis=0)
    assert (variance <= 1.01 * largest).all()
    assert left.max() > 2


def test_the_coefficient_of_a_column_beside_others_and_its_error():
    rng, block = RNG(1), np.arange(2000) // 20
    z = []
    for _ in range(400):
        a, others = rng.normal(size=2000), rng.normal(size=(2000, 2))
        a, noise = a + others[:, 0], rng.normal(size=100)[block] + rng.normal(size=2000)
        value, error = coefficient(a, others, 3 * a - others[:, 1] + noise, block)
        z.append((value - 3) / error)
    assert np.sqrt(np.mean(np.square(z))) == pytest.approx(1, abs=0.15)
    assert coefficient(others[:, 0], others, noise, block) == (0.0, np.inf)


@pytest.mark.slow
@pytest.mark.parametrize('side', [1.0, -1.0])
def test_the_sign_of_a_drive_is_that_of_its_dry_friction(side):
    true = wrong(ELBOW, viscous=0.4, coulomb=0.5, rotor_inertia=0.05)
    t, q, qd, qdd = lively(ELBOW, 20.0, 500.0, 1)
    one = recorded(true, motion=(4 * t, q, qd / 4, qdd / 16), noise=0.003)
    drives = np.array([2.0, -side * 0.5])
    # A description with the elbow's link on the other side: its gravity has the opposite sign.
    com = ELBOW.com * np.array([[1.0], [-0.6]])
    described = Dynamics(replace(ELBOW, com=com))
    one = replace(one, effort=one.effort / drives)
    found = identify(described, one, efforts='currents', test=one)
    assert np.sign(found.drives.effort_scale).tolist() == np.sign(drives).tolist()
    assert (found.fit.estimate.gain > 0).all()
    for values in (
        found.friction.coefficients,
        found.friction.error,
        found.drives.rotor_inertia,
        found.drives.rotor_error,
        found.drives.offset_error,
    ):
        assert (values >= 0).all()
    assert (found.friction.coefficients > 0).any(axis=1).all()


def test_errors_are_positive_where_a_given_scale_is_negative():
    one = recorded(wrong(ELBOW, viscous=0.4, coulomb=0.3))
    scale = np.array([-2.0, 0.5])
    found = identify(Dynamics(ELBOW), replace(one, effort=one.effort / scale), effort_scale=scale)
    assert (found.friction.error > 0).all()
    assert found.friction.coefficients == pytest.approx(
        np.array([[0.4, 0.3]] * 2), abs=4 * found.friction.error.max()
    )


def test_the_automatic_cutoff_is_at_most_twelve_hertz():
    t = np.arange(0, 20, 0.002)[:, None]
    w = 2 * np.pi * np.array([[0.2, 0.35]])
    fast, size = 2 * np.pi * 14.0, 2e-4
    q = np.sin(w * t) + size * np.sin(fast * t)
    qd = w * np.cos(w * t) + size * fast * np.cos(fast * t)
    qdd = -(w**2) * np.sin(w * t) - size * fast**2 * np.sin(fast * t)
    one = recorded(wrong(ELBOW, viscous=0.4), motion=(t[:, 0], q, qd, qdd), noise=1e-4)
    assert identify(Dynamics(ELBOW), one).signals.cutoff <= 12.0


@pytest.mark.parametrize(
    ('seconds', 'sign'), [*tiers.slow_rows([(3, -1.0)]), *tiers.soak_rows([(1, 1.0), (3, 1.0)])]
)
def test_residuals_that_last_for_seconds_count_as_one(seconds, sign):
    one = recorded(wrong(ELBOW, viscous=0.4, coulomb=0.3), duration=150.0, rate=100.0)
    # What the model lacks: torques of one size for so long.
    steps = RNG(5).normal(size=(200, 2))[(one.t // seconds).astype(int)]
    effort = one.effort + sign * 0.3 * one.effort.std(axis=0) * steps
    found = identify(Dynamics(ELBOW), replace(one, effort=effort), cutoff=4.0, test=one).fit
    weighted = found.weight * (found.terms.effort - found.terms.predicted(found.estimate))
    count = found.spread / (weighted**2).mean(axis=0)  # neighbouring rows that count as one
    of_second = len(weighted) / (one.t[-1] - one.t[0])
    assert count.mean() == pytest.approx(seconds * of_second, rel=0.35)


@pytest.mark.slow
def test_rows_of_the_fit_are_those_of_its_estimate():
    """Friction by load depends on the parameters: its rows are not those of an earlier step."""
    law = load_memory([0.3, 0.2], [0.3, 0.2], [0.2, 0.1])
    one = recorded(wrong(ELBOW), duration=4.0, rate=50.0, friction=law)
    found = identify(Dynamics(ELBOW), one, friction='load', delay=0.0).fit
    rows = found.problem.terms(found.estimate)
    for name in ('features', 'effort'):
        np.testing.assert_array_equal(getattr(found.terms, name), getattr(rows, name))


@pytest.mark.parametrize('com', [None, [0.1, 0.0, -0.2]])
def test_the_centre_of_a_payload_is_free_unless_it_is_given(com):
    load = load_of(ELBOW, PayloadRecording(None, ELBOW.link_names[-1], 2.0, com))
    np.testing.assert_array_equal(load.unknown, (com is None) * (np.arange(10) > 0))
    np.testing.assert_array_equal(load.value[:4], [2.0, *(2.0 * np.array(com or [0.0] * 3))])
