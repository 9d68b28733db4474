"""A fresh process: how long to its first result, and how much memory it takes.

Each process reads a URDF file and computes inverse dynamics once. What the interpreter itself
takes is measured beside it and subtracted; what this package compiles is in the cache.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks import ROOT
from benchmarks.clock import Effort, Stopwatch, least
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
PEAK = """
from benchmarks.memory import peak_mib
print(peak_mib())
"""


@dataclass(frozen=True)
class Start:
    """Milliseconds to the first result beyond the interpreter's own, and MiB at most."""

    robot: str
    joints: int
    ms: dict[str, float]
    peak_mib: dict[str, float | None]


def measure(robot: Robot, repeats: int) -> Start:
    """Return what a fresh process takes to its first result."""
    with tempfile.TemporaryDirectory() as folder:
        urdf = Path(folder) / 'robot.urdf'
        urdf.write_text(robot.urdf, encoding='utf-8')
        # One process per repeat.
        watches = {name: _watch(script, urdf) for name, script in SCRIPTS.items()}
        seconds = least(watches, Effort(repeats, seconds=0.0))
        peaks = {name: _peak(script, urdf) for name, script in SCRIPTS.items()}
    own = seconds[INTERPRETER]
    ms = {name: 1e3 * (taken - own) for name, taken in seconds.items() if name != INTERPRETER}
    return Start(robot.name, robot.model.n, ms, peaks)


def _watch(script: str, urdf: Path) -> Stopwatch:
    def seconds(number: int) -> float:
        begin = time.perf_counter()
        for _ in range(number):
            _run(script, urdf)
        return time.perf_counter() - begin

    return seconds


def _peak(script: str, urdf: Path) -> float | None:
    text = _run(script + PEAK, urdf)
    return None if text == 'None' else float(text)


def _run(script: str, urdf: Path) -> str:
    command = [sys.executable, '-c', script, str(urdf)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    return done.stdout.strip()
