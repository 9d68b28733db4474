# SPDX-License-Identifier: Apache-2.0
"""Payloads from recordings: within their stated errors and bounds, over many recordings."""

from dataclasses import replace

import numpy as np
import pytest
from recorded_runs import lively
from tiers import soak

from robot_dynamics.common.errors import FrameNotFound, ModelError, ShapeError
from robot_dynamics.common.resources import share_file
from robot_dynamics.common.spatial import pose, rotation_rpy
from robot_dynamics.control import Reference
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.inertia import to_parameters
from robot_dynamics.core.model.states import random_postures
from robot_dynamics.identification import identify
from robot_dynamics.identification.payload.payload import PayloadError, estimate_payload
from robot_dynamics.identification.payload.payload_fit import scale_factors
from robot_dynamics.identification.payload.payload_report import text
from robot_dynamics.recordings import Recording, RecordingError
from robot_dynamics.simulation import load_profile, record_motion
from robot_dynamics.urdf.loading import load_urdf

RATE = 250.0
MODEL = load_urdf(share_file('urdf/panda.urdf'))
NAMES, ARM, LINK = MODEL.joint_names, Dynamics(MODEL), 'panda_link8'
MASS, COM = 1.3, np.array([0.02, -0.01, 0.1])
INERTIA = np.array([[4e-3, 2e-4, 0], [2e-4, 3e-3, 1e-4], [0, 1e-4, 2e-3]])
LOADED = MODEL.with_payload(LINK, MASS, COM, INERTIA)
NOISE = np.array([0.14, 0.18, 0.12, 0.15, 0.07, 0.04, 0.04])  # N m
VISCOUS = np.array([2.0, 2.0, 1.5, 1.5, 0.5, 0.5, 0.5])
COULOMB = np.array([1.5, 1.8, 1.2, 1.2, 0.6, 0.5, 0.4])


def in_motion(seed, duration=30.0, velocity_noise=0.01, true=LOADED):
    """Return what an arm with unknown friction (Stribeck), offsets and noise records."""
    rng = np.random.default_rng(100 + seed)
    t, q, qd, qdd = lively(MODEL, duration=duration, rate=RATE, seed=seed)
    tau = Dynamics(true).inverse_dynamics(q, qd, qdd) + VISCOUS * qd
    tau += COULOMB * np.tanh(qd / 0.01) * (1 + 0.3 * np.exp(-((qd / 0.1) ** 2)))
    tau += 0.2 * rng.normal(size=7) + NOISE * rng.normal(size=q.shape)
    qd = qd + velocity_noise * qd.std(axis=0) * rng.normal(size=q.shape)
    return Recording(NAMES, t, q + 1e-5 * rng.normal(size=q.shape), qd, tau)


def at_rest(seed, postures=4, coulomb=COULOMB, hold=2.0):
    """Return a recording of postures, with dry friction anywhere within its level."""
    rng = np.random.default_rng(seed)
    stations = 0.9 * random_postures(MODEL, postures, seed=seed)
    q, effort = [], []
    for k, station in enumerate(stations):
        q.append(np.broadcast_to(station, (round(hold * RATE), 7)))
        stuck = rng.uniform(-1, 1, 7) * coulomb
        effort.append(Dynamics(LOADED).gravity_torque(q[-1]) + stuck)
        if k + 1 < postures:
            u = np.linspace(0, 1, round(0.5 * RATE))[:, None]
            q.append(station + (10 * u**3 - 15 * u**4 + 6 * u**5) * (stations[k + 1] - station))
            effort.append(np.zeros_like(q[-1]))
    q, effort = np.concatenate(q), np.concatenate(effort)
    t = np.arange(len(q)) / RATE
    return Recording(NAMES, t, q, None, effort + NOISE * rng.normal(size=q.shape))


def errors(found, mass=MASS, com=COM):
    """Return the errors of mass and centre of mass, and the same in units of the stated ones."""
    off = np.array([found.mass - mass, *(found.com - com)])
    return off, off / np.array([found.mass_error, *found.com_error])


# -- from a motion --------------------------------------------------------------------------


