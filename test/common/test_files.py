# SPDX-License-Identifier: Apache-2.0
"""Files are written whole or not at all; errors name them."""

import errno
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from robot_dynamics.common import files
from robot_dynamics.common.files import write_csv, write_file, write_files

PACKAGE = Path(files.__file__).parent
CONTENT = {'new.urdf': b'<robot/>' * 1000, 'new.yaml': 'parameters: 1\n' * 1000}


@pytest.fixture
def folder(tmp_path):
    """Return a folder with an old pair of files, the first read-only for others."""
    for name in CONTENT:
        (tmp_path / name).write_text(f'old {name}')
    (tmp_path / 'new.urdf').chmod(0o640)
    return tmp_path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def pair(folder):
    return {folder / name: content for name, content in CONTENT.items()}


def failing(monkeypatch, target, name, at):
    """Let call number `at` of a function fail as on a full disk."""
    original, calls = getattr(target, name), []

    def maybe(*arguments, **named):
        calls.append(arguments)
        if len(calls) == at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return original(*arguments, **named)

    monkeypatch.setattr(target, name, maybe)
    return calls


def test_files_are_replaced_and_keep_their_modes(folder):
    write_files(pair(folder))
    assert (folder / 'new.urdf').read_bytes() == CONTENT['new.urdf']
    assert (folder / 'new.yaml').read_text() == CONTENT['new.yaml']
    assert stat.S_IMODE((folder / 'new.urdf').stat().st_mode) == 0o640
    assert len(list(folder.iterdir())) == 2


def test_a_new_file_has_the_mode_of_new_files(tmp_path):
    write_file(tmp_path / 'a', 'ä\n')
    (tmp_path / 'b').write_text('b')
    assert (tmp_path / 'a').read_bytes() == 'ä\n'.encode()
    assert (tmp_path / 'a').stat().st_mode == (tmp_path / 'b').stat().st_mode


@pytest.mark.parametrize('exists', [True, False], ids=['replaced', 'new'])
@pytest.mark.parametrize(
    ('target', 'name', 'at'),
    [(os, 'fsync', 1), (os, 'fsync', 2), (Path, 'replace', 1), (Path, 'replace', 2)],
)
def test_a_pair_is_written_or_neither(folder, monkeypatch, target, name, at, exists):
    if not exists:
        for path in folder.iterdir():
            path.unlink()
    before = contents(folder)
    calls = failing(monkeypatch, target, name, at)
    with pytest.raises(OSError, match='No space left') as caught:
        write_files(pair(folder))
    assert len(calls) >= at
    assert contents(folder) == before
    assert caught.value.filename == str(folder / list(CONTENT)[at - 1])


LIMITED = """
import resource, signal, sys
from pathlib import Path
from robot_dynamics.common.files import write_files
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50, 50))
folder = Path(sys.argv[1])
try:
    write_files({folder / 'new.urdf': 'short', folder / 'new.yaml': 100 * 'x'})
except OSError as error:
    print(error.errno, error.filename)
"""


def test_a_disk_without_room_for_the_second_file_leaves_the_old_pair(folder):
    before = contents(folder)
    ended = subprocess.run(
        [sys.executable, '-c', LIMITED, folder], capture_output=True, text=True, check=True
    )
    assert ended.stdout.split() == [str(errno.EFBIG), str(folder / 'new.yaml')]
    assert contents(folder) == before


def test_an_exception_while_writing_leaves_the_old_file(folder):
    before = contents(folder)
    for kind in (KeyboardInterrupt, ValueError):

        def rows(kind=kind):
            yield [1.0]
            raise kind

        with pytest.raises(kind):
            write_csv(folder / 'new.urdf', ['a'], rows())
    assert contents(folder) == before


def test_a_link_keeps_its_target(folder):
    link = folder / 'link'
    link.symlink_to('new.urdf')
    write_file(link, 'new')
    assert link.is_symlink()
    assert (folder / 'new.urdf').read_text() == 'new'


def test_pipes_are_written_directly(tmp_path):
    """As /dev/stdout and the pipes of a shell are, which have no name that could be replaced."""
    near, far = os.pipe()
    write_file(f'/dev/fd/{far}', 'through')
    assert os.read(near, 100) == b'through'
    for descriptor in (near, far):
        os.close(descriptor)
    pipe = tmp_path / 'pipe'
    os.mkfifo(pipe)
    with subprocess.Popen(['cat', pipe], stdout=subprocess.PIPE) as reader:
        write_file(pipe, 'through')
        assert reader.communicate()[0] == b'through'
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize('name', ['', 'missing/file', 'file/below'])
def test_errors_have_the_given_name_and_not_that_of_the_temporary_file(tmp_path, name):
    (tmp_path / 'file').write_text('in the way')
    with pytest.raises(OSError, match=str(tmp_path)) as caught:
        write_file(tmp_path / name, 'x')
    assert caught.value.filename == str(tmp_path / name)
    assert contents(tmp_path) == {'file': b'in the way'}


def test_a_file_that_must_not_be_written_stays(folder, monkeypatch):
    before = contents(folder)
    (folder / 'new.urdf').chmod(0o440)
    # To an administrator every file is writable.
    monkeypatch.setattr(os, 'access', lambda path, _: bool(os.stat(path).st_mode & 0o200))
    with pytest.raises(PermissionError) as caught:
        write_file(folder / 'new.urdf', 'x')
    assert caught.value.filename == str(folder / 'new.urdf')
    assert contents(folder) == before


# Written into a folder of their own.
OWN_FOLDER = {
    'validation/engines/process.py',
    'validation/engines/pybullet_engine.py',
    'cli/demo_nodes.py',
}
WRITES = re.compile(
    r'write_text\(|write_bytes\(|\.savefig\((?!stream)|open\([^)]*[\'"][wxa]b?\+?[\'"]'
    r'|np\.save|\.tofile\('
)


def test_every_writer_of_the_package_writes_whole_files():
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob('*.py')
        if WRITES.search(path.read_text(encoding='utf-8'))
    }
    assert found - {'files.py'} <= OWN_FOLDER
