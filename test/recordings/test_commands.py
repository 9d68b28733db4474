# SPDX-License-Identifier: Apache-2.0
"""Commands and positions of bags, CSV files and LeRobot data sets, in any order of joints."""

import json
import sys

import numpy as np
import pytest
from recorded_runs import START

from robot_dynamics.common.stamps import SECOND
from robot_dynamics.recordings import BagError, JointSample, RecordingError, read_commands
from robot_dynamics.recordings.held_commands import (
    NO_COMMAND,
    OTHER_CLOCK,
    commanded,
)

NAMES = ('a', 'b')
T = np.arange(120) * 0.01
Q = np.column_stack([np.sin(T), np.cos(3 * T)])
U = Q + np.array([0.1, -0.2])
EMPTY = np.zeros(0)
CONTROLLER = """\
std_msgs/Header header
string[] joint_names
trajectory_msgs/JointTrajectoryPoint {reference}
trajectory_msgs/JointTrajectoryPoint {feedback}
trajectory_msgs/JointTrajectoryPoint error
"""


def rows(t, q, names=NAMES, stamped=True, logged=0, more=(EMPTY, EMPTY)):
    """Return samples at times (k,) [s], recorded some time later [ns]."""
    stamps = START + np.round(np.asarray(t) * SECOND).astype(np.int64)
    return [
        JointSample(int(s) if stamped else 0, int(s) + logged, names, x, *more)
        for s, x in zip(stamps, q, strict=True)
    ]


