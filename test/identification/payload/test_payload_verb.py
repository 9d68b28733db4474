# SPDX-License-Identifier: Apache-2.0
"""The verb `payload`: figures, options and errors of a bag."""

import json

import numpy as np
import pytest

pytest.importorskip('rosbags')

from recorded_runs import lively, samples, torque, write_bag

from robot_dynamics import cli
from robot_dynamics.resources import share_file
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
    posture = samples(MODEL.joint_names, t, still, 0 * q, tau)
    return {
        name: write_bag(
            folder / name,
            {'/joint_states': states},
            descriptions={'/robot_description': PANDA.read_text()},
        )
        for name, states in (('motion', motion), ('posture', posture))
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
    assert 'mass: 0.' in shown
    option = next(line for line in shown.splitlines() if '--payload' in line)
    assert option.split('--payload ')[1].startswith(f'{LINK} 0.')


def test_the_printed_option_removes_the_payload(bags, run, tmp_path):
    file = tmp_path / 'payload.json'
    code, shown, _ = run(
        bags['motion'], '--link', LINK, '--json', file, '--payload', LINK, MASS, *COM
    )
    assert code == 0
    assert abs(json.loads(file.read_text())['mass']) < 0.01 * MASS
    assert '--payload' not in shown


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
