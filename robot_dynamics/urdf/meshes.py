"""Meshes of a robot description: their files, read by trimesh (extra `[check]`)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.errors import RobotDynamicsError

MAX_BYTES = 100_000_000
SUFFIXES = ('.stl', '.obj', '.dae', '.ply', '.glb', '.gltf', '.off')


class MeshError(RobotDynamicsError):
    """A mesh is missing, or cannot be read."""


def mesh_folders(file: Path, package_paths: Sequence[Path] = ()) -> list[Path]:
    """Return the folders in which meshes and packages are searched."""
    ros = os.environ.get('ROS_PACKAGE_PATH', '').split(os.pathsep)
    prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    return [
        *package_paths,
        *(Path(prefix, 'share') for prefix in prefixes if prefix),
        *(Path(folder) for folder in ros if folder),
        *file.resolve().parents,
    ]


def mesh_path(name: str, folders: Sequence[Path]) -> Path | None:
    """Return the file of a mesh, or None if there is none.

    A `package://` or `model://` name is searched in each folder: as a package in it, or, if the
    folder itself has the name of the package, below it.
    """
    scheme, _, rest = name.rpartition('://')
    if scheme == 'file' or (not scheme and os.path.isabs(name)):
        candidates = [Path(rest)]
    elif scheme in ('package', 'model'):
        package, _, inner = rest.partition('/')
        candidates = [folder / rest for folder in folders]
        candidates += [folder / inner for folder in folders if folder.name == package]
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


def read_scene(path: Path) -> tuple[Any, Any]:
    """Return the trimesh.Scene of a mesh file, and its trimesh.Trimesh, in metres.

    Raises:
        MeshError: why the file cannot be read, or that trimesh is not installed.
    """
    try:
        import trimesh
    except ImportError:
        raise MeshError('trimesh is not installed') from None
    size = path.stat().st_size
    if path.suffix.lower() not in SUFFIXES or size > MAX_BYTES:
        raise MeshError(
            f'it has {size} bytes; expected one of {", ".join(SUFFIXES)} of at most {MAX_BYTES}'
        )
    try:
        scene: Any = trimesh.load_scene(path)
        # COLLADA files state their unit.
        unit, _, name = str(scene.metadata.get('units', '')).partition(' * ')
        if name == 'meters' and float(unit) != 1.0:
            scene.apply_scale(float(unit))
        mesh = scene.to_mesh()
        if not len(mesh.faces) or not np.isfinite(mesh.vertices).all():
            raise ValueError('no triangles with finite vertices')
    except Exception as error:  # readers of mesh formats raise anything
        reason = f'{type(error).__name__}: {error}'.splitlines()[0]
        raise MeshError(reason[:100]) from error
    return scene, mesh
