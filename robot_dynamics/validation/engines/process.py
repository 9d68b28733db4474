"""Worker process of a physics engine: a crash of the engine ends the worker and nothing else.

`EngineProcess` starts `python -m robot_dynamics.validation.engines.process` and exchanges one JSON
object per line with it. Output that the engine prints goes to a temporary file. Requests:

    {"engine": "pybullet", "urdf": "<robot ...>", "gravity": [0, 0, -9.81]}
        -> {"version": "...", "joints": [[joint, link], ...], "inertials": {link: [...]}}
    {"q": [[...], ...], "qd": ..., "qdd": ...}
        -> {"tau": [[...], ...], "M": [[[...]]], "g": [[...], ...], "h": [[...], ...]}

tau are the torques of the states, h those without acceleration, g those at rest. The reply is
{"missing": reason} if the engine is not installed, {"refused": reason} if it rejects the robot.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np

import robot_dynamics
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.validation.engines import Engine, load, title


class EngineError(RobotDynamicsError, RuntimeError):
    """The engine gave no result."""


class EngineMissing(EngineError):  # noqa: N818  (names the condition)
    """The engine is not installed, or cannot be imported."""


class EngineRefused(EngineError):  # noqa: N818
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
        self._process = subprocess.Popen(
            [sys.executable, '-m', 'robot_dynamics.validation.engines.process'],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._output,
            cwd=self._folder.name,
            env={**os.environ, 'PYTHONPATH': _python_path()},
            text=True,
            encoding='utf-8',
        )
        self._replies: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """Process id of the worker."""
        return self._process.pid

    def request(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return the worker's reply to a message.

        Raises:
            EngineMissing: the engine is not installed.
            EngineRefused: it rejects the robot, or the state.
            EngineCrashed: it ended, or took longer than the timeout. The worker is gone.
        """
        name = title(self.name)
        assert self._process.stdin is not None
        if self._output.closed:
            raise EngineCrashed(f'{name} has ended; start another process')
        try:
            print(json.dumps(message), file=self._process.stdin, flush=True)
            line = self._replies.get(timeout=self.timeout)
        except (OSError, ValueError):
            line = ''
        except queue.Empty:
            self.close()
            raise EngineCrashed(f'{name} did not reply within {self.timeout:g} s') from None
        if not line:
            raise EngineCrashed(f'{name} ended: {self._ending()}')
        reply: dict[str, Any] = json.loads(line)
        if 'missing' in reply:
            raise EngineMissing(f'no {name}: {reply["missing"]}')
        if 'refused' in reply:
            raise EngineRefused(f'{name} rejects the robot: {" ".join(reply["refused"].split())}')
        return reply

    def close(self) -> None:
        """Kill the worker and remove its files."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._output.close()
        self._folder.cleanup()
        for pipe in (self._process.stdin, self._process.stdout):
            # Unwritten data was meant for a process that has ended.
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()

    def __enter__(self) -> EngineProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> None:
        """Queue the worker's lines, and an empty one at its end."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._replies.put(line)
        self._replies.put('')

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
    here = str(Path(robot_dynamics.__file__).parents[1])
    before = os.environ.get('PYTHONPATH')
    return os.pathsep.join([here, before]) if before else here


# -- the worker ---------------------------------------------------------------------------------


def main() -> None:
    """Answer requests until stdin ends."""
    # SIGINT is for the parent, which closes stdin.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    replies = os.fdopen(os.dup(1), 'w', encoding='utf-8')
    os.dup2(2, 1)
    engine: Engine | None = None
    for line in sys.stdin:
        request = json.loads(line)
        if 'engine' in request:
            engine, reply = _load(request)
        elif engine is None:
            reply = {'refused': 'no robot is loaded'}
        else:
            reply = _results(engine, request)
        print(json.dumps(reply), file=replies, flush=True)


def _load(request: dict[str, Any]) -> tuple[Engine | None, dict[str, Any]]:
    """Return the engine with its robot, and the reply that describes it."""
    try:
        engine = load(request['engine'], request['urdf'], request['gravity'])
    except ImportError as error:
        return None, {'missing': str(error)}
    except RuntimeError as error:
        return None, {'refused': str(error)}
    inertials = {
        link: [body.mass, _plain(body.com), _plain(body.inertia_com)]
        for link, body in engine.inertials().items()
    }
    return engine, {'version': engine.version, 'joints': engine.joints(), 'inertials': inertials}


def _results(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    """Return torques, mass matrices and gravity torques of a list of states."""
    q, qd, qdd = (np.array(request[key], dtype=float) for key in ('q', 'qd', 'qdd'))
    rest = np.zeros(q.shape[1])
    try:
        return {
            'tau': [_plain(engine.inverse_dynamics(*row)) for row in zip(q, qd, qdd, strict=True)],
            'M': [_plain(engine.mass_matrix(row)) for row in q],
            'g': [_plain(engine.inverse_dynamics(row, rest, rest)) for row in q],
            'h': [_plain(engine.inverse_dynamics(*row, rest)) for row in zip(q, qd, strict=True)],
        }
    except RuntimeError as error:
        return {'refused': str(error)}


def _plain(array: Any) -> Any:
    return np.asarray(array).tolist()


if __name__ == '__main__':
    main()
