# SPDX-License-Identifier: Apache-2.0
"""Simulated motion as arrays, from a simulator, a torque law and a duration."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.spatial import Array
from robot_dynamics.simulation.argument_checks import checked_period
from robot_dynamics.simulation.simulator import Simulator
from robot_dynamics.simulation.steps import adaptive
from robot_dynamics.simulation.steps.adaptive import Adaptive

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
        torque: the commanded torques (n,), or positions (n,) of servos, evaluated once per step
            and held over it; an adaptive solver evaluates it at its own times. None: zero torque;
            servos hold the present position.
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
        torque = _no_torque if simulator.joint_models.servo is None else _holding(simulator)
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


def _holding(simulator: Simulator) -> TorqueLaw:
    q = simulator.motor_q
    return lambda _t, _q, _qd: q


def _row(simulator: Simulator) -> tuple[float, Array, Array, Array]:
    return simulator.time, simulator.q, simulator.qd, simulator.effort
