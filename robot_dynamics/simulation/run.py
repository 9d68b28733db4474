"""A whole motion as arrays: a simulator, a torque law, a duration."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.simulation.simulator import Simulator
from robot_dynamics.spatial import Array

# tau (n,) = torque(t, q, qd)
TorqueLaw = Callable[[float, Array, Array], ArrayLike]


class Run(NamedTuple):
    """What happened, one row per recorded step; the first row is the state at the start."""

    t: Array  # (k,) s
    q: Array  # (k, n) rad or m
    qd: Array  # (k, n)
    effort: Array  # (k, n) N m or N, applied in the step that led to the row


def simulate(
    simulator: Simulator, torque: TorqueLaw, duration: float, *, record_every: int = 1
) -> Run:
    """Advance a simulator for a duration and return its motion.

    Args:
        simulator: starts in its present state, and keeps the last one.
        torque: the commanded torques (n,), asked for once per step.
        duration: s, rounded to whole steps.
        record_every: steps per recorded row.

    Raises:
        SimulationDiverged: the state stopped being finite.
    """
    steps = round(duration / simulator.time_step)
    rows = [_row(simulator)]
    for k in range(1, steps + 1):
        simulator.step(torque(simulator.time, simulator.q, simulator.qd))
        if k % record_every == 0:
            rows.append(_row(simulator))
    return Run(*(np.array(column) for column in zip(*rows, strict=True)))


def _row(simulator: Simulator) -> tuple[float, Array, Array, Array]:
    return simulator.time, simulator.q, simulator.qd, simulator.effort
