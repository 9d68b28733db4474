# SPDX-License-Identifier: Apache-2.0
"""Machine code on disk: found again, never trusted blindly, never in the way."""

import concurrent.futures
import hashlib
import os
import re
import stat
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.codegen.backends import cache
from robot_dynamics.codegen.calls import compile_program

CODE = bytes(range(256)) * 20
IMPORTED = r'^\s*from robot_dynamics\.(codegen|common\.\w+)'


@pytest.fixture(autouse=True)
def own_directory(tmp_path, monkeypatch):
    """Give each test an empty cache."""
    directory = tmp_path / 'kept' / 'here'
    monkeypatch.setenv('ROBOT_DYNAMICS_CACHE_DIR', str(directory))
    cache._warn_once.cache_clear()
    return directory


def entries(directory):
    return sorted(directory.glob('*.bin'))


def test_entries_are_read_as_written(own_directory):
    assert cache.read('text') is None
    cache.write('text', [['q', 7], 1.5], CODE)
    assert cache.read('text') == ([['q', 7], 1.5], CODE)
    assert cache.read('other') is None
    cache.write('text', None, b'')
    assert cache.read('text') == (None, b'')
    assert len(list(own_directory.iterdir())) == 1


def test_kept_makes_once():
    made = []

    def make():
        made.append(1)
        return (1, 'two'), CODE

    assert cache.kept('text', make) == cache.kept('text', make) == ((1, 'two'), CODE)
    assert len(made) == 1


def test_every_corruption_is_detected(own_directory):
    cache.write('text', {'a': 1}, CODE)
    (path,) = entries(own_directory)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    damaged = [b'', content[:10], content[:-1], content + b'x', content[1:], b'\0' * len(content)]
    for place in rng.integers(len(content), size=60):
        flipped = bytearray(content)
        flipped[place] ^= 1 << rng.integers(8)
        damaged.append(bytes(flipped))
    for bad in damaged:
        path.write_bytes(bad)
        assert cache.read('text') is None
    assert cache.kept('text', lambda: ({'a': 1}, CODE)) == ({'a': 1}, CODE)


HEADERS = [
    *(b'', b'\xff\xfe', b'\0', b'text', b'(', b'1', b"('text',)", b"('text', 1, 2)", b'"ab"'),
    *(b'[[1], 2]', b'{[]: 1}', b"('text', open('file'))", b'(' * 100_000, b'-' * 100_000 + b'1'),
]


@pytest.mark.parametrize('header', HEADERS, ids=lambda header: repr(header[:12]))
def test_an_entry_with_a_valid_sum_and_a_bad_header_is_made_anew(own_directory, header):
    cache.write('text', {'a': 1}, CODE)
    cache.kept('text', lambda: ({'a': 1}, CODE))
    for path in entries(own_directory):
        body = header + b'\n' + CODE
        path.write_bytes(cache.MAGIC + hashlib.sha256(body).digest() + body)
    assert cache.read('text') is None
    assert cache.kept('text', lambda: ({'a': 2}, CODE)) == ({'a': 2}, CODE)
    assert cache.kept('text', lambda: ({'a': 3}, CODE)) == ({'a': 2}, CODE)


def test_an_entry_under_the_name_of_another_is_not_used(own_directory):
    cache.write('text', None, CODE)
    (path,) = entries(own_directory)
    cache.write('other', None, b'')
    (other,) = set(entries(own_directory)) - {path}
    other.write_bytes(path.read_bytes())
    assert cache.read('other') is None


@pytest.mark.skipif(not hasattr(os, 'geteuid'), reason='no owners of files here')
@pytest.mark.parametrize('mode', [0o666, 0o664, 0o646, 0o620, 0o602])
def test_entries_that_others_may_write_are_not_used(own_directory, mode):
    cache.write('text', None, CODE)
    (path,) = entries(own_directory)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    path.chmod(mode)
    assert cache.read('text') is None
    path.chmod(0o644)
    assert cache.read('text') == (None, CODE)


@pytest.mark.skipif(not hasattr(os, 'geteuid'), reason='no owners of files here')
def test_entries_of_other_users_are_not_used(own_directory, monkeypatch):
    cache.write('text', None, CODE)
    owner = os.geteuid()
    monkeypatch.setattr(os, 'geteuid', lambda: owner + 1)
    assert (cache.read('text') is not None) == (owner == 0)


def replaced_by(kind, path, content):
    """Put something else in the place of an entry."""
    path.unlink()
    elsewhere = path.with_name('elsewhere')
    if kind == 'pipe':
        os.mkfifo(path)
    elif kind == 'folder':
        path.mkdir()
    elif kind == 'link':
        elsewhere.write_bytes(content)
        path.symlink_to(elsewhere)
    else:
        path.write_bytes(content)
        os.truncate(path, 3 << 30)


