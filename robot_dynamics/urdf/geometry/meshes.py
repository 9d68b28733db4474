# SPDX-License-Identifier: Apache-2.0
"""Names and files of the meshes of a robot description."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.urdf.packages import installed_packages, package_name

MAX_BYTES = 100_000_000
SUFFIXES = ('.stl', '.obj', '.dae', '.ply', '.glb', '.gltf', '.off')


class MeshError(RobotDynamicsError):
    """A mesh is missing, or cannot be read."""


class MeshNotFound(MeshError):  # noqa: N818  (names the condition)
    """No file has the name of a mesh."""


class TrimeshMissing(MeshError):  # noqa: N818  (names the condition)
    """No mesh can be read: trimesh is not installed."""


def mesh_folders(file: Path, package_paths: Sequence[Path] = ()) -> list[Path]:
    """Return the folders in which meshes and packages are searched."""
    return [*package_paths, *installed_packages(), *file.resolve().parents]


def mesh_path(name: str, folders: Sequence[Path]) -> Path | None:
    """Return the file of a mesh, or None if there is none.

    A `package://` or `model://` name is searched in each folder: as a package in it, or, if the
    folder itself has the name of the package, or the folder's package.xml, below it.
    """
    scheme, _, rest = name.rpartition('://')
    if scheme == 'file' or (not scheme and os.path.isabs(name)):
        candidates = [Path(rest)]
    elif scheme in ('package', 'model'):
        package, _, inner = rest.partition('/')
        candidates = [folder / rest for folder in folders]
        candidates += [
            folder / inner for folder in folders if package in (folder.name, package_name(folder))
        ]
    elif scheme:
        return None
    else:
        candidates = [folder / rest for folder in folders]
    return next((path for path in candidates if _is_file(path)), None)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name too long, or with a null character
        return False
