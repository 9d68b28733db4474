# SPDX-License-Identifier: Apache-2.0
"""The verb `payload`: figures, options and errors of a bag."""

import json

import numpy as np
import pytest

pytest.importorskip('rosbags')

from recorded_runs import lively, samples, torque, write_bag

from robot_dynamics import cli
from robot_dynamics.common.resources import share_file
from robot_dynamics.urdf.loading import load_urdf

PANDA = share_file('urdf/panda.urdf')
MODEL = load_urdf(PANDA)
LINK, MASS, COM = 'panda_link8', 0.8, (0.01, 0.02, 0.08)


@pytest.fixture(scope='module')
def bags(tmp_path_factory):
    """Return bags of a loaded arm: in motion, and in one posture."""
    folder, rng = tmp_path_factory.mktemp('bags'), np.random.default_rng(0)
    loaded = MODEL.with_payload(LINK, MASS, COM)
    t, q, qd, qdd = lively(MODEL, duration=15.0, rate=250.0)
    motion = samples(
        MODEL.joint_names,
        t,
        q,
        qd,
        torque(loaded, q, qd, qdd) + 0.1 * rng.normal(size=q.shape),
    )
    still = np.broadcast_to(q[0], q.shape)
    tau = torque(loaded, still, 0 * q, 0 * q)
    free = torque(MODEL, q, qd, qdd) + 0.1 * rng.normal(size=q.shape)
    unloaded = samples(MODEL.joint_names, t, q, qd, free)
    posture = samples(MODEL.joint_names, t, still, 0 * q, tau)
    runs = {'motion': motion, 'unloaded': unloaded, 'posture': posture}
    return {
        name: write_bag(
            folder / name,
            {'/joint_states': states},
            descriptions={'/robot_description': PANDA.read_text()},
        )
        for name, states in runs.items()
    }


@pytest.fixture
def run(capsys):
    """Return (exit code, standard output, standard error) of the verb."""

    def run(*arguments):
        code = cli.main(['payload', *map(str, arguments)])
        return code, *capsys.readouterr()

    return run


def test_mass_and_centre_are_printed_and_written(bags, run, tmp_path):
    file = tmp_path / 'payload.json'
    code, shown, error = run(bags['motion'], '--link', LINK, '--json', file)
    assert (code, error) == (0, '')
    found = json.loads(file.read_text())
    assert found['mass'] == pytest.approx(MASS, rel=0.01)
    assert np.allclose(found['com'], COM, atol=0.005)
    assert found['determined'] is True
    assert found['from'] == 'motion'
    assert found['conditional_on'] == []
    assert 0 < found['model_error'] < 0.01
    assert 'mass: 0.' in shown
    option = next(line for line in shown.splitlines() if '--payload' in line)
    assert option.split('--payload ')[1].startswith(f'{LINK} 0.')


@pytest.mark.slow
def test_the_printed_option_removes_the_payload(bags, run, tmp_path):
    file = tmp_path / 'payload.json'
    code, shown, _ = run(
        bags['motion'], '--link', LINK, '--json', file, '--payload', LINK, MASS, *COM
    )
    assert code == 0
    assert abs(json.loads(file.read_text())['mass']) < 0.01 * MASS
    assert '--payload' not in shown


def test_a_condition_of_the_errors_is_in_the_first_line_and_the_file(bags, run, tmp_path):
    file = tmp_path / 'payload.json'
    words = ('--link', LINK, '--friction', 'model', '--json', file)
    code, shown, _ = run(bags['motion'], *words)
    assert code == 0
    assert shown.splitlines()[0].endswith('± is conditional on the friction of the model')
    assert json.loads(file.read_text())['conditional_on'] == ['friction']


@pytest.mark.slow
def test_a_motion_without_the_payload_is_used(bags, run, tmp_path):
    masses = []
    for name, words in (('one', []), ('two', ['--unloaded', bags['unloaded']])):
        file = tmp_path / f'{name}.json'
        assert run(bags['motion'], '--link', LINK, '--json', file, *words)[0] == 0
        masses.append(json.loads(file.read_text())['mass'])
    assert masses[0] != masses[1]
    assert masses[1] == pytest.approx(MASS, rel=0.01)
    words = ('--link', LINK, '--unloaded', bags['posture'])
    code, _, error = run(bags['motion'], *words)
    assert code == 2
    assert 'moves for 0 s in the recording without the payload; expected 4 s' in error


@pytest.mark.slow
def test_a_model_with_a_parameter_file_counts_as_identified(bags, run, tmp_path):
    """Rotors that the arm does not have are errors of a description, but not of such a model."""
    params = tmp_path / 'identified.yaml'
    rotors = '[0.5, 0.5, 0.5, 0.5, 0.1, 0.1, 0.1]'
    params.write_text(f'/**:\n  ros__parameters:\n    rotor_inertia: {rotors}\n')
    given = ['--rotor-inertia', *rotors.strip('[]').split(', ')]
    for words, expected in ((['--params', params], ['description']), (given, [])):
        file = tmp_path / f'{words[0]}.json'
        assert run(bags['motion'], '--link', LINK, '--json', file, *words)[0] == 0
        found = json.loads(file.read_text())
        assert found['conditional_on'] == expected
    assert found['mass'] == pytest.approx(MASS, abs=3 * found['mass_error'])


def test_errors_are_one_line(bags, run, tmp_path):
    for words, expected in (
        ([bags['posture'], '--link', LINK], 'the arm stands in 1 posture, '),
        ([bags['motion'], '--link', 'nowhere'], 'nowhere'),
        ([bags['motion'], '--link', 'panda_link0'], 'is fixed to the base'),
        ([tmp_path / 'none', '--link', LINK], 'No such file or directory'),
    ):
        code, shown, error = run(*words)
        assert (code, shown) == (2, '')
        assert expected in error
        assert error.count('\n') == 1
    with pytest.raises(SystemExit):
        cli.main(['payload', str(bags['motion'])])  # without --link
