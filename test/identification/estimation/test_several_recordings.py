# SPDX-License-Identifier: Apache-2.0
"""Several recordings in one fit, short ones, known masses and gains, and delays."""

from dataclasses import replace

import numpy as np
import pytest
import robots
from arms_to_identify import load_memory, recorded, wrong
from tiers import slow, soak

from robot_dynamics.common.resources import share_file
from robot_dynamics.common.spatial import pose
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.inertia import from_parameters, to_parameters, transformed
from robot_dynamics.core.model.robots import random_inertial
from robot_dynamics.identification.estimation.covariance import pooled
from robot_dynamics.identification.estimation.estimation import identify
from robot_dynamics.identification.estimation.identification_records import PayloadRecording
from robot_dynamics.identification.estimation.identification_report import text
from robot_dynamics.identification.estimation.pseudo_inertia import displacement
from robot_dynamics.recordings import RecordingError
from robot_dynamics.urdf.loading import load_urdf

RNG = np.random.default_rng
ELBOW = load_urdf(share_file('urdf/planar_2r.urdf'))
UR5 = robots.load('ur5')
WITHIN = replace(UR5, lower=np.full(6, -3.0), upper=np.full(6, 3.0))
GAIN = np.array([13.0, 13.0, 13.0, 9.0, 9.0, 9.0])  # N m/A


def test_the_mean_of_estimates_that_differ_by_more_than_their_errors():
    z, rng = [], RNG(0)
    for _ in range(400):
        errors = rng.uniform(0.5, 2.0, 30)
        values = 3.0 + rng.normal(size=30) * errors + 2.0 * rng.normal(size=30)
        found = pooled(values, errors)
        z.append((found.value - 3.0) / found.error)
    assert np.sqrt(np.mean(np.square(z))) == pytest.approx(1, abs=0.2)
    assert pooled(np.array([2.0, 2.0]), np.array([1.0, 0.5])).between == 0


def test_parameters_in_another_frame():
    R = np.linalg.qr(RNG(2).normal(size=(3, 3)))[0]
    body, T = random_inertial(RNG(1)), pose(R * np.linalg.det(R), RNG(3).normal(size=3))
    expected = to_parameters(transformed(body, T))
    np.testing.assert_allclose(displacement(T) @ to_parameters(body), expected, rtol=1e-9)
    assert from_parameters(displacement(T) @ to_parameters(body)).mass == pytest.approx(body.mass)


@pytest.mark.slow
def test_friction_of_several_days_has_their_variance_in_its_error():
    rng, z, alone = RNG(4), [], []
    for seed in range(2):
        days = []
        for day in range(3):
            viscous = 0.4 * (1 + 0.15 * rng.normal(size=2))
            true = wrong(ELBOW, viscous=viscous, coulomb=0.3)
            one = recorded(true, 10 * seed + day, noise=0.003)
            days.append(replace(one, effort=one.effort + 0.2 * rng.normal(size=2)))
        found = identify(Dynamics(ELBOW), days)
        z.append((found.friction.coefficients[:, 0] - 0.4) / found.friction.error[:, 0])
        single = identify(Dynamics(ELBOW), days[0])
        alone.append((single.friction.coefficients[:, 0] - 0.4) / single.friction.error[:, 0])
        assert found.signals.samples == sum(len(day.t) for day in days)
        assert found.validation.verdict == 'better'
    assert np.abs(z).max() < 5
    assert np.sqrt(np.mean(np.square(z))) < 0.5 * np.sqrt(np.mean(np.square(alone)))


@pytest.mark.slow
def test_a_recording_of_nine_seconds_is_validated_by_blocks_and_all_of_it_is_fitted():
    one = recorded(wrong(ELBOW, viscous=0.4, coulomb=0.3), duration=9.0)
    found = identify(Dynamics(ELBOW), one)
    assert found.validation.source == 'blocks'
    assert (np.diff(found.validation.t) > 0).all()
    assert found.validation.verdict == 'better'
    assert 'each quarter of the recording' in text(found)
    assert found.signals.samples == len(one.t)
    fitted = found.fit.problem.recordings[0].rows.t
    assert fitted[-1] - fitted[0] > 0.9 * (found.validation.t[-1] - found.validation.t[0])


