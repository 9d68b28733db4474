# SPDX-License-Identifier: Apache-2.0
"""The verb `size`: figures of a trajectory and of its recording, limits, drives, payloads."""

import csv
import json
import re

import numpy as np
import pytest

from robot_dynamics.common.resources import share_file
from robot_dynamics.control.trajectory import Trajectory
from robot_dynamics.control.trajectory_file import write_trajectory
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.urdf.loading import load_urdf

ELBOW = share_file('urdf/planar_2r.urdf')
MODEL = load_urdf(ELBOW)
LINK = MODEL.moving_links[-1]


@pytest.fixture
def motion(tmp_path):
    """Return the file of a periodic motion, long enough for a recording of it."""
    t = np.arange(0.0, 12.01, 0.5)
    q = np.column_stack([0.4 * np.sin(1.7 * t), 0.6 * np.cos(2.3 * t)])
    write_trajectory(Trajectory(MODEL.joint_names, t, q), tmp_path / 'motion.yaml')
    return tmp_path / 'motion.yaml'


@pytest.fixture
def recording(tmp_path):
    """Return a recording of q = (0.4 sin 3 t, 0.6 cos 4 t)."""
    t = np.arange(0.0, 12.0, 0.004)
    q = np.column_stack([0.4 * np.sin(3 * t), 0.6 * np.cos(4 * t)])
    qd = np.column_stack([1.2 * np.cos(3 * t), -2.4 * np.sin(4 * t)])
    qdd = np.column_stack([-3.6 * np.sin(3 * t), -9.6 * np.cos(4 * t)])
    file = tmp_path / 'run.csv'
    tau = Dynamics(MODEL).motor_torque(q, qd, qdd)
    rows = np.column_stack([t, q, qd, tau])
    head = 't,q1,q2,qd1,qd2,tau1,tau2'
    np.savetxt(file, rows, delimiter=',', header=head, comments='')
    return file, tau, qd


def test_figures_of_a_trajectory_with_payload_drives_and_picture(run, motion, tmp_path):
    drives, out, picture = (tmp_path / name for name in ('d.csv', 'out.json', 'out.png'))
    drives.write_text(
        'name,peak,rated,speed,inertia,ratio\nlarge,20,9,1000,1e-5,50\nsmall,0.01,0.01,9,0,50\n'
    )
    words = ('size', ELBOW, motion, '--drives', drives, '--json', out, '--picture', picture)
    code, shown, _ = run(*words)
    assert code == 0
    assert 'joint1: large\n' in shown
    assert 'small' in shown
    light = json.loads(out.read_text())
    assert picture.read_bytes().startswith(b'\x89PNG')
    run(*words, '--payload', LINK, 2.0)
    heavy = json.loads(out.read_text())
    assert heavy['joints'][0]['rms'] > 1.1 * light['joints'][0]['rms']
    assert light['drives'][0]['fits'] == list(MODEL.joint_names)
    drives.write_text('name,peak,rated,speed,inertia,ratio\nsmall,0.01,0.01,9,0,50\n')
    code, shown, _ = run(*words)
    assert code == 1
    assert 'joint2: no drive fits' in shown


def test_a_recording_has_the_figures_of_its_motion(run, recording, tmp_path):
    file, tau, qd = recording
    code, shown, _ = run('size', ELBOW, file, '--json', tmp_path / 'out.json')
    assert code == 0
    assert 'low-pass at' in shown
    figures = json.loads((tmp_path / 'out.json').read_text())
    for j, joint in enumerate(figures['joints']):
        assert joint['rms'] == pytest.approx(np.sqrt((tau[:, j] ** 2).mean()), rel=0.02)
        assert abs(joint['peak']) == pytest.approx(np.abs(tau[:, j]).max(), rel=0.02)
        assert joint['speed'] == pytest.approx(np.abs(qd[:, j]).max(), rel=0.01)


def test_the_map_has_a_row_per_posture(run, tmp_path):
    file, picture = tmp_path / 'map.csv', tmp_path / 'map.png'
    words = ('--postures', 50, '--load-com', 0.1, 0, 0)
    code, shown, _ = run('size', ELBOW, '--payload-map', file, '--map-picture', picture, *words)
    assert code == 0
    assert '50 postures' in shown
    with file.open(newline='') as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 50
    assert picture.read_bytes().startswith(b'\x89PNG')
    # In its posture the payload takes the joint to its limit.
    for row in rows[:5]:
        loaded = MODEL.with_payload(LINK, float(row['payload']), [0.1, 0, 0])
        q = [float(row[name]) for name in MODEL.joint_names]
        j = MODEL.joint_names.index(row['bound by'])
        g = Dynamics(loaded, backend='python').gravity_torque(q)[j]
        assert abs(g) == pytest.approx(MODEL.effort_limit[j], rel=1e-9)
        tip = Dynamics(MODEL).forward_kinematics(q, LINK) @ [0.1, 0, 0, 1]
        np.testing.assert_allclose(tip[:3], [float(row[x]) for x in 'xyz'], atol=1e-12)


def test_a_table_has_its_motion_by_option(run, tmp_path, motion):
    table = tmp_path / 'arm.csv'
    table.write_text(
        'a,alpha,d,theta,type,mass,com,inertia\n'
        + '0.4,0,0,0,revolute,3,-0.2 0 0,0.01 0.04 0.04\n' * 2
    )
    words = ('--dh', table, '--convention', 'standard', '--motion', motion)
    assert run('size', *words, '--gravity', 0, -9.81, 0)[0] == 0