@pytest.mark.skipif(not hasattr(os, 'mkfifo'), reason='no pipes here')
@pytest.mark.parametrize('kind', ['pipe', 'folder', 'link', 'sparse'])
def test_only_regular_files_of_limited_size_are_read(own_directory, kind):
    cache.write('text', None, CODE)
    (path,) = entries(own_directory)
    replaced_by(kind, path, path.read_bytes())
    assert ended_in_time('assert cache.read("text") is None', own_directory)


def ended_in_time(code, directory):
    """Run code in a process of 1 GB that is ended after a minute."""
    limit = 'import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))'
    script = f'{limit}\nfrom robot_dynamics.codegen.backends import cache\n{code}'
    environment = {
        **os.environ,
        'PYTHONPATH': os.pathsep.join(sys.path),
        'ROBOT_DYNAMICS_CACHE_DIR': str(directory),
        'OPENBLAS_NUM_THREADS': '1',
    }
    subprocess.run([sys.executable, '-c', script], env=environment, check=True, timeout=60)
    return True


@pytest.mark.skipif(not hasattr(os, 'symlink'), reason='no links here')
def test_the_writer_follows_no_link(own_directory, tmp_path, monkeypatch):
    """In a directory that others may write, they may rename what was just made."""
    victim = tmp_path / 'victim'
    victim.write_bytes(b'mine')
    opened = os.open

    def and_swapped(path, flags, *arguments, **named):
        descriptor = opened(path, flags, *arguments, **named)
        if Path(path).name.startswith('.'):
            os.unlink(path)
            os.symlink(victim, path)
        return descriptor

    mode = stat.S_IMODE(victim.stat().st_mode)
    monkeypatch.setattr(os, 'open', and_swapped)
    cache.write('text', None, CODE)
    assert victim.read_bytes() == b'mine'
    assert stat.S_IMODE(victim.stat().st_mode) == mode
    # What is in the entry's place is the link, which is not read either.
    assert cache.read('text') is None


@pytest.mark.parametrize('backend', ['llvm', 'python'])
@pytest.mark.usefixtures('machine')
def test_a_program_works_for_a_user_without_home_and_passwd_entry(monkeypatch, backend):
    def unknown(uid):
        raise KeyError(f'getpwuid(): uid not found: {uid}')

    for name in ('ROBOT_DYNAMICS_CACHE_DIR', 'XDG_CACHE_HOME', 'HOME'):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pytest.importorskip('pwd'), 'getpwuid', unknown)
    with warnings.catch_warnings(record=True) as caught:
        function = compile_program(lambda x: [2.0 * x[0]], {'x': 1}, backend=backend)
        assert function([3.0]) == 6.0
        assert (function(np.full((20, 1), 3.0)) == 6.0).all()
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == (backend == 'llvm')
    assert all('no home directory; set ROBOT_DYNAMICS_CACHE_DIR' in text for text in messages)


def test_the_least_recently_used_are_removed(own_directory, monkeypatch):
    monkeypatch.setattr(cache, 'LARGEST_TOTAL', 4 * len(CODE))
    monkeypatch.setattr(cache, 'CLEANING', 'g')  # with every entry
    own_directory.mkdir(parents=True)
    foreign = own_directory / 'notes.bin'
    foreign.write_bytes(100 * CODE)
    now = time.time()
    for k, name in enumerate('abc'):
        cache.write(name, None, CODE)
        (path,) = (own_directory / cache._path(name).name,)
        os.utime(path, (now - 1000 + k,) * 2)
    # What is used stays longer than what was written after it.
    assert cache.read('a') is not None
    cache.write('d', None, CODE)
    assert [cache.read(name) is not None for name in 'abcd'] == [True, False, True, True]
    assert foreign.exists()


def test_one_write_in_sixteen_removes_entries(own_directory, monkeypatch):
    folders = []
    monkeypatch.setattr(cache, '_remove_unused', folders.append)
    for k in range(1600):
        cache.write(str(k), None, b'')
    assert set(folders) == {own_directory}
    assert 60 < len(folders) < 140  # 100 +- 10, by the names of the entries


def test_entries_unused_for_long_are_removed(own_directory, monkeypatch):
    monkeypatch.setattr(cache, 'CLEANING', 'g')  # with every entry
    cache.write('old', None, CODE)
    interrupted = own_directory / f'.{16 * "a"}'
    kept = own_directory / '.keep'
    for path in (interrupted, kept):
        path.write_bytes(CODE)
    for path in own_directory.iterdir():
        os.utime(path, (time.time() - cache.LONGEST_UNUSED - 100,) * 2)
    cache.write('new', None, CODE)
    assert cache.read('old') is None
    assert cache.read('new') is not None
    assert not interrupted.exists()
    assert kept.exists()


