"""Files on disks that are full: what was acknowledged is in them, and they can be read."""

import contextlib
import errno
import os
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip('mcap')

from mcap.exceptions import EndOfFile
from mcap.reader import make_reader
from mcap.records import Message
from mcap.stream_reader import StreamReader

from robot_dynamics.ros.recordings import run_file
from robot_dynamics.ros.recordings.run_file import RecordingError, RunFile

SCHEMA = 'float64[] data'


def fill(file, count, size=1000, start=0):
    rng = np.random.default_rng(start)
    for k in range(start, start + count):
        file.add('/noise', 'test_msgs/msg/Noise', lambda: SCHEMA, rng.bytes(size), k)
    return count


def messages(path):
    """Return the times of the messages, by the file's own index."""
    with path.open('rb') as stream:
        reader = make_reader(stream)
        assert reader.get_header().profile == 'ros2'
        return [message.log_time for _, _, message in reader.iter_messages()]


def streamed(path):
    """Return the times of the messages of a file that has no index."""
    times = []
    with path.open('rb') as stream, contextlib.suppress(EndOfFile):
        for record in StreamReader(stream, validate_crcs=True).records:
            if isinstance(record, Message):
                times.append(record.log_time)
    return times


def test_a_file_has_what_it_was_given(tmp_path):
    path = tmp_path / 'run.mcap'
    file = RunFile(path, {'model': 'abc'})
    fill(file, 500)
    assert file.messages < 500
    file.flush()
    assert file.messages == 500
    assert streamed(path) == list(range(500))
    fill(file, 10, start=500)
    file.close()
    assert messages(path) == list(range(510))
    assert list(tmp_path.iterdir()) == [path]
    assert not file.failure


def test_a_file_that_is_there_is_not_touched(tmp_path):
    path = tmp_path / 'run.mcap'
    path.write_text('precious')
    with pytest.raises(RecordingError, match=r'run.mcap: File exists; nothing is recorded'):
        RunFile(path, {})
    assert path.read_text() == 'precious'
    assert list(tmp_path.iterdir()) == [path]


def test_a_disk_that_is_full_from_the_start_is_refused(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, 'posix_fallocate', full)
    with pytest.raises(RecordingError, match='No space left on device; nothing is recorded'):
        RunFile(tmp_path / 'run.mcap', {})
    assert list(tmp_path.iterdir()) == []


class Disk:
    """A disk of so many bytes, on which the reserve counts as long as it is there."""

    def __init__(self, monkeypatch, size, reserve_is_kept=True):
        self.size, self.kept = size, 0
        self.reserve_is_kept = reserve_is_kept
        self.true_write = os.pwrite
        monkeypatch.setattr(run_file.WholePieces, '_pwrite', self.write)
        monkeypatch.setattr(run_file.Reserve, 'grow', lambda kept, size: self.grow(kept, size))
        monkeypatch.setattr(run_file.Reserve, 'release', self.release)

    def write(self, data, at):
        room = self.size - self.kept - at
        if room <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self.true_write(self.file, data[:room], at)

    def grow(self, reserve, size):
        self.kept = reserve.size = size

    def release(self):
        if self.reserve_is_kept:
            self.kept = 0


@pytest.fixture
def disk(monkeypatch):
    def make(size, **options):
        disk = Disk(monkeypatch, size, **options)
        opened = os.open

        def remember(path, flags, *mode):
            disk.file = opened(path, flags, *mode)
            return disk.file

        monkeypatch.setattr(os, 'open', remember)
        return disk

    return make


@pytest.mark.parametrize('size', [1_500_000, 1_500_001, 1_612_345, 1_700_000])
def test_a_disk_that_fills_up_holds_a_complete_file(tmp_path, disk, size):
    disk(size)
    path = tmp_path / 'run.mcap'
    file = RunFile(path, {})
    given = acknowledged = 0
    while not file.failure:
        given += fill(file, 1, start=given)
        acknowledged = max(acknowledged, file.messages)
        assert given < 3000
    assert file.failure == 'No space left on device'
    assert file.messages == given  # the last chunk went into the reserve
    assert acknowledged > 100
    assert messages(path) == list(range(given))
    fill(file, 5, start=given)  # is not taken any more
    file.flush()
    file.close()
    assert messages(path) == list(range(given))


def test_without_room_for_an_index_whole_chunks_remain(tmp_path, disk):
    disk(1_500_000, reserve_is_kept=False)
    path = tmp_path / 'run.mcap'
    file = RunFile(path, {})
    given = 0
    while not file.failure:
        given += fill(file, 1, start=given)
        acknowledged = file.messages
    assert 'not even for its index' in file.failure
    assert 100 < acknowledged < given
    assert file.messages == acknowledged
    assert streamed(path) == list(range(acknowledged))


LIMITED = """
import resource, sys
from pathlib import Path
from robot_dynamics.ros.recordings.run_file import RunFile
resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))
file = RunFile(Path(sys.argv[1]), {})
given = 0
while not file.failure:
    file.add('/noise', 'test_msgs/msg/Noise', lambda: 'float64[] data', bytes(1000), given)
    if given % 10 == 0:
        file.flush()
    given += 1
    if given > 5_000_000:
        sys.exit('no end')
print(file.messages, file.failure)
"""


def test_a_file_that_may_not_grow_keeps_what_was_acknowledged(tmp_path):
    path = tmp_path / 'run.mcap'
    result = subprocess.run(
        [sys.executable, '-c', LIMITED, path],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, 'PYTHONPATH': os.pathsep.join(filter(None, sys.path))},
    )
    assert result.returncode == 0, result.stderr
    acknowledged, _, failure = result.stdout.partition(' ')
    assert 'File too large' in failure
    assert streamed(path) == list(range(int(acknowledged)))
    assert int(acknowledged) > 100


SMALL_DISK = """
set -e
mount -t tmpfs -o size=3m none "$1"
exec "$2" -c "$3" "$1/run.mcap"
"""


def test_a_small_disk(tmp_path):
    """A real one, where the kernel lets a test mount it in a namespace of its own."""
    place = tmp_path / 'disk'
    place.mkdir()
    code = LIMITED.replace('resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))', '')
    code += "\nimport mcap.reader\nwith open(sys.argv[1], 'rb') as stream:\n"
    code += '    print(len(list(mcap.reader.make_reader(stream).iter_messages())))\n'
    result = subprocess.run(
        ['unshare', '--mount', '--map-root-user', 'sh', '-c', SMALL_DISK, 'sh', place,
         sys.executable, code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, 'PYTHONPATH': os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    if 'unshare' in result.stderr or 'mount:' in result.stderr:
        pytest.skip(f'no file system may be mounted here: {result.stderr.strip()}')
    assert result.returncode == 0, result.stderr
    said, in_the_file = result.stdout.splitlines()
    assert said == f'{in_the_file} No space left on device'
    assert int(in_the_file) > 100
