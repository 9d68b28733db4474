# SPDX-License-Identifier: Apache-2.0
"""Integration by SciPy's adaptive solvers, a reference for the fixed-step integrators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.friction.coulomb import joint_friction
from robot_dynamics.core.friction.friction_settings import FrictionSettings
from robot_dynamics.simulation.argument_checks import finite_vector
from robot_dynamics.simulation.errors import SimulationDiverged
from robot_dynamics.simulation.simulator import Simulator
from robot_dynamics.simulation.steps.energy_watch import Balance

# Solvers that use a Jacobian, and the step of its finite differences.
LINEARIZING = ('Radau', 'BDF', 'LSODA')
DIFFERENCE = float(np.sqrt(np.finfo(float).eps))


@dataclass(frozen=True)
class Adaptive:
    """A solver of SciPy with tolerances.

    Attributes:
        method: of `scipy.integrate.solve_ivp`: 'DOP853', of order 8, or 'Radau', of order 5, where
            friction or springs are stiff.
        rtol: relative error per step.
        atol: absolute error per step, rad or m, and per second.
    """

    method: str = 'DOP853'
    rtol: float = 1e-12
    atol: float = 1e-12


class ContinuousArm:
    """The arm of a simulator as a differential equation: the rate of x = (y, yd)."""

    def __init__(self, simulator: Simulator, torque: Callable[[float, Array, Array], ArrayLike]):
        """Use the present payloads; raises ValueError unless joint models are functions of x."""
        _require_smooth_joint_models(simulator)
        self._body, self._torque, self._base = simulator.body, torque, simulator.base
        # s, of the motion of the base before that of the arm
        self._ahead = (simulator.base_steps - simulator.steps) * simulator.time_step
        self._n = len(simulator.q)
        self._limit = simulator.arm.model.effort_limit

    def effort(self, t: float, x: Array) -> Array:
        """Return the torques of the drives (n,). Raises ShapeError and NotFinite."""
        m = len(x) // 2
        tau = self._torque(t, x[: self._n], x[m : m + self._n])
        tau = finite_vector(self._body.arm.model, 'tau', tau)
        return np.asarray(np.clip(tau, -self._limit, self._limit))

    def rate(self, t: float, x: Array) -> Array:
        """Return dx/dt (2m,)."""
        y, yd = np.split(x, 2)
        if self._base is not None:
            self._base.hold(t + self._ahead)
        force = self._body.force(self.effort(t, x), None) - joint_friction(
            *self._body.friction, yd
        )
        return np.concatenate([yd, self._body.acceleration(y, yd, force)])

    def jacobian(self, t: float, x: Array) -> Array:
        """Return d rate/dx (2m, 2m).

        SciPy's own differences overflow for a state without effect, as the first joint's angle.
        """
        steps = DIFFERENCE * np.maximum(np.abs(x), 1.0)
        there = np.array([self.rate(t, x + row) for row in np.diag(steps)])
        return np.asarray((there - self.rate(t, x)).T / steps)


def advance(
    simulator: Simulator,
    torque: Callable[[float, Array, Array], ArrayLike],
    steps: int,
    solver: Adaptive,
) -> tuple[Array, Array, Array]:
    """Advance a simulator, and return times (k,), states (k, 2m) and efforts (k, n) at its steps.

    Raises:
        SimulationDiverged: the solver failed.
        ValueError: a joint model is not a function of the state.
    """
    # Imported here: it takes longer than all other imports of a simulation.
    from scipy.integrate import solve_ivp

    arm, start = ContinuousArm(simulator, torque), simulator.snapshot()
    t = (start.steps + np.arange(steps + 1)) * simulator.time_step
    options: dict[str, Any] = {'method': solver.method, 'rtol': solver.rtol, 'atol': solver.atol}
    if solver.method in LINEARIZING:
        options['jac'] = arm.jacobian
    x0 = np.concatenate([start.y, start.yd])
    found = solve_ivp(arm.rate, (t[0], t[-1]), x0, t_eval=t, **options)
    if not (found.success and np.isfinite(found.y).all()):
        raise SimulationDiverged(f'{solver.method} stopped: {found.message}')
    x = found.y.T
    efforts = np.array([arm.effort(*row) for row in zip(t, x, strict=True)])
    y, yd = np.split(x[-1].copy(), 2)
    balance = Balance.start(*simulator.body.energy(y, yd))
    simulator.restore(
        replace(
            start,
            y=y,
            yd=yd,
            steps=start.steps + steps,
            base_steps=start.base_steps + steps,
            effort=efforts[-1],
            balance=balance,
        )
    )
    return t, x, efforts


def _require_smooth_joint_models(simulator: Simulator) -> None:
    joint_models, coulomb = simulator.joint_models, simulator.arm.model.coulomb
    chosen = {
        'stick-slip friction': joint_models.friction == 'stick_slip' and coulomb.any(),
        'friction with a law': isinstance(joint_models.friction, FrictionSettings),
        'stops': joint_models.stops is not None,
        'actuators': joint_models.actuators is not None,
        'servos': joint_models.servo is not None,
        'an environment': simulator.has_environment,
    }
    if any(chosen.values()):
        names = ', '.join(name for name, present in chosen.items() if present)
        raise ValueError(
            f'the simulator has {names}: not a function of the state, which an adaptive '
            'solver requires; use a fixed step'
        )
