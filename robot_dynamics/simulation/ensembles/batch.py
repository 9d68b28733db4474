"""Many arms at once: thousands of runs which differ in where they start and in what they are.

    run = simulate_batch(arm, q0, qd0, law, steps=3000, perturbations=Perturbations(...))
    run.t, run.q, run.qd

All arms go through compiled steps side by side. No arm's result depends on its neighbours, on the
number of threads, or on whether another process computes it: the bits are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.algorithms.simulation_step import State
from robot_dynamics.codegen.calls.arguments import as_vectors, leading_shape
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import ShapeError
from robot_dynamics.rollout import (
    STABLE,
    checked_count,
    checked_time_step,
    fastest_friction,
    require_resolved,
)
from robot_dynamics.simulation.arguments import checked_period
from robot_dynamics.simulation.ensembles.perturbations import AS_MODELLED, Perturbations, arms
from robot_dynamics.spatial import Array

# tau (N, n) or (n,) = law(t, q (N, n), qd (N, n)): a pure function which treats each arm alone.
Law: TypeAlias = Callable[[float, Array, Array], ArrayLike]

# progress(steps done, steps in all)
Progress: TypeAlias = Callable[[int, int], object]

# Of the progress; but machine code is left to itself for so many steps.
REPORTS = 100
UNDISTURBED = 100


@dataclass(frozen=True, eq=False)
class PerStep:
    """Torques given step by step: (steps, n) for all arms, or (N, steps, n)."""

    tau: ArrayLike


class BatchRun(NamedTuple):
    """What happened, one row per recorded step; the first row is the start, the last the end."""

    t: Array  # (k,) s
    q: Array  # (N, k, n) rad or m
    qd: Array  # (N, k, n)

    @property
    def diverged(self) -> Array:
        """Which arms (N,) ended in numbers that are not finite."""
        end = np.concatenate([self.q[:, -1], self.qd[:, -1]], axis=-1)
        return np.asarray(~np.isfinite(end).all(axis=-1))


def simulate_batch(
    arm: Dynamics,
    q: ArrayLike,
    qd: ArrayLike,
    torques: Law | PerStep | ArrayLike,
    *,
    steps: int,
    time_step: float = 1e-3,
    integrator: str = 'semi_implicit_euler',
    perturbations: Perturbations = AS_MODELLED,
    control_every: int = 1,
    record_every: int | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
    tasks: int = 8,
) -> BatchRun:
    """Return the motions of N arms.

    The drives clamp every torque to the model's effort limits. An arm that diverges ends in
    numbers that are not finite, and leaves the others alone.

    Args:
        arm: the robot; the arms are all like it but for `perturbations`.
        q: (N, n) positions to start from, or (n,) for all.
        qd: (N, n) velocities, or (n,).
        torques: (N, n) or (n,), held all the time; `PerStep`; or a law, asked for each period.
        steps: how many, 0 or more.
        time_step: s.
        integrator: as of `Dynamics.simulate`; only the default takes stiff friction.
        perturbations: what differs from arm to arm.
        control_every: steps between two calls of a law.
        record_every: steps between two rows of the result; without it, start and end alone.
        progress: called now and then with the number of steps done and in all; `progress_bar`.
        executor: who computes, instead of this process: a process pool, or Dask's
            `client.get_executor()`. A law must pickle then, and sees some of the arms at a time.
        tasks: into how many tasks the arms are divided for an executor: as many as it can work on
            at once, since what Python costs a step is the same for few arms and for many.

    Raises:
        ShapeError: an argument has a wrong shape, or the arms are not equally many everywhere.
        ModelError, FrameNotFound: perturbed arms without dynamics; see `Perturbations.step`.
        ValueError: steps, time_step, integrator or a period is none of those allowed; or friction
            could reverse a joint within a step of this integrator.
    """
    count, h = checked_count(steps), checked_time_step(time_step)
    given, torques = _checked_arguments(arm, q, qd, torques, count)
    given |= perturbations.inputs(arm)
    if integrator in STABLE and arm.joint_without_inertia is None:
        largest = [
            np.max(np.atleast_2d(given.get(name, getattr(arm.model, name))), axis=0, initial=0.0)
            for name in ('viscous', 'coulomb')
        ]
        require_resolved(fastest_friction(arm.model, arm.tree, *largest), integrator, h)
    leading = leading_shape('simulate_batch', list(given), list(given.values()))
    if len(leading) > 1:
        raise ShapeError(f'simulate_batch: the arms have shape {leading}, expected a row (N,)')
    shape = (*(leading or (1,)), arm.model.n)
    start = State(*(np.broadcast_to(given[name], shape) for name in ('q', 'qd')))
    control = checked_period('control_every', control_every)
    every = max(count, 1) if record_every is None else record_every
    record = checked_period('record_every', every)
    batch = Batch(arm, start, torques, perturbations, count, h, integrator, control, record)
    return run(batch, progress) if executor is None else _run_on(executor, batch, tasks, progress)


@dataclass(frozen=True, eq=False)
class Batch:
    """A run to be, its arguments checked. It pickles, so that it may run elsewhere."""

    arm: Dynamics
    start: State  # (N, n) each
    torques: Law | PerStep | Array
    perturbations: Perturbations
    steps: int
    time_step: float
    integrator: str
    control_every: int
    record_every: int

    def part(self, begin: int, end: int) -> Batch:
        """Return the run of some of the arms."""
        torques = self.torques
        if isinstance(torques, PerStep):
            tau = np.asarray(torques.tau)
            torques = PerStep(arms(tau, begin, end) if tau.ndim == 3 else tau)
        elif isinstance(torques, np.ndarray):
            torques = arms(torques, begin, end)
        start = State(*(array[begin:end] for array in self.start))
        perturbations = self.perturbations.part(begin, end)
        return replace(self, start=start, torques=torques, perturbations=perturbations)

    def recorded(self) -> list[int]:
        """Return the steps after which the state is kept."""
        return sorted({*range(0, self.steps, self.record_every), self.steps})

    def stops(self) -> list[int]:
        """Return the steps at which machine code hands over to Python: for a record, a law."""
        report = max(-(-self.steps // REPORTS), UNDISTURBED)
        periods = [report, self.control_every] if callable(self.torques) else [report]
        stops = set(self.recorded()).union(*(range(0, self.steps, period) for period in periods))
        return sorted(stops)


def run(batch: Batch, progress: Progress | None = None) -> BatchRun:
    """Return the motions of a batch, computed here."""
    step = batch.perturbations.step(batch.arm, batch.integrator)
    inputs = {**batch.perturbations.inputs(batch.arm), 'time_step': [batch.time_step]}
    changing = ['tau'] if isinstance(batch.torques, PerStep) else []
    limit = batch.arm.model.effort_limit
    recorded = batch.recorded()
    rows = {after: row for row, after in enumerate(recorded)}
    path = np.empty((2, len(batch.start.q), len(recorded), batch.arm.model.n))
    path[:, :, 0] = state = batch.start
    tau: ArrayLike
    for begin, end in pairwise(batch.stops()):
        if isinstance(batch.torques, PerStep):
            tau = np.asarray(batch.torques.tau)[..., begin:end, :]
        elif not callable(batch.torques):
            tau = batch.torques
        elif begin % batch.control_every == 0:
            tau = batch.torques(begin * batch.time_step, *state)
        effort = np.clip(as_vectors('simulate_batch', 'tau', tau, len(limit)), -limit, limit)
        state = step.advance(
            end - begin, changing=changing, q=state.q, qd=state.qd, tau=effort, **inputs
        )
        if end in rows:
            path[:, :, rows[end]] = state
        if progress is not None:
            progress(end, batch.steps)
    return BatchRun(np.array(recorded) * batch.time_step, *path)


def _run_on(executor: Executor, batch: Batch, tasks: int, progress: Progress | None) -> BatchRun:
    """Return the motions of a batch whose arms are divided among tasks."""
    count = len(batch.start.q)
    tasks = min(checked_period('tasks', tasks), max(count, 1))
    cuts = [count * task // tasks for task in range(tasks + 1)]
    futures = [executor.submit(run, batch.part(*cut)) for cut in pairwise(cuts)]
    for done, _ in enumerate(as_completed(futures), 1):
        if progress is not None:
            progress(batch.steps * done // tasks, batch.steps)
    runs: Sequence[BatchRun] = [future.result() for future in futures]
    _, q, qd = map(np.concatenate, zip(*runs, strict=True))
    return BatchRun(runs[0].t, q, qd)


def _checked_arguments(
    arm: Dynamics, q: ArrayLike, qd: ArrayLike, torques: Law | PerStep | ArrayLike, steps: int
) -> tuple[dict[str, Array], Law | PerStep | Array]:
    """Return the arrays that say how many arms there are, and the torques. Raises ShapeError."""
    n = arm.model.n
    given = {'q': as_vectors('simulate_batch', 'q', q, n)}
    given['qd'] = as_vectors('simulate_batch', 'qd', qd, n)
    if isinstance(torques, PerStep):
        tau = as_vectors('simulate_batch', 'tau', torques.tau, n)
        if tau.ndim not in (2, 3) or tau.shape[-2] != steps:
            raise ShapeError(
                f'simulate_batch: tau has shape {tau.shape}, expected ({steps}, {n}) or '
                f'(N, {steps}, {n})'
            )
        given['tau'] = tau.reshape(*tau.shape[:-2], steps * n)
        return given, PerStep(tau)
    if callable(torques):
        return given, torques
    given['tau'] = as_vectors('simulate_batch', 'tau', torques, n)
    return given, given['tau']