def test_commands_are_held_at_the_times_of_the_measurements():
    # Commands at 0.005, 0.025, 0.045 s ...: each holds for two samples of 0.01 s.
    given = rows(T[::2] + 0.005, U[::2])
    found = commanded(rows(T, Q), given, NAMES)
    assert found.effort is None
    assert found.left_out == {NO_COMMAND: 1}
    assert np.allclose(found.t, T[1:])
    held = U[::2][(np.arange(1, 120) - 1) // 2]
    assert np.array_equal(found.command, held)
    assert np.array_equal(found.q, Q[1:])
    assert found.command_qd is None
    assert found.feedforward is None


def test_a_command_at_the_time_of_a_measurement_is_its_own():
    found = commanded(rows(T, Q), rows(T, U), NAMES)
    assert np.array_equal(found.command, U)
    assert not found.left_out


def test_each_joint_keeps_its_last_command():
    one = rows(T[::3], U[::3, :1], names=('a',))
    other = rows(T[1::4], U[1::4, 1:], names=('b',))
    both = sorted(one + other, key=lambda sample: sample.stamp)
    found = commanded(rows(T, Q), both, NAMES)
    k = np.arange(1, 120)
    assert np.array_equal(
        found.command, np.column_stack([U[k // 3 * 3, 0], U[(k - 1) // 4 * 4 + 1, 1]])
    )


def test_without_stamps_commands_are_ordered_by_the_recorder():
    # Headers of measurements are of another clock, 100 s ahead of that of the recorder.
    measured = [s._replace(stamp=s.stamp + 100 * SECOND) for s in rows(T, Q)]
    found = commanded(measured, rows(T + 0.004, U, stamped=False), NAMES)
    assert np.array_equal(found.command, U[:-1])
    assert np.array_equal(found.q, Q[1:])
    assert OTHER_CLOCK in found.notes


@pytest.mark.parametrize('ahead', [-100.0, -0.5, 0.5, 100.0])
def test_stamps_of_two_clocks_are_not_compared(ahead):
    given = [s._replace(stamp=s.stamp + round(ahead * SECOND)) for s in rows(T + 0.004, U)]
    found = commanded(rows(T, Q), given, NAMES)
    assert np.array_equal(found.command, U[:-1])
    assert np.array_equal(found.q, Q[1:])
    assert OTHER_CLOCK in found.notes
    # Stamps may be later or earlier than the recording, where they are of one clock.
    late = [s._replace(logged=s.logged + 5 * SECOND) for s in rows(T, Q)]
    other = rows(T + 0.004, U, logged=5 * SECOND - 10_000_000)
    found = commanded(late, other, NAMES)
    assert np.array_equal(found.command, U[:-1])
    assert OTHER_CLOCK not in found.notes


def test_velocities_and_torques_are_read_with_the_commands():
    given = [s._replace(velocity=3 * s.position, effort=-s.position) for s in rows(T, U)]
    found = commanded(rows(T, Q), given, NAMES)
    assert np.array_equal(found.command_qd, 3 * U)
    assert np.array_equal(found.feedforward, -U)


def test_bad_commands_are_named():
    broken = rows(T, U)
    broken[7] = broken[7]._replace(position=np.array([0.0, 1e9]))
    for given, why in (
        (broken, 'b: position command 1e'),
        (rows(T + 9, U), 'none of 120 samples is later than the first commands'),
        (rows(T, U * [1, np.nan]), 'no position command of b is finite, of 120'),
        (rows(T, U[:, :1], names=('a',)), 'no commands of b; there are a'),
    ):
        with pytest.raises(RecordingError, match=why):
            commanded(rows(T, Q), given, NAMES)
    broken[7] = broken[7]._replace(position=np.array([0.0, np.nan]))
    found = commanded(rows(T, Q), broken, NAMES)
    assert found.command[7, 1] == U[6, 1]


# -- files ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('head', 'columns'),
    [
        ('time,q_a,q_b,command_a,command_b,torque_a', ()),
        ('t;a position;b position;a command;b command;x', ()),
        ('t,q1,q2,u1,u2,i', ()),
        ('v,w,x,y,z,i', ('time', 'q', 'command', '-')),
    ],
)
def test_csv_files_have_columns_of_commands(head, columns, tmp_path):
    file = tmp_path / 'run.csv'
    separator = ';' if ';' in head else ','
    table = np.column_stack([T, Q, U, 0 * T])
    lines = [separator.join(map(repr, row)) for row in table.tolist()]
    file.write_text('\n'.join([head, *lines]))
    (found,) = read_commands(file, columns=columns).recordings(NAMES)
    for x, y in ((found.t, T), (found.q, Q), (found.command, U)):
        assert np.allclose(x, y, atol=1e-9)
    assert found.effort is None
    with pytest.raises(BagError, match='no column of command among'):
        read_commands(file, columns=('time', 'q', 'effort', 'x')).recordings(NAMES)
    with pytest.raises(BagError, match='--commands is not an option of a CSV file'):
        read_commands(file, commands='/commands')


def test_rows_of_a_csv_file_keep_their_commands_where_time_goes_back(tmp_path):
    back = T - 0.3 * T[-1] * (np.arange(len(T)) > len(T) // 2)
    file, head = tmp_path / 'run.csv', 'time,q_a,q_b,command_a,command_b'
    np.savetxt(file, np.column_stack([back, Q, U]), delimiter=',', header=head, comments='')
    (found,) = read_commands(file).recordings(NAMES)
    assert np.allclose(found.q, Q)
    assert np.allclose(found.command, U)
    assert np.allclose(np.diff(found.t), np.diff(back))


def write(folder, topics):
    """Write a bag of (type, definition, messages of (stamp, logged, fields)) by topic."""
    pytest.importorskip('rosbags')
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    with Writer(folder, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        for topic, (kind, definition, messages) in topics.items():
            if definition:
                types = get_types_from_msg(definition, kind)
                store.register({k: v for k, v in types.items() if k not in store.fielddefs})
            connection = writer.add_connection(topic, kind, typestore=store)
            for logged, make in messages:
                writer.write(connection, logged, store.serialize_cdr(make(store.types), kind))
    return folder


def header(types, stamp):
    time = types['builtin_interfaces/msg/Time'](*divmod(stamp, SECOND))
    return types['std_msgs/msg/Header'](time, '')


def states(samples):
    def make(one):
        return lambda types: types['sensor_msgs/msg/JointState'](
            header(types, one.stamp), list(one.names), one.position, one.velocity, one.effort
        )

    return 'sensor_msgs/msg/JointState', '', [(one.logged, make(one)) for one in samples]


def point(types, q):
    zero = types['builtin_interfaces/msg/Duration'](0, 0)
    return types['trajectory_msgs/msg/JointTrajectoryPoint'](
        np.ascontiguousarray(q), EMPTY, EMPTY, EMPTY, zero
    )


def trajectories(samples, points=1):
    def make(one):
        return lambda types: types['trajectory_msgs/msg/JointTrajectory'](
            header(types, one.stamp), list(one.names), [point(types, one.position)] * points
        )

    return 'trajectory_msgs/msg/JointTrajectory', '', [(one.logged, make(one)) for one in samples]


def arrays(samples):
    def make(one):
        return lambda types: types['std_msgs/msg/Float64MultiArray'](
            types['std_msgs/msg/MultiArrayLayout']([], 0), one.position
        )

    return 'std_msgs/msg/Float64MultiArray', '', [(one.logged, make(one)) for one in samples]


def controller(samples, q, u, fields):
    kind = 'control_msgs/msg/JointTrajectoryControllerState'
    definition = CONTROLLER.format(reference=fields[0], feedback=fields[1])

    def make(one, x, y):
        return lambda types: types[kind](
            header(types, one.stamp),
            list(one.names),
            point(types, y),
            point(types, x),
            point(types, y - x),
        )

    return (
        kind,
        definition,
        [(one.logged, make(one, x, y)) for one, x, y in zip(samples, q, u, strict=True)],
    )


@pytest.mark.parametrize('fields', [('reference', 'feedback'), ('desired', 'actual')])
def test_the_state_of_a_controller_has_both(fields, tmp_path):
    backwards = rows(T, Q[:, ::-1], names=NAMES[::-1])
    topic = controller(backwards, Q[:, ::-1], U[:, ::-1], fields)
    log = read_commands(write(tmp_path / 'run', {'/arm_controller/state': topic}))
    (found,) = log.recordings(NAMES)
    assert log.topic == '/arm_controller/state'
    assert np.array_equal(found.q, Q)
    assert np.array_equal(found.command, U)


@pytest.mark.parametrize('kind', [states, trajectories, arrays])
def test_commands_may_have_a_topic_of_their_own(kind, tmp_path):
    topics = {'/joint_states': states(rows(T, Q)), '/commands': kind(rows(T, U))}
    log = read_commands(write(tmp_path / 'run', topics), commands='commands')
    (found,) = log.recordings(NAMES)
    assert log.topic == '/joint_states, commands on /commands'
    assert np.array_equal(found.command, U)
    assert any('no names' in note for note in found.notes) == (kind is arrays)
    if kind is arrays:
        with pytest.raises(RecordingError, match='2 numbers without names; expected 1, for a'):
            log.recordings(('a',))


def test_topics_that_are_missing_or_several_are_named(tmp_path):
    folder = write(
        tmp_path / 'run',
        {
            '/joint_states': states(rows(T, Q)),
            '/other': states(rows(T, Q)),
            '/long': trajectories(rows(T, U), points=3),
            '/commands': arrays(rows(T, U)),
        },
    )
    for given, why in (
        ({}, r'expected --commands TOPIC, one of: .*/commands \(std_msgs/msg/Float64MultiArray\)'),
        ({'commands': '/none'}, 'no commands on /none; expected one of'),
        ({'commands': '/commands'}, '2 topics of measured joint states; expected --topic TOPIC'),
        ({'commands': '/long', 'topic': '/other'}, 'a trajectory of 3 points on /long'),
        ({'units': 'degrees'}, '--units is not an option of a rosbag2 recording'),
    ):
        with pytest.raises(BagError, match=why):
            read_commands(folder, **given)
    (found,) = read_commands(folder, commands='/commands', topic='/other').recordings(NAMES)
    assert np.array_equal(found.command, U)


# -- LeRobot --------------------------------------------------------------------------------


def dataset(folder, names=None, degrees=True):
    """Write a data set of two episodes of a gripper and two joints."""
    arrow = pytest.importorskip('pyarrow')
    from pyarrow import parquet

    scale = 180 / np.pi if degrees else 1.0
    values = {
        'observation.state': scale * np.column_stack([T, Q[:, ::-1]]),
        'action': scale * np.column_stack([T, U[:, ::-1]]),
    }
    table = {name: arrow.array(x.astype(np.float32).tolist()) for name, x in values.items()}
    table['timestamp'] = np.concatenate([T[:50], T[:70]]).astype(np.float32)
    table['episode_index'] = np.repeat([0, 1], [50, 70])
    (folder / 'data' / 'chunk-000').mkdir(parents=True)
    (folder / 'meta').mkdir()
    file = folder / 'data' / 'chunk-000' / 'file-000.parquet'
    parquet.write_table(arrow.table(table), file)
    named = names or ['gripper.pos', 'b.pos', 'a.pos']
    features = {name: {'names': named} for name in values}
    (folder / 'meta' / 'info.json').write_text(json.dumps({'features': features}))
    return file


def test_episodes_of_a_lerobot_data_set_are_recordings(tmp_path):
    file = dataset(tmp_path)
    for path, columns in ((tmp_path, ()), (file, ()), (file, ('-', 'b', 'a'))):
        log = read_commands(path, columns=columns, units='degrees')
        first, second = log.recordings(NAMES)
        for found, part in ((first, slice(0, 50)), (second, slice(50, None))):
            assert np.allclose(found.q, Q[part], atol=1e-6)
            assert np.allclose(found.command, U[part], atol=1e-6)
            assert np.allclose(found.t, T[: len(found.t)], atol=1e-6)
    (found, _) = read_commands(tmp_path, units='radians').recordings(NAMES)
    assert np.allclose(found.q, Q[:50] * 180 / np.pi, atol=1e-4)


def test_units_and_names_of_a_lerobot_data_set_are_never_guessed(tmp_path):
    file = dataset(tmp_path)
    with pytest.raises(BagError, match=r"unit of the positions is ''.*--units degrees or radians"):
        read_commands(tmp_path)
    with pytest.raises(BagError, match=r'action has|has shape \(120, 3\); expected \(120, 2\)'):
        read_commands(tmp_path, columns=('a', 'b'), units='degrees')
    with pytest.raises(RecordingError, match='no commands of c; there are gripper, b, a'):
        read_commands(tmp_path, units='degrees').recordings(('a', 'c'))
    (tmp_path / 'meta' / 'info.json').unlink()
    with pytest.raises(BagError, match=r'no names of joints.*expected --columns JOINT'):
        read_commands(file, units='degrees')
    file.write_bytes(b'PAR1 no table')
    with pytest.raises(BagError, match='cannot be read'):
        read_commands(file, columns=('a', 'b', 'c'), units='degrees')


def test_a_missing_pyarrow_gives_the_line_to_type(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, 'pyarrow', None)
    file = tmp_path / 'episode_000000.parquet'
    file.write_bytes(b'')
    with pytest.raises(
        BagError, match=r"pip install pyarrow, or in a checkout pip install '\.\[lerobot\]'"
    ):
        read_commands(file, columns=('a', 'b'), units='degrees')


@pytest.mark.parametrize('name', ['run', 'run.csv', 'run.parquet'])
def test_a_path_that_does_not_exist_is_named(name, tmp_path):
    with pytest.raises(BagError, match=f'{name}: no such file or folder'):
        read_commands(tmp_path / name, units='degrees')
