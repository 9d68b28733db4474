"""Simulated motion as arrays, from a simulator, a torque law and a duration; and its figure."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.simulation.arguments import checked_period
from robot_dynamics.simulation.simulator import Simulator
from robot_dynamics.simulation.steps import adaptive
from robot_dynamics.simulation.steps.adaptive import Adaptive
from robot_dynamics.spatial import Array
from robot_dynamics.visualization.figures import sheet

# tau (n,) = torque(t, q, qd)
TorqueLaw = Callable[[float, Array, Array], ArrayLike]


class Run(NamedTuple):
    """A motion, one row per recorded step; the first row is the state at the start."""

    t: Array  # (k,) s
    q: Array  # (k, n) rad or m
    qd: Array  # (k, n)
    effort: Array  # (k, n) N m or N, applied in the step that led to the row


def simulate(
    simulator: Simulator,
    torque: TorqueLaw | None,
    duration: float,
    *,
    record_every: int = 1,
    solver: Adaptive | None = None,
) -> Run:
    """Advance a simulator for a duration and return its motion.

    Args:
        simulator: starts in its present state, and is left in the last one.
        torque: the commanded torques (n,), evaluated once per step and held over it; an
            adaptive solver evaluates it at its own times. None: zero torque.
        duration: s, 0 or more, rounded to whole steps.
        record_every: steps per recorded row, 1 or more.
        solver: replaces the simulator's integrator. Rows between the solver's own steps are
            interpolated, slightly less accurately; the last is not.

    Raises:
        ShapeError: the law does not return n torques.
        NotFinite: one of them is not finite.
        SimulationDiverged: the state is not finite, or has unaccounted energy.
        ValueError: invalid duration or record_every; or a solver with joint models that are not a
            function of the state: stick-slip friction, stops, or actuators.
    """
    if not 0 <= duration < math.inf:
        raise ValueError(f'duration is {duration} s; it must be finite and not negative')
    steps = round(duration / simulator.time_step)
    record_every = checked_period('record_every', record_every)
    if torque is None:
        torque = _no_torque
    if solver is not None and steps > 0:
        t, x, effort = adaptive.advance(simulator, torque, steps, solver)
        n, m = len(simulator.q), x.shape[1] // 2
        kept = slice(None, None, record_every)
        return Run(t[kept], x[kept, :n], x[kept, m : m + n], effort[kept])
    rows = [_row(simulator)]
    for k in range(1, steps + 1):
        simulator.step(torque(simulator.time, simulator.q, simulator.qd))
        if k % record_every == 0:
            rows.append(_row(simulator))
    return Run(*(np.array(column) for column in zip(*rows, strict=True)))


def _no_torque(_t: float, q: Array, _qd: Array) -> Array:
    return np.zeros(len(q))


def _row(simulator: Simulator) -> tuple[float, Array, Array, Array]:
    return simulator.time, simulator.q, simulator.qd, simulator.effort


def plot(run: Run, model: RobotModel, file: str | Path | None = None) -> Any:
    """Draw a motion, a curve per joint; save it if a file is given.

    Returns:
        The matplotlib Figure.

    Raises:
        MatplotlibMissing: it is not installed.
    """
    figure = sheet(10, 6)
    axes = figure.subplots(2, 1, sharex=True)
    rows = (
        ('position [rad or m]', run.q),
        ('velocity [rad/s or m/s]', run.qd),
    )
    for axis, (label, values) in zip(axes, rows, strict=True):
        axis.plot(run.t, values, linewidth=1.2)
        axis.set_ylabel(label)
        axis.grid(alpha=0.25)
        axis.margins(x=0.01)
    axes[0].set_title(model.name)
    axes[0].legend(model.joint_names, loc='center left', bbox_to_anchor=(1, 0.5), frameon=False)
    axes[-1].set_xlabel('time [s]')
    if file is not None:
        figure.savefig(file)
    return figure
