# SPDX-License-Identifier: Apache-2.0
"""`identify --efforts none`: from a CSV file of commands and positions to files."""

import json

import numpy as np
import pytest
import servo_arms
import yaml
from servo_arms import commands, drawn_servos, positions, table_arm_urdf

from robot_dynamics import parse_urdf
from robot_dynamics.cli import main


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """A folder with the description and a recording of an arm, and its servos."""
    path, servos = tmp_path_factory.mktemp('servo'), drawn_servos(2, 3)
    (path / 'arm.urdf').write_text(table_arm_urdf(2))
    t, u = commands(servo_arms.mix, 2, 15.0, 3)
    rows = np.column_stack([t, u, positions(servos, t, u)])
    head = 'time,command_pan,command_lift,q_pan,q_lift'
    np.savetxt(path / 'run.csv', rows, delimiter=',', header=head, comments='', fmt='%.9g')
    return path


def run(folder, *options):
    """Return the exit code of the verb on the recording."""
    given = [str(folder / 'run.csv'), '--robot', str(folder / 'arm.urdf'), '--efforts', 'none']
    return main(['identify', *given, *map(str, options)])


def test_files_and_report_of_servos(folder, capsys):
    new = folder / 'new.urdf'
    more = ('--isaaclab', folder / 'arm.py', '--json', folder / 'arm.json')
    assert run(folder, '--output', new, *more, '--report', folder / 'arm.html') == 0
    text = capsys.readouterr().out
    assert text.startswith('lag D/kp + d')
    assert 'pan: torque scale not identifiable: no gravity on this joint' in text
    servos = drawn_servos(2, 3)
    lag = json.loads((folder / 'arm.json').read_text())['lag']
    assert lag['pan'] == pytest.approx((servos['D'] / servos['kp'] + servos['delay'])[0], rel=0.01)
    # kp of pan occurs in the files alone, marked as assumed.
    assert json.loads((folder / 'arm.json').read_text())['absolute']['stiffness']['pan'] is None
    assert parse_urdf(new.read_bytes()).viscous[1] == pytest.approx(servos['D'][1], rel=0.02)
    written = yaml.safe_load(new.with_suffix('.yaml').read_text())
    assert written['/identification']['ros__parameters']['servo']['assumed_scale'] == [True, False]
    assert 'new.yaml' in new.read_text()
    assert 'tracking errors before and after' in (folder / 'arm.html').read_text()


def test_known_stiffness_and_mjcf(folder, capsys):
    pytest.importorskip('mujoco')
    kp = drawn_servos(2, 3)['kp']
    assert run(folder, '--kp', *kp, '--output', folder / 'new.xml') == 0
    text = (folder / 'new.xml').read_text()
    assert 'assumed_scale' not in text
    assert text.count('<position') == 2
    assert 'torque scale not identifiable' not in capsys.readouterr().out


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (('--effort-scale', '2'), '--effort-scale with --efforts none'),
        (('--kd', '1'), 'kd is given without kp'),
        (('--output', 'arm.txt'), 'expected a name that ends in .urdf or .xml'),
    ],
)
def test_options_that_contradict_are_rejected(folder, capsys, options, message):
    assert run(folder, *options) == 2
    assert message in capsys.readouterr().err
