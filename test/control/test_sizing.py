# SPDX-License-Identifier: Apache-2.0
"""Load of drives against closed forms and the balance of energy; drives that fit; payloads."""

from dataclasses import replace

import numpy as np
import pytest
import urdf_text
from numpy.testing import assert_allclose

from robot_dynamics.common.errors import ModelError
from robot_dynamics.control.sizing import (
    CatalogueError,
    Drive,
    SampledMotion,
    drive_load,
    fit_drives,
    largest_payload,
    read_drives,
)
from robot_dynamics.control.trajectory import Trajectory
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coefficients import coulomb_friction
from robot_dynamics.core.model.robots import random_tree
from robot_dynamics.urdf.loading import parse_urdf

G = 9.81
MASS = 2.0  # kg, of the link of the slide
SLIDE = urdf_text.chain(
    '<axis xyz="0 0 1"/><limit lower="-2" upper="2" velocity="3" effort="40"/>', kind='prismatic'
)
CATALOGUE = 'name,peak,rated,speed,inertia,ratio\n'


def random_motion(model, seed=0):
    """Return a trajectory from rest to rest through random points."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(-1, 1, (5, model.n)) * np.where(model.angular, 1.0, 0.2)
    return Trajectory(model.joint_names, np.cumsum(rng.uniform(0.4, 0.9, 5)), q)


def energy(arm, trajectory, k):
    q, qd, _ = (x[k] for x in trajectory.at_waypoints())
    return arm.kinetic_energy(q, qd) + arm.potential_energy(q)


@pytest.mark.parametrize('seed', [0, 1])
def test_the_work_of_the_drives_is_that_of_energy_and_friction(seed):
    model = random_tree(4, np.random.default_rng(seed), branching=0.0, prismatic=0.3)
    model = model.with_actuation(rotor_inertia=0.3, viscous=2.0, coulomb=1.5)
    arm, motion = Dynamics(model), random_motion(model, seed)
    load = drive_load(arm, SampledMotion.of_trajectory(motion))
    change = energy(arm, motion, -1) - energy(arm, motion, 0)
    assert load.losses.min() > 0.1
    assert load.braking.max() > 0.1
    assert load.work == pytest.approx(change + load.losses.sum(), rel=1e-6)
    assert load.motion.duration == pytest.approx(motion.times[-1] - motion.times[0], rel=1e-14)


def lift(duration=2.0, height=0.5):
    """Return the slide of the closed form, and its motion h (1 - cos(w t)) / 2 as samples."""
    model = parse_urdf(SLIDE)
    t = np.linspace(0.0, duration, 4001)
    w = 2 * np.pi / duration
    q = height * (1 - np.cos(w * t)) / 2
    qd, qdd = height * w * np.sin(w * t) / 2, height * w**2 * np.cos(w * t) / 2
    columns = (x[:, None] for x in (q, qd, qdd))
    return model, SampledMotion.of_samples(t, *columns), w, height


def test_a_slide_that_lifts_has_the_closed_form():
    """F = m (g + a cos(w t)), a = h w^2 / 2: rms m sqrt(g^2 + a^2 / 2), peak m (g + a)."""
    model, motion, w, h = lift()
    m, a = float(model.mass[0]), h * w**2 / 2
    load = drive_load(Dynamics(model), motion)
    assert_allclose(load.rms, m * np.hypot(G, a / np.sqrt(2)), rtol=1e-9)
    assert_allclose(load.peak, m * (G + a), rtol=1e-12)
    assert_allclose(load.speed, h * w / 2, rtol=1e-6)
    assert_allclose(load.rms_speed, h * w / 2 / np.sqrt(2), rtol=1e-9)
    # The force is positive: energy goes up with the mass and comes back.
    assert_allclose([load.supplied, load.braking], m * G * h, rtol=1e-6)
    assert load.work == pytest.approx(0.0, abs=1e-9)


def test_a_drive_adds_its_rotor_and_replaces_that_of_the_model():
    model, motion, w, h = lift()
    a, drive = h * w**2 / 2, Drive('d', 1.0, 0.5, 100.0, 1e-3, 30.0)
    m = float(model.mass[0]) + drive.ratio**2 * drive.inertia
    for reflected in (0.0, 0.7):
        arm = Dynamics(model.with_actuation(rotor_inertia=reflected))
        (fit,) = fit_drives(arm, motion, [drive])
        force = float(model.mass[0]) * G + m * a
        assert_allclose(fit.peak, force / (drive.ratio * drive.peak), rtol=1e-12)
        assert_allclose(
            fit.rated,
            np.hypot(float(model.mass[0]) * G, m * a / np.sqrt(2)) / (drive.ratio * drive.rated),
            rtol=1e-9,
        )
        assert_allclose(fit.speed, drive.ratio * h * w / 2 / drive.speed, rtol=1e-6)


def test_each_limit_of_a_drive_alone_rejects_it():
    model, motion, _, _ = lift()
    arm = Dynamics(model)
    load = drive_load(arm, motion)
    enough = Drive('d', float(load.peak[0]), float(load.rms[0]), float(load.speed[0]), 0.0, 1.0)
    assert fit_drives(arm, motion, [enough])[0].fits.all()
    for name in ('peak', 'rated', 'speed'):
        small = enough._replace(**{name: 0.999 * getattr(enough, name)})
        assert not fit_drives(arm, motion, [small])[0].fits.any()


def test_a_catalogue_is_read_with_columns_in_any_order(tmp_path):
    file = tmp_path / 'drives.csv'
    file.write_text('ratio, name, maker, peak, rated, speed, inertia\n50, a, x, 2, 1, 400, 0\n')
    assert read_drives(file) == [Drive('a', 2.0, 1.0, 400.0, 0.0, 50.0)]


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('name,peak,rated,speed,ratio\na,1,1,1,1\n', 'no column inertia'),
        (CATALOGUE, 'no drives'),
        (f'{CATALOGUE}a,1,0,1,1,1\n', "line 2, rated: '0'; expected a positive number"),
        (f'{CATALOGUE}a,1,1,1,-1,1\n', "line 2, inertia: '-1'; expected at least 0"),
        (f'{CATALOGUE}a,1,1,nan,1,1\n', "speed: 'nan'"),
        (f'{CATALOGUE}a,1,1\n', "speed: ''"),
        (f'{CATALOGUE}a,1,1,1,1,1\na,2,1,1,1,1\n', "drive 'a' is there twice"),
    ],
)
def test_a_bad_catalogue_is_rejected_with_its_line(tmp_path, text, reason):
    file = tmp_path / 'drives.csv'
    file.write_text(text)
    with pytest.raises(CatalogueError, match=f'drives.csv.*{reason}'):
        read_drives(file)


# -- the largest payload ------------------------------------------------------------------------


def bounded(seed=0):
    """Return an arm whose efforts bear some payload in many postures, and postures."""
    rng = np.random.default_rng(seed)
    model = random_tree(4, rng, branching=0.0, prismatic=0.3)
    q = rng.uniform(-2, 2, (40, model.n))
    holding = np.abs(Dynamics(model).gravity_torque(q)).max(axis=0)
    return replace(model, effort_limit=1.3 * holding + 1.0), q, rng


def test_a_payload_at_rest_is_that_of_the_linear_formula():
    """tau = g + m (g(1 kg) - g): the definition of Robotics Toolbox, by models of their own."""
    model, q, _ = bounded()
    link, com = model.moving_links[-1], [0.05, 0.1, -0.2]
    found = largest_payload(Dynamics(model), q, link, com)
    g, g1 = (
        np.array([Dynamics(one, backend='python').gravity_torque(row) for row in q])
        for one in (model, model.with_payload(link, 1.0, com))
    )
    with np.errstate(divide='ignore'):
        each = (np.copysign(model.effort_limit, g1 - g) - g) / (g1 - g)
    each = np.where(np.abs(g1 - g) < 1e-12, np.inf, each)
    expected = np.where((np.abs(g) > model.effort_limit).any(axis=1), 0.0, each.min(axis=1))
    assert 0 < np.median(expected) < 1e3
    assert_allclose(found.mass, expected, rtol=1e-9)
    np.testing.assert_array_equal(found.joint, each.argmin(axis=1))


def test_a_payload_with_acceleration_is_that_of_bisection():
    model, q, rng = bounded(1)
    model = model.with_actuation(coulomb=rng.uniform(0, 0.3, model.n))
    link, com, a = model.moving_links[-1], [0.05, 0.1, -0.2], rng.uniform(0.1, 1.0, model.n)
    found = largest_payload(Dynamics(model), q, link, com, a)

    def bears(row, m):
        arm = Dynamics(model.with_payload(link, m, com), backend='python')
        most = np.abs(arm.gravity_torque(row)) + np.abs(arm.mass_matrix(row)) @ a
        return (most <= model.effort_limit - model.coulomb).all()

    for row, mass in zip(q[:6], found.mass[:6], strict=True):
        low, high = 0.0, 1e4
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if bears(row, middle) else (low, middle)
        assert_allclose(mass, low, rtol=1e-9, atol=1e-9)
    assert (found.mass > 0).any()
    assert (found.mass <= largest_payload(Dynamics(model), q, link, com).mass).all()


def test_what_bounds_no_payload_is_infinite_or_an_error():
    model = replace(parse_urdf(SLIDE), gravity=np.zeros(3))
    arm, link = Dynamics(model), model.moving_links[-1]
    assert largest_payload(arm, np.zeros((2, 1)), link).mass.tolist() == [np.inf] * 2
    with_limit = largest_payload(arm, np.zeros((1, 1)), link, acceleration=2.0)
    assert_allclose(with_limit.mass, 40 / 2.0 - model.mass[0])
    free = replace(model, effort_limit=np.full(1, np.inf))
    with pytest.raises(ModelError, match='no effort limits'):
        largest_payload(Dynamics(free), np.zeros((1, 1)), link)


def test_a_friction_law_of_its_own_replaces_that_of_the_model():
    model, motion, _, _ = lift()
    arm = Dynamics(model)
    without, with_law = (
        drive_load(arm, motion, law) for law in (None, coulomb_friction(3.0, 0.0))
    )
    assert_allclose(with_law.torque - without.torque, 3.0 * motion.qd, atol=1e-12)
