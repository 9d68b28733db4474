# SPDX-License-Identifier: Apache-2.0
"""Batches: one call of this package, beside a Python loop over Pinocchio and its thread pool.

Equal work is compared: the loop and the pool fill existing arrays, as `out=` does. All arrays have
the layout of the library: samples are rows here and columns there.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pinocchio as pin

from benchmarks import agreement
from benchmarks.clock import Effort, Stopwatch, least, least_of, stopwatch
from benchmarks.contenders import Call
from benchmarks.contenders.ours import at, filling, loaded_anew
from benchmarks.contenders.pinocchio import Pinocchio
from benchmarks.functions import FUNCTIONS, State, random_state
from benchmarks.robots import Robot
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics

OURS, OURS_NEW, OURS_TWO = '1 core, out=', '1 core, new array', '2 threads, out='
LOOP, POOL, POOL_TWO = 'pinocchio loop', 'pinocchio pool, 1 thread', 'pinocchio pool, 2 threads'

# Lower bound for every library: NumPy fills existing arrays with a number.
WRITING = 'writing alone'

PINOCCHIOS = (LOOP, POOL, POOL_TWO)

THREADS_VARIABLE = 'ROBOT_DYNAMICS_THREADS'
# Functions of longer chains in batches, with fewer samples, because matrices need much memory.
LONG, LONG_FUNCTIONS = 32, ('inverse_dynamics', 'forward_dynamics')
SAMPLES, LONG_SAMPLES, SAMPLES_CHECKED = 8200, 2056, 16
# Batches of the size a controller evaluates; here the cost of the call itself matters.
FEW, FEW_FUNCTIONS = 64, ('inverse_dynamics', 'forward_dynamics', 'inverse_dynamics_derivatives')


@dataclass(frozen=True)
class Batch:
    """One function of one robot in a batch: nanoseconds per sample, by contender."""

    robot: str
    joints: int
    function: str
    samples: int
    ns: dict[str, float]
    error: float

    def ratio(self, faster: str, slower: str) -> float:
        """Return the ratio of the times of two contenders."""
        return self.ns[slower] / self.ns[faster]


def functions_of(robot: Robot) -> list[str]:
    """Return the functions measured in batches."""
    return list(FUNCTIONS if robot.model.n <= LONG else LONG_FUNCTIONS)


def measure(robot: Robot, functions: list[str], effort: Effort) -> list[Batch]:
    """Return the batches of a robot.

    Raises:
        Disagreement: two sides differ.
    """
    arms = loaded_anew(robot, effort)
    rounds = [_round(robot, arm, functions, effort) for arm in arms]
    return [
        replace(
            batches[0],
            ns=least_of([batch.ns for batch in batches]),
            error=max(batch.error for batch in batches),
        )
        for batches in zip(*rounds, strict=True)
    ]


def _round(robot: Robot, arm: Dynamics, functions: list[str], effort: Effort) -> list[Batch]:
    """Return the same of one round."""
    many = SAMPLES if robot.model.n < LONG else LONG_SAMPLES
    pinocchio = Pinocchio(robot)
    states = random_state(robot.model, np.random.default_rng(0), many)
    few = State(*(x[:FEW] for x in states))
    chosen = [(states, function) for function in functions]
    chosen += [(few, function) for function in functions if function in FEW_FUNCTIONS]
    results = []
    for given, function in chosen:
        sides = _sides(arm, pinocchio, given, function)
        error = _agree(robot, sides, pinocchio, given, function)
        seconds = least({name: _watch(name, call) for name, call in sides.items()}, effort)
        samples = len(given.q)
        ns = {name: 1e9 * taken / samples for name, taken in seconds.items()}
        results.append(Batch(robot.name, robot.model.n, function, samples, ns, error))
    return results


def _agree(
    robot: Robot, sides: dict[str, Call], pinocchio: Pinocchio, states: State, function: str
) -> float:
    """Return the maximum error over samples from the whole batch."""
    several = len(FUNCTIONS[function].results) > 1
    worst = 0.0
    for name, call in sides.items():
        if name == WRITING:
            continue
        with _threads(_thread_count(name)):
            returned = call()
        for k in np.linspace(0, len(states.q) - 1, SAMPLES_CHECKED).astype(int):
            pinocchio.prepare(State(*(x[k] for x in states)))
            wanted = pinocchio.evaluate(function)
            sample: Any = tuple(a[k] for a in returned) if several else returned[k]
            found = pinocchio.results(function, sample)
            if name in PINOCCHIOS:
                found = [pinocchio.ours(a) for a in found]
            error = agreement.relative_error(found, wanted)
            allowed = agreement.tolerance(function, pinocchio.evaluate('mass_matrix')[0])
            agreement.check(f'{robot.name}: {function}, {name}, sample {k}', error, allowed)
            worst = max(worst, error)
    return worst


def _sides(arm: Dynamics, pinocchio: Pinocchio, states: State, function: str) -> dict[str, Call]:
    """Return each side as a call that returns its results, one row per sample."""
    call, given = getattr(arm, function), states.of(function)
    theirs = pinocchio.theirs(states)
    sides: dict[str, Call] = {}
    if function in ('inverse_dynamics', 'forward_dynamics'):
        sides[POOL] = _pool(pinocchio, theirs, function, 1)
        sides[POOL_TWO] = _pool(pinocchio, theirs, function, 2)
    # Threads of the pool spin for milliseconds after their work; the loop warms up in that time.
    sides[LOOP] = _loop(pinocchio, theirs, function)
    sides[OURS] = _filling(call, given)
    sides[OURS_NEW] = at(call, *given)
    sides[OURS_TWO] = _filling(call, given)
    sides[WRITING] = _writing(call, given)
    return sides


def _filling(call: Callable[..., Any], given: list[Array]) -> Call:
    """Return a call that fills the same arrays each time."""
    returned = call(*given)
    several = isinstance(returned, tuple)
    out = tuple(map(np.empty_like, returned)) if several else np.empty_like(returned)
    return filling(call, out, *given)


def _writing(call: Callable[..., Any], given: list[Array]) -> Call:
    """Return a call that fills arrays of the size of the results, without computation."""
    returned = call(*given)
    arrays = list(map(np.empty_like, returned if isinstance(returned, tuple) else [returned]))

    def write() -> list[Array]:
        for array in arrays:
            array.fill(1.0)
        return arrays

    return write


def _loop(pinocchio: Pinocchio, states: State, function: str) -> Call:
    """Return a Python loop over samples that fills the rows of existing arrays."""
    model, data, samples = pinocchio.model, pinocchio.data, len(states.q)
    rows = [pinocchio.configuration(states.q), states.qd, states.qdd, states.tau]
    given = [rows[State._fields.index(name)] for name in FUNCTIONS[function].inputs]
    once = LOOPED[function]
    first = once(model, data, *(x[0] for x in given))
    several = isinstance(first, tuple)
    outs = [np.full((samples, *a.shape), np.nan) for a in (first if several else [first])]
    out = outs[0]

    def loop() -> Array:
        for k, row in enumerate(zip(*given, strict=True)):
            out[k] = once(model, data, *row)
        return out

    def loop_over_several() -> list[Array]:
        for k, row in enumerate(zip(*given, strict=True)):
            for result, value in zip(outs, once(model, data, *row), strict=True):
                result[k] = value
        return outs

    return loop_over_several if several else loop


def _terms(model: pin.Model, data: pin.Data, q: Array, qd: Array) -> tuple[Array, Array, Array]:
    return (
        pin.crba(model, data, q),
        pin.computeCoriolisMatrix(model, data, q, qd),
        pin.computeGeneralizedGravity(model, data, q),
    )


LOOPED: dict[str, Callable[..., Any]] = {
    'inverse_dynamics': pin.rnea,
    'mass_matrix': pin.crba,
    'coriolis_matrix': pin.computeCoriolisMatrix,
    'gravity_torque': pin.computeGeneralizedGravity,
    'terms': _terms,
    'forward_dynamics': pin.aba,
    'inverse_dynamics_derivatives': pin.computeRNEADerivatives,
    'forward_dynamics_derivatives': pin.computeABADerivatives,
}


def _pool(pinocchio: Pinocchio, states: State, function: str, threads: int) -> Call:
    """Return a call of the thread pool of Pinocchio, with samples as columns."""
    pool = pin.ModelPool(pinocchio.model, threads)
    q = np.asfortranarray(pinocchio.configuration(states.q).T)
    qd, qdd, tau = (np.asfortranarray(x.T) for x in states[1:])
    out = np.full_like(qd, np.nan)

    def inverse() -> Array:
        pin.rneaInParallel(threads, pool, q, qd, qdd, out)
        return out.T

    def forward() -> Array:
        pin.abaInParallel(threads, pool, q, qd, tau, out)
        return out.T

    return inverse if function == 'inverse_dynamics' else forward


def _watch(name: str, call: Call) -> Stopwatch:
    """Return the stopwatch of a call with its number of threads."""
    watch = stopwatch(call)

    def timed(number: int) -> float:
        with _threads(_thread_count(name)):
            return watch(number)

    return timed


def _thread_count(name: str) -> int:
    return 2 if name == OURS_TWO else 1


@contextlib.contextmanager
def _threads(count: int) -> Iterator[None]:
    """Set the number of threads of this package within this context."""
    before = os.environ.get(THREADS_VARIABLE)
    os.environ[THREADS_VARIABLE] = str(count)
    try:
        yield
    finally:
        if before is None:
            del os.environ[THREADS_VARIABLE]
        else:
            os.environ[THREADS_VARIABLE] = before
