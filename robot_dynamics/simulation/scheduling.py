"""When the simulator steps, with which torque, and what happens when none arrives. No ROS here.

Two ways to keep time. Free running, a step is due when the wall clock says so, and the newest
command is applied. In lock step, the step after a published state is due only when the command
that answers it has arrived, so that a slow controller slows the simulation down instead of missing
samples, and the same answers give the same motion, bit for bit.

The arm has brakes. They hold it until the first command and, if so chosen, whenever commands stop
arriving. Time is counted in whole steps; wall times come in as arguments, in seconds. What people
ask for (pause, step, reset) is in requests.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robot_dynamics.simulation.commands import Drive, Place, Plant, Push
from robot_dynamics.simulation.pacing import Pace
from robot_dynamics.simulation.simulator import SimulationDiverged
from robot_dynamics.spatial import Array


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
    wrench_timeout: float = 0.1  # simulated time
    start_paused: bool = False


class Command(NamedTuple):
    """A torque for the motors, and the state it answers."""

    tau: Array  # (n,) N m or N
    stamp: int | None  # ns; None where the message has no stamp
    heard: float  # s, wall time


class SimulationLoop:
    """Drives a plant by commands and a wall clock.

    Attributes:
        steps: made since time began, which a reset may let begin again.
        paused: no step is due.
        diverged: why the motion cannot go on without a reset; empty if it can.
        starved: commands have come, and come no more.
        missed: in lock step, states without an answer; else, times commands ran dry.
        strays: answers to a state other than the present one.
    """

    def __init__(
        self,
        plant: Plant,
        start: Place,
        options: LoopOptions,
        epoch: Callable[[], int] = lambda: 0,
    ):
        """Begin at a start; `epoch` says what stamp [ns] that is whenever time begins."""
        self.plant, self.options = plant, options
        self._new_epoch = epoch
        self.epoch = epoch()
        self.pace = Pace(options.time_step, options.real_time_factor)
        self._step_ns = round(options.time_step * 1e9)
        self._zero = np.zeros_like(plant.q)
        self.paused = options.start_paused
        self.missed = self.strays = 0
        self.steps = 0
        self.place(start)

    def place(self, start: Place) -> None:
        """Put the arm somewhere, with no command and nothing that presses on it."""
        self.diverged = ''
        self.starved = False
        self._named: Command | None = None
        self._ordered: Command | None = None
        self._torque: Array | None = None  # for the steps until the next choice; None: brakes
        self._last_torque = self._zero
        self._until: dict[str, int] = {}  # steps, of the wrenches
        # Brakes hold an arm at rest; one that is put in motion moves.
        self._held = self.options.hold_until_command and not start.qd.any()
        for frame in [*self.plant.pushes]:
            self.plant.apply(Push(frame, None))
        self.plant.apply(Drive(None))
        self.plant.apply(start)
        self.wait_anew()

    def begin_time(self) -> None:
        """Let time begin again at zero."""
        self._until = {frame: end - self.steps for frame, end in self._until.items()}
        self.steps, self.epoch = 0, self._new_epoch()
        if self._named is not None:
            self._named = self._named._replace(stamp=None)  # of the time before

    def wait_anew(self) -> None:
        """Publish the present state again; the wait for its answer begins anew."""
        self._published: tuple[int, float, float] | None = None  # steps; first, last wall time
        self.pace.forget()

    def choose(self, options: LoopOptions) -> None:
        """Go on with other options; the time step and the start stay."""
        self.options = options
        self.pace.choose(options.real_time_factor)

    # -- what it is, and what it is told ----------------------------------------------------

    @property
    def stamp(self) -> int:
        """The present state's, ns."""
        return self.epoch + self.steps * self._step_ns

    @property
    def time(self) -> float:
        """Simulated time since it began, s."""
        return self.steps * self._step_ns / 1e9

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

    def push(self, push: Push) -> None:
        """Let a finite wrench press on a frame that exists, for the wrenches' timeout."""
        steps = max(1, round(self.options.wrench_timeout / self.options.time_step))
        self._until[push.frame] = self.steps + steps
        self.plant.apply(push if np.any(push.wrench) else Push(push.frame, None))

    def published(self, now: float) -> None:
        """Note that the present state went out."""
        if self._published is None or self._published[0] != self.steps:
            self._published = self.steps, now, now
        else:
            self._published = self.steps, self._published[1], now

    # -- when to step -----------------------------------------------------------------------

    def due(self, now: float) -> bool:
        """Say whether the next step has to be made now."""
        if self.pace.jumped(now):
            self.wait_anew()
        if self.paused or not self.pace.is_due(now, self.steps):
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

    @property
    def _at_choice(self) -> bool:
        # The state after these steps is published, and a new command chosen.
        return self.steps % self.options.publish_every == 0

    def _worth_waiting(self, now: float) -> bool:
        if self._is_answer(self._named):
            return False
        if self._published is None or self._published[0] != self.steps:
            return True
        if not self.commanded and self._held:
            return True
        return now - self._published[1] < self.options.command_timeout

    def _is_answer(self, command: Command | None) -> bool:
        return command is not None and command.stamp == self.stamp

    # -- stepping ---------------------------------------------------------------------------

    def step(self, now: float) -> None:
        """Make one step of simulated time."""
        self.pace.begins(now, self.steps)
        if self.options.lockstep:
            if self._at_choice:
                self._torque = self._answer()
        else:
            self._torque = self._newest(now)
        self._move()

    def step_with_last(self) -> None:
        """Make one step with the last command, however old."""
        command = self._named or self._ordered
        self._torque = self._without_command() if command is None else command.tau
        self._move()

    def _answer(self) -> Array | None:
        answered = self._is_answer(self._named)
        self.starved = self.commanded and not answered
        if answered:
            return self._named.tau
        self.missed += 1
        return self._without_command()

    def _newest(self, now: float) -> Array | None:
        for command in (self._named, self._ordered):
            # Of a command from the future of a clock that ran backwards nobody knows the age.
            if command is not None and 0 <= now - command.heard <= self.options.command_timeout:
                self.starved = False
                return command.tau
        if self.commanded and not self.starved:
            self.starved = True
            self.missed += 1
        return self._without_command()

    def _without_command(self) -> Array | None:
        if not self.commanded:
            return None if self._held else self._zero
        fallback = {'brake': None, 'zero': self._zero, 'hold_last': self._last_torque}
        return fallback[self.options.on_command_timeout]

    def _move(self) -> None:
        if self._until:
            self._release()
        self.plant.apply(Drive(self._torque))
        if self._torque is not None:
            self._last_torque = self._torque
        try:
            self.plant.step()
        except SimulationDiverged as error:
            self.paused = True
            self.diverged = f'paused at {self.time:.3f} s, reset to go on: {error}'
        else:
            self.steps += 1

    def _release(self) -> None:
        for frame in [frame for frame, end in self._until.items() if end <= self.steps]:
            del self._until[frame]
            self.plant.apply(Push(frame, None))
