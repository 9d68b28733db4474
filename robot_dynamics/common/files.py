# SPDX-License-Identifier: Apache-2.0
"""Files that are written whole or not at all.

The content goes to a temporary file in the same folder, which is forced to the disk and then
renamed. A full disk or an interruption leaves the file that was there, or none. Existing files
keep their modes, and links their targets; devices and pipes, such as /dev/stdout, are written
directly. Errors are OSErrors with the name of the file.
"""

from __future__ import annotations

import codecs
import csv
import errno
import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

TEMPORARY = re.compile(r'\.[0-9a-f]{16}')  # begins the names of temporary files, before the suffix
# Another user may have replaced a file by a link or a pipe: do not follow it and do not wait.
SAFELY = getattr(os, 'O_NOFOLLOW', 0) | getattr(os, 'O_NONBLOCK', 0)


def write_file(path: str | Path, content: str | bytes) -> None:
    """Write a file; text as UTF-8."""
    write_files({Path(path): content})


def write_files(contents: Mapping[Path, str | bytes]) -> None:
    """Write all of these files, or none."""
    with ExitStack() as stack:
        staged = {path: _new_content(stack, path, content) for path, content in contents.items()}
        for path, file in staged.items():
            with _named(path):
                stack.enter_context(_restored(file.target if len(staged) > 1 else None))
                file.put()


def _new_content(stack: ExitStack, path: Path, content: str | bytes) -> _Staged:
    """Return the new content of a file, on the disk; it is removed with the stack."""
    with _named(path):
        file = stack.enter_context(_staged(path))
        file.stream.write(content.encode() if isinstance(content, str) else content)
        file.complete()
    return file


def write_csv(path: Path, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table with comma-separated columns, in UTF-8."""
    with replacing(path) as stream:
        writer = csv.writer(codecs.getwriter('utf-8')(stream))
        writer.writerow(head)
        writer.writerows(rows)


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """Open a new file that takes the place of `path` at the end, unless there is an exception."""
    path = Path(path)
    with _named(path), _staged(path) as file:
        yield file.stream
        file.complete()
        file.put()


def replace_file(path: Path, content: bytes, mode: int) -> None:
    """Write a file with a mode; a link in its place is replaced."""
    with _named(path), _temporary(path, mode) as file:
        file.stream.write(content)
        file.complete()
        file.put()


class _Staged(NamedTuple):
    """New content of a file."""

    stream: BinaryIO
    target: Path | None  # whose place it takes; None: it is written there directly

    def complete(self) -> None:
        self.stream.flush()
        if self.target:
            os.fsync(self.stream.fileno())

    def put(self) -> None:
        self.stream.close()
        if self.target:
            Path(self.stream.name).replace(self.target)


@contextmanager
def _staged(path: Path) -> Iterator[_Staged]:
    """Open the new content of a file."""
    try:
        mode: int | None = path.stat().st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        with _closed(path.open('wb')) as stream:
            yield _Staged(stream, None)
        return
    if mode is not None and not os.access(path, os.W_OK):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))
    with _temporary(path.resolve(), mode) as file:
        yield file


@contextmanager
def _temporary(target: Path, mode: int | None) -> Iterator[_Staged]:
    """Open a file beside another, with a mode or that of new files; it is removed at the end."""
    name = _beside(target)

    def opened(path: str, flags: int) -> int:
        return os.open(path, flags | SAFELY, 0o666 if mode is None else 0o600)

    try:
        # One descriptor for all operations: the name may refer to another file later.
        with _closed(open(name, 'xb', opener=opened)) as file:
            if mode is not None and os.chmod in os.supports_fd:
                os.chmod(file.fileno(), stat.S_IMODE(mode))
            yield _Staged(file, target)
    finally:
        with suppress(OSError):
            name.unlink()


@contextmanager
def _closed(stream: BinaryIO) -> Iterator[BinaryIO]:
    """Close a file at the end. A full disk is reported by what wrote; closing repeats it."""
    try:
        yield stream
    finally:
        with suppress(OSError):
            stream.close()


@contextmanager
def _restored(target: Path | None) -> Iterator[None]:
    """Put a file back on an exception, or remove it if there was none; None: no file."""
    if target is None:
        yield
        return
    copy, existed = _beside(target), target.exists()
    try:
        if existed:
            shutil.copy2(target, copy)
        try:
            yield
        except BaseException:
            if existed:
                copy.replace(target)
            else:
                target.unlink(missing_ok=True)
            raise
    finally:
        copy.unlink(missing_ok=True)


def _beside(target: Path) -> Path:
    return target.with_name(f'.{os.urandom(8).hex()}{target.suffix}')


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Give errors of the file system the name of the file."""
    try:
        yield
    except OSError as error:
        unnamed = error.filename is None or TEMPORARY.match(Path(str(error.filename)).name)
        if error.errno is None or not unnamed:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
