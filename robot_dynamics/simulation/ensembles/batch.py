# SPDX-License-Identifier: Apache-2.0
"""Simulation of a batch of arms that differ in their starts and parameters.

    run = simulate_batch(arm, q0, qd0, law, steps=3000, perturbations=Perturbations(...))
    run.t, run.q, run.qd

Compiled steps process the arms side by side. The result of an arm has the same bits for any batch,
any number of threads, and any process. The base is fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.codegen.calls import CompiledFunction
from robot_dynamics.codegen.calls.arguments import as_vectors, leading_shape
from robot_dynamics.common.errors import ShapeError
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.algorithms.integrators import check_integrator
from robot_dynamics.core.algorithms.servo_drive import SERVO_INPUTS
from robot_dynamics.core.algorithms.simulation_step import State
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coefficients import JointFriction
from robot_dynamics.core.friction.friction_settings import FrictionSettings
from robot_dynamics.core.rollout import (
    check_friction,
    checked_count,
    checked_time_step,
    evaluates_friction,
    fastest_friction,
    require_resolved,
)
from robot_dynamics.simulation.argument_checks import checked_period
from robot_dynamics.simulation.ensembles.perturbations import AS_MODELLED, Perturbations, arms
from robot_dynamics.simulation.joint_models.friction_step import (
    SlidingState,
    friction_step,
    step_inputs,
)
from robot_dynamics.simulation.joint_models.servo import (
    Servo,
    Servos,
    damped,
    servos_of,
    with_damping,
)

# tau (N, n) or (n,) = law(t, q (N, n), qd (N, n)): a pure function of each arm by itself.
Law: TypeAlias = Callable[[float, Array, Array], ArrayLike]

# progress(steps done, steps in all)
Progress: TypeAlias = Callable[[int, int], object]

# Number of progress reports; steps between two of them, at least.
REPORTS = 100
UNDISTURBED = 100


@dataclass(frozen=True, eq=False)
class PerStep:
    """Torques given step by step: (steps, n) for all arms, or (N, steps, n)."""

    tau: ArrayLike


class BatchRun(NamedTuple):
    """Motions, one row per recorded step; the first row is the start, the last the end."""

    t: Array  # (k,) s
    q: Array  # (N, k, n) rad or m
    qd: Array  # (N, k, n)

    @property
    def diverged(self) -> Array:
        """Whether each arm (N,) ended in values that are not finite."""
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
    friction: str | FrictionSettings = 'model',
    servo: Servo | None = None,
    control_every: int = 1,
    record_every: int | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
    tasks: int = 8,
) -> BatchRun:
    """Return the motions of N arms.

    The drives clamp every torque to the model's effort limits. With a servo, positions take the
    place of torques: `torques` are commands (rad or m), and the servos hold the start before the
    first one. An arm that diverges ends in
    values that are not finite, and does not affect the others.

    Args:
        arm: the robot that the arms are, but for `perturbations`.
        q: (N, n) positions to start from, or (n,) for all.
        qd: (N, n) velocities, or (n,).
        torques: (N, n) or (n,), constant; `PerStep`; or a law, evaluated once per period.
        steps: number of steps, 0 or more.
        time_step: s.
        integrator: as of `Dynamics.simulate`; only the default takes stiff viscous friction.
        perturbations: differences between the arms.
        friction: 'model': smooth friction of the model and the perturbations; 'none'; or a law,
            with the default integrator.
        servo: position servos, with the default integrator; None: drives take torques.
        control_every: steps between two calls of a law.
        record_every: steps between two rows of the result; without it, start and end alone.
        progress: called with the number of steps done and of all steps; see `progress_bar`.
        executor: a process pool, or Dask's `client.get_executor()`; None: this process. A law must
            pickle for it, and is called with the arms of one task.
        tasks: number of tasks for an executor: as many as it can run at once, since the time in
            Python per step does not depend on the number of arms.

    Raises:
        ShapeError: an argument has a wrong shape, or their numbers of arms differ.
        ModelError, FrameNotFound: perturbed arms without dynamics; see `Perturbations.step`; a
            property of the servo is out of range.
        FrictionLawError: an unknown law, or a coefficient that it does not have.
        ValueError: steps, time_step, integrator, friction or a period is invalid; or viscous
            friction could reverse a joint within a step of this integrator.
    """
    check_integrator(integrator)
    count, h = checked_count(steps), checked_time_step(time_step)
    given, torques = _checked_arguments(arm, q, qd, torques, count)
    servos = _servos(arm, servo, h, integrator)
    law = _friction_law(arm, friction, integrator, servos)
    if friction == 'none':
        arm, perturbations = arm.without_friction(), perturbations.without_friction()
    if servos is not None:
        arm, perturbations = with_damping(arm, servos), perturbations.damped(servos.kd)
    given |= perturbations.inputs(arm)
    _require_resolved(
        perturbations.lightest(arm), given.get('viscous', arm.model.viscous), integrator, h
    )
    start = _start(given, arm.model.n)
    control = checked_period('control_every', control_every)
    every = max(count, 1) if record_every is None else record_every
    record = checked_period('record_every', every)
    settings = (perturbations, law, servos, count, h, integrator, control, record)
    batch = Batch(arm, start, torques, *settings)
    if executor is None:
        return run(batch, progress)
    return _run_on(Workers(executor, tasks), batch, progress)


class Workers(NamedTuple):
    """An executor, and the number of tasks for it: as many as it can run at once."""

    executor: Executor
    tasks: int = 8


@dataclass(frozen=True, eq=False)
class Batch:
    """Checked arguments of a run. It pickles, so that another process can run it."""

    arm: Dynamics
    start: State  # (N, n) each
    torques: Law | PerStep | Array
    perturbations: Perturbations
    law: JointFriction | None  # of friction
    servos: Servos | None
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

    def step(self) -> CompiledFunction:
        """Return the compiled step."""
        perturbations, servo = self.perturbations, self.servos is not None
        if self.law is None:
            return perturbations.step(self.arm, self.integrator, servo)
        rotors = () if perturbations.rotor_inertia is None else ('rotor_inertia',)
        drives = (*rotors, *(SERVO_INPUTS if servo else ()))
        return friction_step(self.arm, self.law.law.memory, perturbations.payload_link, drives)

    def inputs(self) -> dict[str, ArrayLike]:
        """Return the inputs of the step besides state and torques."""
        perturbed = self.perturbations.inputs(self.arm)
        if self.servos is not None:
            perturbed |= dict(zip(SERVO_INPUTS, (self.servos.kp, self.servos.limit), strict=True))
        if self.law is not None:
            # Coefficients that the perturbations omit are those of the law.
            own = step_inputs(self.law)
            omitted = [name for name in own if getattr(self.perturbations, name, None) is None]
            perturbed = {**perturbed, **{name: own[name] for name in omitted}}
        return {**perturbed, 'time_step': [self.time_step]}

    def recorded(self) -> list[int]:
        """Return the steps after which the state is recorded."""
        return sorted({*range(0, self.steps, self.record_every), self.steps})

    def stops(self) -> list[int]:
        """Return the steps at which machine code returns to Python: for a record or a law."""
        report = max(-(-self.steps // REPORTS), UNDISTURBED)
        periods = [report, self.control_every] if callable(self.torques) else [report]
        stops = set(self.recorded()).union(*(range(0, self.steps, period) for period in periods))
        return sorted(stops)


def run(batch: Batch, progress: Progress | None = None) -> BatchRun:
    """Return the motions of a batch, computed here."""
    step, inputs = batch.step(), batch.inputs()
    by_step = isinstance(batch.torques, PerStep) or batch.servos is not None
    changing = ['tau'] if by_step else []
    limit = batch.arm.model.effort_limit
    recorded = batch.recorded()
    row_of = {after: row for row, after in enumerate(recorded)}
    path = np.empty((2, len(batch.start.q), len(recorded), batch.arm.model.n))
    path[:, :, 0] = batch.start
    state: State | SlidingState = batch.start
    if batch.law is not None:
        still = np.zeros_like(batch.start.q)
        state = SlidingState(batch.start.q, batch.start.qd, still, still)
    commanded = () if batch.servos is None else batch.servos.rest(batch.start.q)
    tau: ArrayLike
    for begin, end in pairwise(batch.stops()):
        if isinstance(batch.torques, PerStep):
            tau = np.asarray(batch.torques.tau)[..., begin:end, :]
        elif not callable(batch.torques):
            tau = batch.torques
        elif begin % batch.control_every == 0:
            tau = batch.torques(begin * batch.time_step, state.q, state.qd)
        tau = as_vectors('simulate_batch', 'tau', tau, len(limit))
        if batch.servos is None:
            effort = np.clip(tau, -limit, limit)
        else:
            rows = tau if isinstance(batch.torques, PerStep) else tau[..., None, :]
            effort, commanded = batch.servos.all_held(commanded, rows, end - begin)
        state = step.advance(
            end - begin, changing=changing, **state._asdict(), tau=effort, **inputs
        )
        if end in row_of:
            path[:, :, row_of[end]] = state.q, state.qd
        if progress is not None:
            progress(end, batch.steps)
    return BatchRun(np.array(recorded) * batch.time_step, *path)


def _run_on(workers: Workers, batch: Batch, progress: Progress | None) -> BatchRun:
    """Return the motions of a batch whose arms are divided among tasks."""
    count = len(batch.start.q)
    tasks = min(checked_period('tasks', workers.tasks), max(count, 1))
    cuts = [count * task // tasks for task in range(tasks + 1)]
    futures = [workers.executor.submit(run, batch.part(*cut)) for cut in pairwise(cuts)]
    for done, _ in enumerate(as_completed(futures), 1):
        if progress is not None:
            progress(batch.steps * done // tasks, batch.steps)
    runs: Sequence[BatchRun] = [future.result() for future in futures]
    _, q, qd = map(np.concatenate, zip(*runs, strict=True))
    return BatchRun(runs[0].t, q, qd)


def _checked_arguments(
    arm: Dynamics, q: ArrayLike, qd: ArrayLike, torques: Law | PerStep | ArrayLike, steps: int
) -> tuple[dict[str, Array], Law | PerStep | Array]:
    """Return the arrays that define the number of arms, and the torques. Raises ShapeError."""
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


def _friction_law(
    arm: Dynamics, friction: str | FrictionSettings, integrator: str, servos: Servos | None
) -> JointFriction | None:
    """Return the law of friction with the damping of servos; None: that of the model, or none.

    Raises:
        FrictionLawError: as `FrictionSettings.of`.
        ValueError: an unknown name, or a law with another integrator than the default.
    """
    if not isinstance(friction, FrictionSettings):
        check_friction(friction)
        return None
    law = damped(friction.of(arm.model), servos)
    if integrator != 'semi_implicit_euler':
        raise ValueError(
            f'integrator is {integrator!r}; with a friction law it must be semi_implicit_euler'
        )
    return law


def _servos(arm: Dynamics, servo: Servo | None, h: float, integrator: str) -> Servos | None:
    """Return the servos, None without. Raises ModelError; ValueError for another integrator."""
    if servo is not None and integrator != 'semi_implicit_euler':
        raise ValueError(
            f'integrator is {integrator!r}; with a servo it must be semi_implicit_euler'
        )
    return servos_of(arm.model, servo, h, integrator)


def _require_resolved(arm: Dynamics, viscous: Array, integrator: str, h: float) -> None:
    """Raise ValueError if viscous friction (..., n) of an arm could reverse a joint in a step."""
    if evaluates_friction(integrator) and arm.joint_without_inertia is None:
        largest = np.atleast_2d(viscous).max(axis=0, initial=0.0)
        require_resolved(fastest_friction(arm.model, arm.tree, largest), integrator, h)


def _start(given: Mapping[str, Array], n: int) -> State:
    """Return positions and velocities (N, n) of as many arms as the arrays are for.

    Raises:
        ShapeError: the arrays are for different numbers of arms, or not for a row of them.
    """
    leading = leading_shape('simulate_batch', list(given), list(given.values()))
    if len(leading) > 1:
        raise ShapeError(f'simulate_batch: the arms have shape {leading}, expected a row (N,)')
    shape = (*(leading or (1,)), n)
    return State(*(np.broadcast_to(given[name], shape) for name in ('q', 'qd')))
