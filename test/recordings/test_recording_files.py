# SPDX-License-Identifier: Apache-2.0
"""Recordings in CSV files: columns by name, number or option; errors with line and column."""

import numpy as np
import pytest

from robot_dynamics.recordings import BagError, RecordingError, read_recording

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
        (f'{HEAD}\n0,0,1,0,2,0,3,0,4,0', [], 'line 2: 10 columns; the names are of 5'),
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


# -- headers of other programs ------------------------------------------------------------------


def of_joints(name, first=0):
    return [f'{name}_{k}' for k in range(first, first + 2)]


def franka(name):
    return ','.join(f'{name}[{k}]' for k in range(2))


def test_a_log_of_ur_rtde_has_currents_and_commands(tmp_path):
    kinds = ('actual_q', 'actual_qd', 'actual_current', 'target_q', 'target_qd')
    others = ('target_qdd', 'target_current', 'target_moment', 'actual_current_window')
    head = ['timestamp', *(one for kind in (*kinds, *others) for one in of_joints(kind))]
    head += ['actual_robot_current', 'tool_output_current', 'robot_mode']
    rows = np.hstack([ALL, Q + 0.1, QD, *[0 * Q] * 4, 0 * ALL[:, :3]])
    for separator in ', ':
        file = read_recording(write(tmp_path / 'run.csv', rows, separator.join(head), separator))
        found = file.recording(NAMES)
        for name, value in (('q', Q), ('qd', QD), ('effort', EFFORT)):
            np.testing.assert_array_equal(getattr(found, name), value)
        assert found.effort_unit == 'current'
        np.testing.assert_allclose(file.commanded(NAMES).command, Q + 0.1)


@pytest.mark.parametrize(
    ('time', 'prefix'), [('time, success_rate', 'state.'), ('duration, success rate', '')]
)
def test_a_log_of_libfranka_has_milliseconds_and_torques(tmp_path, time, prefix):
    kinds = ('q', 'q_d', 'dq', 'dq_d', 'tau_J', 'tau_ext_hat_filtered')
    head = [time, *(franka(f'{prefix}{kind}') for kind in kinds), franka('cmd.tau_J_d')]
    T_ms = np.round(1e3 * T)[:, None]
    rows = np.hstack([T_ms, T_ms**0, Q, 0 * Q, QD, 0 * Q, EFFORT, 0 * Q, 0 * Q])
    found = read_recording(write(tmp_path / 'run.csv', rows, ','.join(head))).recording(NAMES)
    np.testing.assert_allclose(found.t, T - T[0], atol=1e-9)
    for name, value in (('q', Q), ('qd', QD), ('effort', EFFORT)):
        np.testing.assert_array_equal(getattr(found, name), value)
    assert found.effort_unit == 'torque'


def test_of_several_times_the_first_without_gaps_is_used_and_named(tmp_path):
    head = '__time,/js/header/stamp,/js/position[0],/js/position[1],/js/effort[0],/js/effort[1]'
    rows = np.hstack([table('time'), table('time') - 7.0, Q, EFFORT])
    for gap, used in ((1, '__time'), (0, '/js/header/stamp')):
        rows[3, :2] = T[3] - 7.0 * (1 - gap)
        rows[3, gap] = np.nan
        rows[:, 1 - gap] = T - 7.0 * gap
        found = read_recording(write(tmp_path / 'run.csv', rows, head)).recording(NAMES)
        assert f'columns of time: __time, /js/header/stamp; {used} is used' in found.notes
        np.testing.assert_array_equal(found.q, Q)


def test_echoed_joint_states_need_no_header(tmp_path):
    lines = [
        f'{int(t)},{round(1e9 * (t % 1))},base,shoulder,elbow,'
        + ','.join(f'{x:.9g}' for x in (*q, *qd, *effort))
        for t, q, qd, effort in zip(T, Q, QD, EFFORT, strict=True)
    ]
    file = tmp_path / 'run.csv'
    for frame in ('base', ''):
        file.write_text('\n'.join(lines).replace('base', frame))
        found = read_recording(file).recording(NAMES)
        np.testing.assert_allclose(found.t, T - T[0], atol=1e-9)
        for name, value in (('q', Q), ('qd', QD), ('effort', EFFORT)):
            np.testing.assert_array_equal(getattr(found, name), value)
    file.write_text('\n'.join(line.rsplit(',', 2)[0] for line in lines))
    with pytest.raises(BagError, match='line 1: 4 numbers of 2 joints; expected position, vel'):
        read_recording(file)


def test_columns_after_the_last_name_are_not_used_and_said(tmp_path):
    for extra, words in ((1, '1 column after'), (3, '3 columns after')):
        rows = np.hstack([ALL, np.ones((K, extra))])
        file = write(tmp_path / 'run.csv', rows, 't,q1,q2,qd1,qd2,effort1,effort2')
        found = read_recording(file).recording(NAMES)
        np.testing.assert_array_equal(found.effort, EFFORT)
        assert any(words in note for note in found.notes)
    text = file.read_text().replace(',1,1,1', ',')  # separators at the ends of the lines
    file.write_text(text)
    np.testing.assert_array_equal(read_recording(file).recording(NAMES).effort, EFFORT)


@pytest.mark.parametrize(
    ('head', 'line'),
    [
        (
            'clock,angle a,angle b,speed a,speed b,amps a,amps b',
            'if the columns are these: --columns time q qd current',
        ),
        ('a,b,c,d,e,f,g', 'here --columns - - - - - - -, with time, q1, effort1 and so on'),
        (
            't,a [deg],b [deg],v1,v2,torque_in1,torque_in2',
            'here --columns t - - - - tau1 tau2, with',
        ),
    ],
)
def test_an_unknown_header_is_shown_with_the_option_for_it(tmp_path, head, line):
    file = write(tmp_path / 'run.csv', ALL, head)
    with pytest.raises(BagError) as error:
        read_recording(file).recording(NAMES)
    assert line in str(error.value)
    if '-' not in line.partition('--columns')[2]:
        columns = line.partition('--columns ')[2].split()
        np.testing.assert_array_equal(
            read_recording(file, columns=columns).recording(NAMES).effort, EFFORT
        )


@pytest.mark.parametrize(('unit', 'seconds'), [('ms', 1e-3), ('us', 1e-6), ('ns', 1e-9)])
def test_a_time_has_the_unit_of_its_header(tmp_path, unit, seconds):
    rows = np.hstack([(T[:, None] - T[0]) / seconds, Q, EFFORT])
    file = write(tmp_path / 'run.csv', rows, f't [{unit}],q1,q2,tau1,tau2')
    np.testing.assert_allclose(read_recording(file).recording(NAMES).t, T - T[0], atol=1e-9)


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
