"""Machine code on disk, so that a program is compiled once per machine and not once per process.

One file per entry in `$ROBOT_DYNAMICS_CACHE_DIR`, else `$XDG_CACHE_HOME/robot_dynamics`, else
`~/.cache/robot_dynamics`. An entry is found by a text that names all it depends on: the caller's
key, the source that makes code, llvmlite's version, the processor. A file is a checksum of all
that follows, a line in Python (that text, what the caller wants to remember) and machine code.

* Writing is to a temporary file that is then renamed: readers, and other processes, see a whole
  entry or none.
* What fails the checksum, or is another user's to change, is not used; it is compiled anew and
  replaced.
* A directory that cannot be written costs a warning, once, and the time to compile.
"""

import ast
import functools
import hashlib
import os
import stat
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

MAGIC = b'robot_dynamics 1\n'
# The packages that machine code is made by.
GENERATORS = ('compiler', 'rolled', 'compiled')

CHECKSUM_SIZE = hashlib.sha256().digest_size


class CacheWarning(RuntimeWarning):
    """Compiled programs cannot be kept on disk."""


def directory() -> Path:
    """Return where entries are kept."""
    chosen = os.environ.get('ROBOT_DYNAMICS_CACHE_DIR')
    if chosen:
        return Path(chosen)
    base = os.environ.get('XDG_CACHE_HOME')
    return (Path(base) if base else Path.home() / '.cache') / 'robot_dynamics'


@functools.cache
def generator() -> str:
    """Return a fingerprint of the source that makes code: what other source made is not found."""
    return fingerprint(*(Path(__file__).parents[1] / name for name in GENERATORS))


def fingerprint(*paths: Path) -> str:
    """Return a fingerprint of these Python files, and of those in these folders."""
    digest = hashlib.sha256()
    for path in paths:
        below = sorted(os.walk(path)) or [(str(path.parent), [], [path.name])]
        for folder, _, names in below:
            for name in sorted(name for name in names if name.endswith('.py')):
                with open(os.path.join(folder, name), 'rb') as file:
                    digest.update(name.encode() + b'\0' + file.read() + b'\0')
    return digest.hexdigest()


def kept(text: str, make: Callable[[], tuple[Any, bytes]]) -> tuple[Any, bytes]:
    """Return the remembered data and the machine code of an entry, made if there is none.

    Args:
        text: what the entry depends on, beside the source that makes code.
        make: returns what to remember, made of tuples, lists, text and numbers, and the code.
    """
    text = f'{text}\n{generator()}'
    entry = read(text)
    if entry is None:
        entry = make()
        write(text, *entry)
    return entry


def read(text: str) -> tuple[Any, bytes] | None:
    """Return the remembered data and the code of an entry, None if none can be trusted."""
    try:
        with _path(text).open('rb') as file:
            content = file.read() if _is_ours(os.fstat(file.fileno())) else b''
    except OSError:
        return None
    start = len(MAGIC) + CHECKSUM_SIZE
    body = content[start:]
    if content[:start] != MAGIC + hashlib.sha256(body).digest():
        return None
    header, _, code = body.partition(b'\n')
    found, remembered = ast.literal_eval(header.decode())
    return (remembered, code) if found == text else None


def write(text: str, remembered: Any, code: bytes) -> None:
    """Keep an entry, if the disk lets us."""
    body = ascii((text, remembered)).encode() + b'\n' + code
    path = _path(text)
    temporary = path.with_name(f'.{os.urandom(8).hex()}')
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            temporary.touch(0o600, exist_ok=False)
            temporary.write_bytes(MAGIC + hashlib.sha256(body).digest() + body)
            # Readable to all, as an entry that an administrator precompiled must be.
            temporary.chmod(0o644)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        _warn_once(
            f'compiled programs cannot be kept in {path.parent}, '
            f'each process will compile anew: {error.strerror}'
        )


def _path(text: str) -> Path:
    return directory() / f'{hashlib.sha256(text.encode()).hexdigest()[:40]}.bin'


def _is_ours(status: os.stat_result) -> bool:
    """Tell whether only this user, or the administrator, can have written a file."""
    if not hasattr(os, 'geteuid'):
        return True
    return status.st_uid in (0, os.geteuid()) and not status.st_mode & (
        stat.S_IWGRP | stat.S_IWOTH
    )


@functools.cache
def _warn_once(message: str) -> None:
    warnings.warn(message, CacheWarning, stacklevel=2)