def test_after_the_validation_all_samples_are_fitted():
    one = recorded(wrong(ELBOW, viscous=0.4, coulomb=0.3))
    found = identify(Dynamics(ELBOW), one)
    assert found.validation.source == 'last third'
    fitted = found.fit.problem.recordings[0].rows.t
    assert fitted[-1] > found.validation.t[-1] - 0.1
    assert 'all of them after the validation' in text(found)


@pytest.mark.parametrize('delay', [*slow([-0.004]), *soak([0.004, 0.0])])
def test_a_delay_beside_friction_with_memory_is_covered(delay):
    friction = load_memory([0.4, 0.4], [0.5, 0.5], [0.2, 0.2], 2e-3)
    one = recorded(wrong(ELBOW), noise=0.003, friction=friction)
    late = [np.interp(one.t - delay, one.t, column) for column in one.effort.T]
    late = replace(one, effort=np.column_stack(late))
    found = identify(Dynamics(ELBOW), late, friction='load_memory').signals.delay
    assert abs(found.value - delay) < 3 * found.error
    assert found.applied == (delay != 0)
    assert found.removed == (found.value if found.applied else 0.0)


def ur_currents(seed, com=None):
    """Return the robot and its recordings of motor currents, without and with 3 kg."""
    friction = load_memory(
        [12.0, 12.0, 8.0, 2.0, 2.0, 2.0], [6.0, 8.0, 5.0, 2.0, 1.5, 1.2], [0.1] * 6
    )
    rotors = np.array([1.0, 1.0, 0.6, 0.15, 0.15, 0.15])
    true = wrong(WITHIN, seed=seed, rotor_inertia=rotors)
    com = RNG(seed).uniform(-0.08, 0.08, 3) if com is None else com
    loaded = true.with_payload('tool0', 3.0, com, 0.01 * np.eye(3))
    pair = [
        recorded(robot, 2 * seed + k, duration=40.0, rate=200.0, noise=0.005, friction=friction)
        for k, robot in enumerate((true, loaded))
    ]
    return com, [replace(one, effort=one.effort / GAIN + 0.02) for one in pair]


@pytest.mark.parametrize('seeds', [*slow([range(1)]), *soak([range(1, 10)])], ids=['one', 'nine'])
def test_gains_from_a_mass_alone(seeds):
    z = []
    for seed in seeds:
        com, (plain, loaded) = ur_currents(seed)
        payload = PayloadRecording(loaded, 'tool0', 3.0)
        found = identify(
            Dynamics(UR5), plain, efforts='currents', friction='load_memory', payload=payload
        )
        known = found.drives.scale_known
        assert known[:3].all()
        ratio = (found.drives.effort_scale / GAIN)[known]
        assert np.abs(ratio - 1).mean() < 0.03
        z.append((found.drives.effort_scale - GAIN)[known] / found.drives.scale_error[known])
        assert found.load.mass == 3.0
        assert np.abs((found.load.com - com) / found.load.com_error).max() < 5
    assert (np.abs(np.concatenate(z)) < 3).mean() >= 0.95


@pytest.mark.slow
def test_one_known_gain_fixes_the_others():
    _, (plain, _) = ur_currents(3)
    names = UR5.joint_names
    found = identify(
        Dynamics(UR5), plain, efforts='currents', friction='load', effort_scale={names[1]: 13.0}
    )
    assert found.drives.effort_scale[1] == 13.0
    assert np.isnan(found.drives.scale_error[1])
    known = found.drives.scale_known
    assert known[1:3].all()
    ratio = found.drives.effort_scale / GAIN
    assert np.abs(ratio[known] - 1).max() < 0.1
    with pytest.raises(RecordingError, match='effort_scale is of motor; expected joints, should'):
        identify(Dynamics(UR5), plain, efforts='currents', effort_scale={'motor': 13.0})
    with pytest.raises(RecordingError, match='those of some joints fix currents alone'):
        identify(Dynamics(UR5), plain, effort_scale={names[1]: 13.0})
    with pytest.raises(RecordingError, match='there is no recording'):
        identify(Dynamics(UR5), [])
