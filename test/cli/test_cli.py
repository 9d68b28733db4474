# SPDX-License-Identifier: Apache-2.0
"""Command line: output equal to the results of the library, errors in one line."""

import csv
import os
import re
import signal
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
import robots
import urdf_text
import yaml
from verbs import verbs

from robot_dynamics import cli
from robot_dynamics.cli import commands
from robot_dynamics.common.resources import share_file
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.urdf.loading import load_urdf
from robot_dynamics.validation.engines import ENGINES, installed

CHECKOUT = Path(__file__).resolve().parents[2]
ELBOW, PANDA = (str(share_file(f'urdf/{name}.urdf')) for name in ('planar_2r', 'panda'))


def numbers(text):
    return np.array([float(word) for word in re.findall(r'-?\d+\.?\d*(?:e[-+]\d+)?', text)])


def test_check_shows_joints_limits_and_masses(run):
    code, output, warned = run('check', PANDA)
    assert (code, warned) == (0, '')
    model = load_urdf(PANDA)
    lines = output.splitlines()
    for j, name in enumerate(model.joint_names):
        row = next(line.split() for line in lines if line.startswith(f'{name} '))
        limits = (model.lower, model.upper, model.velocity_limit, model.effort_limit)
        assert row[1] == 'revolute'
        assert np.allclose([float(word) for word in row[2:6]], [x[j] for x in limits], rtol=1e-3)
    for mass, name in zip(model.mass, model.body_names, strict=True):
        row = next(line.split() for line in lines if line.startswith(f'{name} '))
        assert float(row[2]) == pytest.approx(mass, rel=1e-3)


@pytest.mark.slow
def test_check_prints_the_joint_types(run):
    _, output, _ = run('check', robots.path('tiago'))
    kinds = dict(line.split()[:2] for line in output.splitlines() if len(line.split()) == 8)
    assert kinds['torso_lift_joint'] == 'prismatic'
    assert kinds['wheel_left_joint'] == 'continuous'
    assert kinds['arm_1_joint'] == 'revolute'


def test_check_reports_inconsistent_inertias_as_errors(run):
    code, output, errors = run('check', robots.path('xarm6'))
    assert (code, errors) == (1, '')
    assert 'ERROR inertia-inconsistent' in output
    assert '  link2: principal moments' in output


@pytest.mark.parametrize(
    'words',
    [
        ('--q', '[0.3, -0.7]'),
        ('--q=[0.3, -0.7]',),
        ('--q', '(3e-1,-0.7)'),
        ('--q', '[0.3,', '-0.7]'),  # without quotes in the shell
    ],
)
def test_a_posture_is_a_list_in_python(run, words):
    assert run('terms', ELBOW, *words) == run('terms', ELBOW, '--q', 0.3, -0.7)


def test_terms_are_those_of_the_library(run):
    q, qd = [0.3, -0.7], [1.1, -0.4]
    code, output, _ = run('terms', ELBOW, '--q', *q, '--qd', *qd)
    assert code == 0
    M, C, g = Dynamics(load_urdf(ELBOW)).terms(q, qd)
    parts = dict(part.split('\n', 1) for part in output.strip().split('\n\n'))
    for title, value in (
        ('mass matrix M, kg m^2', M),
        ('Coriolis matrix C, kg m^2/s', C),
        ('Coriolis torque C qd, N m', C @ qd),
        ('gravity torque g, N m', g),
    ):
        assert np.allclose(numbers(parts[title]), np.ravel(value), rtol=0, atol=1e-6)


def test_terms_of_a_prismatic_joint_have_its_units(run):
    _, output, _ = run('terms', 'scara_rrp')
    assert 'mass matrix M, kg m^2 (kg m: row or column of quill; kg: both)\n' in output
    assert 'gravity torque g, N m (N: quill)\n' in output


def test_terms_have_no_negative_zeros_and_digits_of_small_robots(run, tmp_path):
    _, output, _ = run('terms', 'panda', '--qd', 0, 0.1, 0, 0, 0, 0, 0)
    assert not re.search(r'-0\.(?!\d)', output)
    small = tmp_path / 'small.urdf'
    small.write_text(re.sub(r'value="([\d.]+)"', r'value="\1e-9"', Path(ELBOW).read_text()))
    g = Dynamics(load_urdf(small)).gravity_torque([0, 0])
    _, output, _ = run('terms', small)
    shown = numbers(output.partition('gravity torque g, N m\n')[2])
    np.testing.assert_allclose(shown, g, rtol=1e-5)


