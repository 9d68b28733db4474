"""Files of the ROS middleware in shared memory, which killed nodes do not remove."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

SHARED_MEMORY = Path('/dev/shm')
PREFIXES = ('fastrtps_', 'fastdds_', 'sem.fastrtps_', 'sem.fastdds_')


def shared_memory() -> set[Path]:
    """Return the files of the middleware that belong to this user."""
    found = set()
    for file in SHARED_MEMORY.glob('*'):
        with contextlib.suppress(OSError):  # the file may have been removed
            if file.name.startswith(PREFIXES) and file.stat().st_uid == os.getuid():
                found.add(file)
    return found


def remove_shared_memory(before: Iterable[Path]) -> None:
    """Remove the files that appeared since `before` and that no process uses."""
    for file in left_in_shared_memory(before):
        file.unlink(missing_ok=True)


def left_in_shared_memory(before: Iterable[Path]) -> set[Path]:
    """Return the files that appeared since `before` and that no process uses."""
    new = shared_memory() - set(before)
    used = files_in_use() if new else set()
    return {file for file in new if str(file) not in used}


def files_in_use() -> set[str]:
    """Return the files in shared memory that a process has mapped or opened."""
    used = set()
    for process in Path('/proc').glob('[0-9]*'):
        # Unreadable: the process has ended, or belongs to another user.
        with contextlib.suppress(OSError):
            maps = (process / 'maps').read_text()
            used.update(line.split()[-1] for line in maps.splitlines() if '/dev/shm/' in line)
            for link in (process / 'fd').iterdir():
                with contextlib.suppress(OSError):
                    used.add(os.readlink(link))
    return used
