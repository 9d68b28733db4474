"""The command line: what it prints is what the library computes, and errors are one line."""

import csv
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import robots

from robot_dynamics import cli
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.urdf import load_urdf
from robot_dynamics.resources import share_file
from robot_dynamics.validation.engines import ENGINES, installed

CHECKOUT = Path(__file__).resolve().parents[1]
ELBOW, PANDA = (str(share_file(f'urdf/{name}.urdf')) for name in ('planar_2r', 'panda'))


@pytest.fixture
def run(capsys):
    """Return (exit code, standard output, standard error) of a command."""

    def run(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


def numbers(text):
    return np.array([float(word) for word in re.findall(r'-?\d+\.?\d*(?:e[-+]\d+)?', text)])


def test_check_shows_joints_limits_and_masses(run):
    code, shown, warned = run('check', PANDA)
    assert (code, warned) == (0, '')
    model = load_urdf(PANDA)
    lines = shown.splitlines()
    for j, name in enumerate(model.joint_names):
        row = next(line.split() for line in lines if line.startswith(f'{name} '))
        limits = (model.lower, model.upper, model.velocity_limit, model.effort_limit)
        assert row[1] == 'revolute'
        assert np.allclose([float(word) for word in row[2:6]], [x[j] for x in limits], rtol=1e-3)
    for mass, name in zip(model.mass, model.body_names, strict=True):
        row = next(line.split() for line in lines if line.startswith(f'{name} '))
        assert float(row[2]) == pytest.approx(mass, rel=1e-3)


def test_check_knows_the_kinds_of_joints(run):
    _, shown, _ = run('check', robots.path('tiago'))
    kinds = dict(line.split()[:2] for line in shown.splitlines() if len(line.split()) == 8)
    assert kinds['torso_lift_joint'] == 'prismatic'
    assert kinds['wheel_left_joint'] == 'continuous'
    assert kinds['arm_1_joint'] == 'revolute'


def test_check_warns_of_impossible_inertias_and_refuses_them_when_strict(run):
    code, _, warned = run('check', robots.path('xarm6'))
    assert code == 0
    assert warned.startswith('warning: ')
    assert "'link2'" in warned
    code, shown, said = run('check', '--strict', robots.path('xarm6'))
    assert (code, shown) == (2, '')
    assert "'link2'" in said
    assert said.count('\n') == 1


def test_terms_are_those_of_the_library(run):
    q, qd = [0.3, -0.7], [1.1, -0.4]
    code, shown, _ = run('terms', ELBOW, '--q', *q, '--qd', *qd)
    assert code == 0
    M, C, g = Dynamics(load_urdf(ELBOW)).terms(q, qd)
    parts = dict(part.split('\n', 1) for part in shown.strip().split('\n\n'))
    for title, value in (
        ('mass matrix M', M),
        ('Coriolis matrix C', C),
        ('Coriolis torque C qd', C @ qd),
        ('gravity torque g', g),
    ):
        assert np.allclose(numbers(parts[title]), np.ravel(value), rtol=0, atol=1e-6)


def test_a_wrong_number_of_positions_is_one_line(run):
    code, shown, said = run('terms', ELBOW, '--q', '0.1')
    assert (code, shown) == (2, '')
    assert said == ("robot-dynamics: --q has 1 values; 'planar_2r' has 2 joints: joint1, joint2\n")


@pytest.mark.parametrize('verb', ['check', 'terms', 'validate', 'simulate', 'precompile'])
def test_a_missing_file_is_one_line(run, verb):
    code, shown, said = run(verb, 'nowhere.urdf')
    assert (code, shown) == (2, '')
    assert said.startswith('robot-dynamics: nowhere.urdf: ')
    assert said.count('\n') == 1


def test_an_interruption_is_one_line(tmp_path):
    description = tmp_path / 'slow.urdf'
    os.mkfifo(description)
    process = subprocess.Popen(
        [sys.executable, '-m', 'robot_dynamics.cli', 'check', description],
        cwd=CHECKOUT,
        stderr=subprocess.PIPE,
        text=True,
    )
    with description.open('w'):  # returns when it reads
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, 'robot-dynamics: interrupted\n')


