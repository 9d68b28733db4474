# SPDX-License-Identifier: Apache-2.0
"""Reader of rosbag2 recordings: storages, topics, and damaged files."""

import os
import shutil
import sqlite3
from contextlib import suppress

import numpy as np
import pytest

pytest.importorskip('rosbags')

from recorded_runs import samples, write_bag

from robot_dynamics.recordings import BagError, read_bag

NAMES = ('b', 'a')
T = np.arange(200) * 0.01
Q = np.random.default_rng(0).normal(size=(200, 2))
STATES = samples(NAMES, T, Q, Q + 1, Q + 2)
COMMANDS = [s._replace(position=s.position[:0], velocity=s.velocity[:0]) for s in STATES]
URDF = '<robot name="r"/>'


@pytest.fixture(params=['mcap', 'sqlite3', 'compressed'])
def bag(request, tmp_path):
    storage = 'sqlite3' if request.param == 'compressed' else request.param
    return write_bag(
        tmp_path / 'run',
        {'/joint_states': STATES, '/commands': COMMANDS},
        storage=storage,
        descriptions={'/robot_description': URDF},
        file_compression=request.param == 'compressed',
    )


def same(one, other):
    return one[:3] == other[:3] and all(map(np.array_equal, one[3:], other[3:]))


def only_file(folder):
    (file,) = (path for path in folder.iterdir() if path.suffix in ('.mcap', '.db3'))
    return file


def test_what_was_written_is_read(bag):
    found = read_bag(bag)
    assert (found.topic, found.description) == ('/joint_states', URDF)
    assert len(found.samples) == len(STATES)
    assert all(map(same, found.samples, STATES))


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_a_file_by_itself_and_a_folder_without_metadata_are_read(storage, tmp_path):
    folder = write_bag(tmp_path / 'run', {'/joint_states': STATES}, storage=storage)
    assert len(read_bag(only_file(folder)).samples) == len(STATES)
    (folder / 'metadata.yaml').unlink()
    found = read_bag(folder)
    assert len(found.samples) == len(STATES)
    assert found.description == ''


def test_the_files_of_a_split_recording_are_read_in_order(tmp_path):
    both = tmp_path / 'both'
    both.mkdir()
    for k, part in enumerate((STATES[:120], STATES[120:])):
        folder = write_bag(tmp_path / f'run_{k}', {'/joint_states': part})
        shutil.move(only_file(folder), both)
    assert all(map(same, read_bag(both).samples, STATES))


def test_a_topic_may_be_named(bag):
    found = read_bag(bag, 'commands')
    assert found.topic == '/commands'
    assert all(map(same, found.samples, COMMANDS))


@pytest.mark.parametrize(
    ('topics', 'wanted', 'message'),
    [
        ({'/arm': STATES, '/other/arm': STATES}, '', 'efforts on /arm, /other/arm: name one'),
        ({'/joint_states': STATES}, '/nowhere', 'on /nowhere; there are /joint_states'),
        ({'/commands': COMMANDS}, '', 'no joint states with positions and efforts; .*/commands'),
        ({'/joint_states': []}, '', 'joint states on: none'),
        ({}, '', 'joint states on: none'),
    ],
)
@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_an_ambiguous_topic_is_rejected(topics, wanted, message, storage, tmp_path):
    folder = write_bag(tmp_path / 'run', topics, storage=storage)
    with pytest.raises(BagError, match=message):
        read_bag(folder, wanted)


def test_two_robot_descriptions_are_rejected_if_one_is_needed(tmp_path):
    texts = {'/left/robot_description': URDF, '/right/robot_description': URDF.replace('r', 'l')}
    folder = write_bag(tmp_path / 'run', {'/joint_states': STATES}, descriptions=texts)
    with pytest.raises(
        BagError, match='2 robots are described on /left/robot_description, /right'
    ):
        read_bag(folder)
    assert read_bag(folder, description=False).description == ''


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
@pytest.mark.parametrize('size', [0, 3, 1000, 20_000])
def test_a_truncated_file_is_rejected_with_the_repair(storage, size, tmp_path):
    file = only_file(write_bag(tmp_path / 'run', {'/joint_states': STATES}, storage=storage))
    assert file.stat().st_size > size
    file.write_bytes(file.read_bytes()[:size])
    remedy = 'mcap recover' if storage == 'mcap' else 'sqlite3 FILE .recover'
    with pytest.raises(BagError, match=f'{file.name}: cannot be read .* {remedy}'):
        read_bag(file)
    with pytest.raises(BagError, match=r'run: cannot be read .* open the file in it by itself'):
        read_bag(file.parent)


