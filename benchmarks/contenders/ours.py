# SPDX-License-Identifier: Apache-2.0
"""Adapters of this package: results dropped, results kept, arrays of the caller filled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.clock import Effort, Stopwatch, stopwatch
from benchmarks.contenders import Call, Local
from benchmarks.functions import FUNCTIONS, State
from benchmarks.robots import Robot
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics


class Ours(Local):
    """`Dynamics`, with every result dropped, so that the next call recycles its array.

    Args:
        arm: the robot's dynamics.
        functions: names of the functions to measure.
    """

    def __init__(self, arm: Dynamics, functions: list[str], title: str = 'robot_dynamics'):
        names = list(arm.model.joint_names)
        super().__init__(title, names, names)
        self.arm = arm
        self.functions = functions

    def calls(self, state: State) -> dict[str, Call]:
        return {name: at(getattr(self.arm, name), *state.of(name)) for name in self.functions}

    def results(self, function: str, returned: Any) -> list[Array]:
        return list(returned) if len(FUNCTIONS[function].results) > 1 else [returned]


class OursKept(Ours):
    """The same with every result kept until the time is measured: none is recycled."""

    def stopwatch(self, function: str) -> Stopwatch:
        kept: list[Any] = []
        call, keep = self._calls[function], kept.append
        watch = stopwatch(lambda: keep(call()))

        def from_an_empty_list(number: int) -> float:
            kept.clear()
            taken = watch(number)
            kept.clear()
            return taken

        return from_an_empty_list


class OursInPlace(Ours):
    """The same with every call filling arrays of the caller."""

    def calls(self, state: State) -> dict[str, Call]:
        return {name: self._filling(name, state) for name in self.functions}

    def _filling(self, name: str, state: State) -> Call:
        call: Callable[..., Any] = getattr(self.arm, name)
        return filling(call, call(*state.of(name)), *state.of(name))


def load(robot: Robot) -> Ours:
    """Return the robot with all functions."""
    return Ours(Dynamics(robot.model), list(FUNCTIONS))


def loaded_anew(robot: Robot, effort: Effort) -> list[Dynamics]:
    """Return the robot for each round, with machine code at different addresses.

    All are kept until the last round, because released pages would be allocated again.
    """
    return [Dynamics(robot.model) for _ in range(effort.rounds)]


def at(call: Callable[..., Any], *state: Array) -> Call:
    """Return a call at a state in the usual form: call(q, qd, qdd)."""
    if len(state) == 1:
        (q,) = state
        return lambda: call(q)
    if len(state) == 2:
        q, qd = state
        return lambda: call(q, qd)
    q, qd, last = state
    return lambda: call(q, qd, last)


def filling(call: Callable[..., Any], out: Any, *state: Array) -> Call:
    """Return a call at a state which fills `out`."""
    if len(state) == 1:
        (q,) = state
        return lambda: call(q, out=out)
    if len(state) == 2:
        q, qd = state
        return lambda: call(q, qd, out=out)
    q, qd, last = state
    return lambda: call(q, qd, last, out=out)
