# SPDX-License-Identifier: Apache-2.0
"""Time to the first result, and memory, of a new process.

Each process reads a URDF file and computes inverse dynamics once. The time of an empty interpreter
is measured as well and subtracted; machine code is in the cache. Modules are byte code, as in an
installed package; it is written to a temporary folder, even if PYTHONDONTWRITEBYTECODE is set.
Processes exit at the first result without cleanup.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks import ROOT
from benchmarks.clock import Effort, least
from benchmarks.robots import Robot

OURS, IMPORTS, PINOCCHIO, INTERPRETER = 'ours', 'ours, imports alone', 'pinocchio', 'interpreter'
SCRIPTS = {
    OURS: """
import sys, warnings
import numpy as np
from robot_dynamics import Dynamics, load_urdf
warnings.simplefilter('ignore')
arm = Dynamics(load_urdf(sys.argv[1]))
q = np.zeros(arm.model.n)
arm.inverse_dynamics(q, q, q)
""",
    IMPORTS: """
from robot_dynamics import Dynamics, load_urdf
""",
    PINOCCHIO: """
import sys
import numpy as np
import pinocchio
model = pinocchio.buildModelFromUrdf(sys.argv[1])
data, q, v = model.createData(), pinocchio.neutral(model), np.zeros(model.nv)
pinocchio.rnea(model, data, q, v, v)
""",
    INTERPRETER: '',
}
AT_ONCE = """
import os
os._exit(0)
"""
PEAK = """
from benchmarks.memory import peak_mib
print(peak_mib())
"""


@dataclass(frozen=True)
class Start:
    """Milliseconds to the first result, less those of the interpreter, and peak MiB."""

    robot: str
    joints: int
    ms: dict[str, float]
    peak_mib: dict[str, float | None]


def measure(robot: Robot, repeats: int) -> Start:
    """Return time and memory of new processes up to their first result."""
    with tempfile.TemporaryDirectory() as folder:
        urdf = Path(folder) / 'robot.urdf'
        urdf.write_text(robot.urdf, encoding='utf-8')
        # One process per repeat.
        processes = {name: Process(script, urdf, Path(folder)) for name, script in SCRIPTS.items()}
        watches = {name: process.seconds for name, process in processes.items()}
        seconds = least(watches, Effort(repeats, seconds=0.0))
        peaks = {name: process.peak_mib() for name, process in processes.items()}
    own = seconds[INTERPRETER]
    ms = {name: 1e3 * (taken - own) for name, taken in seconds.items() if name != INTERPRETER}
    return Start(robot.name, robot.model.n, ms, peaks)


@dataclass(frozen=True)
class Process:
    """A script, run in new interpreters."""

    script: str
    urdf: Path
    byte_code: Path  # a folder

    def seconds(self, number: int) -> float:
        """Return the time of a number of runs."""
        begin = time.perf_counter()
        for _ in range(number):
            self._run(self.script + AT_ONCE)
        return time.perf_counter() - begin

    def peak_mib(self) -> float | None:
        """Return the peak memory of a run, None where the platform does not provide it."""
        text = self._run(self.script + PEAK)
        return None if text == 'None' else float(text)

    def _run(self, script: str) -> str:
        environment = {**os.environ, 'PYTHONPYCACHEPREFIX': str(self.byte_code)}
        environment.pop('PYTHONDONTWRITEBYTECODE', None)
        command = [sys.executable, '-c', script, str(self.urdf)]
        done = subprocess.run(
            command, check=True, capture_output=True, text=True, cwd=ROOT, env=environment
        )
        return done.stdout.strip()