@pytest.mark.slow
def test_the_payload_is_found_in_spite_of_friction_and_noise():
    found = [estimate_payload(ARM, in_motion(seed), LINK) for seed in range(8)]
    off = np.abs([errors(one)[0] for one in found])
    assert off[:, 0].max() < 0.01 * MASS
    assert off[:, 1:].max() < 0.005
    assert all(one.determined for one in found)
    for one in found:
        assert (np.abs(one.inertia - INERTIA) < 5 * one.inertia_error).all()
        assert (one.inertia_error < 2e-3).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ('number', 'duration', 'noise'),
    [
        (20, 12.0, 0.01),
        *(
            pytest.param(100, duration, noise, marks=pytest.mark.soak)
            for duration, noise in ((30.0, 0.01), (12.0, 0.01), (30.0, 0.03))
        ),
    ],
)
def test_errors_cover_the_truth(number, duration, noise):
    runs = [in_motion(seed, duration, noise) for seed in range(number)]
    z = np.array([errors(estimate_payload(ARM, run, LINK, scale_error=0.0))[1] for run in runs])
    assert (np.abs(z) < 3).all(axis=1).mean() >= 0.95
    # Not by errors that are too large.
    assert (np.sqrt((z**2).mean(axis=0)) > 0.5).all()


def realistic(seed, described=MODEL):
    """Return a recording of an arm with inexact drives, ripple, memory of friction and latency."""
    profile = load_profile(share_file('config/realistic_panda.yaml'))
    gain = 1 + 0.015 * np.random.default_rng(seed).normal(size=7)
    drives = replace(profile.drives, gain=gain)
    profile = replace(profile, model_error=(0.0, 0.0), drives=drives)
    actual = profile.actual(described, seed=seed)
    true = Dynamics(actual.with_payload(LINK, MASS, COM, INERTIA))
    _, *motion = lively(MODEL, duration=30.0, rate=RATE, seed=seed)
    (r,) = record_motion(true, Reference(*motion), profile, seeds=[seed], rate=RATE)
    return Recording(NAMES, r.t, r.q, r.qd, r.effort)


@pytest.mark.slow
def test_inexact_scales_of_efforts_are_errors_and_named():
    found = [estimate_payload(ARM, realistic(seed), LINK) for seed in range(4)]
    assert np.abs([errors(one)[1] for one in found]).max() < 3
    named = ['differ from those of the model by factors' in text(one) for one in found]
    assert sum(named) >= 3
    # Exact ones cost little.
    exact = [estimate_payload(ARM, in_motion(seed), LINK, scale_error=0.0) for seed in range(4)]
    assert max(one.mass_error for one in exact) < 0.5 * min(one.mass_error for one in found)
    # Those of the payload alone are uncertain, whatever the model: by each joint's share of it.
    for seed, one in enumerate(exact):
        unsure = estimate_payload(ARM, in_motion(seed), LINK)
        # It takes part in the size of errors of the model, and these in the weights.
        assert unsure.mass == pytest.approx(one.mass, abs=0.2 * unsure.mass_error)
        assert 0.02 * MASS / np.sqrt(7) < unsure.mass_error < 0.02 * MASS + one.mass_error


def test_errors_of_the_body_that_carries_the_payload_count():
    """A quarter of those of the scales, in its mass and first moment."""
    exact, inexact = (
        estimate_payload(ARM, in_motion(0), LINK, scale_error=error) for error in (0.0, 0.02)
    )
    pi = to_parameters(MODEL.inertial(MODEL.moving_body(LINK)))
    moment = 0.005 * np.sqrt(pi[0] * (pi[4] + pi[7] + pi[9]) / 2)
    assert inexact.mass_error**2 > exact.mass_error**2 + (0.005 * pi[0]) ** 2
    assert (inexact.com_error**2 > exact.com_error**2 + 0.98 * (moment / inexact.mass) ** 2).all()


def test_factors_are_those_of_the_least_squares_of_all_unknowns():
    rng, s = np.random.default_rng(0), 0.3
    X, model, b = rng.normal(size=(80, 6)), rng.normal(size=(80, 3)), rng.normal(size=80)
    A, theta = X.T @ X, np.linalg.lstsq(X, b)[0]
    # Columns of three joints, each with rows of its own.
    model = model * (np.arange(80)[:, None] % 3 == np.arange(3))
    of_model = np.column_stack([(model**2).sum(axis=0), model.T @ b])
    B = model.T @ X
    rows = scale_factors(of_model, B, np.linalg.solve(A, B.T).T, theta, s)
    both = np.hstack([X, model])
    covariance = np.linalg.inv(both.T @ both + np.diag([0] * 6 + [1 / s**2] * 3))
    mean = (covariance @ both.T @ b)[6:]
    expected = covariance[6:, 6:] + np.outer(mean, mean)
    np.testing.assert_allclose(rows.T @ rows, expected, atol=1e-12)
    assert not scale_factors(of_model, B, np.linalg.solve(A, B.T).T, theta, 0.0).any()


