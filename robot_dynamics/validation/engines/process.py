"""The other end of `engine_worker`: start it, ask it, and survive whatever it does."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import robot_dynamics
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.validation.engines.available import title


class EngineError(RobotDynamicsError, RuntimeError):
    """The other engine gave no answer."""


class EngineMissing(EngineError):  # noqa: N818  (says what it is)
    """The engine is not installed, or cannot be imported."""


class EngineRefused(EngineError):  # noqa: N818
    """The engine does not take this robot."""


class EngineCrashed(EngineError):  # noqa: N818
    """The engine's process died, or gave no answer in time."""


class EngineProcess:
    """One worker process; a context manager that ends it."""

    def __init__(self, name: str, *, timeout: float = 60.0):
        """Start the worker of an engine.

        Args:
            name: one of `engines.ENGINES`.
            timeout: s, for each answer; then the worker is killed.
        """
        self.name, self.timeout = name, timeout
        # A place for what the engine prints and leaves lying about; gone with the worker.
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._noise = Path(self._folder.name, 'noise').open('w+b')  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, '-m', 'robot_dynamics.validation.engines.worker'],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._noise,
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
        """Return the worker's answer to a message.

        Raises:
            EngineMissing: the engine is not installed.
            EngineRefused: it does not take the robot, or the state.
            EngineCrashed: it died, or took longer than the timeout. The worker is gone.
        """
        who = title(self.name)
        assert self._process.stdin is not None
        if self._noise.closed:
            raise EngineCrashed(f'{who} is gone; start another process')
        try:
            print(json.dumps(message), file=self._process.stdin, flush=True)
            line = self._replies.get(timeout=self.timeout)
        except (OSError, ValueError):
            line = ''
        except queue.Empty:
            self.close()
            raise EngineCrashed(f'{who} gave no answer within {self.timeout:g} s') from None
        if not line:
            raise EngineCrashed(f'{who} died: {self._ending()}')
        reply: dict[str, Any] = json.loads(line)
        if 'missing' in reply:
            raise EngineMissing(f'no {who}: {reply["missing"]}')
        if 'refused' in reply:
            raise EngineRefused(f'{who} refuses the robot: {" ".join(reply["refused"].split())}')
        return reply

    def close(self) -> None:
        """End the worker, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._noise.close()
        self._folder.cleanup()
        for pipe in (self._process.stdin, self._process.stdout):
            # What could not be written went to a process that is gone.
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()

    def __enter__(self) -> EngineProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> None:
        """Pass on the worker's lines, and an empty one when it is gone."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._replies.put(line)
        self._replies.put('')

    def _ending(self) -> str:
        """Return how a worker that said nothing more came to its end, and see it gone."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=1.0)
        code = self._process.returncode
        self._noise.seek(0)
        words = self._noise.read().decode(errors='replace').strip().splitlines()
        self.close()
        how = f'signal {-code}' if code is not None and code < 0 else f'exit code {code}'
        return f'{how}, {words[-1]}' if words else how


def _python_path() -> str:
    """Return where the worker finds this very package."""
    here = str(Path(robot_dynamics.__file__).parents[1])
    before = os.environ.get('PYTHONPATH')
    return os.pathsep.join([here, before]) if before else here
