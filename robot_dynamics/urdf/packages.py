# SPDX-License-Identifier: Apache-2.0
"""Folders of ROS packages: installed ones, and those of a checkout without ROS."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from xml.etree import ElementTree

LEVELS = 8  # folders above a file that may belong to its checkout


def installed_packages() -> list[Path]:
    """Return the folders of installed packages: of the ament index, and of ROS_PACKAGE_PATH."""
    prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    others = os.environ.get('ROS_PACKAGE_PATH', '').split(os.pathsep)
    return [
        *(Path(prefix, 'share') for prefix in prefixes if prefix),
        *(Path(folder) for folder in others if folder),
    ]


def package_folder(name: str, file: Path, given: Sequence[Path] = ()) -> Path | None:
    """Return the folder of the package of a name, or None if it is not found.

    The name is that in `package.xml`, as folders of checkouts have other names. Searched are the
    given folders, the installed packages, then the folders above the file and those beside them.

    Args:
        name: of the package.
        file: that refers to it.
        given: folders of packages, or of one package.
    """
    installed = (folder / name for folder in installed_packages())
    places = chain(_places(name, given), installed, _places(name, _checkout(file)))
    return next((place for place in places if package_name(place) == name), None)


def _places(name: str, folders: Sequence[Path]) -> Iterator[Path]:
    """Yield where a package may be: at or in folders under its name, then under others."""
    for folder in folders:
        yield from (folder, folder / name, folder / 'src' / name)
    for folder in folders:
        yield from (manifest.parent for manifest in sorted(folder.glob('*/package.xml')))


def _checkout(file: Path) -> list[Path]:
    """Return the folders above a file, at most LEVELS, up to the home folder."""
    folders = list(file.resolve().parents)[:LEVELS]
    home = Path.home()
    return folders[: folders.index(home) + 1] if home in folders else folders


def package_name(folder: Path) -> str | None:
    """Return the name of the package that a folder is, None if it is none."""
    try:
        root = ElementTree.parse(folder / 'package.xml').getroot()
        return (root.findtext('name') or '').strip()
    except (OSError, ElementTree.ParseError):
        return None
