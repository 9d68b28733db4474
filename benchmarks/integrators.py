# SPDX-License-Identifier: Apache-2.0
"""Accuracy and cost of the integrators: `python -m benchmarks.integrators`, in the checkout.

| figure | meaning |
|---|---|
| order | slope of the error over the step, after a fall of 1 s, compared with DOP853 |
| error | at 1 kHz, rad and rad/s |
| drift | of the energy in 10 s at 1 kHz, relative to the largest kinetic energy |
| trend | mean drift of the second half minus that of the first |
| step | minimum time of one Simulator.step |

The arms fall without friction from q = 0; for the order, from a random posture. After several
seconds the motion of the wrist of kuka_iiwa is chaotic: rounding determines its velocity and the
drift. For comparison, a fourth-order Runge-Kutta method integrates the accelerations of Pinocchio.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import numpy as np
import pinocchio

from benchmarks import robots
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.simulation import (
    INTEGRATORS,
    Adaptive,
    SimulationDiverged,
    Simulator,
    simulate,
)

STEPS = (1000, 2000, 4000)  # per second, for the order
SECONDS, TIME_STEP = 10.0, 1e-3


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table for each robot."""
    parser = argparse.ArgumentParser(prog='python -m benchmarks.integrators')
    parser.add_argument('robots', nargs='*', default=['ur5', 'kuka_iiwa'], metavar='ROBOT')
    for name in parser.parse_args(arguments).robots:
        report(name)
    return 0


def report(name: str) -> None:
    """Print the figures of one robot."""
    robot = robots.find(name)
    arm = Dynamics(robot.model).without_friction()
    print(f'{name}, {arm.model.n} joints')
    print(f'{"":22}{"order":>7}{"error":>11}{"drift":>11}{"trend":>11}{"step [us]":>11}')
    reference = second(arm, 'rk4', 1000, Adaptive())
    for integrator in INTEGRATORS:
        errors = [np.abs(second(arm, integrator, k) - reference).max() for k in STEPS]
        order = -np.polyfit(np.log(STEPS), np.log(errors), 1)[0]
        relative, trend = drift(fall(arm, integrator), arm)
        cost = step_time(arm, integrator)
        print(
            f'{integrator:22}{order:7.2f}{errors[0]:11.1e}{relative:11.1e}{trend:11.1e}'
            f'{1e6 * cost:11.1f}'
        )
    relative, trend = drift(pinocchio_fall(robot.urdf), arm)
    print(f'{"rk4 over pinocchio":22}{"":7}{"":11}{relative:11.1e}{trend:11.1e}\n')


def still(_t: float, q: Array, _qd: Array) -> Array:
    """Return no torque."""
    return np.zeros(len(q))


def second(arm: Dynamics, integrator: str, steps: int, solver: Adaptive | None = None) -> Array:
    """Return (q, qd) after a second of falling."""
    q = np.random.default_rng(0).uniform(-1.0, 1.0, arm.model.n)
    simulator = Simulator(arm, q=q, time_step=1 / steps, integrator=integrator)
    simulate(simulator, still, 1.0, solver=solver)
    return np.concatenate([simulator.q, simulator.qd])


def fall(arm: Dynamics, integrator: str) -> tuple[Array, Array]:
    """Return positions and velocities (k, n) of 10 s, or until divergence."""
    simulator = Simulator(arm, integrator=integrator, time_step=TIME_STEP)
    states = [(simulator.q, simulator.qd)]
    try:
        for _ in range(round(SECONDS / TIME_STEP)):
            simulator.step(np.zeros(arm.model.n))
            states.append((simulator.q, simulator.qd))
    except SimulationDiverged as error:
        print(f'  {integrator}: {error}')
    q, qd = map(np.array, zip(*states, strict=True))
    return q, qd


def pinocchio_fall(urdf: str) -> tuple[Array, Array]:
    """Return the same, with the classical Runge-Kutta method and Pinocchio."""
    model = pinocchio.buildModelFromXML(urdf)
    data, h = model.createData(), TIME_STEP
    y = np.zeros((2, model.nv))
    zero = np.zeros(model.nv)

    def rate(y: Array) -> Array:
        return np.stack([y[1], pinocchio.aba(model, data, *y, zero)])

    states = [y]
    for _ in range(round(SECONDS / h)):
        k1 = rate(y)
        k2 = rate(y + h / 2 * k1)
        k3 = rate(y + h / 2 * k2)
        k4 = rate(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        states.append(y)
    q, qd = np.swapaxes(states, 0, 1)
    return q, qd


def drift(states: tuple[Array, Array], arm: Dynamics) -> tuple[float, float]:
    """Return the maximum drift of the energy, and its trend."""
    kinetic = arm.kinetic_energy(*states)
    energy = kinetic + arm.potential_energy(states[0])
    relative = (energy - energy[0]) / kinetic.max()
    half = len(relative) // 2
    return float(np.abs(relative).max()), float(relative[half:].mean() - relative[:half].mean())


def step_time(arm: Dynamics, integrator: str) -> float:
    """Return the minimum time of a step at the start of a fall, s."""
    simulator = Simulator(arm, integrator=integrator)
    tau, start = np.zeros(arm.model.n), simulator.snapshot()
    return min(_hundred(simulator, lambda: simulator.restore(start), tau) for _ in range(30)) / 100


def _hundred(simulator: Simulator, restore: Callable[[], None], tau: Array) -> float:
    restore()
    began = time.perf_counter()
    for _ in range(100):
        simulator.step(tau)
    return time.perf_counter() - began


if __name__ == '__main__':
    raise SystemExit(main())
