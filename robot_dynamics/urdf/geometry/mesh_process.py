# SPDX-License-Identifier: Apache-2.0
"""Mesh files, read by trimesh in a process of its own, within bounds of time and memory.

A file of 2 kB may have 2^30 instances of a mesh, or name a pipe as its buffer: the readers of mesh
formats expand the one and wait for the other. Here only the process that reads ends.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from robot_dynamics.urdf.geometry.meshes import (
    MAX_BYTES,
    SUFFIXES,
    MeshError,
    MeshNotFound,
    TrimeshMissing,
    mesh_path,
)

ONE_THREAD = {'OPENBLAS_NUM_THREADS': '1'}  # each takes address space
MAX_SECONDS = 20  # for one file
MAX_MEMORY = 4 << 30  # bytes of address space, those of the libraries included


def read_mesh(name: str, folders: Sequence[Path]) -> tuple[Any, Any]:
    """Return the trimesh.Scene and the trimesh.Trimesh of a mesh of a description, in metres.

    Args:
        name: as in the description.
        folders: where packages and relative paths are searched.

    Raises:
        MeshNotFound: no file has the name.
        TrimeshMissing: trimesh is not installed.
        MeshError: the file cannot be read; the messages name the mesh.
    """
    path = mesh_path(name, folders)
    if path is None:
        raise MeshNotFound(f'mesh {name!r} was not found; expected a file, or --package-path DIR')
    try:
        return read_scene(path)
    except MeshError as error:
        raise type(error)(f'mesh {name!r} was not read: {error}') from None


def read_scene(path: Path) -> tuple[Any, Any]:
    """Return the trimesh.Scene of a mesh file, and its trimesh.Trimesh, in metres.

    Raises:
        TrimeshMissing: trimesh is not installed.
        MeshError: why the file cannot be read.
    """
    try:
        import trimesh  # noqa: F401  (the reply is made of its classes)
    except ImportError:
        raise TrimeshMissing('trimesh is not installed') from None
    size = path.stat().st_size
    if path.suffix.lower() not in SUFFIXES or size > MAX_BYTES:
        raise MeshError(
            f'it is a {path.suffix!r} file of {size} bytes; expected one of '
            f'{", ".join(SUFFIXES)} of at most {MAX_BYTES} bytes'
        )
    # A process that was forked has another connection than its parent.
    with _LOCK:
        reply = _reader(os.getpid()).request(path.resolve())
    if isinstance(reply, str):
        raise MeshError(reply)
    scene, mesh = reply
    return scene, mesh


_LOCK = Lock()


class _Reader:
    """The process that reads; it ends with this one."""

    def __init__(self) -> None:
        self._connection, far_end = Pipe()
        with far_end:
            self._process = subprocess.Popen(
                [sys.executable, '-m', __name__, *map(str, (far_end.fileno(), MAX_SECONDS))],
                pass_fds=[far_end.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={
                    **os.environ,
                    'PYTHONPATH': os.pathsep.join(filter(None, sys.path)),
                    **ONE_THREAD,
                },
            )

    def request(self, path: Path) -> Any:
        """Return scene and mesh of a file, or why there are none."""
        try:
            self._connection.send(path)
            return self._connection.recv()
        except (OSError, EOFError):
            _reader.cache_clear()
            self._connection.close()
            if self._process.wait() == -signal.SIGALRM:
                return f'reading it takes more than {MAX_SECONDS} s'
            return f'reading it ended the process that may use {MAX_MEMORY >> 30} GiB'
        except BaseException:
            # Interrupted: a late reply would be taken for that of the next file.
            _reader.cache_clear()
            self._connection.close()
            self._process.kill()
            self._process.wait()
            raise


@cache
def _reader(_pid: int) -> _Reader:
    return _Reader()


# -- the process --------------------------------------------------------------------------------


def main(connection: Connection, seconds: int) -> None:
    """Read files until the other end of the connection is closed."""
    # SIGINT is for the parent, which closes the connection; SIGALRM ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    bound = MAX_MEMORY if hard == resource.RLIM_INFINITY else min(MAX_MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_AS, (bound, hard))
    while True:
        try:
            path = connection.recv()
        except (EOFError, ConnectionError):
            return
        signal.alarm(seconds)
        connection.send(_read(path))
        signal.alarm(0)


def _read(path: Path) -> tuple[Any, Any] | str:
    """Return scene and mesh of a file, or why there are none."""
    import trimesh

    try:
        scene: Any = trimesh.load_scene(path)
        # COLLADA files state their unit.
        unit, _, name = str(scene.units).partition(' * ')
        if name == 'meters' and float(unit) != 1.0:
            scene.apply_scale(float(unit))
        mesh = scene.to_mesh()
        if not len(mesh.faces) or not np.isfinite(mesh.vertices).all():
            raise ValueError('no triangles with finite vertices')
    except Exception as error:  # noqa: BLE001  (readers of mesh formats raise anything)
        return f'{type(error).__name__}: {error}'.splitlines()[0][:100]
    return scene, mesh


if __name__ == '__main__':
    main(Connection(int(sys.argv[1])), int(sys.argv[2]))
