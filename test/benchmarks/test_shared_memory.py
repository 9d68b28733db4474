# SPDX-License-Identifier: Apache-2.0
"""Files of the middleware in shared memory: what is in use stays, with all that belongs to it."""

import mmap
import os

import pytest

from benchmarks import shared_memory as files

pytestmark = pytest.mark.skipif(not files.SHARED_MEMORY.is_dir(), reason='no /dev/shm here')


@pytest.fixture
def made():
    """Return a function that makes a file of a name with this process' number; all are removed."""
    paths = []

    def make(form):
        path = files.SHARED_MEMORY / form.format(f'{os.getpid():016x}')
        path.write_bytes(bytes(8))
        paths.append(path)
        return path

    yield make
    for path in paths:
        path.unlink(missing_ok=True)


def group(made, form):
    """Make the memory, the two locks and the semaphore of a port or segment."""
    forms = (form, f'{form}_el', f'{form}_sl', f'sem.{form}_mutex')
    return [made(each) for each in forms]


def left(before):
    return files.left_in_shared_memory(before)


def test_files_in_no_use_are_left(made):
    before = files.shared_memory()
    port = group(made, 'fastrtps_port{}')
    assert set(port) <= left(before)
    assert not set(port) & left([*before, *port])


@pytest.mark.parametrize('used', range(4))
def test_a_port_of_which_one_file_is_open_is_in_use(used, made):
    before = files.shared_memory()
    port, other = group(made, 'fastrtps_port{}'), group(made, 'fastrtps_port{}1')
    with port[used].open():
        assert not set(port) & left(before)
        assert set(other) <= left(before)
    assert set(port) <= left(before)


def test_a_semaphore_mapped_under_the_name_it_was_made_with_is_in_use(made):
    """glibc makes a semaphore under another name, maps it, and then gives it its own."""
    before = files.shared_memory()
    port = group(made, 'fastrtps_port{}')
    semaphore, first = port[-1], made('sem.{}')
    os.replace(semaphore, first)
    with first.open('r+b') as file:
        mapped = mmap.mmap(file.fileno(), 8)
    os.link(first, semaphore)
    first.unlink()
    assert not set(port) & left(before)
    mapped.close()
    assert set(port) <= left(before)


def test_files_in_no_use_are_removed(made):
    before = files.shared_memory()
    port, segment = group(made, 'fastrtps_port{}'), group(made, 'fastrtps_{}')
    with segment[0].open():
        files.remove_shared_memory(before)
    assert [path.exists() for path in (*port, *segment)] == [False] * 4 + [True] * 4
    files.remove_shared_memory(before)
    assert not any(path.exists() for path in segment)
