# SPDX-License-Identifier: Apache-2.0
"""Single calls from Python: every library, every function, one state.

Results are compared with Pinocchio before any time is measured. A disagreement between Pinocchio
and this package ends the run; a function of another library that disagrees is left out and named.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks import agreement
from benchmarks.agreement import Disagreement
from benchmarks.clock import Effort, Stopwatch, least, least_of
from benchmarks.contenders import NOTHING, Contender, ContenderMissing, RobotRefused, load
from benchmarks.contenders.ours import Ours, OursInPlace, OursKept, loaded_anew
from benchmarks.contenders.pinocchio import Pinocchio
from benchmarks.functions import random_state
from benchmarks.remote import Remote
from benchmarks.robots import Robot
from robot_dynamics.core.dynamics import Dynamics

NEW, KEPT, OUT, REFERENCE = 'new array', 'kept', 'out=', 'pinocchio'
OTHERS: dict[str, Callable[[str, Robot], Contender]] = {
    'mujoco': load,
    'pybullet': Remote,
    'roboticstoolbox': Remote,
    'modern_robotics': Remote,
}
# Python implementations, which take milliseconds to seconds for longer chains.
PLAIN_PYTHON = ('roboticstoolbox', 'modern_robotics')
PATIENCE = 12  # joints
STATES = 5


@dataclass(frozen=True)
class SingleCall:
    """One function of one robot: nanoseconds and maximum error, by contender."""

    robot: str
    joints: int
    function: str
    ns: dict[str, float]
    error: dict[str, float]

    def ratio(self, contender: str) -> float:
        """Return the time of Pinocchio divided by that of a contender."""
        return self.ns[REFERENCE] / self.ns[contender]


def measure(
    robot: Robot, functions: list[str], effort: Effort, notes: list[str]
) -> list[SingleCall]:
    """Return the single calls of a robot; notes name what is left out, and the reason.

    Raises:
        Disagreement: this package and Pinocchio differ.
    """
    arms = loaded_anew(robot, effort)
    rounds = [_round(robot, arm, functions, effort, notes) for arm in arms]
    ns = _less_nothing(least_of([seconds for seconds, _ in rounds]))
    error = {
        function: {
            name: max(errors[name][function] for _, errors in rounds)
            for name in ns[function]
            if name != REFERENCE
        }
        for function in functions
    }
    return [
        SingleCall(robot.name, robot.model.n, function, ns[function], error[function])
        for function in functions
    ]


def _round(
    robot: Robot, arm: Dynamics, functions: list[str], effort: Effort, notes: list[str]
) -> tuple[dict[tuple[str, str], float], dict[str, dict[str, float]]]:
    """Return the seconds by function and side, and the errors by side and function."""
    sides: dict[str, Contender] = {
        NEW: Ours(arm, functions),
        KEPT: OursKept(arm, functions),
        OUT: OursInPlace(arm, functions),
        REFERENCE: Pinocchio(robot),
    }
    with contextlib.ExitStack() as stack:
        sides |= _others(robot, stack, notes)
        errors = _agree(robot, sides, notes)
        present = {
            function: {name: side for name, side in sides.items() if function in errors[name]}
            for function in functions
        }
        return _seconds(present, effort), errors


def _others(robot: Robot, stack: contextlib.ExitStack, notes: list[str]) -> dict[str, Contender]:
    """Return the other libraries that are installed and support this robot."""
    found: dict[str, Contender] = {}
    for name, bring in OTHERS.items():
        if name in PLAIN_PYTHON and robot.model.n > PATIENCE:
            _note(notes, f'{robot.name}: {name} left out, more than {PATIENCE} joints')
            continue
        try:
            side = bring(name, robot)
        except ContenderMissing as error:
            _note(notes, f'{name} left out: {error}')
        except RobotRefused as error:
            _note(notes, f'{robot.name}: {name} left out: {error}')
        else:
            found[name] = stack.enter_context(side) if isinstance(side, Remote) else side
    return found


def _note(notes: list[str], note: str) -> None:
    """Add a note unless an earlier round or robot has added it."""
    if note not in notes:
        notes.append(note)


def _agree(
    robot: Robot, sides: Mapping[str, Contender], notes: list[str]
) -> dict[str, dict[str, float]]:
    """Return the maximum error of each side and function over several states.

    Functions that disagree are missing from the result. All sides remain prepared for the last
    state.
    """
    rng = np.random.default_rng(0)
    errors: dict[str, dict[str, float]] = {name: {} for name in sides}
    wrong: set[tuple[str, str]] = set()
    for _ in range(STATES):
        state = random_state(robot.model, rng)
        known = {name: side.prepare(state) for name, side in sides.items()}
        wanted = {f: sides[REFERENCE].evaluate(f) for f in known[REFERENCE]}
        for name, functions in known.items():
            for function in functions:
                who = f'{robot.name}: {function} of {name}'
                try:
                    error = agreement.relative_error(
                        sides[name].evaluate(function), wanted[function]
                    )
                    allowed = agreement.tolerance(function, wanted['mass_matrix'][0])
                    agreement.check(who, error, allowed)
                except Disagreement as disagreement:
                    if name in (NEW, KEPT, OUT):
                        raise
                    if (name, function) not in wrong:
                        _note(notes, f'left out: {disagreement}')
                    wrong.add((name, function))
                else:
                    errors[name][function] = max(error, errors[name].get(function, 0.0))
    for name, function in wrong:
        errors[name].pop(function, None)
    return errors


def _seconds(
    sides: Mapping[str, Mapping[str, Contender]], effort: Effort
) -> dict[tuple[str, str], float]:
    """Return the seconds of one call by function and side, and of an empty call.

    All functions alternate: a disturbance of seconds affects some repeats of each instead of all
    repeats of one.
    """
    watches: dict[tuple[str, str], Stopwatch] = {}
    for function, present in sides.items():
        for name, side in present.items():
            watches[function, name] = side.stopwatch(function)
            watches[NOTHING, name] = side.stopwatch(NOTHING)
    return least(watches, effort)


def _less_nothing(seconds: Mapping[tuple[str, str], float]) -> dict[str, dict[str, float]]:
    """Return nanoseconds by function and side, less those of an empty call.

    Both are minima over all rounds: the minimum difference would come from the round in which the
    empty call was disturbed most.
    """
    ns: dict[str, dict[str, float]] = {}
    for (function, name), taken in seconds.items():
        if function != NOTHING:
            ns.setdefault(function, {})[name] = 1e9 * (taken - seconds[NOTHING, name])
    return ns
