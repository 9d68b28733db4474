# SPDX-License-Identifier: Apache-2.0
"""Steps of simulation per second: a free arm without friction, contacts or limits, at 1 ms.

Semi-implicit Euler on all sides, with many steps in one call or one call from Python per step;
this package also with a batch of a thousand arms, whose steps are all counted. The states after
half a second must agree; then this half second is timed repeatedly. A free arm may swing too fast
for any fixed step after a longer time.
"""

from __future__ import annotations

import os
import timeit
from dataclasses import dataclass
from typing import Any
from unittest import mock

import mujoco
import numpy as np

from benchmarks import agreement
from benchmarks.batches import THREADS_VARIABLE
from benchmarks.clock import Effort, Stopwatch, least, least_of
from benchmarks.contenders.mujoco import MuJoCo
from benchmarks.contenders.ours import loaded_anew
from benchmarks.functions import State, random_state
from benchmarks.robots import Robot
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.simulation import Simulator

INTEGRATOR = 'semi_implicit_euler'
TIME_STEP = 1e-3
STRETCH = 500  # steps from the start that are timed
# Rounding errors grow during the motion, which is chaotic.
TOLERANCE = 1e-7
ARMS = 1000
SIMULATE, SIMULATOR = 'simulate, many in one call', 'Simulator.step'
SIDE_BY_SIDE = {'simulate, 1000 arms, 1 thread': 1, 'simulate, 1000 arms, 2 threads': 2}
ARMS_OF = dict.fromkeys(SIDE_BY_SIDE, ARMS)
MUJOCO_AT_ONCE, MUJOCO = 'mj_step, many in one call', 'mj_step'


@dataclass(frozen=True)
class Stepping:
    """Steps per second of one robot, by contender."""

    robot: str
    joints: int
    steps_per_s: dict[str, float]
    error: float  # of the positions after a stretch


# Joints; longer chains without friction do not test an integrator.
MOST_JOINTS = 12


def measure(robot: Robot, effort: Effort) -> Stepping:
    """Return the steps per second of a robot.

    Raises:
        Disagreement: of this package and MuJoCo.
        RobotRefused: MuJoCo does not support the robot.
    """
    arms = loaded_anew(robot, effort)
    rounds = [_round(robot, arm, effort) for arm in arms]
    seconds = least_of([taken for taken, _ in rounds])
    rates = {name: STRETCH * ARMS_OF.get(name, 1) / taken for name, taken in seconds.items()}
    return Stepping(robot.name, robot.model.n, rates, max(error for _, error in rounds))


def _round(robot: Robot, arm: Dynamics, effort: Effort) -> tuple[dict[str, float], float]:
    """Return the seconds of a stretch for each side, and the error after it, of one round."""
    state = random_state(robot.model, np.random.default_rng(0))
    ours, theirs = Ours(arm, state), Theirs(robot, state)
    wanted = theirs.after_a_stretch()
    error = max(agreement.relative_error([q], [wanted]) for q in ours.after_a_stretch())
    agreement.check(f'{robot.name}: position after {STRETCH} steps', error, TOLERANCE)
    sides = {
        SIMULATE: ours.at_once,
        SIMULATOR: ours.one_by_one,
        **{name: ours.side_by_side(count) for name, count in SIDE_BY_SIDE.items()},
        MUJOCO_AT_ONCE: theirs.at_once,
        MUJOCO: theirs.one_by_one,
    }
    return least(sides, effort), error


class Ours:
    """This package: the compiled loop, and the simulator stepped from Python."""

    def __init__(self, arm: Dynamics, state: State):
        self._arm = arm
        self._start = state.q, state.qd
        self._rest = np.zeros(arm.model.n)
        self._simulator = Simulator(self._arm, time_step=TIME_STEP, integrator=INTEGRATOR)

    def after_a_stretch(self) -> list[Array]:
        """Return the positions after a stretch, computed in each way."""
        self._steps()
        many = self._simulate(ARMS).q
        return [self._simulate().q, self._simulator.q, many[0], many[-1]]

    def at_once(self, number: int) -> float:
        """Return the seconds of a number of stretches, one call each."""
        return sum(self._stretch() for _ in range(number))

    def one_by_one(self, number: int) -> float:
        """Return the seconds of a number of stretches, one call per step."""
        return sum(self._steps() for _ in range(number))

    def side_by_side(self, threads: int) -> Stopwatch:
        """Return a stopwatch for stretches of a batch of arms, one call each."""

        def seconds(number: int) -> float:
            with mock.patch.dict(os.environ, {THREADS_VARIABLE: str(threads)}):
                return timeit.timeit(lambda: self._simulate(ARMS), number=number)

        return seconds

    def _stretch(self) -> float:
        return timeit.timeit(lambda: self._simulate(), number=1)

    def _simulate(self, *arms: int) -> Any:
        start = (np.broadcast_to(x, (*arms, len(x))) for x in self._start) if arms else self._start
        return self._arm.simulate(
            *start,
            self._rest,
            steps=STRETCH,
            time_step=TIME_STEP,
            integrator=INTEGRATOR,
        )

    def _steps(self) -> float:
        self._simulator.reset(*self._start)
        step, rest = self._simulator.step, self._rest
        return timeit.timeit(lambda: step(rest), number=STRETCH)


class Theirs:
    """MuJoCo."""

    def __init__(self, robot: Robot, state: State):
        self._contender = MuJoCo(robot)
        self._model = self._contender.model
        self._model.opt.timestep = TIME_STEP
        self._model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
        self._data = mujoco.MjData(self._model)
        self._start = self._contender.theirs(state)

    def after_a_stretch(self) -> Array:
        """Return the positions after a stretch, in the joint order of the model."""
        self._steps()
        return self._contender.ours(np.array(self._data.qpos))

    def at_once(self, number: int) -> float:
        """Return the seconds of a number of stretches, one call each."""
        return sum(self._stretch() for _ in range(number))

    def one_by_one(self, number: int) -> float:
        """Return the seconds of a number of stretches, one call per step."""
        return sum(self._steps() for _ in range(number))

    def _stretch(self) -> float:
        model, data = self._model, self._reset()
        return timeit.timeit(lambda: mujoco.mj_step(model, data, nstep=STRETCH), number=1)

    def _steps(self) -> float:
        model, data = self._model, self._reset()
        return timeit.timeit(lambda: mujoco.mj_step(model, data), number=STRETCH)

    def _reset(self) -> mujoco.MjData:
        mujoco.mj_resetData(self._model, self._data)
        self._data.qpos[:], self._data.qvel[:] = self._start.q, self._start.qd
        return self._data