@pytest.mark.slow
@pytest.mark.parametrize('friction', [*soak([0.0]), 1.0])
def test_errors_cover_the_truth_on_realistic_arms(friction):
    described = MODEL.with_actuation(
        viscous=MODEL.viscous + friction * VISCOUS, coulomb=MODEL.coulomb + friction * COULOMB
    )
    runs = [realistic(seed, described) for seed in range(1000, 1060)]
    z = np.array([errors(estimate_payload(ARM, run, LINK))[1] for run in runs])
    assert (np.abs(z) < 3).all(axis=1).mean() >= 0.95
    # Not by errors that are too large.
    assert (np.sqrt((z**2).mean(axis=0)) > 0.5).all()


@pytest.mark.soak
def test_errors_cover_the_truth_on_identified_models():
    """Of arms with links off by 5 to 10 %, inexact drives and sensors, and other payloads."""
    z, off, named = [], [], []
    for seed in range(3000, 3007):
        rng = np.random.default_rng(seed)
        profile = load_profile(share_file('config/realistic_panda.yaml'))
        drives = replace(profile.drives, gain=1 + 0.015 * rng.normal(size=7))
        profile = replace(profile, drives=drives)
        actual = profile.actual(MODEL, seed=seed)

        def recorded(robot, duration, motion, profile=profile):
            _, *states = lively(MODEL, duration=duration, rate=RATE, seed=motion)
            arm = Dynamics(robot)
            (r,) = record_motion(arm, Reference(*states), profile, seeds=[motion], rate=RATE)
            return Recording(NAMES, r.t, r.q, r.qd, r.effort)

        arm = Dynamics(identify(ARM, recorded(actual, 60.0, seed)).model)
        for motion in range(3 * seed, 3 * seed + 3):
            mass = rng.uniform(0.5, 2.5)
            com = rng.uniform([-0.03, -0.03, 0.03], [0.03, 0.03, 0.15])
            loaded = actual.with_payload(LINK, mass, com, mass * np.diag([2e-3, 2e-3, 1e-3]))
            run = recorded(loaded, 30.0, motion)
            found = estimate_payload(arm, run, LINK, identified=True)
            named.append('description' in found.conditional_on)
            error, share = errors(found, mass, com)
            off.append(error / [mass, 1, 1, 1])
            z.append(share)
    assert (np.abs(z) < 3).all(axis=1).mean() >= 0.95
    assert (np.sqrt((np.array(z) ** 2).mean(axis=0)) < 1.5).all()
    # Efforts of one joint may differ by more than 5 %, by friction of another law.
    assert sum(named) <= 4
    size = np.sqrt((np.array(off) ** 2).mean(axis=0))
    assert size[0] < 0.015
    assert size[1:].max() < 0.003


@pytest.mark.slow
def test_a_model_that_does_not_fit_is_named():
    heavy = Dynamics(replace(LOADED, mass=1.3 * LOADED.mass))
    t, q, qd, qdd = lively(MODEL, duration=15.0, rate=RATE)
    tau = heavy.inverse_dynamics(q, qd, qdd) + 0.1 * np.random.default_rng(0).normal(size=q.shape)
    found = estimate_payload(ARM, Recording(NAMES, t, q, qd, tau), LINK)
    assert found.conditional_on == ('description',)
    first = text(found).split('\n')[0]
    assert first.endswith('the description is not identified: ± is conditional on it')
    assert 'the masses of the description are off by about' in text(found)
    right = estimate_payload(ARM, in_motion(3), LINK)
    assert right.conditional_on == ()
    assert 'conditional' not in text(right)
    # A single link, whose mass is three times as large.
    one = Dynamics(replace(LOADED, mass=LOADED.mass * np.array([1, 1, 3, 1, 1, 1, 1])))
    tau = one.inverse_dynamics(q, qd, qdd) + 0.1 * np.random.default_rng(0).normal(size=q.shape)
    found = estimate_payload(ARM, Recording(NAMES, t, q, qd, tau), LINK)
    assert found.conditional_on == ('description',)
    assert found.model_error > 0.2


