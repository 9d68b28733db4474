# SPDX-License-Identifier: Apache-2.0
"""A library in a separate process, which may print and crash."""

from __future__ import annotations

import json
import subprocess
import sys
from types import TracebackType
from typing import Any

import numpy as np

from benchmarks import ROOT
from benchmarks.clock import Stopwatch
from benchmarks.contenders import ContenderMissing, RobotRefused
from benchmarks.functions import State
from benchmarks.robots import Robot
from robot_dynamics.common.spatial import Array


class Remote:
    """A contender in another process; a context manager that ends the process.

    Raises:
        ContenderMissing: the library is not installed.
        RobotRefused: it does not support this robot, or its process crashed.
    """

    def __init__(self, name: str, robot: Robot):
        self.title = name
        self._process = subprocess.Popen(
            [sys.executable, '-m', 'benchmarks.worker'],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
        )
        try:
            self.title = self._ask({'load': [name, robot.name, robot.urdf]})
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def prepare(self, state: State) -> list[str]:
        functions: list[str] = self._ask({'prepare': [x.tolist() for x in state]})
        return functions

    def evaluate(self, function: str) -> list[Array]:
        return [np.array(a) for a in self._ask({'evaluate': function})]

    def stopwatch(self, function: str) -> Stopwatch:
        return lambda number: float(self._ask({'time': [function, number]}))

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()

    def __enter__(self) -> Remote:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _ask(self, request: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(json.dumps(request), file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ''
        if not line:
            raise RobotRefused(f'{self.title}: its process ended')
        reply = json.loads(line)
        if 'missing' in reply:
            raise ContenderMissing(reply['missing'])
        if 'refused' in reply:
            raise RobotRefused(reply['refused'])
        return reply['answer']
