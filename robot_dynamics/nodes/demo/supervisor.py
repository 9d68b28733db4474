"""Nodes as processes: started together, restarted when they die, ended together.

Every line a node writes is passed on with its name in front. A node that dies while it is wanted
is started again and said to have been; one that cannot stay up is given up. At the end every node
gets SIGINT and has to leave with exit code 0. Nothing of them is left behind: not a process, nor
the shared memory that a killed one could not remove. No ROS here.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import robot_dynamics
from robot_dynamics.errors import RobotDynamicsError

Say = Callable[[str, str], None]  # (node, line)

QUICK_DEATH = 10.0  # s after its start; a node that dies sooner, this often in a row, is given up
QUICK_DEATHS = 3
PATIENCE = 5.0  # s, for a node to end after SIGINT; then SIGKILL
LAST_WORDS = 1.0  # s, for what a dead process wrote to be read
SHARED_MEMORY = Path('/dev/shm')
MIDDLEWARE_FILES = ('fastrtps_', 'fastdds_', 'sem.fastrtps_', 'sem.fastdds_')


class NodeFailed(RobotDynamicsError, RuntimeError):  # noqa: N818  (says what happened)
    """A node does not stay up."""


@dataclass
class NodeProcess:
    """One node, and the process that runs it at present."""

    name: str
    command: list[str]
    process: subprocess.Popen | None = None
    reader: threading.Thread | None = None
    started: float = 0.0
    quick_deaths: int = 0
    restarts: int = 0
    last_words: str = ''
    ending: bool = False

    def start(self, say: Say) -> None:
        """Start it, and pass on what it writes."""
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            self.command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=_environment(),
            text=True,
            errors='replace',
            start_new_session=True,  # a Ctrl-C in the terminal is ours to pass on
        )
        self.reader = threading.Thread(target=self._read, args=(self.process, say), daemon=True)
        self.reader.start()

    def _read(self, process: subprocess.Popen, say: Say) -> None:
        for line in process.stdout:
            self.last_words = line.strip() or self.last_words
            if not self.ending:
                say(self.name, line.rstrip())
        process.stdout.close()


@dataclass
class Supervisor:
    """Starts nodes, keeps them up and ends them."""

    nodes: list[NodeProcess]
    say: Say
    exit_codes: dict[str, int] = field(default_factory=dict)  # at the end, by node

    def start(self) -> None:
        """Start every node."""
        for node in self.nodes:
            node.start(self.say)

    def look(self) -> list[str]:
        """Restart nodes that died; return their names.

        Raises:
            NodeFailed: one of them died too often too soon after its start.
        """
        dead = [node for node in self.nodes if node.process.poll() is not None]
        for node in dead:
            self._restart(node)
        return [node.name for node in dead]

    @property
    def restarts(self) -> dict[str, int]:
        """How often each node was restarted."""
        return {node.name: node.restarts for node in self.nodes}

    def _restart(self, node: NodeProcess) -> None:
        ending = describe_exit(node.process.returncode)
        node.reader.join(LAST_WORDS)
        early = time.monotonic() - node.started < QUICK_DEATH
        # What ends by itself with an error at once will do so again; what is killed may not.
        refused = early and node.process.returncode > 0
        node.quick_deaths = node.quick_deaths + 1 if early else 0
        if refused or node.quick_deaths == QUICK_DEATHS:
            raise NodeFailed(f'{node.name} does not stay up ({ending}): {node.last_words}')
        node.restarts += 1
        self.say(node.name, f'died ({ending}); starting it again')
        node.start(self.say)

    def stop(self) -> None:
        """End every node, and note with which exit code it left."""
        running = [node for node in self.nodes if node.process is not None]
        for node in running:
            node.ending = True
            if node.process.poll() is None:
                node.process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + PATIENCE
        for node in running:
            self.exit_codes[node.name] = self._end(node, deadline)

    def _end(self, node: NodeProcess, deadline: float) -> int:
        try:
            code = node.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            node.process.kill()
            code = node.process.wait()
        node.reader.join(LAST_WORDS)
        if code:
            self.say(node.name, f'did not end well ({describe_exit(code)}): {node.last_words}')
        return code


def describe_exit(code: int) -> str:
    """Return an exit code in words."""
    return f'killed by {signal.Signals(-code).name}' if code < 0 else f'exit code {code}'


def _environment() -> dict[str, str]:
    here = str(Path(robot_dynamics.__file__).parents[1])
    paths = [here, *filter(None, [os.environ.get('PYTHONPATH')])]
    return {
        **os.environ,
        'PYTHONPATH': os.pathsep.join(paths),
        'PYTHONUNBUFFERED': '1',
        'RCUTILS_CONSOLE_OUTPUT_FORMAT': '{severity}: {message}',
    }


# -- shared memory ------------------------------------------------------------------------------


def shared_memory() -> set[Path]:
    """Return our files of the middleware in shared memory."""
    return {file for file in _files() if file.name.startswith(MIDDLEWARE_FILES)}


def remove_shared_memory(before: Iterable[Path]) -> None:
    """Remove what appeared since `before` and no process uses: what a killed node left there."""
    for file in left_in_shared_memory(before):
        file.unlink(missing_ok=True)


def left_in_shared_memory(before: Iterable[Path]) -> set[Path]:
    """Return what appeared since `before` and no process uses."""
    new = shared_memory() - set(before)
    used = _in_use() if new else set()
    return {file for file in new if str(file) not in used}


def _files() -> list[Path]:
    ours = []
    for file in SHARED_MEMORY.glob('*'):
        with contextlib.suppress(OSError):  # it may be gone by now
            if file.stat().st_uid == os.getuid():
                ours.append(file)
    return ours


def _in_use() -> set[str]:
    """Return the files in shared memory that a process has mapped or opened."""
    used = set()
    for process in Path('/proc').glob('[0-9]*'):
        # What cannot be read has ended, was closed, or belongs to someone else.
        with contextlib.suppress(OSError):
            maps = (process / 'maps').read_text()
            used.update(line.split()[-1] for line in maps.splitlines() if '/dev/shm/' in line)
            for link in (process / 'fd').iterdir():
                with contextlib.suppress(OSError):
                    used.add(os.readlink(link))
    return used
