# SPDX-License-Identifier: Apache-2.0
"""Files of the ROS middleware in shared memory, which killed nodes do not remove.

    python benchmarks/shared_memory.py list > before
    python benchmarks/shared_memory.py remove < before

Fast DDS has up to four files for a port or a segment: its memory, a file that its owner locks, one
that its readers lock, and a semaphore, which is open only while it is needed and mapped under
another name while it is made. A node whose semaphore is removed while another node opens the port
receives nothing any more. So the files of a port are removed together, or stay together.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
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
    """Remove the files that appeared since `before` and whose port or segment is in no use."""
    for file in left_in_shared_memory(before):
        file.unlink(missing_ok=True)


def left_in_shared_memory(before: Iterable[Path]) -> set[Path]:
    """Return the files that appeared since `before` and whose port or segment is in no use."""
    # Listed first: a process that starts later makes files that are not among these.
    present = shared_memory()
    new = present - set(before)
    used = inodes_in_use() if new else set()
    owners_in_use = {owner(file) for file in present if inode(file) in used}
    return {file for file in new if owner(file) not in owners_in_use}


def owner(file: Path) -> str:
    """Return the port or segment that a file belongs to."""
    return re.sub(r'^sem\.|_(mutex|el|sl)$', '', file.name)


def inode(file: Path) -> int | None:
    """Return the number of a file, None if it has been removed."""
    with contextlib.suppress(OSError):
        return file.stat().st_ino
    return None


def inodes_in_use() -> set[int]:
    """Return the numbers of the files in shared memory that a process has opened or mapped."""
    used = set()
    device = SHARED_MEMORY.stat().st_dev
    for process in Path('/proc').glob('[0-9]*'):
        # Unreadable: the process has ended, or belongs to another user.
        with contextlib.suppress(OSError):
            # Open files first: a process opens a file, maps it, and closes it.
            for link in (process / 'fd').iterdir():
                with contextlib.suppress(OSError):
                    status = link.stat()
                    if status.st_dev == device:
                        used.add(status.st_ino)
            maps = (process / 'maps').read_text()
            # address, permissions, offset, device, number, path
            used.update(int(line.split()[4]) for line in maps.splitlines() if '/dev/shm/' in line)
    return used


def main() -> None:
    """List the files, or remove those that are not listed on standard input."""
    match sys.argv[1:]:
        case ['list']:
            print(*sorted(shared_memory()), sep='\n')
        case ['remove']:
            remove_shared_memory(map(Path, sys.stdin.read().splitlines()))
        case _:
            sys.exit('usage: shared_memory.py list | remove < LIST')


if __name__ == '__main__':
    main()
