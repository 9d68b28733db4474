"""A compiled simulation step, taken many times: the loop runs inside machine code."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from robot_dynamics.algorithms.simulation_step import State
from robot_dynamics.codegen.calls import CompiledFunction
from robot_dynamics.codegen.calls.arguments import as_vectors
from robot_dynamics.errors import ShapeError
from robot_dynamics.spatial import Array

# Steps of one state whose path is kept in memory at a time.
STRETCH = 1000


def simulate(
    step: CompiledFunction, q: Any, qd: Any, tau: Any, *, steps: int, time_step: float
) -> State:
    """Return the states (..., n) after some steps under constant torques.

    Args:
        step: the program step(q, qd, tau, time_step) -> State.
        q: (..., n) positions.
        qd: (..., n) velocities.
        tau: (..., n) torques.
        steps: how many, 0 or more.
        time_step: s.
    """
    count, h = checked_count(steps), checked_time_step(time_step)
    names, n = ('q', 'qd', 'tau'), step.signature.inputs[0][1]
    given: dict[str, Any] = {
        name: as_vectors('simulate', name, value, n)
        for name, value in zip(names, (q, qd, tau), strict=True)
    }
    if all(array.ndim == 1 for array in given.values()):
        return _alone(step, count, h, **given)
    result: State = step.advance(count, **given, time_step=[h])
    return result


def _alone(step: CompiledFunction, steps: int, h: float, q: Array, qd: Array, tau: Array) -> State:
    """Return the state after some steps from one state: what has least to prepare."""
    for begin in range(0, steps, STRETCH):
        path = step.iterate(min(STRETCH, steps - begin), q=q, qd=qd, tau=tau, time_step=[h])
        q, qd = path.q[-1], path.qd[-1]
    return State(np.array(q), np.array(qd))


def rollout(step: CompiledFunction, q: Any, qd: Any, tau: Any, *, time_step: float) -> State:
    """Return the trajectory (steps + 1, n) from one state, under torques tau (steps, n)."""
    h, n = checked_time_step(time_step), step.signature.inputs[0][1]
    rows = as_vectors('rollout', 'tau', tau, n)
    if rows.ndim != 2:
        raise ShapeError(f'rollout: tau has shape {rows.shape}, expected (steps, {n})')
    result: State = step.iterate(len(rows), q=q, qd=qd, tau=rows, time_step=[h])
    return result


def checked_count(steps: int) -> int:
    """Return a number of steps. Raises ValueError unless it is an integer, 0 or more."""
    try:
        count = operator.index(steps)
    except TypeError:
        count = -1
    if count < 0 or isinstance(steps, bool | np.bool_):
        raise ValueError(f'steps is {steps!r}; it must be an integer, 0 or more')
    return count


def checked_time_step(time_step: float) -> float:
    """Return a time step [s]. Raises ValueError unless it is a positive, finite number."""
    if not (isinstance(time_step, int | float | np.number) and 0 < time_step < math.inf):
        raise ValueError(f'time_step is {time_step!r} s; it must be positive and finite')
    return float(time_step)
