"""The verb `robot-dynamics replay FILE`: make a recorded simulation again, and compare."""

from __future__ import annotations

import time
from pathlib import Path

from robot_dynamics.ros.recordings.run_reader import RecordedRun
from robot_dynamics.simulation.errors import SimulationDiverged
from robot_dynamics.simulation.replay import Comparison, replay


def replay_file(path: Path) -> int:
    """Print what came of it; return 0 if every recorded state came again in every bit, else 1.

    Raises:
        RobotDynamicsError: the file is not a recording, or its robot is refused.
    """
    run = RecordedRun(path)
    plant = run.plant()
    began = time.perf_counter()
    try:
        result = replay(plant, run.log())
    except SimulationDiverged as error:
        result = Comparison(plant.steps, 0, f'{error}; the recorded motion went on')
    wall = time.perf_counter() - began
    simulated = result.steps * run.parameters.time_step
    print(
        f'{run.model.name}: {simulated:.3f} s in {result.steps} steps of '
        f'{run.parameters.time_step:g} s with {run.parameters.integrator}, '
        f'{simulated / wall:.1f} x real time'
    )
    if run.end:
        print(f'the file was not ended: read up to where it breaks off ({run.end})')
    if result.agrees:
        print(f'{result.states} recorded states came again, in every bit')
        return 0
    print(f'{result.states} recorded states came again, then one differs: {result.difference}')
    if run.recorded_model != plant.simulator.arm.model.fingerprint():
        print('the description gives another model than it gave the recorder')
    return 1