def test_a_directory_that_cannot_be_made_costs_one_warning(tmp_path, monkeypatch):
    (tmp_path / 'file').write_text('in the way')
    monkeypatch.setenv('ROBOT_DYNAMICS_CACHE_DIR', str(tmp_path / 'file'))
    with pytest.warns(cache.CacheWarning, match='cannot be kept'):
        assert cache.kept('text', lambda: (1, CODE)) == (1, CODE)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        assert cache.kept('text', lambda: (2, CODE)) == (2, CODE)


def test_a_directory_that_cannot_be_written_costs_one_warning(monkeypatch):
    def refused(path, *_, **__):
        raise PermissionError(13, 'Permission denied', path)

    monkeypatch.setattr(os, 'open', refused)
    with pytest.warns(cache.CacheWarning, match='Permission denied'):
        cache.write('text', None, CODE)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        cache.write('other', None, CODE)


def test_a_full_disk_leaves_nothing_behind(own_directory, monkeypatch):
    def full(*_):
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(Path, 'replace', full)
    with pytest.warns(cache.CacheWarning, match='No space left'):
        cache.write('text', None, CODE)
    assert list(own_directory.iterdir()) == []


def test_where_entries_are_kept(monkeypatch, tmp_path):
    monkeypatch.delenv('ROBOT_DYNAMICS_CACHE_DIR')
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    assert cache.directory() == tmp_path / 'robot_dynamics'
    monkeypatch.setenv('XDG_CACHE_HOME', '')
    monkeypatch.setenv('HOME', str(tmp_path))
    assert cache.directory() == tmp_path / '.cache' / 'robot_dynamics'


def test_fingerprint_sees_names_and_contents(tmp_path):
    (tmp_path / 'a.py').write_text('1')
    first = cache.fingerprint(tmp_path)
    (tmp_path / 'a.py').write_text('2')
    second = cache.fingerprint(tmp_path)
    (tmp_path / 'a.py').rename(tmp_path / 'b.py')
    assert len({first, second, cache.fingerprint(tmp_path)}) == 3
    assert cache.fingerprint(tmp_path / 'b.py') == cache.fingerprint(tmp_path)


def test_the_generator_is_all_that_makes_code():
    codegen = Path(cache.__file__).parents[1]
    assert cache.generator_digest() == cache.fingerprint(codegen)
    # Whatever else these import makes no code.
    imported = set().union(
        *(
            re.findall(IMPORTED, file.read_text(encoding='utf-8'), re.MULTILINE)
            for file in codegen.rglob('*.py')
        )
    )
    assert imported == {'codegen', 'common.errors', 'common.files', 'common.made_once'}


@pytest.mark.usefixtures('machine')
def test_a_key_saves_even_the_recording(own_directory):
    runs = []

    def function(x):
        runs.append(1)
        return [x[0] * 2.0], [[x[0].sin()]]

    def double(key):
        return compile_program(function, {'x': 1}, key=key, backend='llvm')

    first = double('version 1')
    assert len(runs) == 1
    again = double('version 1')
    assert len(runs) == 1
    assert again.signature == first.signature
    assert again([2.0])[0].tolist() == [4.0]
    # The kernel of more than two rows is made when it is first needed, and then kept too.
    assert again([[2.0], [3.0], [4.0]])[0].tolist() == [[4.0], [6.0], [8.0]]
    assert len(runs) == 2
    double('version 1')([[2.0], [3.0], [4.0]])
    assert len(runs) == 2
    double('version 2')
    assert len(runs) == 3


@pytest.mark.usefixtures('machine')
def test_corrupt_machine_code_is_compiled_anew(own_directory):
    def compiled():
        return compile_program(lambda x: [x[0] * 3.0], {'x': 1}, key='k', backend='llvm')

    compiled()
    for path in entries(own_directory):
        content = path.read_bytes()
        path.write_bytes(content[:-100] + bytes(100))
    assert compiled()([2.0]).tolist() == [6.0]
    kernels = [path.read_bytes() for path in entries(own_directory)]
    kernels = [content for content in kernels if b'sample kernel' in content]
    assert len(kernels) == 1
    assert kernels[0][-100:] != bytes(100)


PROCESS = """
import sys
from robot_dynamics.codegen.calls import compile_program
f = compile_program(lambda x: [x[0].sin() * %s.0 for _ in range(50)], {'x': 1}, key='%s')
assert abs(f([0.5])[49] - %s * 0.479425538604203) < 1e-12, f([0.5])
assert f([[0.5], [0.5]]).shape == (2, 50)
"""


@pytest.mark.slow
def test_processes_share_a_cache(own_directory):
    def run(k):
        code = PROCESS % (k % 3 + 1, k % 3 + 1, k % 3 + 1)
        environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)}
        return subprocess.run(
            [sys.executable, '-c', code], env=environment, capture_output=True, check=False
        )

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for process in pool.map(run, range(8)):
            assert process.returncode == 0, process.stderr.decode()
    assert not list(own_directory.glob('.*'))
