"""When the simulator steps, with which torque, and what happens when none arrives. No ROS here.

Two ways to keep time. Free running, a step is due when the wall clock says so, and the newest
command is applied. In lock step, the step after a published state is due only when the command
that answers it has arrived, so that a slow controller slows the simulation down instead of missing
samples, and the same answers give the same motion, bit for bit.

The arm has brakes. They hold it until the first command and, if so chosen, whenever commands stop
arriving. Time is counted in whole steps; wall times come in as arguments, in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.spatial import Array

LAG = 0.1  # s; further behind than this the schedule starts afresh instead of catching up


@dataclass(frozen=True)
class LoopOptions:
    """How the loop behaves; times in seconds."""

    time_step: float = 1e-3
    publish_every: int = 1  # steps
    real_time_factor: float = 1.0  # 0: as fast as possible
    lockstep: bool = False
    command_timeout: float = 0.5  # wall time
    on_command_timeout: str = 'brake'  # or zero, or hold_last
    hold_until_command: bool = True
    start_paused: bool = False


class Command(NamedTuple):
    """A torque for the motors, and the state it answers."""

    tau: Array  # (n,) N m or N
    stamp: int | None  # ns; None where the message has no stamp
    heard: float  # s, wall time


class Outcome(NamedTuple):
    """What a request to the loop came to."""

    success: bool
    message: str


class SimulationLoop:
    """Drives a Simulator by commands and a wall clock."""

    def __init__(self, simulator: Any, initial: Array, options: LoopOptions):
        """Start at rest.

        Args:
            simulator: has q, qd, effort, step(tau) and reset(q, qd).
            initial: (n,) positions to start from, and to return to on reset.
            options: see LoopOptions.
        """
        self.simulator, self.options = simulator, options
        self._initial = np.array(initial, dtype=float)
        self._step_ns = round(options.time_step * 1e9)
        self.paused = options.start_paused
        self.overruns = 0  # steps that began more than one step late
        self.missed = 0  # in lock step, states without an answer; else, times commands ran dry
        self.strays = 0  # answers to a state other than the present one
        self._start()

    def _start(self) -> None:
        self.steps = 0
        self.diverged = ''
        self._rest(self._initial)
        self._named: Command | None = None
        self._ordered: Command | None = None
        self._torque: Array | None = None  # for the steps until the next choice; None: brakes
        self._last_torque = np.zeros(len(self._initial))
        self.starved = False  # commands have come, and come no more
        self._schedule: tuple[float, int] | None = None  # (wall time, steps) it counts from
        self._published: tuple[int, float, float] | None = None  # steps; first, last wall time
        self._measured: tuple[float, int] | None = None

    # -- what it is, and what it is told ----------------------------------------------------

    @property
    def stamp(self) -> int:
        """Simulated time, ns."""
        return self.steps * self._step_ns

    @property
    def applied_effort(self) -> Array:
        """What the motors supply (n,): nothing while the brakes hold."""
        return np.zeros(len(self._initial)) if self.braked else self.simulator.effort

    @property
    def commanded(self) -> bool:
        """Whether any command has arrived since the start."""
        return self._named is not None or self._ordered is not None

    def command(self, command: Command) -> None:
        """Take a finite command in the model's order; one with a stamp is preferred.

        In lock step one without a stamp answers nothing, and is ignored.
        """
        if command.stamp is None:
            if not self.options.lockstep:
                self._ordered = command
        elif self.options.lockstep and command.stamp != self.stamp:
            self.strays += 1
        else:
            self._named = command

    def published(self, now: float) -> None:
        """Note that the present state went out."""
        if self._published is None or self._published[0] != self.steps:
            self._published = self.steps, now, now
        else:
            self._published = self.steps, self._published[1], now

    # -- when to step -----------------------------------------------------------------------

    def due(self, now: float) -> bool:
        """Say whether the next step has to be made now."""
        if self.paused or self.diverged or now < self._due_time(now):
            return False
        return not (self.options.lockstep and self._at_choice and self._worth_waiting(now))

    def wants_publishing(self, now: float, repeat_after: float) -> bool:
        """Say whether the state has to go out: it is new, or it was too long ago.

        A repetition reaches those who lost the message, or came late.
        """
        if self._published is None:
            return True
        steps, _, last = self._published
        return (steps != self.steps and self._at_choice) or now - last >= repeat_after

    def real_time_factor(self, now: float) -> float:
        """Return simulated time per wall time since the last call, 0 at the first."""
        before, self._measured = self._measured, (now, self.steps)
        if before is None or now <= before[0]:
            return 0.0
        return (self.steps - before[1]) * self.options.time_step / (now - before[0])

    @property
    def _at_choice(self) -> bool:
        # The state after these steps is published, and a new command chosen.
        return self.steps % self.options.publish_every == 0

    def _worth_waiting(self, now: float) -> bool:
        if self._is_answer(self._named):
            return False
        if self._published is None or self._published[0] != self.steps:
            return True
        if not self.commanded and self.options.hold_until_command:
            return True
        return now - self._published[1] < self.options.command_timeout

    def _is_answer(self, command: Command | None) -> bool:
        return command is not None and command.stamp == self.stamp

    def _due_time(self, now: float) -> float:
        factor = self.options.real_time_factor
        if factor == 0 or self._schedule is None:
            return now
        start, steps = self._schedule
        return start + (self.steps - steps) * self.options.time_step / factor

    # -- stepping ---------------------------------------------------------------------------

    def step(self, now: float) -> None:
        """Make one step of simulated time."""
        self._keep_schedule(now)
        if self.options.lockstep:
            if self._at_choice:
                self._torque = self._answer()
        else:
            self._torque = self._newest(now)
        self._move(self._torque)

    def _keep_schedule(self, now: float) -> None:
        late = now - self._due_time(now)
        if self.options.real_time_factor > 0:
            self.overruns += late > self.options.time_step / self.options.real_time_factor
        if self._schedule is None or late > LAG:
            self._schedule = now, self.steps

    def _answer(self) -> Array | None:
        answered = self._is_answer(self._named)
        self.starved = self.commanded and not answered
        if answered:
            return self._named.tau
        self.missed += 1
        return self._without_command()

    def _newest(self, now: float) -> Array | None:
        for command in (self._named, self._ordered):
            if command is not None and now - command.heard <= self.options.command_timeout:
                self.starved = False
                return command.tau
        if self.commanded and not self.starved:
            self.starved = True
            self.missed += 1
        return self._without_command()

    def _without_command(self) -> Array | None:
        zero = np.zeros(len(self._initial))
        if not self.commanded:
            return None if self.options.hold_until_command else zero
        fallback = {'brake': None, 'zero': zero, 'hold_last': self._last_torque}
        return fallback[self.options.on_command_timeout]

    def _move(self, tau: Array | None) -> None:
        self.steps += 1
        if tau is None:
            if not self.braked:
                self._rest(self.simulator.q)
            return
        self.braked = False
        self._last_torque = tau
        try:
            self.simulator.step(tau)
        except (RobotDynamicsError, np.linalg.LinAlgError) as error:
            self.diverged = f'stopped at {self.stamp / 1e9:.3f} s, reset to go on: {error}'
            self._rest(self.simulator.q)

    def _rest(self, q: Array) -> None:
        self.simulator.reset(np.array(q), np.zeros(len(self._initial)))
        self.braked = True

    # -- services ---------------------------------------------------------------------------

    def reset(self) -> Outcome:
        """Return to the initial positions, at rest, at time zero."""
        self._start()
        return Outcome(True, 'reset' + (', paused' if self.paused else ''))

    def pause(self) -> Outcome:
        """Stop time."""
        before, self.paused = self.paused, True
        return Outcome(True, 'was paused already' if before else 'paused')

    def resume(self, now: float) -> Outcome:
        """Let time go on."""
        if self.diverged:
            return Outcome(False, self.diverged)
        before, self.paused = self.paused, False
        if before:
            self._schedule = None
            self._published = None  # and the wait for an answer begins anew
        return Outcome(True, 'resumed' if before else 'was running already')

    def single_step(self) -> Outcome:
        """Make one step with the last command, while paused."""
        if self.diverged:
            return Outcome(False, self.diverged)
        if not self.paused:
            return Outcome(False, 'running: pause first')
        command = self._named or self._ordered
        self._torque = self._without_command() if command is None else command.tau
        self._move(self._torque)
        return Outcome(not self.diverged, self.diverged or f'at {self.stamp / 1e9:.3f} s')
