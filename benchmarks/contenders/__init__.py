"""The libraries, each behind one small interface.

A contender holds one robot and one state, and makes for every function it knows a call without
arguments: what is timed is exactly what a user would write, with the state at hand in the order
and form that the library wants. Putting results in this package's form is not timed.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from benchmarks.clock import Stopwatch, stopwatch
from benchmarks.functions import State
from benchmarks.robots import Robot
from robot_dynamics.spatial import Array

Call = Callable[[], Any]

# What every contender can do in no time: its cost is that of the timing loop.
NOTHING = 'nothing'


class ContenderMissing(Exception):  # noqa: N818  (says what it is)
    """A library is not installed."""


class RobotRefused(Exception):  # noqa: N818
    """A library cannot hold this robot."""


class Contender(Protocol):
    """A library that holds a robot, here or in another process."""

    title: str

    def prepare(self, state: State) -> list[str]:
        """Take a state, joints in the model's order; return the functions it can compute."""

    def evaluate(self, function: str) -> list[Array]:
        """Return a function's results in this package's form."""

    def stopwatch(self, function: str) -> Stopwatch:
        """Return what times so many calls of a function, or of NOTHING."""


class Local:
    """A contender in this process. A library is a subclass of it.

    Args:
        title: its name and version.
        names: the model's joints.
        joints: the same in the library's order.
    """

    def __init__(self, title: str, names: list[str], joints: list[str]):
        if sorted(names) != sorted(joints):
            raise RobotRefused(f'{title} has the joints {joints}, expected {names}')
        self.title = title
        # theirs[k] = ours[order[k]]
        self._order = [names.index(joint) for joint in joints]
        self._back = [joints.index(name) for name in names]
        self._calls: Mapping[str, Call] = {}

    def calls(self, state: State) -> dict[str, Call]:
        """Return the functions as calls without arguments, at a state in the library's order."""
        raise NotImplementedError

    def results(self, function: str, returned: Any) -> list[Array]:
        """Return what a call returned as arrays, joints still in the library's order."""
        raise NotImplementedError

    def theirs(self, state: State) -> State:
        """Return a state with its joints in the library's order."""
        return state.ordered(self._order)

    def ours(self, array: Array) -> Array:
        """Return a result, joints along all axes, in the model's order."""
        return array[np.ix_(*[self._back] * array.ndim)]

    def prepare(self, state: State) -> list[str]:
        """Take a state; return the functions."""
        self._calls = {**self.calls(self.theirs(state)), NOTHING: lambda: None}
        return [name for name in self._calls if name != NOTHING]

    def evaluate(self, function: str) -> list[Array]:
        """Return a function's results, joints in the model's order."""
        results = self.results(function, self._calls[function]())
        return [self.ours(np.array(a)) for a in results]

    def stopwatch(self, function: str) -> Stopwatch:
        """Return what times so many calls of a function."""
        return stopwatch(self._calls[function])


def load(name: str, robot: Robot) -> Local:
    """Return a library with a robot in it, by the name of its file here.

    Raises:
        ContenderMissing: it is not installed.
        RobotRefused: it does not take this robot.
    """
    try:
        module = importlib.import_module(f'benchmarks.contenders.{name}')
    except ImportError as error:
        raise ContenderMissing(str(error)) from None
    contender: Local = module.load(robot)
    return contender
