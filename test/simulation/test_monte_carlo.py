# SPDX-License-Identifier: Apache-2.0
"""The study of payload errors: known effects, and the same bits on a cluster."""

import warnings

import numpy as np
import pytest

from robot_dynamics import cli
from robot_dynamics.common.resources import share_file
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.simulation.ensembles import monte_carlo
from robot_dynamics.simulation.ensembles.batch import Workers, simulate_batch
from robot_dynamics.simulation.ensembles.perturbations import Perturbations
from robot_dynamics.urdf.loading import load_urdf

FILE = share_file('urdf/planar_2r.urdf')
SMALL = {'samples': 60, 'duration': 2.0, 'payload': 1.0}


@pytest.fixture(scope='module')
def arm():
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        return Dynamics(load_urdf(FILE))


@pytest.fixture(scope='module')
def result(arm):
    return monte_carlo.study(arm, **SMALL)


def test_the_right_payload_reduces_the_error(result):
    model, alone = (result.tracking_error[name] for name in monte_carlo.CONTROLLERS)
    error = np.abs(result.payload_error)
    assert error.max() <= 0.5 * SMALL['payload']
    near, far = error < np.quantile(error, 0.3), error > np.quantile(error, 0.7)
    assert np.median(model[near]) < np.median(model[far])
    assert np.median(model) < np.median(alone) / 2


def test_a_study_of_few_arms(arm):
    few = monte_carlo.study(arm, samples=3, duration=0.1, payload=1.0)
    # Two header lines, and one for each range that contains an arm.
    assert 2 + 1 <= len(monte_carlo.table(few).splitlines()) <= 2 + 3


def test_samples_are_independent():
    model = planar_2r().with_actuation(viscous=1.0, coulomb=2.0)
    drawn = monte_carlo.draw_samples(Dynamics(model), np.zeros(2), 1.0, 0.5, 1000, seed=0)
    factors = drawn.perturbations.viscous, drawn.perturbations.coulomb / 2
    for factor in factors:
        assert factor.min() == pytest.approx(1 - monte_carlo.FRICTION_ERROR, abs=1e-2)
        assert factor.max() == pytest.approx(1 + monte_carlo.FRICTION_ERROR, abs=1e-2)
    columns = np.column_stack([*factors, drawn.payload_error, drawn.q])
    assert np.abs(np.corrcoef(columns.T) - np.eye(7)).max() < 0.15


@pytest.mark.slow
def test_the_seed_determines_the_study(arm, result):
    again = monte_carlo.study(arm, **SMALL)
    other = monte_carlo.study(arm, **SMALL, seed=1)
    for name, error in result.tracking_error.items():
        np.testing.assert_array_equal(again.tracking_error[name], error)
        assert (other.tracking_error[name] != error).all()


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_bits(arm, result):
    pytest.importorskip('distributed')
    with monte_carlo.local_cluster(2) as executor:
        there = monte_carlo.study(arm, **SMALL, workers=Workers(executor, 4))
        for name, error in result.tracking_error.items():
            np.testing.assert_array_equal(there.tracking_error[name], error)
        options = {'steps': 50, 'record_every': 5, 'perturbations': Perturbations(viscous=0.1)}
        q = np.random.default_rng(0).normal(size=(33, arm.model.n))
        given = (arm, q, 0 * q, np.zeros(arm.model.n))
        for a, b in zip(
            simulate_batch(*given, **options, executor=executor, tasks=5),
            simulate_batch(*given, **options),
            strict=True,
        ):
            np.testing.assert_array_equal(a, b)


def test_the_command_prints_figures_and_saves_a_picture(tmp_path, capsys):
    pytest.importorskip('matplotlib')
    picture = tmp_path / 'study.png'
    command = [
        'monte-carlo',
        str(FILE),
        '--samples',
        '40',
        '--duration',
        '0.5',
        '--picture',
        str(picture),
    ]
    assert cli.main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert 'steps of an arm in' in lines[0]
    assert len(lines) == 3 + 5
    assert picture.read_bytes().startswith(b'\x89PNG')
    assert picture.stat().st_size > 10_000


def test_invalid_options_are_reported_in_a_line(tmp_path, capsys):
    for wrong in (
        ['--spread', '2'],  # masses would be negative
        ['--samples', '0'],
        ['--payload', '-1'],
        ['--duration', 'nan'],
    ):
        with pytest.raises(SystemExit, match='2'):
            cli.main(['monte-carlo', str(FILE), *wrong])
        assert f'{wrong[0]}: is {wrong[1]}; expected ' in capsys.readouterr().err
    assert cli.main(['monte-carlo', str(tmp_path / 'none.urdf')]) == 2
    assert 'none.urdf' in capsys.readouterr().err
