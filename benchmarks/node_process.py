# SPDX-License-Identifier: Apache-2.0
"""A node in a separate process: its processor time and memory."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import ROOT

PATIENCE = 5.0  # s, for a node to end after SIGINT
TICK = 1 / os.sysconf('SC_CLK_TCK')  # s
PAGE = os.sysconf('SC_PAGE_SIZE') / 2**20  # MiB


class NodeDied(RuntimeError):  # noqa: N818  (the name is sufficient)
    """A node ended during the measurement."""


class NodeProcess:
    """A running node."""

    def __init__(self, name: str, process: subprocess.Popen):
        self.name, self._process = name, process

    def check(self) -> None:
        """Raise NodeDied if it has ended."""
        if self._process.poll() is not None:
            raise NodeDied(f'{self.name} ended with exit code {self._process.returncode}')

    def cpu_seconds(self) -> float:
        """Return the processor time of all its threads."""
        # After the name in brackets: fields 14 and 15 of proc(5).
        fields = self._read('stat').rpartition(')')[2].split()
        return TICK * (int(fields[11]) + int(fields[12]))

    def resident_mib(self) -> float:
        """Return its resident memory."""
        return PAGE * int(self._read('statm').split()[1])

    def _read(self, file: str) -> str:
        return Path('/proc', str(self._process.pid), file).read_text()


@contextlib.contextmanager
def running(name: str, program: Sequence[str], *arguments: str) -> Iterator[NodeProcess]:
    """Run a module, with its own arguments, as a node with ROS arguments; SIGINT ends it."""
    process = subprocess.Popen(
        [sys.executable, '-m', *program, '--ros-args', '--log-level', 'warn', *arguments],
        cwd=ROOT,
        env={**os.environ, 'PYTHONPATH': str(ROOT)},
    )
    try:
        yield NodeProcess(name, process)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
