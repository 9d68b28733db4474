# SPDX-License-Identifier: Apache-2.0
"""The verb `excite`: message, curves, picture, and errors in one line."""

import csv

import numpy as np
import pytest
import yaml

from robot_dynamics import cli
from robot_dynamics.common.resources import share_file
from robot_dynamics.control.limits import violations
from robot_dynamics.control.trajectory import Trajectory
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.urdf.loading import load_urdf

SCARA, PANDA = (share_file(f'urdf/{name}.urdf') for name in ('scara_rrp', 'panda'))
SHORT = ('--period', 5, '--harmonics', 3, '--repeats', 1, '--rate', 50)


@pytest.fixture
def run(capsys):
    """Return (exit code, standard output, standard error) of the verb."""

    def run(*arguments):
        code = cli.main(['excite', *map(str, arguments)])
        return code, *capsys.readouterr()

    return run


@pytest.fixture(scope='module')
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp('excite')
    names = {'--output': 'motion.yaml', '--csv': 'motion.csv', '--picture': 'motion.png'}
    files = {option: folder / name for option, name in names.items()}
    words = [str(word) for pair in files.items() for word in pair]
    assert cli.main(['excite', str(SCARA), *map(str, SHORT), *words]) == 0
    return files


@pytest.mark.slow
def test_the_message_is_a_trajectory_within_the_limits(written):
    message = yaml.safe_load(written['--output'].read_text())
    model = load_urdf(SCARA)
    points = message['points']
    times = [p['time_from_start']['sec'] + 1e-9 * p['time_from_start']['nanosec'] for p in points]
    kinds = ('positions', 'velocities', 'accelerations')
    rows = [[point[kind] for point in points] for kind in kinds]
    assert tuple(message['joint_names']) == model.joint_names
    assert violations(Trajectory(model.joint_names, times, *rows), model) == []
    assert np.diff(times) == pytest.approx(0.02, rel=1e-2)
    assert not np.any([points[-1]['velocities'], points[-1]['accelerations']])


@pytest.mark.slow
def test_the_message_is_one_that_feedforward_node_reads(written):
    pytest.importorskip('rclpy')
    from builtin_interfaces.msg import Duration
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    from robot_dynamics.ros import messages

    # As `ros2 topic pub` fills a message: every key is a field of its type.
    fields = yaml.safe_load(written['--output'].read_text())
    points = [
        JointTrajectoryPoint(**{**point, 'time_from_start': Duration(**point['time_from_start'])})
        for point in fields.pop('points')
    ]
    message = JointTrajectory(points=points, **fields)
    model = load_urdf(SCARA)
    trajectory = messages.trajectory(message).in_order(model.joint_names)
    assert violations(trajectory, model) == []
    assert trajectory.times[0] >= 2.0
    assert message.header.stamp.sec == 0


def test_the_curves_have_the_efforts(written):
    with written['--csv'].open() as stream:
        head, *rows = csv.reader(stream)
    values = np.array(rows, dtype=float)
    arm = Dynamics(load_urdf(SCARA))
    q, qd, qdd, tau = np.split(values[:, 1:], 4, axis=1)
    assert head[:2] == ['t', f'{arm.model.joint_names[0]} position']
    expected = arm.inverse_dynamics(q, qd, qdd) + arm.friction_torque(qd)
    assert np.allclose(tau, expected, atol=1e-5)


def test_a_picture_is_drawn(written):
    assert written['--picture'].read_bytes().startswith(b'\x89PNG')


def test_the_summary_lists_used_limits_and_gained_information(run):
    code, shown, _ = run(SCARA, *SHORT)
    assert code == 0
    assert 'scara_rrp: 1 periods of 5 s, 3 harmonics' in shown
    assert 'standard errors of the base parameters, minimised: 0.' in shown
    assert 'condition number of the base regressor' in shown
    assert 'for the way from the present posture to the start, which is not checked' in shown
    usable = 'shares of the usable limits: {} of the speed limits and {} of the effort limits'
    assert usable.format('80 %', '80 %') in shown
    for name in load_urdf(SCARA).joint_names:
        assert name in shown


def test_the_usable_shares_are_those_of_the_options(run):
    words = ('--effort-margin', 0.1, '--velocity-scale', 0.5, '--effort', 1e9)
    _, shown, _ = run(SCARA, *SHORT, *words)
    assert '50 % of the speed limits and 90 % of the effort limits of the description' in shown


def test_locked_joints_do_not_move(run):
    code, shown, _ = run(PANDA, *SHORT, '--tip-link', 'panda_link3', '--lock', 'panda_joint2=0.4')
    assert code == 0
    assert 'panda_joint1' in shown
    assert 'panda_joint3' in shown
    assert 'panda_joint2' not in shown
    assert 'panda_joint4' not in shown


def test_errors_are_one_line(run):
    for words, said in (
        (['--upper', '-9'], 'an empty position range'),
        (['--lower', '1', '2'], '--lower has 2 values'),
        (['--floor', '0', '--floor-links', 'nowhere'], 'nowhere'),
        (['--lock', 'nowhere=1'], 'nowhere'),
        (['--effort', '0.001'], 'dry friction beyond the usable effort'),
        (['--effort', '0.001', '--coulomb', '0'], 'none of 500 postures is within the limits'),
    ):
        code, shown, error = run(SCARA, *SHORT, *words)
        assert (code, shown) == (2, '')
        assert said in error.splitlines()[-1]


def test_a_missing_mesh_is_a_warning(run, tmp_path):
    text = SCARA.read_text()
    cut = text.index('<visual>')
    shape = '<collision><geometry><mesh filename="package://no/m.stl"/></geometry></collision>'
    file = tmp_path / 'arm.urdf'
    file.write_text(text[:cut] + shape + text[cut:])
    code, _, warned = run(file, *SHORT)
    assert code == 0
    (line,) = (line for line in warned.splitlines() if line.startswith('warning: '))
    assert line.startswith("warning: link 'base': mesh 'package://no/m.stl' was not found")
    assert line.endswith('; its shape is not checked')