@pytest.mark.parametrize('seed', range(8))
@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_damaged_bytes_give_no_other_error(storage, seed, tmp_path):
    file = only_file(write_bag(tmp_path / 'run', {'/joint_states': STATES}, storage=storage))
    rng, data = np.random.default_rng(seed), bytearray(file.read_bytes())
    for at in rng.integers(0, len(data), 50):
        data[at] = rng.integers(256)
    file.write_bytes(data)
    with suppress(BagError):
        read_bag(file)


def test_missing_messages_of_the_index_are_an_error(tmp_path):
    """The times of a third are damaged: readers look for them between first and last."""
    file = only_file(write_bag(tmp_path / 'run', {'/joint_states': STATES}))
    data = bytearray(file.read_bytes())
    for state in STATES[60:126]:
        stamp = state.logged.to_bytes(8, 'little')
        at = data.index(2 * stamp)  # of log and of publication
        data[at : at + 8] = bytes(8)
    file.write_bytes(data)
    message = (
        f'{file.name}: 134 messages on /joint_states can be read, its index has 200: .* mcap rec'
    )
    with pytest.raises(BagError, match=message):
        read_bag(file)
    with pytest.raises(BagError, match=r'index has 200: .* open the file in it by itself'):
        read_bag(file.parent)


def test_a_flipped_bit_of_a_chunk_with_a_checksum_is_an_error(tmp_path):
    """One bit of a value leaves everything else readable."""
    writer_module = pytest.importorskip('mcap.writer')
    from rosbags.rosbag2 import Reader

    source = only_file(write_bag(tmp_path / 'run', {'/joint_states': STATES}))
    file = tmp_path / 'checked.mcap'
    writer = writer_module.Writer(
        str(file), compression=writer_module.CompressionType.NONE, enable_crcs=True
    )
    writer.start(profile='ros2', library='')
    with Reader(source) as reader:
        (connection,) = reader.connections
        schema = writer.register_schema(connection.msgtype, 'ros2msg', b'')
        channel = writer.register_channel('/joint_states', 'cdr', schema)
        for _, logged, data in reader.messages():
            writer.add_message(channel, logged, bytes(data), logged)
    writer.finish()
    assert all(map(same, read_bag(file).samples, STATES))
    data = bytearray(file.read_bytes())
    data[data.index(STATES[100].effort.tobytes()) + 6] ^= 1
    file.write_bytes(data)
    with pytest.raises(BagError, match=r'checked.mcap: cannot be read .*[Cc]hecksum'):
        read_bag(file)


def test_a_log_that_was_not_merged_is_named(tmp_path):
    file = only_file(write_bag(tmp_path / 'run', {'/joint_states': STATES}, storage='sqlite3'))
    connection = sqlite3.connect(file)
    connection.execute('PRAGMA journal_mode=WAL')
    connection.execute('UPDATE messages SET timestamp = timestamp + 1')
    connection.commit()
    with pytest.raises(BagError, match='wal_checkpoint'):
        read_bag(file)
    connection.close()  # which merges it
    assert len(read_bag(file).samples) == len(STATES)


def test_missing_files_are_named(tmp_path):
    with pytest.raises(BagError, match='nowhere: No such file'):
        read_bag(tmp_path / 'nowhere')
    with pytest.raises(BagError, match='no recording; there is'):
        read_bag(tmp_path)
    other = tmp_path / 'run.txt'
    other.write_text('')
    with pytest.raises(BagError, match='Unrecognized storage format'):
        read_bag(other)


def test_a_pipe_is_no_recording(bag, tmp_path):
    """Reading one would wait for ever, and so would a pipe that the metadata names."""
    pipe = tmp_path / 'pipe.mcap'
    os.mkfifo(pipe)
    with pytest.raises(BagError, match=r'pipe\.mcap: not a regular file; expected a recording'):
        read_bag(pipe)
    (file,) = (path for path in bag.iterdir() if path.name != 'metadata.yaml')
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(BagError, match=f'{file.name}: not a regular file'):
        read_bag(bag)


def test_hostile_metadata_are_rejected_before_they_are_expanded(bag):
    """PyYAML 6.0.4 and newer reject a thousand levels on their own."""
    for text, reason in (
        (500 * '[', 'nested more than 64'),
        (100_000 * '[', 'nested more than 64|exceeded maximum nesting depth'),
        ('a: &a [x]\nb: *a', r'alias \*a'),
    ):
        (bag / 'metadata.yaml').write_text(text)
        with pytest.raises(BagError, match=reason):
            read_bag(bag)
