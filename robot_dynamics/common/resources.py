# SPDX-License-Identifier: Apache-2.0
"""Paths of the files of the package: robots, parameter files, launch files.

They are installed in share/robot_dynamics. A colcon build is found through the ament index, a pip
installation below the environment's prefix; in a source checkout, or after `pip install -e`, the
files are in the checkout itself. The first location that has the file is used, so a sourced
workspace comes first.
"""

from __future__ import annotations

import site
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from robot_dynamics.common.errors import RobotDynamicsError

PACKAGE = 'robot_dynamics'


class ResourceNotFound(RobotDynamicsError, FileNotFoundError):  # noqa: N818  (as FileNotFoundError)
    """A file of the package is in none of the locations of an installation."""


def share_directory() -> Path:
    """Return the folder that holds the package's urdf, config and launch folders.

    Raises:
        ResourceNotFound: there is none; the message lists the locations searched.
    """
    return share_file('package.xml').parent


def share_file(name: str) -> Path:
    """Return the path of a file that comes with the package.

    Args:
        name: path below the share directory, for example 'urdf/planar_2r.urdf'.

    Raises:
        ResourceNotFound: not found; the message lists the locations searched.
    """
    places = list(dict.fromkeys(_places()))
    for place in places:
        if (place / name).is_file():
            return place / name
    looked_at = '\n  '.join(str(place) for place in places)
    raise ResourceNotFound(f'{PACKAGE} has no file {name!r}; looked in\n  {looked_at}')


def bundled_robots() -> dict[str, Path]:
    """Return the URDF files that come with the package, by the robot's short name: 'panda'.

    Raises:
        ResourceNotFound: the package's files are missing.
    """
    return {file.stem: file for file in sorted((share_directory() / 'urdf').glob('*.urdf'))}


def _places() -> Iterator[Path]:
    yield from _ament_prefixes_share()
    # Where pip puts data files: a virtual environment, the system, the user's own site.
    for prefix in (sys.prefix, sysconfig.get_path('data'), site.getuserbase()):
        yield Path(prefix) / 'share' / PACKAGE
    checkout = Path(__file__).resolve().parents[2]
    if (checkout / 'package.xml').is_file():
        yield checkout


def _ament_prefixes_share() -> Iterator[Path]:
    # ament_index_python comes with ROS 2; without it there is no ament index to look in.
    try:
        from ament_index_python.packages import get_package_share_directory
    except ImportError:
        return
    try:
        yield Path(get_package_share_directory(PACKAGE))
    except (LookupError, OSError):
        # The index does not know the package, or AMENT_PREFIX_PATH is not set.
        return