@pytest.mark.parametrize(
    ('words', 'reason'),
    [
        ((), 'no motion; expected a trajectory, a recording, or --payload-map'),
        (('--payload-map', '/dev/null', '--drives', 'd.csv'), '--drives is of a motion'),
    ],
)
def test_what_belongs_to_a_motion_needs_one(run, words, reason):
    code, _, error = run('size', ELBOW, *words)
    assert code == 2
    assert reason in error


def test_options_of_recordings_are_rejected_for_a_trajectory(run, motion):
    code, _, error = run('size', ELBOW, motion, '--cutoff', 5)
    assert code == 2
    assert '--cutoff are for recordings' in error


def test_steps_of_the_velocity_are_said(run, tmp_path):
    points = [[0.0, 0.0], [0.5, 0.2], [0.1, 0.9]]
    file = tmp_path / 'corner.yaml'
    lines = Trajectory(MODEL.joint_names, [0.0, 1.0, 2.0], points, interpolation='linear')
    write_trajectory(lines, file)
    assert 'velocities step' not in run('size', ELBOW, file)[1]
    shown = run('size', ELBOW, file, '--interpolation', 'linear')[1]
    assert 'velocities step at 3 points, the first at 0 s: without the torques' in shown


def test_a_point_at_rest_has_its_holding_torque_and_no_power(run, tmp_path):
    file, out = tmp_path / 'point.yaml', tmp_path / 'out.json'
    write_trajectory(Trajectory(MODEL.joint_names, [1.0], [[0.1, 0.2]]), file)
    code, shown, _ = run('size', ELBOW, file, '--json', out)
    assert code == 0
    assert 'all drives: 0 W at most, 0 W while braking; 0 J' in shown
    g = Dynamics(MODEL).gravity_torque([0.1, 0.2])
    joints = json.loads(out.read_text())['joints']
    np.testing.assert_allclose([one['rms'] for one in joints], np.abs(g), rtol=1e-12)


def test_without_gravity_no_limit_bounds_a_payload_at_rest(run, tmp_path):
    words = ('--gravity', 0, 0, 0, '--postures', 5, '--map-picture', tmp_path / 'map.png')
    code, shown, _ = run('size', ELBOW, '--payload-map', tmp_path / 'map.csv', *words)
    assert code == 0
    assert '5 postures: no effort limit bounds it' in shown


def test_the_last_line_says_which_limits_of_the_description_are_exceeded(run, tmp_path, motion):
    """Effort, velocity and position, each alone; the exit code is that of `trajectory`."""
    words = ('size', ELBOW, motion)
    code, shown, _ = run(*words)
    assert (code, shown.splitlines()[-1]) == (0, 'within all limits')
    assert 'power peak [W]' in shown
    out = tmp_path / 'out.json'
    code, shown, _ = run(*words, '--payload', LINK, 200, '--json', out)
    figures = json.loads(out.read_text())
    one = figures['joints'][0]
    share = 100 * abs(one['peak']) / one['effort_limit']
    assert code == 1
    assert shown.splitlines()[-1].startswith(f'beyond limits: joint1 (effort {share:.4g} %')
    assert figures['beyond_limits']
    fast = tmp_path / 'fast.yaml'
    t, q = np.arange(0.0, 1.01, 0.5), np.array([[0, 0], [9.0, 0], [0, 0]])
    write_trajectory(Trajectory(MODEL.joint_names, t, q), fast)
    last = run('size', ELBOW, fast, '--gravity', 0, 0, 0)[1].splitlines()[-1]
    assert 'velocity' in last
    assert 'position 9, limit' in last


def test_drives_that_fit_do_not_hide_the_limits_of_the_description(run, tmp_path, motion):
    drives = tmp_path / 'd.csv'
    drives.write_text('name,peak,rated,speed,inertia,ratio\nhuge,1e4,1e4,1000,0,50\n')
    code, shown, _ = run('size', ELBOW, motion, '--drives', drives, '--payload', LINK, 200)
    assert code == 1
    assert 'within their own limits\njoint1: huge\n' in shown
    assert shown.splitlines()[-1].startswith("beyond the description's limits: joint1 (effort")


def test_the_torque_of_a_step_of_the_velocity_counts(run, tmp_path):
    file = tmp_path / 'corner.yaml'
    points = [[0.0, 0.0], [0.5, 0.0], [0.0, 0.0]]
    lines = Trajectory(MODEL.joint_names, [0.0, 1.0, 2.0], points, interpolation='linear')
    write_trajectory(lines, file)
    assert run('size', ELBOW, file)[0] == 0
    code, shown, _ = run('size', ELBOW, file, '--interpolation', 'linear')
    _, feasibility, _ = run('trajectory', file, '--robot', ELBOW, '--interpolation', 'linear')
    share = re.search(r'rad/s; (.* %) of a limit', feasibility)[1]
    assert code == 1
    last = f'beyond limits: joint1 (effort {share} at a step of the velocity)'
    assert shown.splitlines()[-1] == last


@pytest.mark.parametrize('verb', ['size', 'trajectory'])
def test_a_scale_that_is_not_known_is_said_without_the_parameters(run, tmp_path, motion, verb):
    robot = tmp_path / 'found.urdf'
    robot.write_text(ELBOW.read_text())
    words = ('size', robot, motion) if verb == 'size' else ('trajectory', motion, '--robot', robot)
    origin = '/identification:\n  ros__parameters: {x: 1}\n'
    entry = '/**:\n  ros__parameters:\n    effort_scale_known: '
    file = tmp_path / 'found.yaml'
    file.write_text(entry + '[true]\n' + origin)
    assert 'effort_scale_known' not in run(*words)[2]
    file.write_text(entry + '[false]\n' + origin)
    error = run(*words)[2]
    assert f'warning: {file}: effort_scale_known is false for all joints' in error