def test_an_absent_payload_is_reported_as_none():
    found = estimate_payload(ARM, in_motion(0, true=MODEL), LINK)
    assert abs(found.mass) < 4 * found.mass_error
    assert not found.determined
    assert 'does not differ from zero' in text(found)


@pytest.mark.slow
def test_a_negative_mass_differs_from_zero():
    """As of a model with the payload, and an arm without."""
    found = estimate_payload(Dynamics(LOADED), in_motion(0, true=MODEL), LINK)
    assert found.mass == pytest.approx(-MASS, abs=3 * found.mass_error)
    assert not found.determined
    assert 'the mass is negative by more than three standard errors' in text(found)
    assert 'does not differ from zero' not in text(found)


def on_a_flange(model, R, p):
    """Return the model with a link at a pose that is fixed to its last moving link."""
    T = model.frame_placement[model.frame_index(LINK)] @ pose(R, p)
    return replace(
        model,
        frame_names=(*model.frame_names, 'flange'),
        frame_body=np.append(model.frame_body, model.moving_body(LINK)),
        frame_placement=np.concatenate([model.frame_placement, T[None]]),
    )


@pytest.mark.slow
def test_the_frame_of_the_link_changes_neither_mass_nor_errors():
    """c = R c' + p of a frame fixed to it; errors of the model belong to bodies, not to frames."""
    R, p = rotation_rpy(np.pi / 2, 0.0, np.pi), np.array([0.2, -0.3, 0.4])
    run = in_motion(0, duration=12.0)
    found = estimate_payload(ARM, run, LINK, scale_error=0.2)
    other = estimate_payload(Dynamics(on_a_flange(MODEL, R, p)), run, 'flange', scale_error=0.2)
    assert other.mass == pytest.approx(found.mass, rel=1e-6)
    assert other.mass_error == pytest.approx(found.mass_error, rel=1e-4)
    np.testing.assert_allclose(R @ other.com + p, found.com, atol=1e-6)
    # Of a payload whose mass is uncertain, c = h / m; the rotation permutes the axes.
    np.testing.assert_allclose(np.abs(R) @ other.com_error, found.com_error, rtol=2e-2)
    np.testing.assert_allclose(R @ other.inertia @ R.T, found.inertia, atol=1e-6)


@pytest.mark.slow
def test_known_friction_is_not_fitted():
    known = Dynamics(MODEL.with_actuation(viscous=VISCOUS, coulomb=COULOMB))
    run = in_motion(1)
    fitted, given = (
        estimate_payload(known, run, LINK, friction=choice) for choice in ('estimated', 'model')
    )
    assert abs(errors(fitted)[0][0]) < 0.01 * MASS
    # Its offsets and Stribeck friction are in the residual.
    assert (given.residual > 1.2 * fitted.residual).sum() >= 4
    assert (fitted.conditional_on, given.conditional_on) == ((), ('friction',))
    assert '± is conditional on the friction of the model' in text(given).split('\n')[0]
    with pytest.raises(ValueError, match="friction is 'none'"):
        estimate_payload(known, run, LINK, friction='none')


@pytest.mark.slow
def test_efforts_are_scaled_and_gravity_added():
    run = in_motion(2)
    compensated = replace(run, effort=(run.effort - ARM.gravity_torque(run.q)) / 0.5)
    plain = estimate_payload(ARM, run, LINK)
    found = estimate_payload(
        ARM, compensated, LINK, effort_scale=0.5, effort_gravity_compensated=True
    )
    assert found.mass == pytest.approx(plain.mass, rel=2e-3)


