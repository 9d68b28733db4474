"""A compiled simulation step, taken many times.

One state is stepped by a loop inside machine code. Many states go forward together, one call per
step, which computes several of them at once and shares large batches over the cores; a few are
faster one after the other. A state's result has the same bits whichever way it went.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from robot_dynamics.algorithms.simulation_step import State
from robot_dynamics.compiler import CompiledFunction
from robot_dynamics.compiler.arguments import as_vectors, leading_shape
from robot_dynamics.errors import ShapeError
from robot_dynamics.spatial import Array

# Steps of which the states in between are kept in memory at a time.
STRETCH = 1000

# Fewer states than this are faster one after the other: a call costs as much as some steps.
FEW = 100


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
    given = [
        as_vectors('simulate', name, value, n)
        for name, value in zip(names, (q, qd, tau), strict=True)
    ]
    leading = leading_shape('simulate', names, given)
    start = [np.array(np.broadcast_to(value, (*leading, n))).reshape(-1, n) for value in given]
    go = _one_by_one if math.prod(leading) < FEW else _together
    after_q, after_qd = go(step, start, count, h)
    return State(after_q.reshape(*leading, n), after_qd.reshape(*leading, n))


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


def _one_by_one(
    step: CompiledFunction, start: list[Array], steps: int, h: float
) -> tuple[Array, Array]:
    """Step rows q, qd, tau (N, n) one after the other, in place."""
    q, qd, tau = start
    for i in range(len(q)):
        for done in range(0, steps, STRETCH):
            stretch = min(STRETCH, steps - done)
            motion = step.iterate(stretch, q=q[i], qd=qd[i], tau=tau[i], time_step=[h])
            q[i], qd[i] = motion.q[-1], motion.qd[-1]
    return q, qd


def _together(
    step: CompiledFunction, start: list[Array], steps: int, h: float
) -> tuple[Array, Array]:
    """Step rows q, qd, tau (N, n) together, to and fro between two memories."""
    q, qd, tau = start
    here, there = (q, qd), (np.empty_like(q), np.empty_like(qd))
    time_step = np.array([h])
    for _ in range(steps):
        step.call(*here, tau, time_step, out=there)
        here, there = there, here
    return here
