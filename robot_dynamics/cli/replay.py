"""The verb `robot-dynamics replay FILE`: replay a recorded simulation and verify it."""

from __future__ import annotations

import argparse
import platform
import time

from robot_dynamics.simulation import SimulationDiverged
from robot_dynamics.simulation.command_log import RecordedRun
from robot_dynamics.simulation.replay import Comparison, replay


def replay_file(options: argparse.Namespace) -> int:
    """Replay a recorded simulation and verify it bit for bit; exit code 1 if a bit differs."""
    run = RecordedRun(options.file)
    plant, time_step = run.plant(), run.settings.time_step
    began = time.perf_counter()
    try:
        result = replay(plant, run.entries())
    except SimulationDiverged as error:
        result = Comparison(plant.steps, 0, f'{error}; the recorded motion continued')
    wall = time.perf_counter() - began
    simulated = result.steps * time_step
    print(
        f'{run.model.name}: {simulated:.3f} s in {result.steps} steps of {time_step:g} s with '
        f'{run.settings.integrator}, {simulated / wall:.1f} x real time'
    )
    if result.agrees and not run.complete:
        print('the log was not closed: replayed up to its last whole record')
    if result.agrees:
        print(f'{result.states} recorded states reproduced in every bit')
        return 0
    print(f'{result.states} recorded states reproduced, then a difference: {result.difference}')
    if run.machine != platform.machine():
        print(f'recorded on {run.machine}, replayed on {platform.machine()}')
    return 1