def test_undetermined_parameters_have_no_standard_error():
    """The torques of a planar arm do not depend on the height of a mass above the plane."""
    model = load_urdf(share_file('urdf/planar_2r.urdf'))
    t, q, qd, qdd = lively(model, duration=20.0, rate=RATE)
    link = model.link_names[-1]
    rng = np.random.default_rng(0)
    true = Dynamics(model.with_payload(link, 0.5, [0.1, 0.05, 0.2]))
    tau = true.inverse_dynamics(q, qd, qdd) + true.friction_torque(qd)
    run = Recording(model.joint_names, t, q, qd, tau + 0.01 * rng.normal(size=q.shape))
    found = estimate_payload(Dynamics(model), run, link)
    assert np.isinf(found.com_error).sum() == 1
    known = np.isfinite(found.com_error)
    assert found.mass == pytest.approx(0.5, rel=0.02)
    true_com = np.array([0.1, 0.05, 0.2])
    assert np.abs(found.com - true_com)[known].max() < 0.005
    assert 'not determined' in text(found)


# -- from postures --------------------------------------------------------------------------


@pytest.mark.slow
def test_bounds_from_postures_hold_and_follow_friction():
    known = Dynamics(MODEL.with_actuation(coulomb=COULOMB))
    widths = []
    for seed in range(6):
        found = estimate_payload(known, at_rest(seed), LINK)
        share = errors(found)[1]
        assert found.postures == 4
        assert (np.abs(share) <= 1 + 1e-6).all()
        widths.append(found.mass_error)
    assert 0.02 < np.median(widths) < 1.0
    half = Dynamics(MODEL.with_actuation(coulomb=0.5 * COULOMB))
    less = [
        estimate_payload(half, at_rest(seed, coulomb=0.5 * COULOMB), LINK).mass_error
        for seed in range(6)
    ]
    assert np.median(less) < 0.75 * np.median(widths)
    assert found.conditional_on == ('description', 'friction')
    assert (
        text(found)
        .split('\n')[0]
        .endswith('bounds set by dry friction, conditional on the description')
    )


def test_bounds_exclude_zero_or_say_so():
    """Also where they are wider than a third of the mass."""
    for size, certain in ((1.0, True), (30.0, False)):
        known = Dynamics(MODEL.with_actuation(coulomb=size * COULOMB))
        found = estimate_payload(known, at_rest(1), LINK)
        assert (found.mass > found.mass_error + 1e-9) == certain
        assert found.determined == certain
        assert ('the bounds of the mass include zero' in text(found)) != certain


def test_too_little_dry_friction_is_named():
    found = estimate_payload(ARM, at_rest(3), LINK)  # the URDF has less than a tenth
    assert 'more dry friction than the model has' in text(found)
    bare = Dynamics(MODEL.with_actuation(coulomb=0.0))
    found = estimate_payload(bare, at_rest(3, coulomb=0.0 * COULOMB), LINK)
    assert 'the model has no dry friction' in text(found)
    assert errors(found)[0] == pytest.approx(np.zeros(4), abs=0.03)


def test_fewer_than_two_postures_are_rejected():
    with pytest.raises(PayloadError, match=r'the arm stands in 1 posture,.*or two postures'):
        estimate_payload(ARM, at_rest(0, postures=1, hold=8.0), LINK)
    again = at_rest(0, postures=1, hold=8.0)
    twice = replace(again, q=again.q + 0.01 * (again.t > 4)[:, None])
    with pytest.raises(PayloadError, match='the arm stands in 1 posture,'):
        estimate_payload(ARM, twice, LINK)


# -- errors ---------------------------------------------------------------------------------


def test_wrong_links_and_joints_are_named():
    run = in_motion(0, duration=5.0)
    with pytest.raises(FrameNotFound, match='nowhere'):
        estimate_payload(ARM, run, 'nowhere')
    with pytest.raises(ModelError, match="'panda_link0' is fixed to the base"):
        estimate_payload(ARM, run, 'panda_link0')
    with pytest.raises(RecordingError, match='the recording is of'):
        estimate_payload(ARM, replace(run, joint_names=NAMES[::-1]), LINK)


@pytest.mark.parametrize(
    ('scale', 'error', 'message'),
    [
        ([1.0, 2.0], ShapeError, 'effort_scale has 2 values; expected one, or 7 for'),
        (0.0, RecordingError, 'effort_scale is .*expected finite numbers other than 0'),
        (np.nan, RecordingError, 'effort_scale is .*nan'),
    ],
)
def test_a_wrong_scale_is_named(scale, error, message):
    with pytest.raises(error, match=message):
        estimate_payload(ARM, at_rest(0), LINK, effort_scale=scale)