def test_a_wrong_number_of_positions_is_one_line(run):
    code, output, errors = run('terms', ELBOW, '--q', '0.1')
    assert (code, output) == (2, '')
    assert errors == (
        "robot-dynamics: --q has 1 value; 'planar_2r' has 2 joints: joint1, joint2\n"
    )


def test_check_names_a_moving_link_without_inertial(run, tmp_path):
    link, joint = urdf_text.link, urdf_text.joint
    file = tmp_path / 'robot.urdf'
    links = link('a'), link('b', ''), link('c')
    joints = joint('i', 'a', 'b', urdf_text.LIMIT), joint('j', 'b', 'c', urdf_text.LIMIT)
    file.write_text(urdf_text.robot(*links, *joints))
    code, output, errors = run('check', file)
    assert (code, errors) == (0, '')
    assert '  b: moves but has no <inertial>' in output
    assert run('check', '--strict', file)[0] == 1


@pytest.mark.parametrize('verb', ['check', 'terms', 'validate', 'simulate', 'precompile'])
def test_a_missing_file_is_one_line(run, verb):
    code, output, errors = run(verb, 'nowhere.urdf')
    assert (code, output) == (2, '')
    assert errors.startswith('robot-dynamics: nowhere.urdf: ')
    assert errors.count('\n') == 1


def test_an_interrupt_is_one_line(tmp_path):
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
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, 'robot-dynamics: interrupted\n')


@pytest.mark.skipif(not any(map(installed, ENGINES)), reason='no other engine is installed')
def test_validate_prints_a_verdict(run):
    code, output, _ = run('validate', ELBOW, '--states', 10)
    assert code == 0
    assert output.startswith('PASS: planar_2r against ')


@pytest.mark.skipif(not any(map(installed, ENGINES)), reason='no other engine is installed')
def test_validate_fails_beyond_the_tolerance(run):
    code, output, _ = run('validate', PANDA, '--states', 5, '--tolerance', 1e-300)
    assert code == 1
    assert output.startswith('FAIL: panda against ')


@pytest.mark.slow
def test_validate_that_compares_nothing_is_no_success(run, tmp_path, monkeypatch):
    for package in ('pybullet', 'mujoco', 'pinocchio'):
        (tmp_path / f'{package}.py').write_text(f'raise ImportError("No module {package}")')
    monkeypatch.setenv('PYTHONPATH', str(tmp_path))
    code, output, _ = run('validate', ELBOW, '--states', 2)
    assert code == 3
    assert output.startswith('NO ENGINE: planar_2r')
    assert run('validate', ELBOW, '--states', 2, '--allow-missing')[0] == 0


@pytest.mark.skipif(not any(map(installed, ENGINES)), reason='no other engine is installed')
def test_a_missing_engine_that_is_allowed_hides_no_difference(run):
    code, *_ = run('validate', PANDA, '--states', 2, '--tolerance', 1e-300, '--allow-missing')
    assert code == 1


def test_simulate_keeps_the_energy_and_writes_the_motion(run, tmp_path):
    file = tmp_path / 'fall.csv'
    code, output, _ = run('simulate', ELBOW, '--duration', 0.5, '--q', 0.2, 0.1, '--csv', file)
    assert code == 0
    kinetic, drift = numbers(output.splitlines()[1])
    assert kinetic > 1
    assert drift < 1e-6 * kinetic
    head, *rows = csv.reader(file.open())
    assert head == ['t', 'joint1', 'joint2', 'joint1 velocity', 'joint2 velocity']
    motion = np.array(rows, dtype=float)
    assert motion.shape == (501, 5)
    assert np.allclose(motion[0], [0, 0.2, 0.1, 0, 0])
    assert np.allclose(np.gradient(motion[:, 1], motion[:, 0])[1:-1], motion[1:-1, 3], atol=1e-3)


def test_simulate_moves_the_base(run, tmp_path):
    cart, file = tmp_path / 'cart.yaml', tmp_path / 'run.csv'
    cart.write_text('x: {ramps: [{start: 0, duration: 1, velocity: 2}]}')
    start = 'simulate', ELBOW, '--duration', 0.5, '--q', 0.2, 0.1, '--csv', file
    code, output, _ = run(*start, '--base-motion', cart)
    assert code == 0
    assert 'J relative to the base' in output
    assert 'drift' not in output
    moved = file.read_text()
    # A base at constant acceleration is gravity of another direction.
    assert run(*start, '--gravity', -2.0, 0.0, -9.81)[0] == 0
    rows = [
        np.genfromtxt(text.splitlines()[1:], delimiter=',') for text in (moved, file.read_text())
    ]
    np.testing.assert_allclose(rows[0], rows[1], rtol=0, atol=1e-8)
    assert 'none.yaml: No such file' in run(*start, '--base-motion', 'none.yaml')[2]


