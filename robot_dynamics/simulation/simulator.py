"""An arm under torques, one fixed step at a time.

    simulator = Simulator(Dynamics(model))
    simulator.step(tau)
    simulator.time, simulator.q, simulator.qd, simulator.effort

The torque is clamped to the drives' limits and held over the step. The same commands from the same
state give the same bits: time is a count of steps, and nothing depends on a clock.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.algorithms.integrators import Integrator, rk4
from robot_dynamics.algorithms.simulation_step import State
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.robot_model import check_vector
from robot_dynamics.simulation import joint_effects
from robot_dynamics.spatial import Array

# Postures at which the joints' mobility is looked up once, and its margin for those in between.
POSTURES = 64
MARGIN = 2.0


class NotFinite(RobotDynamicsError, ValueError):  # noqa: N818  (says what it is)
    """A torque or a state given to the simulator is NaN or infinite."""


class SimulationDiverged(RobotDynamicsError, ArithmeticError):  # noqa: N818  (says what happened)
    """The state stopped being finite; the simulator keeps the last state that was."""


class Simulator:
    """A robot with a state.

    Attributes:
        arm: its dynamics.
        time_step: s.
        integrator: one of `INTEGRATORS`.
        q: (n,) positions, rad or m.
        qd: (n,) velocities.
        effort: (n,) torques the drives applied in the last step, after clamping.
        steps: number of steps taken since the last reset.
    """

    def __init__(
        self,
        arm: Dynamics,
        *,
        q: ArrayLike | None = None,
        qd: ArrayLike | None = None,
        time_step: float = 1e-3,
        integrator: Integrator = rk4,
    ):
        """Start at rest at q = 0 unless told otherwise.

        Raises:
            ShapeError: q or qd does not have n entries.
            NotFinite: q or qd is not finite.
            ModelError: a joint moves no inertia, so that it has no acceleration.
            ValueError: the time step is not positive, or the integrator not one of those.
        """
        if not (np.isfinite(time_step) and time_step > 0):
            raise ValueError(f'time_step is {time_step} s; it must be positive and finite')
        self.arm = arm
        self.time_step = time_step
        self.integrator = integrator
        model = arm.model
        self._has_friction = bool(np.any(model.viscous) or np.any(model.coulomb))
        self._step = arm.simulation_step(integrator.__name__).call
        self._time_step = np.array([time_step])
        if self._has_friction:
            postures = np.random.default_rng(0).uniform(-np.pi, np.pi, (POSTURES, model.n))
            self._mobility = MARGIN * joint_effects.mobility(arm, postures)
        self.reset(q, qd)

    def reset(self, q: ArrayLike | None = None, qd: ArrayLike | None = None) -> None:
        """Put the arm at (q, qd), zero where omitted, and time to zero."""
        self.q = self._vector('q', np.zeros(self.arm.model.n) if q is None else q)
        self.qd = self._vector('qd', np.zeros(self.arm.model.n) if qd is None else qd)
        self.effort: Array = np.zeros(self.arm.model.n)
        self.steps = 0

    @property
    def time(self) -> float:
        """Simulated time since the last reset, s."""
        return self.steps * self.time_step

    def step(self, tau: ArrayLike, *, external: ArrayLike | None = None) -> None:
        """Advance by one time step.

        Args:
            tau: (n,) commanded torques of the drives [N m or N], clamped to their limits.
            external: (n,) joint torques of whatever else pushes the arm, J^T F; not clamped.

        Raises:
            ShapeError: an argument does not have n entries.
            NotFinite: an argument is not finite. The state is left as it was.
            SimulationDiverged: the new state is not finite. The state is left as it was.
        """
        effort = joint_effects.clamp_effort(self.arm.model, self._vector('tau', tau))
        total = effort if external is None else effort + self._vector('external', external)
        q, qd = self._advance(total)
        for name, value in (('position', q), ('velocity', qd)):
            if not np.isfinite(value).all():
                j = int(np.argmin(np.isfinite(value)))
                raise SimulationDiverged(
                    f'{name} of joint {self.arm.model.joint_names[j]!r} became {value[j]} at '
                    f't = {self.time:.6g} s, from {self.qd[j]:.3g} per second a step earlier'
                )
        self.q, self.qd, self.effort = q, qd, effort
        self.steps += 1

    def _advance(self, tau: Array) -> State:
        """Return the state after one step under the torques tau (n,) and friction."""
        step = self._step
        if self._has_friction and self._friction_may_stop_a_joint():
            tau = tau - joint_effects.implicit_friction(
                self.arm, self.q, self.qd, tau, self.time_step
            )
            step = self._frictionless_step
        state: State = step(self.q, self.qd, tau, self._time_step)
        return state

    def _friction_may_stop_a_joint(self) -> bool:
        """Tell whether friction is too stiff to be taken at the start of a step."""
        slope = joint_effects.friction_slope(self.arm, self.qd)
        # h s(qd) |qd| / m >= |qd|
        return bool((self.time_step * slope * self._mobility >= 1).any())

    @functools.cached_property
    def _frictionless_step(self) -> Callable[..., State]:
        """The step of the same arm with ideal bearings."""
        return self.arm.without_friction().simulation_step(self.integrator.__name__).call

    def _vector(self, name: str, value: ArrayLike) -> Array:
        """Return a float copy of an argument, once it is (n,) and finite."""
        array = np.array(value, dtype=float)
        check_vector(self.arm.model, **{name: array})
        if not np.isfinite(array).all():
            j = int(np.argmin(np.isfinite(array)))
            raise NotFinite(
                f'{name} of joint {self.arm.model.joint_names[j]!r} is {array[j]}; '
                'it must be finite'
            )
        return array
