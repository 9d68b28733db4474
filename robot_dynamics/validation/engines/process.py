# SPDX-License-Identifier: Apache-2.0
"""Worker process of a physics engine: a crash of the engine ends the worker and nothing else.

`EngineProcess` starts `python -m robot_dynamics.validation.engines.process` and exchanges
dictionaries with it over a pipe. Output that the engine prints goes to a temporary file. Requests:

    {'engine': 'pybullet', 'urdf': '<robot ...>', 'gravity': [0, 0, -9.81]}
        -> {'version': '...', 'joints': [(joint, link), ...], 'inertials': {link: Inertial}}
    {'joint_frames': (m,)}
        -> {'axes': (m, 3), 'origins': (m, 3), 'masses': (m,)}, empty if not reported
    {'q': (k, m), 'qd': (k, m), 'qdd': (k, m)}
        -> {'tau': (k, m), 'M': (k, m, m), 'g': (k, m), 'h': (k, m)}

The frames are those at the given position. tau are the torques of the states, h those without
acceleration, g those at rest. The reply is {'missing': reason} if the engine is not installed,
{'rejected': reason} if it rejects the robot.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.validation.engines import Engine, load, title


class EngineError(RobotDynamicsError, RuntimeError):
    """The engine gave no result."""


class EngineMissing(EngineError):  # noqa: N818  (names the condition)
    """The engine is not installed, or cannot be imported."""


class EngineRejected(EngineError):  # noqa: N818
    """The engine rejects this robot."""


class EngineCrashed(EngineError):  # noqa: N818
    """The engine's process ended, or did not reply in time."""


class EngineProcess:
    """One worker process; a context manager that ends it."""

    def __init__(self, name: str, *, timeout: float = 60.0):
        """Start the worker of an engine.

        Args:
            name: one of `engines.ENGINES`.
            timeout: s, for each reply; then the worker is killed.
        """
        self.name, self.timeout = name, timeout
        # For the output and the log files of the engine; removed with the worker.
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._output = Path(self._folder.name, 'output').open('w+b')  # noqa: SIM115
        self._connection, far_end = Pipe()
        with far_end:
            module = 'robot_dynamics.validation.engines.process'
            self._process = subprocess.Popen(
                [sys.executable, '-m', module, str(far_end.fileno())],
                pass_fds=[far_end.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.STDOUT,
                cwd=self._folder.name,
                env={**os.environ, 'PYTHONPATH': _python_path()},
            )

    @property
    def pid(self) -> int:
        """Process id of the worker."""
        return self._process.pid

    def request(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return the worker's reply to a message.

        Raises:
            EngineMissing: the engine is not installed.
            EngineRejected: it rejects the robot, or the state.
            EngineCrashed: it ended, or took longer than the timeout. The worker is gone.
        """
        name = title(self.name)
        if self._connection.closed:
            raise EngineCrashed(f'{name} has ended; start another process')
        try:
            self._connection.send(message)
            if not self._connection.poll(self.timeout):
                self.close()
                raise EngineCrashed(f'{name} did not reply within {self.timeout:g} s')
            reply: dict[str, Any] = self._connection.recv()
        except (OSError, EOFError):
            raise EngineCrashed(f'{name} ended: {self._ending()}') from None
        if 'missing' in reply:
            raise EngineMissing(f'no {name}: {reply["missing"]}')
        if 'rejected' in reply:
            raise EngineRejected(
                f'{name} rejects the robot: {" ".join(reply["rejected"].split())}'
            )
        return reply

    def close(self) -> None:
        """Kill the worker and remove its files."""
        self._process.kill()
        self._process.wait()
        self._connection.close()
        self._output.close()
        self._folder.cleanup()

    def __enter__(self) -> EngineProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ending(self) -> str:
        """Return the exit status and the last line of output of a worker that ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=1.0)
        code = self._process.returncode
        self._output.seek(0)
        lines = self._output.read().decode(errors='replace').strip().splitlines()
        self.close()
        status = f'signal {-code}' if code is not None and code < 0 else f'exit code {code}'
        return f'{status}, {lines[-1]}' if lines else status


def _python_path() -> str:
    """Return a PYTHONPATH on which the worker finds this package."""
    here = str(Path(__file__).parents[3])
    before = os.environ.get('PYTHONPATH')
    return os.pathsep.join([here, before]) if before else here


# -- the worker ---------------------------------------------------------------------------------


def main(connection: Connection) -> None:
    """Answer requests until the other end of the connection is closed."""
    # SIGINT is for the parent, which closes the connection.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    engine: Engine | None = None
    while True:
        try:
            request = connection.recv()
        except (EOFError, ConnectionError):
            return
        if 'engine' in request:
            engine, reply = _load(request)
        elif engine is None:
            reply = {'rejected': 'no robot is loaded'}
        elif 'joint_frames' in request:
            found = engine.joint_frames(request['joint_frames'])
            reply = dict(zip(('axes', 'origins', 'masses'), found or (), strict=False))
        else:
            reply = _results(engine, request)
        connection.send(reply)


def _load(request: dict[str, Any]) -> tuple[Engine | None, dict[str, Any]]:
    """Return the engine with its robot, and the reply that describes it."""
    try:
        engine = load(request['engine'], request['urdf'], request['gravity'])
    except ImportError as error:
        return None, {'missing': str(error)}
    except RuntimeError as error:
        return None, {'rejected': str(error)}
    return engine, {
        'version': engine.version,
        'joints': engine.joints(),
        'inertials': engine.inertials(),
    }


def _results(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    """Return torques, mass matrices and gravity torques of k states."""
    q, qd, qdd = (np.asarray(request[key], dtype=float) for key in ('q', 'qd', 'qdd'))
    rest = np.zeros(q.shape[1])
    try:
        return {
            'tau': np.array(
                [engine.inverse_dynamics(*row) for row in zip(q, qd, qdd, strict=True)]
            ),
            'M': np.array([engine.mass_matrix(row) for row in q]),
            'g': np.array([engine.inverse_dynamics(row, rest, rest) for row in q]),
            'h': np.array(
                [engine.inverse_dynamics(*row, rest) for row in zip(q, qd, strict=True)]
            ),
        }
    except RuntimeError as error:
        return {'rejected': str(error)}


if __name__ == '__main__':
    main(Connection(int(sys.argv[1])))