@pytest.mark.skipif(not any(map(installed, ENGINES)), reason='no other engine is installed')
def test_validate_prints_a_verdict(run):
    code, shown, _ = run('validate', ELBOW, '--states', 10)
    assert code == 0
    assert shown.startswith('PASS: planar_2r against ')


@pytest.mark.skipif(not any(map(installed, ENGINES)), reason='no other engine is installed')
def test_validate_fails_where_nothing_is_close_enough(run):
    code, shown, _ = run('validate', PANDA, '--states', 5, '--tolerance', 0)
    assert code == 1
    assert shown.startswith('FAIL: panda against ')


def test_simulate_keeps_the_energy_and_writes_the_motion(run, tmp_path):
    file = tmp_path / 'fall.csv'
    code, shown, _ = run('simulate', ELBOW, '--duration', 0.5, '--q', 0.2, 0.1, '--csv', file)
    assert code == 0
    kinetic, drift = numbers(shown.splitlines()[1])
    assert kinetic > 1
    assert drift < 1e-6 * kinetic
    head, *rows = csv.reader(file.open())
    assert head == ['t', 'joint1', 'joint2', 'joint1 velocity', 'joint2 velocity']
    motion = np.array(rows, dtype=float)
    assert motion.shape == (501, 5)
    assert np.allclose(motion[0], [0, 0.2, 0.1, 0, 0])
    assert np.allclose(np.gradient(motion[:, 1], motion[:, 0])[1:-1], motion[1:-1, 3], atol=1e-3)


def test_simulate_shows_the_drift_of_a_poor_integrator(run):
    drifts = [
        numbers(run('simulate', ELBOW, '--duration', 0.5, '--integrator', name)[1])[-1]
        for name in ('rk4', 'explicit_euler')
    ]
    assert drifts[1] > 1e3 * drifts[0]


def test_precompile_names_every_program(run):
    code, shown, _ = run('precompile', PANDA, '--frame', 'panda_link7')
    assert code == 0
    for name in ('inverse_dynamics', 'forward_dynamics', 'terms', 'regressor', 'jacobian'):
        assert re.search(rf'^{name} +\d+\.\d\d s$', shown, re.MULTILINE)


def test_precompile_knows_the_frames(run):
    code, _, said = run('precompile', ELBOW, '--frame', 'toool')
    assert code == 2
    assert "no frame 'toool'; the model has " in said


@pytest.mark.parametrize(
    'arguments',
    [
        ['simulate', ELBOW, '--duration', '-1'],
        ['simulate', ELBOW, '--time-step', 'nan'],
        ['demo', '--json', 'no/such/folder/x.json'],
        ['terms', ELBOW, '--q', 'up'],
        ['dance'],
        [],
    ],
)
def test_what_argparse_does_not_understand_is_refused(arguments, capsys):
    with pytest.raises(SystemExit, match='2'):
        cli.main(arguments)
    assert 'error: ' in capsys.readouterr().err


@pytest.mark.parametrize('verb', [(), ('check',), ('validate',), ('simulate',), ('demo',)])
def test_every_verb_explains_itself(verb, capsys):
    with pytest.raises(SystemExit, match='0'):
        cli.main([*verb, '--help'])
    assert 'usage: robot-dynamics' in capsys.readouterr().out


def without_ros(*arguments):
    code = (
        "import sys; sys.modules['rclpy'] = None; "
        f'from robot_dynamics import cli; sys.exit(cli.main({list(arguments)!r}))'
    )
    return subprocess.run(
        [sys.executable, '-c', code], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )


def test_without_ros_the_demo_says_so_and_the_rest_works():
    refused = without_ros('demo')
    assert refused.returncode == 2
    assert 'the demo needs ROS 2' in refused.stderr
    assert refused.stderr.count('\n') == 1
    assert without_ros('terms', ELBOW).returncode == 0
