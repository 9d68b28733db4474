# SPDX-License-Identifier: Apache-2.0
"""Run control of a simulation: play, pause, stop, step, reset.

Each request is checked before anything changes, and returns a result with a sentence. The states
are those of the package simulation_interfaces: a stopped simulation is paused at its start, at
time zero.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import NamedTuple

from robot_dynamics.simulation.plant import SetState
from robot_dynamics.simulation.scheduling import SimulationLoop

MOST_STEPS = 100_000  # per request; no message is processed meanwhile


class Result(enum.Enum):
    """Result of a request."""

    DONE = enum.auto()
    ALREADY = enum.auto()  # there was nothing to do
    NOT_NOW = enum.auto()  # invalid in the present state
    WRONG = enum.auto()  # invalid in any state
    FAILED = enum.auto()  # begun, not finished


class Outcome(NamedTuple):
    """Result of a request, and a sentence about it."""

    result: Result
    message: str

    @property
    def success(self) -> bool:
        """Whether the state is now the requested one."""
        return self.result in (Result.DONE, Result.ALREADY)


class RunState(enum.Enum):
    """State of the simulation."""

    STOPPED = 'stopped'
    PLAYING = 'playing'
    PAUSED = 'paused'


class RunControl:
    """Requests to a simulation loop."""

    def __init__(self, loop: SimulationLoop):
        self.loop = loop
        self._stopped = False

    @property
    def state(self) -> RunState:
        """State of the simulation."""
        if not self.loop.paused:
            return RunState.PLAYING
        return RunState.STOPPED if self._stopped else RunState.PAUSED

    def play(self) -> Outcome:
        """Resume."""
        if self.loop.diverged:
            return Outcome(Result.NOT_NOW, self.loop.diverged)
        if not self.loop.paused:
            return Outcome(Result.ALREADY, 'was running already')
        self.loop.paused = self._stopped = False
        self.loop.restart_wait()
        return Outcome(Result.DONE, 'resumed')

    def pause(self) -> Outcome:
        """Pause."""
        if self.state is RunState.PAUSED:
            return Outcome(Result.ALREADY, 'was paused already')
        self.loop.paused, self._stopped = True, False
        return Outcome(Result.DONE, 'paused')

    def stop(self, start: SetState) -> Outcome:
        """Return to a start, and pause."""
        if self.state is RunState.STOPPED:
            return Outcome(Result.ALREADY, 'was stopped already')
        self.loop.paused = self._stopped = True
        self.reset(start)
        return Outcome(Result.DONE, 'stopped')

    def step(self, steps: int = 1, after_each: Callable[[], None] = lambda: None) -> Outcome:
        """Make some steps with the last command, while paused; end where the motion diverges."""
        loop = self.loop
        if not 1 <= steps <= MOST_STEPS:
            return Outcome(Result.WRONG, f'{steps} steps; expected 1 to {MOST_STEPS} per request')
        if self.state is not RunState.PAUSED:
            what = 'running' if self.state is RunState.PLAYING else 'stopped'
            return Outcome(Result.NOT_NOW, f'{what}: pause first')
        for _ in range(steps):
            if loop.diverged:
                return Outcome(Result.FAILED, loop.diverged)
            loop.step_with_last()
            after_each()
        if loop.diverged:
            return Outcome(Result.FAILED, loop.diverged)
        return Outcome(Result.DONE, f'at {loop.time:.3f} s')

    def reset(self, start: SetState | None, *, time: bool = True) -> Outcome:
        """Reset state and time.

        Args:
            start: the new state; None: the state is kept.
            time: whether to set the time to zero.
        """
        if start is None and self.loop.diverged:
            return Outcome(Result.NOT_NOW, f'the state must be reset: {self.loop.diverged}')
        if time:
            self.loop.reset_time()
        if start is not None:
            self.loop.set_state(start)
        self.loop.restart_wait()
        return Outcome(Result.DONE, 'reset' + (', paused' if self.loop.paused else ''))
