# SPDX-License-Identifier: Apache-2.0
"""Schedule of the simulator's steps, by a clock or in lock-step, and the torque of each step.

Free running, a step is due when the wall clock says so, and the newest command is applied. In
lock step, the step after a published state is due when the command with the stamp of that state
has arrived: a slow controller slows the simulation down instead of missing samples, and the same
commands give the same motion bit for bit.

Brakes hold the arm until the first command and, if so configured, when commands stop. Simulated
time is counted in whole steps; wall times are arguments, in seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.simulation.errors import SimulationDiverged
from robot_dynamics.simulation.joint_models.servo import ServoCommand
from robot_dynamics.simulation.plant import EffortCommand, ExternalWrench, Plant, SetState
from robot_dynamics.simulation.sensors import Measured, Sensing

TIMER_PERIOD = 1e-3  # s, shortest period of the timer that polls the schedule
LONGEST_LAG = 0.1  # s; a schedule that is further behind is restarted
LATE = 1.5  # timer periods, from which on a step counts as late


class Pace:
    """Wall times of the steps.

    Steps follow a schedule that counts from the wall time of its first step. A step may begin
    half a timer period early, so that a timer with jitter still makes one step per period. A
    schedule far behind is restarted instead of being caught up, and so is one whose clock ran
    backwards.

    Attributes:
        period: of the timer that polls the schedule, s.
        late: number of steps that began late.
        restarts: number of schedules given up because they were far behind.
        jumps: number of times the clock ran backwards.
    """

    def __init__(self, time_step: float, factor: float):
        """Set the time step [s] and the real-time factor; 0: as fast as possible."""
        self.late = self.restarts = self.jumps = 0
        self._time_step = time_step
        self._last = -float('inf')  # wall time of the last poll
        self._measured: tuple[float, int] | None = None
        self.set_factor(factor)

    def set_factor(self, factor: float) -> None:
        """Set the real-time factor; 0: as fast as possible."""
        self._step_period = self._time_step / factor if factor > 0 else 0.0
        self.period = max(self._step_period, TIMER_PERIOD)
        self._slack = min(self._step_period, TIMER_PERIOD) / 2
        self.restart()

    def restart(self) -> None:
        """Start a new schedule with the next step."""
        self._schedule: tuple[float, int] | None = None  # wall time, steps

    def clock_jumped(self, now: float) -> bool:
        """Return whether the clock ran backwards since the last call; restart if it did."""
        backwards, self._last = now < self._last, now
        if backwards:
            self.jumps += 1
            self._measured = None
            self.restart()
        return backwards

    def is_due(self, now: float, steps: int) -> bool:
        """Return whether the next step, after so many, may begin."""
        return now >= self._time_of(steps, now) - self._slack

    def begin_step(self, now: float, steps: int) -> None:
        """Record that the next step, after so many, begins."""
        late = now - self._time_of(steps, now)
        if self._step_period:
            self.late += late > LATE * self.period
        if self._schedule is None:
            self._schedule = now, steps
        elif late > LONGEST_LAG:
            self.restarts += bool(self._step_period)
            self._schedule = now, steps

    def factor(self, now: float, steps: int) -> float:
        """Return simulated time per wall time since the last call, 0 at the first."""
        before, self._measured = self._measured, (now, steps)
        if before is None or now <= before[0]:
            return 0.0
        return (steps - before[1]) * self._time_step / (now - before[0])

    def _time_of(self, steps: int, now: float) -> float:
        if self._schedule is None or not self._step_period:
            return now
        began, steps_then = self._schedule
        return began + (steps - steps_then) * self._step_period


@dataclass(frozen=True)
class LoopOptions:
    """Options of the simulation loop; times in seconds."""

    time_step: float = 1e-3
    publish_every: int = 1  # steps
    real_time_factor: float = 1.0  # 0: as fast as possible
    lockstep: bool = False
    command_timeout: float = 0.5  # wall time
    on_command_timeout: str = 'brake'  # or zero, or hold_last
    hold_until_command: bool = True
    wrench_timeout: float = 0.1  # simulated time
    start_paused: bool = False


class ReceivedCommand(NamedTuple):
    """Torques of the drives or positions of servos, with the stamp of the state they answer."""

    command: Array | ServoCommand  # (n,) torques, N m or N
    stamp: int | None  # ns; None: the message has no stamp
    received: float  # s, wall time


class SimulationLoop:
    """Steps a plant by received commands and a wall clock.

    Attributes:
        steps: number of steps since time zero.
        paused: whether no step is due.
        diverged: reason why only a reset can continue the motion; empty if none.
        starved: whether commands arrived before, and stopped.
        missed: in lock step, states without a command; else, times commands stopped.
        measured: the present state as the sensors measure it.
        unmatched: commands with the stamp of another state than the present one.
    """

    def __init__(
        self,
        plant: Plant,
        start: SetState,
        options: LoopOptions,
        epoch: Callable[[], int] = lambda: 0,
        sensing: Sensing | None = None,
    ):
        """Begin at a start.

        Args:
            plant: the arm.
            start: its first state.
            options: of the loop.
            epoch: returns the stamp [ns] of time zero at each reset.
            sensing: the sensors of one arm, read after each step; None: exact.
        """
        self.plant, self.options = plant, options
        self._sensing = sensing
        self._new_epoch = epoch
        self.epoch = epoch()
        self.pace = Pace(options.time_step, options.real_time_factor)
        self._step_ns = round(options.time_step * SECOND)
        self.paused = options.start_paused
        self.missed = self.unmatched = 0
        self.steps = 0
        self.set_state(start)

    def set_state(self, start: SetState) -> None:
        """Set the state, and drop all commands and wrenches."""
        self.diverged = ''
        self.starved = False
        self._stamped: ReceivedCommand | None = None
        self._unstamped: ReceivedCommand | None = None
        # For the steps until the next choice; None: brakes.
        self._command: Array | ServoCommand | None = None
        # No torque; servos hold the start.
        servo = self.plant.simulator.joint_models.servo
        self._idle = np.zeros_like(start.q) if servo is None else ServoCommand(np.array(start.q))
        self._last_command = self._idle
        self._until: dict[str, int] = {}  # steps at which the wrenches end
        # Brakes hold an arm that starts at rest.
        self._held = self.options.hold_until_command and not start.qd.any()
        for frame in [*self.plant.wrenches]:
            self.plant.apply(ExternalWrench(frame, None))
        self.plant.apply(EffortCommand(None))
        self.plant.apply(start)
        if self._sensing is not None:
            self._sensing.reset()
        self._measure()
        self.restart_wait()

    def reset_time(self) -> None:
        """Set the simulated time to zero."""
        self._until = {frame: end - self.steps for frame, end in self._until.items()}
        self.steps, self.epoch = 0, self._new_epoch()
        self.plant.simulator.base_steps = 0
        if self._stamped is not None:
            self._stamped = self._stamped._replace(stamp=None)  # of the time before the reset

    def restart_wait(self) -> None:
        """Publish the present state again, and restart the wait for its command."""
        self._published: tuple[int, float, float] | None = None  # steps; first, last wall time
        self.pace.restart()

    def set_options(self, options: LoopOptions) -> None:
        """Set the options; time step and start are not changed."""
        self.options = options
        self.pace.set_factor(options.real_time_factor)

    # -- state and inputs -------------------------------------------------------------------

    @property
    def stamp(self) -> int:
        """Stamp of the present state, ns."""
        return self.epoch + self.steps * self._step_ns

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return self.steps * self._step_ns / SECOND

    @property
    def commanded(self) -> bool:
        """Whether a command has arrived since the start."""
        return self._stamped is not None or self._unstamped is not None

    def command(self, command: ReceivedCommand) -> None:
        """Store a finite command in the model's order; one with a stamp takes precedence.

        In lock step, a command without a stamp is ignored.
        """
        given = command.command
        copied = given.copied() if isinstance(given, ServoCommand) else np.array(given)
        command = command._replace(command=copied)
        if command.stamp is None:
            if not self.options.lockstep:
                self._unstamped = command
        elif self.options.lockstep and command.stamp != self.stamp:
            self.unmatched += 1
        else:
            self._stamped = command

    def apply_wrench(self, wrench: ExternalWrench) -> None:
        """Apply a finite wrench to an existing frame until the wrench timeout."""
        steps = max(1, round(self.options.wrench_timeout / self.options.time_step))
        self._until[wrench.frame] = self.steps + steps
        self.plant.apply(wrench if np.any(wrench.wrench) else ExternalWrench(wrench.frame, None))

    def state_published(self, now: float) -> None:
        """Record that the present state was published."""
        if self._published is None or self._published[0] != self.steps:
            self._published = self.steps, now, now
        else:
            self._published = self.steps, self._published[1], now

    # -- when to step -----------------------------------------------------------------------

    def is_due(self, now: float) -> bool:
        """Return whether the next step is due."""
        if self.pace.clock_jumped(now):
            self.restart_wait()
        if self.paused or not self.pace.is_due(now, self.steps):
            return False
        return not (self.options.lockstep and self._at_choice and self._should_wait(now))

    def needs_publishing(self, now: float, repeat_after: float) -> bool:
        """Return whether the state is new, or was last published `repeat_after` ago [s].

        A repeated message reaches late subscribers and those that lost the first one.
        """
        if self._published is None:
            return True
        steps, _, last = self._published
        return (steps != self.steps and self._at_choice) or now - last >= repeat_after

    @property
    def _at_choice(self) -> bool:
        # The state after these steps is published, and a new command chosen.
        return self.steps % self.options.publish_every == 0

    def _should_wait(self, now: float) -> bool:
        if self._answer() is not None:
            return False
        if self._published is None or self._published[0] != self.steps:
            return True
        if not self.commanded and self._held:
            return True
        return now - self._published[1] < self.options.command_timeout

    # -- stepping ---------------------------------------------------------------------------

    def step(self, now: float) -> None:
        """Make one step of simulated time."""
        self.pace.begin_step(now, self.steps)
        if not self.options.lockstep:
            self._command = self._newest(now)
        elif self._at_choice:
            self._command = self._answered()
        self._move()

    def step_with_last(self) -> None:
        """Make one step with the last command, of any age."""
        command = self._stamped or self._unstamped
        self._command = self._without_command() if command is None else command.command
        self._move()

    def _answer(self) -> ReceivedCommand | None:
        """Return the command with the stamp of the present state."""
        command = self._stamped
        return command if command is not None and command.stamp == self.stamp else None

    def _answered(self) -> Array | ServoCommand | None:
        command = self._answer()
        self.starved = self.commanded and command is None
        if command is not None:
            return command.command
        self.missed += 1
        return self._without_command()

    def _newest(self, now: float) -> Array | ServoCommand | None:
        for command in (self._stamped, self._unstamped):
            # A command received after `now`, by a clock that ran backwards, counts as too old.
            if command is None or not 0 <= now - command.received <= self.options.command_timeout:
                continue
            self.starved = False
            return command.command
        if self.commanded and not self.starved:
            self.starved = True
            self.missed += 1
        return self._without_command()

    def _without_command(self) -> Array | ServoCommand | None:
        if not self.commanded:
            return None if self._held else self._idle
        fallback: dict[str, Array | ServoCommand | None] = {
            'brake': None,
            'zero': self._idle,
            'hold_last': self._last_command,
        }
        return fallback[self.options.on_command_timeout]

    def _move(self) -> None:
        if self._until:
            self._end_wrenches()
        command = self._command
        self.plant.apply(command if isinstance(command, ServoCommand) else EffortCommand(command))
        if command is not None:
            self._last_command = command
        try:
            self.plant.step()
        except SimulationDiverged as error:
            self.paused = True
            self.diverged = f'paused at {self.time:.3f} s; reset to continue: {error}'
        else:
            self.steps += 1
            self._measure()

    def _measure(self) -> None:
        plant = self.plant
        self.measured = Measured(plant.q, plant.qd, plant.effort)
        if self._sensing is not None:
            rows = self._sensing.read(*(x[None] for x in self.measured))
            self.measured = Measured(*(x[0] for x in rows))

    def _end_wrenches(self) -> None:
        for frame in [frame for frame, end in self._until.items() if end <= self.steps]:
            del self._until[frame]
            self.plant.apply(ExternalWrench(frame, None))
