"""What people ask of a simulation: play, pause, stop, step, reset. No ROS here.

Everything is checked before anything changes, and every answer says in a sentence what came of it.
The states are those of the package simulation_interfaces: a simulation that is stopped stands
paused at its start, at time zero.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import NamedTuple

from robot_dynamics.simulation.commands import Place
from robot_dynamics.simulation.scheduling import SimulationLoop

MOST_STEPS = 100_000  # at once: while it makes them, the node hears nothing


class Result(enum.Enum):
    """What a request came to."""

    DONE = enum.auto()
    ALREADY = enum.auto()  # there was nothing to do
    NOT_NOW = enum.auto()  # it makes no sense in the present state
    WRONG = enum.auto()  # it makes no sense at all
    FAILED = enum.auto()  # it was begun, and could not be finished


class Outcome(NamedTuple):
    """What a request came to, and the sentence that says so."""

    result: Result
    message: str

    @property
    def success(self) -> bool:
        """Whether all is now as it was asked for."""
        return self.result in (Result.DONE, Result.ALREADY)


class State(enum.Enum):
    """What the simulation does."""

    STOPPED = 'stopped'
    PLAYING = 'playing'
    PAUSED = 'paused'


class SimulationRequests:
    """Asks a loop for what people want, if it makes sense."""

    def __init__(self, loop: SimulationLoop):
        self.loop = loop
        self._stopped = False

    @property
    def state(self) -> State:
        """What the simulation does now."""
        if not self.loop.paused:
            return State.PLAYING
        return State.STOPPED if self._stopped else State.PAUSED

    def play(self) -> Outcome:
        """Let time go on."""
        if self.loop.diverged:
            return Outcome(Result.NOT_NOW, self.loop.diverged)
        if not self.loop.paused:
            return Outcome(Result.ALREADY, 'was running already')
        self.loop.paused = self._stopped = False
        self.loop.wait_anew()
        return Outcome(Result.DONE, 'resumed')

    def pause(self) -> Outcome:
        """Let time stand."""
        if self.state is State.PAUSED:
            return Outcome(Result.ALREADY, 'was paused already')
        self.loop.paused, self._stopped = True, False
        return Outcome(Result.DONE, 'paused')

    def stop(self, start: Place) -> Outcome:
        """Return to a start, and let time stand."""
        if self.state is State.STOPPED:
            return Outcome(Result.ALREADY, 'was stopped already')
        self.loop.paused = self._stopped = True
        self.reset(start)
        return Outcome(Result.DONE, 'stopped')

    def step(self, steps: int = 1, after_each: Callable[[], None] = lambda: None) -> Outcome:
        """Make some steps with the last command, while paused.

        A motion that diverges in one of them stops there.
        """
        loop = self.loop
        if not 1 <= steps <= MOST_STEPS:
            return Outcome(Result.WRONG, f'{steps} steps; it must be 1 to {MOST_STEPS} at once')
        if self.state is not State.PAUSED:
            what = 'running' if self.state is State.PLAYING else 'stopped'
            return Outcome(Result.NOT_NOW, f'{what}: pause first')
        for _ in range(steps):
            if loop.diverged:
                return Outcome(Result.FAILED, loop.diverged)
            loop.step_with_last()
            after_each()
        if loop.diverged:
            return Outcome(Result.FAILED, loop.diverged)
        return Outcome(Result.DONE, f'at {loop.time:.3f} s')

    def reset(self, start: Place | None, *, time: bool = True) -> Outcome:
        """Begin again.

        Args:
            start: where the arm is put; None: it stays where and as it is.
            time: let time begin at zero.
        """
        if start is None and self.loop.diverged:
            return Outcome(Result.NOT_NOW, f'the state must be reset: {self.loop.diverged}')
        if time:
            self.loop.begin_time()
        if start is not None:
            self.loop.place(start)
        self.loop.wait_anew()
        return Outcome(Result.DONE, 'reset' + (', paused' if self.loop.paused else ''))
