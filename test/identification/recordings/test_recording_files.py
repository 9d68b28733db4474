# SPDX-License-Identifier: Apache-2.0
"""Recordings in CSV files: columns by name, number or option; errors with line and column."""

import numpy as np
import pytest

from robot_dynamics.identification import BagError, RecordingError, read_recording

NAMES = ('shoulder', 'elbow')
RNG = np.random.default_rng(0)
K = 50
T = 100.0 + np.arange(K) / 100
Q, QD, EFFORT = (RNG.normal(size=(K, 2)).round(6) for _ in range(3))
BOTH = {'time': T[:, None], 'q': Q, 'qd': QD, 'effort': EFFORT}


def table(*kinds):
    return np.hstack([BOTH[kind] for kind in kinds])


def write(file, rows, head=None, separator=','):
    lines = [] if head is None else [head]
    lines += [separator.join(f'{x:.9g}' for x in row) for row in rows]
    file.write_text('\n'.join(lines) + '\n')
    return file


ALL = table('time', 'q', 'qd', 'effort')


@pytest.mark.parametrize(
    ('head', 'separator'),
    [
        ('t,q1,q2,qd1,qd2,effort1,effort2', ','),
        ('time [s];q[0] [rad];q[1];dq[0];dq[1];tau[0] [Nm];tau[1]', ';'),
        ('# Time q_shoulder q_elbow qd_shoulder qd_elbow tau_shoulder tau_elbow', ' '),
        (
            '__time,/js/shoulder/position,/js/elbow/position,/js/shoulder/velocity,'
            '/js/elbow/velocity,/js/shoulder/effort,/js/elbow/effort',
            ',',
        ),
        (
            't\tshoulder position\telbow position\tshoulder velocity\telbow velocity\t'
            'shoulder effort\telbow effort',
            '\t',
        ),
        ('recorded on Monday\n# t,q1,q2,qd1,qd2,current_1,current_2', ','),
    ],
)
def test_columns_are_found_by_the_header(tmp_path, head, separator):
    file = write(tmp_path / 'run.csv', ALL, head, separator)
    found = read_recording(file).recording(NAMES)
    np.testing.assert_allclose(found.t, T - T[0], atol=1e-9)
    for name, value in (('q', Q), ('qd', QD), ('effort', EFFORT)):
        np.testing.assert_array_equal(getattr(found, name), value)


def test_joints_are_found_by_name_in_any_order_among_others(tmp_path):
    rows = np.hstack([RNG.normal(size=(K, 1)), EFFORT[:, ::-1], Q, T[:, None], 0 * T[:, None]])
    head = 'temperature,effort_elbow,effort_shoulder,q_shoulder,q_elbow,t,q_gripper'
    found = read_recording(write(tmp_path / 'run.csv', rows, head)).recording(NAMES)
    np.testing.assert_array_equal(found.q, Q)
    np.testing.assert_array_equal(found.effort, EFFORT)
    assert found.qd is None
    assert 'no velocities: they are derivatives of the positions' in found.notes


@pytest.mark.parametrize('head', [None, 'a,b,c,d,e,f', 't,q1,q2,x,effort1,effort2'])
def test_columns_of_the_option_replace_a_header(tmp_path, head):
    rows = np.hstack([table('time', 'q'), 0 * T[:, None], EFFORT])
    file = write(tmp_path / 'run.txt', rows, head)
    found = read_recording(file, columns=['time', 'q', '-', 'effort']).recording(NAMES)
    np.testing.assert_array_equal(found.q, Q)
    np.testing.assert_array_equal(found.effort, EFFORT)


def test_empty_cells_are_not_finite_and_counted(tmp_path):
    file = write(tmp_path / 'run.csv', ALL, 't,q1,q2,qd1,qd2,effort1,effort2')
    lines = file.read_text().splitlines()
    first, *rest = lines[7].split(',')
    lines[7] = ','.join(['', *rest])
    lines[9] = ','.join([*lines[9].split(',')[:-1], ''])
    file.write_text('\n'.join(lines))
    with pytest.raises(BagError, match=r'run.csv, line 8, column t: expected a finite time'):
        read_recording(file).recording(NAMES)
    lines[7] = ','.join([first, *rest])
    file.write_text('\n'.join(lines))
    assert read_recording(file).recording(NAMES).left_out == {'not finite': 1}


HEAD = 't,q1,q2,effort1,effort2'


@pytest.mark.parametrize(
    ('text', 'columns', 'reason'),
    [
        (f'{HEAD}\n0,1,2,3,4\n0.1,1,2,x,4', [], r"line 3, column 4 \(effort1\): 'x'; expected a"),
        ('t;q1;q2;effort1;effort2\n0;1;2;3;0,5', [], r"line 2, column 5 \(effort2\): '0,5'; exp"),
        (f'{HEAD}\n0,1,2,3,4\n\n0.1,1,2,3', [], 'line 4: 4 columns; expected 5'),
        (f'{HEAD}\n0,1,2,3,4,5', [], 'line 2: 6 columns; the names are of 5'),
        ('0,1,2,3,4', [], 'line 1: no header; expected a header as'),
        ('t,q1,q2\n0,1,2', [], 'no column of effort among t, q1, q2; expected'),
        ('q1,q2,effort1,effort2\n0,1,2,3', [], 'no column of time'),
        ('t,q1,effort1\n0,1,2', [], 'columns of joints 1; the model has 2: shoulder, elbow'),
        ('t,q1,q2,q1,effort1,effort2\n0,1,2,3,4,5', [], 'two columns of position shoulder'),
        (
            't,q1 [deg],q2,effort1,effort2\n0,1,2,3,4',
            [],
            r'column q1 \[deg\]: unit deg; expected rad or m',
        ),
        (f'{HEAD}\n1,1,2,3,4\n2,1,2,3,4\n3,2,2,3,4', [], 'column t: the rows are 1 apart; exp'),
        (f'{HEAD}\n', [], 'no line of numbers'),
        ('', [], 'no line of numbers'),
        ('0,1,2,3,4', ['time', 'q', 'qd', 'effort'], 'line 1: 5 columns; the names are of 7'),
    ],
)
def test_errors_name_file_line_and_column(tmp_path, text, columns, reason):
    file = tmp_path / 'run.csv'
    file.write_text(text)
    with pytest.raises(BagError, match=f'run.csv.*{reason}'):
        read_recording(file, columns=columns).recording(NAMES)


def test_a_missing_joint_is_an_error_of_the_recording(tmp_path):
    file = write(
        tmp_path / 'run.csv', table('time', 'q', 'effort'), 't,q_a,q_elbow,tau_a,tau_elbow'
    )
    with pytest.raises(RecordingError, match='no joint states of shoulder; there are elbow'):
        read_recording(file).recording(NAMES)


def test_options_of_the_other_kind_are_rejected(tmp_path):
    with pytest.raises(BagError, match='--topic is for rosbag2 recordings'):
        read_recording(tmp_path / 'run.csv', topic='/joint_states')
    with pytest.raises(BagError, match=r'--columns is for files with suffix \.csv'):
        read_recording(tmp_path / 'run', columns=['time'])
    with pytest.raises(BagError, match='No such file'):
        read_recording(tmp_path / 'run.csv')
