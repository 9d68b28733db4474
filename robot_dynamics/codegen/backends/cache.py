# SPDX-License-Identifier: Apache-2.0
"""Machine code on disk, so that a program is compiled once per machine and not once per process.

One file per entry in `$ROBOT_DYNAMICS_CACHE_DIR`, else `$XDG_CACHE_HOME/robot_dynamics`, else
`~/.cache/robot_dynamics`. The key of an entry is a text that names all it depends on: the program
or wrapper (its caller's part), the processor, and the source that makes code (`generator_digest`).
A file is a checksum of all that follows, a line in Python (the key, what the caller wants to
remember) and machine code.

* Entries are written whole or not at all: readers, and other processes, see a whole entry or none.
* Entries with a wrong checksum, or that another user may change, are not used; they are compiled
  again and replaced.
* The total size is bounded: one write in sixteen removes the least recently used entries, and
  those that have not been used for long, such as entries of earlier versions.
* If the directory cannot be written, there is one warning, and each process compiles.
"""

import ast
import contextlib
import errno
import functools
import hashlib
import os
import re
import stat
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from robot_dynamics.common.files import SAFELY, TEMPORARY, replace_file

MAGIC = b'robot_dynamics 1\n'
# The packages that generate machine code.
GENERATORS = ('codegen',)

CHECKSUM_SIZE = hashlib.sha256().digest_size

# What a header raises that no version of this file wrote.
NOT_READ = ValueError, SyntaxError, TypeError, MemoryError, RecursionError

# Bytes of one entry, and of all together. An arm has some fifty entries, 1 MB.
LARGEST_ENTRY = 1 << 26
LARGEST_TOTAL = 1 << 28
LONGEST_UNUSED = 90 * 86400.0  # s

# Entries whose names sort before this, one in sixteen, lead to a removal when they are written: to
# look at twenty thousand entries takes longer than to compile one.
CLEANING = '1'

# Names of entries and of the temporary files of interrupted writers.
OURS = re.compile(rf'[0-9a-f]{{40}}\.bin|{TEMPORARY.pattern}(\.bin)?')


class CacheWarning(RuntimeWarning):
    """Compiled programs cannot be kept on disk."""


def directory() -> Path:
    """Return where entries are kept. Raises OSError where the user has no home directory."""
    chosen = os.environ.get('ROBOT_DYNAMICS_CACHE_DIR')
    if chosen:
        return Path(chosen)
    base = os.environ.get('XDG_CACHE_HOME')
    try:
        return (Path(base) if base else Path.home() / '.cache') / 'robot_dynamics'
    except RuntimeError as error:
        raise OSError(
            errno.ENOENT, 'the user has no home directory; set ROBOT_DYNAMICS_CACHE_DIR'
        ) from error


@functools.cache
def generator_digest() -> str:
    """Return a digest of the generating source, so that code of other versions is not found."""
    return fingerprint(*(Path(__file__).parents[2] / name for name in GENERATORS))


def fingerprint(*paths: Path) -> str:
    """Return a digest of these Python files, and of those in these folders.

    Raises FileNotFoundError for a path without Python files, whose digest would never change.
    """
    digest = hashlib.sha256()
    for path in paths:
        below = sorted(os.walk(path)) or [(str(path.parent), [], [path.name])]
        files = [
            os.path.join(folder, name)
            for folder, _, names in below
            for name in sorted(names)
            if name.endswith('.py')
        ]
        if not files:
            raise FileNotFoundError(errno.ENOENT, 'no Python source to take a digest of', path)
        for name in files:
            with open(name, 'rb') as file:
                digest.update(os.path.basename(name).encode() + b'\0' + file.read() + b'\0')
    return digest.hexdigest()


def kept(key: str, make: Callable[[], tuple[Any, bytes]]) -> tuple[Any, bytes]:
    """Return the remembered data and the machine code of an entry, made if there is none.

    Args:
        key: what the entry depends on, beside the source that makes code.
        make: returns what to remember, made of tuples, lists, text and numbers, and the code.
    """
    key = f'{key}\n{generator_digest()}'
    entry = read(key)
    if entry is None:
        entry = make()
        write(key, *entry)
    return entry


def read(key: str) -> tuple[Any, bytes] | None:
    """Return the remembered data and the code of an entry, None if none can be trusted."""
    try:
        with open(_path(key), 'rb', opener=_opened) as file:
            status = os.fstat(file.fileno())
            content = file.read(status.st_size) if _is_ours(status) else b''
            # Fails for an entry of another user's, and on a read-only disk.
            with contextlib.suppress(OSError):
                _mark_used(file.fileno())
    except OSError:
        return None
    start = len(MAGIC) + CHECKSUM_SIZE
    body = content[start:]
    if content[:start] != MAGIC + hashlib.sha256(body).digest():
        return None
    header, _, code = body.partition(b'\n')
    try:
        found, remembered = ast.literal_eval(header.decode())
    except NOT_READ:
        return None
    return (remembered, code) if found == key else None


def write(key: str, remembered: Any, code: bytes) -> None:
    """Write an entry. A warning reports, once, that this is impossible."""
    body = ascii((key, remembered)).encode() + b'\n' + code
    where = 'on disk'
    try:
        path = _path(key)
        where = f'in {path.parent}'
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Readable to all, as an entry that an administrator precompiled must be.
        replace_file(path, MAGIC + hashlib.sha256(body).digest() + body, 0o644)
        if path.name < CLEANING:
            _remove_unused(path.parent)
    except OSError as error:
        _warn_once(
            f'compiled programs cannot be kept {where}, '
            f'each process compiles anew: {error.strerror}'
        )


def _mark_used(descriptor: int) -> None:
    if os.utime in os.supports_fd:
        os.utime(descriptor)


def _opened(path: str, flags: int) -> int:
    return os.open(path, flags | SAFELY, 0o600)


def _remove_unused(folder: Path) -> None:
    """Remove entries unused for long, and the least recently used beyond the total size."""
    with os.scandir(folder) as found:
        entries = [entry for entry in found if OURS.fullmatch(entry.name)]
    ages = []
    for entry in entries:
        # Another process may remove it, too.
        with contextlib.suppress(FileNotFoundError):
            status = entry.stat(follow_symlinks=False)
            ages.append((time.time() - status.st_mtime, status.st_size, entry.path))
    total = 0
    for age, size, path in sorted(ages):
        total += size
        if total > LARGEST_TOTAL or age > LONGEST_UNUSED:
            with contextlib.suppress(OSError):
                os.unlink(path)


def _path(key: str) -> Path:
    return directory() / f'{hashlib.sha256(key.encode()).hexdigest()[:40]}.bin'


def _is_ours(status: os.stat_result) -> bool:
    """Return whether only this user, or the administrator, can have written the file."""
    if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_ENTRY:
        return False
    if not hasattr(os, 'geteuid'):
        return True
    return status.st_uid in (0, os.geteuid()) and not status.st_mode & (
        stat.S_IWGRP | stat.S_IWOTH
    )


@functools.cache
def _warn_once(message: str) -> None:
    warnings.warn(message, CacheWarning, stacklevel=2)
