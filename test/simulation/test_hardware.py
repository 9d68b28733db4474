# SPDX-License-Identifier: Apache-2.0
"""Hardware profiles: the file, its errors, and arms that differ from their model."""

import numpy as np
import pytest

from robot_dynamics import Dynamics
from robot_dynamics.common.resources import share_file
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.simulation import (
    Actuators,
    FrictionSettings,
    HardwareProfile,
    ProfileError,
    Sensors,
    load_profile,
)
from robot_dynamics.urdf.loading import load_urdf, parse_urdf


def written(tmp_path, text):
    path = tmp_path / 'profile.yaml'
    path.write_text(text)
    return path


def test_a_profile_has_the_values_of_its_file(tmp_path):
    profile = load_profile(
        written(
            tmp_path,
            'sensors: {effort_noise: [0.1, 0.2], latency: 1.0e-3}\n'
            'drives: {bandwidth: 100.0}\n'
            'friction: {law: load_memory, load: 0.02}\n'
            'model_error: [0.05, 0.1]\nfriction_error: 0.1\n',
        )
    )
    assert profile.sensors == Sensors(effort_noise=[0.1, 0.2], latency=1e-3)
    assert profile.drives == Actuators(bandwidth=100.0)
    assert profile.friction == FrictionSettings('load_memory', load=0.02)
    assert profile.model_error == (0.05, 0.1)
    assert profile.friction_error == 0.1


def test_an_empty_profile_changes_nothing(tmp_path):
    profile = load_profile(written(tmp_path, '{}'))
    model = planar_2r()
    assert profile.actual(model, 0).fingerprint() == model.fingerprint()
    assert profile.sensors == Sensors()
    assert profile.friction is None


def test_the_default_profile_changes_nothing():
    model = load_urdf(share_file('urdf/panda.urdf'))  # with friction
    assert HardwareProfile().actual(model, 0).fingerprint() == model.fingerprint()


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('sensors: [', 'is not YAML'),
        ('7', 'expected entries sensors, drives'),
        ('sensor: {}', "profile has no entry 'sensor', the nearest is sensors; expected"),
        ('drives: {lag: 1}', "drives has no entry 'lag', the nearest is delay; expected"),
        ('drives: 3', 'drives is 3; expected entries delay'),
        (
            'friction: {law: coulomb, slip: 1}',
            "friction has no entry 'slip', the nearest is presliding",
        ),
        ('model_error: [0.2, 0.1]', 'model_error is 0.2 to 0.1'),
        ('friction_error: 1.5', 'friction_error 1.5'),
        ('model_error: much', 'profile.yaml'),
    ],
)
def test_an_invalid_profile_is_rejected_with_file_and_key(tmp_path, text, message):
    with pytest.raises(ProfileError, match=message):
        load_profile(written(tmp_path, text))


def test_a_missing_profile_is_rejected_by_name(tmp_path):
    with pytest.raises(ProfileError, match=r'missing\.yaml: No such file'):
        load_profile(tmp_path / 'missing.yaml')


def test_an_actual_arm_differs_by_the_errors_of_the_profile_and_stays_consistent():
    model = load_urdf(share_file('urdf/panda.urdf'))
    profile = HardwareProfile(model_error=(0.05, 0.10), friction_error=0.10)
    for seed in range(20):
        actual = profile.actual(model, seed)
        moved = model.com != 0
        for after, before in (
            (actual.mass, model.mass),
            (actual.com[moved], model.com[moved]),
        ):
            error = np.abs(after / before - 1)
            assert error.min() >= 0.05 - 1e-12
            assert error.max() <= 0.10 + 1e-12
        for after, before in ((actual.viscous, model.viscous), (actual.coulomb, model.coulomb)):
            assert np.abs(after / before - 1).max() <= 0.10
        # The triangle inequality of the principal moments.
        moments = np.linalg.eigvalsh(actual.inertia_com)
        before = np.linalg.eigvalsh(model.inertia_com)
        assert moments / before == pytest.approx((actual.mass / model.mass)[:, None] * np.ones(3))
    assert profile.actual(model, 3).fingerprint() == profile.actual(model, 3).fingerprint()
    assert profile.actual(model, 3).fingerprint() != profile.actual(model, 4).fingerprint()


def test_errors_of_mass_and_of_each_coordinate_have_both_signs_and_are_independent():
    model = load_urdf(share_file('urdf/panda.urdf'))
    profile = HardwareProfile(model_error=(0.05, 0.10), friction_error=0.10)
    arms = [profile.actual(model, seed) for seed in range(30)]
    body = int(np.flatnonzero((model.com != 0).all(axis=1))[0])
    inertial = [
        np.append(a.mass[body] / model.mass[body], a.com[body] / model.com[body]) for a in arms
    ]
    friction = [np.append(a.viscous / model.viscous, a.coulomb / model.coulomb) for a in arms]
    for errors in (np.array(inertial) - 1, np.array(friction) - 1):
        assert ((errors > 0).any(axis=0) & (errors < 0).any(axis=0)).all()
        for part in (np.abs(errors), np.sign(errors)):
            together = np.corrcoef(part, rowvar=False)
            assert np.abs(together - np.eye(len(together))).max() < 0.8


def test_the_profile_of_the_panda_fits_it():
    profile = load_profile(share_file('config/realistic_panda.yaml'))
    model = load_urdf(share_file('urdf/panda.urdf'))
    assert profile.model_error == (0.05, 0.10)
    assert profile.friction_error == 0.10
    actual = Dynamics(profile.actual(model, 0))
    assert (np.linalg.eigvalsh(actual.mass_matrix(np.zeros(7))) > 0).all()


def test_the_urdf_of_an_actual_arm_differs_by_the_errors_of_the_profile():
    text = share_file('urdf/panda.urdf').read_bytes()
    nominal = parse_urdf(text)
    profile = HardwareProfile(model_error=(0.05, 0.10), friction_error=0.10)
    actual = parse_urdf(profile.actual_urdf(text, 1))
    assert profile.actual_urdf(text, 1) == profile.actual_urdf(text, 1)
    assert actual.joint_names == nominal.joint_names
    assert np.array_equal(actual.placement, nominal.placement)
    error = np.abs(actual.mass / nominal.mass - 1)
    assert error.min() >= 0.05 - 1e-12
    assert error.max() <= 0.10 + 1e-12
    for name in ('viscous', 'coulomb'):
        error = np.abs(getattr(actual, name) / getattr(nominal, name) - 1)
        assert 0 < error.max() <= 0.10


def test_the_hobby_profile_is_an_arm_of_servos(tmp_path):
    profile = load_profile(share_file('config/hobby_servo.yaml'))
    model = load_urdf(share_file('urdf/panda.urdf'))
    assert profile.servo.kp == 8.9
    assert profile.servo.delay == 0.015
    assert profile.sensors.position_resolution == pytest.approx(2 * np.pi / 2**12, rel=1e-3)
    assert (profile.actual(model, 0).reflected_inertia == 0.028).all()
    for text, why in (
        ('servo: {kd: 1.0}', "servo has no entry 'kp'"),
        ('servo: {kp: much}', "servo: kp is 'much'; expected numbers"),
        ('servo: {kp: 1.0, ki: 2.0}', "servo has no entry 'ki'"),
    ):
        with pytest.raises(ProfileError, match=why):
            load_profile(written(tmp_path, text))