def test_simulate_prints_the_drift_of_a_low_order_integrator(run):
    drifts = [
        numbers(run('simulate', ELBOW, '--duration', 0.5, '--integrator', name)[1])[-1]
        for name in ('rk4', 'explicit_euler')
    ]
    assert drifts[1] > 1e3 * drifts[0]


@pytest.mark.slow
def test_precompile_names_every_program(run):
    code, output, _ = run('precompile', PANDA, '--frame', 'panda_link7')
    assert code == 0
    for name in ('inverse_dynamics', 'forward_dynamics', 'terms', 'regressor', 'jacobian'):
        assert re.search(rf'^{name} +\d+\.\d\d s$', output, re.MULTILINE)


def test_precompile_includes_the_frames(run):
    code, _, errors = run('precompile', ELBOW, '--frame', 'toool')
    assert code == 2
    assert "no frame 'toool'; the model has " in errors


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
def test_wrong_arguments_are_rejected(arguments, capsys):
    with pytest.raises(SystemExit, match='2'):
        cli.main(arguments)
    assert 'error: ' in capsys.readouterr().err


def test_a_robot_of_the_package_is_found_by_name(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'panda').mkdir()  # a folder of that name is not a description
    code, output, errors = run('check', 'panda')
    assert (code, errors) == (0, '')
    assert output == run('check', PANDA)[1]
    code, output, errors = run('check', 'pander')
    assert (code, output) == (2, '')
    assert errors.startswith(
        'robot-dynamics: pander: no file and no robot on this disk has this name; expected a '
        '.urdf, .xacro or MJCF file, or one of panda, planar_2r, puma560, scara_rrp ('
    )


def test_a_folder_is_no_robot_and_no_file_to_write(run, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'models').mkdir()
    output, errors = run('terms', 'models')[1:]
    assert output == ''
    assert errors.startswith(
        'robot-dynamics: models: is a folder; expected a .urdf, .xacro or MJCF file, or one of '
        'panda, '
    )
    with pytest.raises(SystemExit, match='2'):
        run('check', 'panda', '--fix', 'models')
    assert 'argument --fix: models is a folder; expected a file' in capsys.readouterr().err


def test_a_file_that_cannot_be_read_or_written_is_named_like_any_other(run):
    reason = 'No such file or directory'
    assert run('trajectory', '/no', '--robot', 'panda') == (
        2,
        '',
        f'robot-dynamics: /no: {reason}\n',
    )


def test_the_version_is_the_packages(capsys):
    version = re.search('<version>(.*)</version>', share_file('package.xml').read_text()).group(1)
    with pytest.raises(SystemExit, match='0'):
        cli.main(['--version'])
    assert capsys.readouterr().out == f'robot-dynamics {version}\n'


@pytest.mark.parametrize('rate', [1000.0, 20.0])
def test_gains_are_parameters_of_the_node_and_stable(run, rate):
    code, output, _ = run('gains', PANDA, '--rate', rate)
    assert code == 0
    entry = yaml.safe_load(output)['/**/feedforward_node']['ros__parameters']
    arm = Dynamics(load_urdf(PANDA))
    assert tuple(entry['joints']) == arm.model.joint_names
    assert entry['expected_rate'] == rate
    assert min(entry['kp']) > 0
    assert all(type(x) is float for x in (*entry['kp'], *entry['kd']))
    for q in np.random.default_rng(5).uniform(arm.model.lower, arm.model.upper, (50, 7)):
        M_inverse = np.linalg.inv(arm.mass_matrix(q))
        assert np.abs(np.linalg.eigvals(M_inverse * entry['kd'])).max() / rate < 1
    printed = dict(re.findall(r'^#   (\w+) +(\S+)$', output, re.MULTILINE))
    assert tuple(printed) == arm.model.joint_names
    assert 0 < min(map(float, printed.values())) <= max(map(float, printed.values())) < 1


