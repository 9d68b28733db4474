# SPDX-License-Identifier: Apache-2.0
"""Compile time of each function of a robot, from an empty cache to the first result.

Each function is compiled in separate processes, for single calls and then for batches, into a
cache that the whole run shares. A function that exceeds the time limit or crashes its process is
given up and not measured further.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import ROOT
from benchmarks.functions import functions_of
from benchmarks.robots import Robot

LIMIT = 120.0  # s
SINGLE, BATCH = 'single', 'batch'


@dataclass(frozen=True)
class Compilation:
    """Cost of compiling one function."""

    robot: str
    function: str
    record_s: float  # tracing the algorithm, in addition to single_s
    single_s: float  # to the first result of a single call
    batch_s: float | None  # from there to the first result of a batch, None if not measured
    operations: dict[str, int]
    peak_mib: float | None  # of the process that made single calls


@dataclass(frozen=True)
class GivenUp:
    """A function that was not compiled."""

    robot: str
    function: str
    kind: str  # SINGLE or BATCH
    why: str


class _Failed(Exception):  # noqa: N818  (the name is sufficient)
    """A process ended without figures."""


def compile_all(
    robot: Robot, batched: list[str], limit: float = LIMIT
) -> tuple[list[Compilation], list[GivenUp]]:
    """Compile every function of a robot.

    Args:
        robot: the robot.
        batched: functions to compile for batches as well.
        limit: s, for each function and kind.
    """
    made: list[Compilation] = []
    given_up: list[GivenUp] = []
    with tempfile.TemporaryDirectory() as folder:
        urdf = Path(folder) / 'robot.urdf'
        urdf.write_text(robot.urdf, encoding='utf-8')
        # `forward_dynamics` evaluates the mass matrix once and is compiled after it.
        for function in functions_of(robot.model):
            kind, batch_s = SINGLE, None
            try:
                figures = _figures(urdf, function, kind, limit)
                if function in batched:
                    kind = BATCH
                    batch_s = _figures(urdf, function, kind, limit)['batch_s']
            except _Failed as error:
                given_up.append(GivenUp(robot.name, function, kind, str(error)))
                if kind == SINGLE:
                    continue
            made.append(Compilation(robot.name, function, batch_s=batch_s, **figures))
    return made, given_up


def _figures(urdf: Path, function: str, kind: str, limit: float) -> dict[str, Any]:
    command = [sys.executable, '-m', 'benchmarks.measure_compile', str(urdf), function, kind]
    try:
        done = subprocess.run(
            command, check=True, capture_output=True, text=True, timeout=limit, cwd=ROOT
        )
    except subprocess.TimeoutExpired:
        raise _Failed(f'more than {limit:g} s') from None
    except subprocess.CalledProcessError as error:
        lines = error.stderr.strip().splitlines()
        # A negative code is the number of the signal that ended the process.
        raise _Failed(lines[-1] if lines else f'exit code {error.returncode}') from None
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures
