# SPDX-License-Identifier: Apache-2.0
"""Adapters of the libraries.

A contender contains one robot and one state, and provides each of its functions as a call without
arguments: the call that a user of the library would write, with the state in the joint order and
form of the library. Converting results is not timed.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from benchmarks.clock import Stopwatch, stopwatch
from benchmarks.functions import State
from benchmarks.robots import Robot
from robot_dynamics.common.spatial import Array

Call = Callable[[], Any]

# The empty call of every contender: its time is that of the timing loop.
NOTHING = 'nothing'


class ContenderMissing(Exception):  # noqa: N818  (the name is sufficient)
    """A library is not installed."""


class RobotRefused(Exception):  # noqa: N818
    """A library does not support this robot."""


class Contender(Protocol):
    """A library with a robot, in this process or in another one."""

    title: str

    def prepare(self, state: State) -> list[str]:
        """Set the state, in the joint order of the model; return the available functions."""

    def evaluate(self, function: str) -> list[Array]:
        """Return the results of a function in the form of this package."""

    def stopwatch(self, function: str) -> Stopwatch:
        """Return the stopwatch of a function, or of NOTHING."""


class Local:
    """Base class of contenders in this process.

    Args:
        title: name and version of the library.
        names: joint names in the order of the model.
        joints: the same in the order of the library.
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
        """Return calls without arguments, at a state in the order of the library."""
        raise NotImplementedError

    def results(self, function: str, returned: Any) -> list[Array]:
        """Return the result of a call as arrays, joints in the order of the library."""
        raise NotImplementedError

    def theirs(self, state: State) -> State:
        """Return a state with its joints in the order of the library."""
        return state.ordered(self._order)

    def ours(self, array: Array) -> Array:
        """Return a result, joints along all axes, in the order of the model."""
        return array[np.ix_(*[self._back] * array.ndim)]

    def prepare(self, state: State) -> list[str]:
        """Set the state; return the available functions."""
        self._calls = {**self.calls(self.theirs(state)), NOTHING: lambda: None}
        return [name for name in self._calls if name != NOTHING]

    def evaluate(self, function: str) -> list[Array]:
        """Return the results of a function, joints in the order of the model."""
        results = self.results(function, self._calls[function]())
        return [self.ours(np.array(a)) for a in results]

    def stopwatch(self, function: str) -> Stopwatch:
        """Return the stopwatch of a function."""
        return stopwatch(self._calls[function])


def load(name: str, robot: Robot) -> Local:
    """Return the contender in a module of this package, with a robot.

    Raises:
        ContenderMissing: the library is not installed.
        RobotRefused: the library does not support this robot.
    """
    try:
        module = importlib.import_module(f'benchmarks.contenders.{name}')
    except ImportError as error:
        raise ContenderMissing(str(error)) from None
    contender: Local = module.load(robot)
    return contender