def test_gains_of_a_part_and_of_a_frequency(run):
    parameters = [
        yaml.safe_load(run('gains', PANDA, *options)[1])['/**/feedforward_node']['ros__parameters']
        for options in (
            ('--tip-link', 'panda_link3', '--frequency', 10),
            ('--tip-link', 'panda_link3', '--frequency', 5),
        )
    ]
    assert parameters[0]['tip_link'] == 'panda_link3'
    assert parameters[0]['joints'] == ['panda_joint1', 'panda_joint2', 'panda_joint3']
    np.testing.assert_allclose(parameters[0]['kp'], 4 * np.array(parameters[1]['kp']), rtol=1e-3)


def test_simulate_draws_the_motion(run, tmp_path):
    pytest.importorskip('matplotlib')
    file = tmp_path / 'fall.png'
    assert run('simulate', ELBOW, '--duration', 0.1, '--picture', file)[0] == 0
    assert file.stat().st_size > 10_000


def test_simulate_animates_the_motion(run, tmp_path):
    pytest.importorskip('matplotlib')
    file = tmp_path / 'fall.gif'
    assert run('simulate', ELBOW, '--duration', 0.05, '--animate', file)[0] == 0
    assert file.read_bytes().startswith(b'GIF8')


def test_an_animation_in_an_unknown_format_is_an_error_before_the_work(capsys):
    pytest.importorskip('matplotlib')
    with pytest.raises(SystemExit, match='2'):
        cli.main(['simulate', 'nowhere.urdf', '--animate', 'x.avi'])
    errors = capsys.readouterr().err
    assert 'argument --animate: is x.avi; expected a name that ends in .gif or .mp4' in errors
    assert errors.count('\n') == 1


def test_an_animation_without_ffmpeg_is_an_error_before_the_work(capsys, monkeypatch):
    pytest.importorskip('matplotlib')
    monkeypatch.setattr('matplotlib.animation.FFMpegWriter.isAvailable', lambda: False)
    with pytest.raises(SystemExit, match='2'):
        cli.main(['simulate', ELBOW, '--animate', 'x.mp4'])
    assert 'argument --animate: is x.mp4: MP4 needs the program ffmpeg' in capsys.readouterr().err


@pytest.mark.parametrize('verb', ['compare', 'simulate', 'monte-carlo'])
def test_a_picture_in_an_unknown_format_is_an_error_before_the_work(verb, capsys, monkeypatch):
    pytest.importorskip('matplotlib')
    with pytest.raises(SystemExit, match='2'):
        cli.main([verb, 'nowhere.urdf', '--picture', 'x.nosuchfmt'])
    errors = capsys.readouterr().err
    assert 'argument --picture: is x.nosuchfmt; expected a name that ends in .' in errors
    assert '.png' in errors
    assert errors.count('\n') == 1


@pytest.mark.parametrize('verb', ['compare', 'simulate', 'monte-carlo'])
def test_a_picture_without_matplotlib_is_an_error_before_the_work(verb, run, monkeypatch):
    monkeypatch.setitem(sys.modules, 'matplotlib.figure', None)
    code, output, errors = run(verb, ELBOW, '--picture', 'x.png')
    assert (code, output) == (2, '')
    assert 'figures need matplotlib' in errors
    assert errors.endswith("pip install matplotlib rich, or in a checkout pip install '.[demo]'\n")


@pytest.mark.parametrize('words', [(), ('--efforts', 'none')])
def test_a_report_without_matplotlib_is_an_error_before_the_fit(words, run, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, 'matplotlib.figure', None)
    code, output, errors = run('identify', 'run.csv', *words, '--report', tmp_path / 'r.html')
    assert (code, output) == (2, '')
    assert 'figures need matplotlib' in errors
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
def test_the_demo_of_a_missing_robot_is_an_error_like_any_other():
    pytest.importorskip('rclpy')
    # In a process of its own: the demo replaces signal handlers.
    ended = python_of('demo', '--robot', '/no', '--headless')
    assert (ended.returncode, ended.stdout) == (2, '')
    reason = '--robot /no: cannot read the file: No such file or directory'
    assert ended.stderr == f'robot-dynamics: {reason}\n'


