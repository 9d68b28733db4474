# SPDX-License-Identifier: Apache-2.0
"""Stated errors of an identification cover the truth on realistic recordings."""

from dataclasses import replace

import numpy as np
import pytest
from recorded_runs import lively

from robot_dynamics.common.resources import share_file
from robot_dynamics.control import Reference
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.identification.estimation.estimation import identify
from robot_dynamics.identification.estimation.identification_report import remarks
from robot_dynamics.recordings import Recording
from robot_dynamics.simulation import load_profile, record_motion
from robot_dynamics.urdf.loading import load_urdf

PROFILE = load_profile(share_file('config/realistic_panda.yaml'))
PANDA = load_urdf(share_file('urdf/panda.urdf'), tip_link='panda_link8')
ROUGH = PANDA.with_actuation(
    viscous=np.array([2.0, 2.0, 1.5, 1.5, 0.5, 0.5, 0.5]),
    coulomb=np.array([1.5, 1.8, 1.2, 1.2, 0.6, 0.5, 0.4]),
)
GAIN = 0.015  # standard deviation of the drives' gains: a percent or two
RATE = 500.0


def identified(described, seed, friction):
    """Return the robot and what is identified from its recording."""
    rng = np.random.default_rng(seed)
    drives = replace(PROFILE.drives, gain=1 + GAIN * rng.normal(size=7))
    profile = replace(PROFILE, drives=drives)
    true = profile.actual(described, seed=seed)
    _, *motion = lively(described, 40.0, RATE, seed)
    (r,) = record_motion(Dynamics(true), Reference(*motion), profile, seeds=[seed], rate=RATE)
    recording = Recording(true.joint_names, r.t, r.q, r.qd, r.effort)
    return true, identify(Dynamics(described), recording, friction=friction)


def scores(described, seed, friction):
    """Return errors in units of the stated ones: of base parameters, friction and offsets."""
    true, found = identified(described, seed, friction)
    base, sure = found.inertia.base, found.inertia.base.determined
    inertial = true.inertial_parameters()
    expected = base.grouping @ np.concatenate([inertial, np.zeros(7)])  # without rotors
    assert sure.sum() > 25
    assert found.inertia.determined.sum() > 10
    return (
        ((base.value - expected) / base.error)[sure],
        ((found.inertia.theta - inertial) / found.inertia.error)[found.inertia.determined],
        (found.friction.coefficients[:, 0] - true.viscous) / found.friction.error[:, 0],
        (found.friction.coefficients[:, 1] - true.coulomb) / found.friction.error[:, 1],
        (found.drives.offset - PROFILE.sensors.effort_offset) / found.drives.offset_error,
    )


@pytest.mark.parametrize(
    ('described', 'friction', 'seeds'),
    [
        pytest.param(PANDA, 'coulomb_memory', range(2), id='two', marks=pytest.mark.slow),
        pytest.param(PANDA, 'coulomb_memory', range(12), id='memory', marks=pytest.mark.soak),
        pytest.param(PANDA, 'coulomb', range(12), id='another law', marks=pytest.mark.soak),
        pytest.param(ROUGH, 'auto', range(12), id='much friction', marks=pytest.mark.soak),
    ],
)
def test_stated_errors_cover_the_truth_on_realistic_recordings(described, friction, seeds):
    runs = [scores(described, 40 + seed, friction) for seed in seeds]
    base, inertial, *drives = (np.concatenate(z) for z in zip(*runs, strict=True))
    for z in (base, inertial, *drives):
        assert (np.abs(z) < 3).mean() >= 0.95
    if len(seeds) < 12:
        return  # too few for their size
    # Not by errors that are too large.
    for z in (base, inertial):
        assert 0.7 < np.sqrt((z**2).mean()) < 1.3
    for z in drives:
        assert 0.5 < np.sqrt((z**2).mean()) < 1.3


@pytest.mark.slow
def test_friction_of_another_law_is_named():
    for friction, named in (('coulomb', True), ('coulomb_memory', False)):
        _, found = identified(ROUGH, 50, friction)
        assert any('friction follows another law' in line for line in remarks(found)) == named
