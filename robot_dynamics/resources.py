"""Find the files that come with the package: robots, parameter files, launch files.

They lie in share/robot_dynamics, and where that is depends on how the package came here: built by
colcon it is found through the ament index, installed by pip it is below the environment's prefix,
and in a source checkout, or after `pip install -e`, it is the checkout itself. The first place
that has the file wins, so a sourced workspace comes before everything else.
"""

from __future__ import annotations

import site
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from robot_dynamics.errors import RobotDynamicsError

PACKAGE = 'robot_dynamics'


class ResourceNotFound(RobotDynamicsError, FileNotFoundError):  # noqa: N818  (as FileNotFoundError)
    """A file of the package is in none of the places where installs put it."""


def share_directory() -> Path:
    """Return the folder that holds the package's urdf, config and launch folders.

    Raises:
        ResourceNotFound: there is none; the message lists the places looked at.
    """
    return share_file('package.xml').parent


def share_file(name: str) -> Path:
    """Return the path of a file that comes with the package.

    Args:
        name: path below the share directory, for example 'urdf/planar_2r.urdf'.

    Raises:
        ResourceNotFound: no place has it; the message lists the places looked at.
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
    checkout = Path(__file__).resolve().parents[1]
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