@pytest.mark.parametrize(
    ('words', 'unbuffered'),
    [(['terms', 'planar_2r'], ''), (['terms', 'planar_2r'], '1'), (['derive', '--help'], '')],
)
def test_a_closed_pipe_ends_quietly(words, unbuffered):
    """As `robot-dynamics ... | head`: the reader has ended before the first line."""
    reader, writer = os.pipe()
    os.close(reader)
    code = 'import sys; from robot_dynamics.cli import main; sys.exit(main())'
    ended = subprocess.run(
        [sys.executable, '-c', code, *words],
        cwd=CHECKOUT,
        stdout=writer,
        stderr=subprocess.PIPE,
        env={**os.environ, 'PYTHONUNBUFFERED': unbuffered},
        check=False,
    )
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (141, b'')


@pytest.mark.skipif(not Path('/dev/full').exists(), reason='Linux has this device')
def test_a_full_disk_is_an_error_of_one_line():
    with open('/dev/full', 'w') as full:
        ended = subprocess.run(
            [sys.executable, '-m', 'robot_dynamics.cli', 'derive', '--help'],
            cwd=CHECKOUT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    reason = 'robot-dynamics: standard output: No space left on device\n'
    assert (ended.returncode, ended.stderr) == (2, reason)


def test_another_broken_pipe_is_an_error(monkeypatch, capsys):
    def fail(_):
        raise BrokenPipeError(32, 'Broken pipe')

    monkeypatch.setattr(commands, 'with_xacro_arguments', lambda *_: Namespace(verb=fail))
    assert cli.main(['terms', 'planar_2r']) == 2
    assert capsys.readouterr().err == 'robot-dynamics: [Errno 32] Broken pipe\n'


def python_of(*arguments, before=''):
    code = f'{before}\nimport sys; from robot_dynamics.cli import main; sys.exit(main())'
    return subprocess.run(
        [sys.executable, '-c', code, *map(str, arguments)],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )


INTERRUPTED_IMPORT = """
import os, signal, sys

class Interrupts:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts())
"""


@pytest.mark.parametrize(
    'module',
    [
        'numpy',
        'numpy._core._multiarray_umath',
        'numpy.linalg',
        'argparse',
        'yaml',
        'robot_dynamics.cli.commands',
        'robot_dynamics.common.errors',
        'robot_dynamics.core.dynamics',
        'robot_dynamics.codegen.backends.machine_code',
        'robot_dynamics.cli.options',
        'urdf_parser_py.urdf',
    ],
)
def test_an_interrupt_during_imports_is_one_line(module):
    ended = python_of('check', ELBOW, before=INTERRUPTED_IMPORT.format(module=module))
    assert (ended.returncode, ended.stdout) == (130, '')
    assert ended.stderr == 'robot-dynamics: interrupted\n'


@pytest.mark.slow
def test_an_interrupt_after_the_work_is_one_line():
    before = """
import atexit, os, signal
atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))
"""
    ended = python_of('check', ELBOW, before=before)
    assert ended.returncode == 130
    assert ended.stderr == 'robot-dynamics: interrupted\n'


def test_a_signal_handler_of_the_caller_is_kept():
    before = signal.signal(signal.SIGINT, handler := lambda *_: None)
    try:
        assert cli.main(['check', ELBOW]) == 0
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize('verb', [(), ('check',), ('validate',), ('simulate',), ('demo',)])
def test_every_verb_has_help(verb, capsys):
    with pytest.raises(SystemExit, match='0'):
        cli.main([*verb, '--help'])
    assert 'usage: robot-dynamics' in capsys.readouterr().out


def test_help_shows_each_verb_in_one_group(capsys):
    assert sorted(name for group in commands.GROUPS for name in group.verbs) == sorted(verbs())
    with pytest.raises(SystemExit, match='0'):
        cli.main(['--help'])
    shown = capsys.readouterr().out
    for group in commands.GROUPS:
        assert f'{group.title}:' in shown
        assert f'First: {group.first}' in shown
        assert group.first.split()[1] in group.verbs
        assert re.findall(r'^  ([a-z-]+) {2,}[A-Z]', shown.partition(f'{group.title}:')[2], re.M)[
            : len(group.verbs)
        ] == list(group.verbs)


def without_ros(*arguments):
    code = (
        "import sys; sys.modules['rclpy'] = None; "
        f'from robot_dynamics import cli; sys.exit(cli.main({list(arguments)!r}))'
    )
    return subprocess.run(
        [sys.executable, '-c', code], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_without_ros_only_the_demo_fails():
    rejected = without_ros('demo')
    assert rejected.returncode == 2
    assert 'demo needs ROS 2' in rejected.stderr
    assert rejected.stderr.count('\n') == 1
    assert without_ros('terms', ELBOW).returncode == 0
