# SPDX-License-Identifier: Apache-2.0
"""Files of robots: a path, or the name of a robot whose description is on this disk.

Names are those of the bundled robots, then the file names in example-robot-data (as pip, conda,
ROS or robotpkg install it) and in the cache of robot_descriptions. Nothing is downloaded.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.resources import bundled_robots
from robot_dynamics.core.model.robots import TEXTBOOK_ROBOTS
from robot_dynamics.urdf.reader import MAX_BYTES

CACHE = '~/.cache/robot_descriptions'  # of robot_descriptions, unless ROBOT_DESCRIPTIONS_CACHE
# Of file names, as example-robot-data loads them: ur10 is ur10_robot, talos is talos_reduced.
ENDINGS = ('', '_robot', '_reduced')

TEXTBOOK_VERBS = 'derive, terms, compare and simulate'  # take a textbook robot, which has no file


def robot_file(path: str | os.PathLike[str]) -> Path:
    """Return the given path, or that of the robot of this name, such as 'panda'.

    Raises:
        ModelError: there is no such file or robot, or several begin with this name; the message
            lists those that can be named.
    """
    file = Path(os.fsdecode(path))
    is_name = len(file.parts) == 1 and not file.suffix
    if not is_name or (file.exists() and not file.is_dir()):
        return file
    bundled = bundled_robots()
    if file.name in bundled:
        return bundled[file.name]
    others = robots_on_disk()
    name = file.name.removesuffix('_description')
    for ending in ENDINGS:
        if found := others.get(name + ending, []):
            break
    if len(found) == 1:
        return found[0]
    if found:
        raise ModelError(f'is the name of several robots; expected one of {_listed(found)}')
    raise ModelError(_unknown(file, list(bundled), list(others)))


def robots_on_disk() -> dict[str, list[Path]]:
    """Return the URDF files of other packages of robots, by their names without `.urdf`.

    Those of the first folder that has the name; two robots in it may have the same.
    """
    robots: dict[str, list[Path]] = {}
    for folder in _folders():
        of_folder: dict[str, list[Path]] = {}
        for file in sorted(folder.rglob('*.urdf')):
            of_folder.setdefault(file.stem, []).append(file)
        robots = of_folder | robots
    return robots


def _folders() -> Iterator[Path]:
    prefixes = [
        os.path.join(sysconfig.get_path('purelib'), 'cmeel.prefix'),
        sys.prefix,
        *filter(None, os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)),
        '/opt/openrobots',
    ]
    for prefix in prefixes:
        yield Path(prefix, 'share', 'example-robot-data', 'robots')
    yield Path(os.environ.get('ROBOT_DESCRIPTIONS_CACHE') or CACHE).expanduser()


def contents_of(file: Path) -> bytes:
    """Return the contents of a file, one byte more than a description may have at most.

    Raises:
        ModelError: it cannot be read.
    """
    try:
        with file.open('rb') as stream:
            return stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or error
        raise ModelError(f'cannot read the file: {reason}') from error


@contextmanager
def named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Begin the errors of a description with the path of its file."""
    try:
        yield
    except ModelError as error:
        raise ModelError(f'{os.fsdecode(path)}: {error}') from error


def _unknown(file: Path, bundled: list[str], others: list[str]) -> str:
    if file.name in TEXTBOOK_ROBOTS:
        return (
            f'is a textbook robot without a URDF; {TEXTBOOK_VERBS} take it, and Python has it in '
            'robot_dynamics.core.model.robots'
        )
    similar = sorted(name for name in others if name.startswith(file.name))
    if similar:
        return f'no robot has exactly this name; expected one of {_listed(similar)}'
    reason = 'is a folder' if file.is_dir() else 'no file and no robot on this disk has this name'
    more = f'{len(others)} of other packages' if others else 'pip install example-robot-data'
    return (
        f'{reason}; expected a .urdf, .xacro or MJCF file, or one of {_listed(bundled)} ({more}); '
        f'{TEXTBOOK_VERBS} also take {_listed(list(TEXTBOOK_ROBOTS))}'
    )


def _listed(names: Sequence[object]) -> str:
    return ', '.join(map(str, names))
