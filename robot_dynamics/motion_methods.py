"""What `Dynamics` can say of an arm that torques set in motion: accelerations, and the motion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from robot_dynamics import stepping
from robot_dynamics.algorithms.crba import crba
from robot_dynamics.algorithms.forward_dynamics import forward_dynamics
from robot_dynamics.algorithms.integrators import INTEGRATORS
from robot_dynamics.algorithms.simulation_step import Friction, State, simulation_step
from robot_dynamics.compiled import CompiledFunction
from robot_dynamics.errors import ModelError
from robot_dynamics.model.canonical import CanonicalTree
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.programs import Programmed, Robot, Scalars, made_once, program
from robot_dynamics.spatial import Array

# A mass matrix scaled to a unit diagonal is singular if its smallest eigenvalue is below this.
SINGULAR = 1e-12


class MotionMethods(Programmed):
    """Methods that raise ModelError, which names the joint, where one moves no inertia."""

    @made_once
    def joint_without_inertia(self) -> str | None:
        """Return a joint that can accelerate without effort in every posture; None if none can."""
        return _joint_without_inertia(self.model, self.tree)

    @made_once
    def forward_dynamics(self) -> Callable[..., Array]:
        """Return the accelerations (..., n) under torques.   qdd = M^-1 (tau - C qd - g).

        Called as `forward_dynamics(q, qd, tau)`.

        Raises:
            ModelError: joints that move no inertia, by name: their acceleration is undefined.
        """
        return self.forward_dynamics_program().call

    def forward_dynamics_program(self) -> CompiledFunction:
        """Return the program of `forward_dynamics`. Raises ModelError."""
        self._require_inertia()
        return MotionMethods._forward_dynamics.of(self)  # type: ignore[no-any-return]

    @program
    def _forward_dynamics(self, q: Scalars, qd: Scalars, tau: Scalars) -> Any:
        """Return the accelerations (..., n) under torques.   qdd = M^-1 (tau - C qd - g)."""
        return forward_dynamics(self.tree, q, qd, tau)

    def simulate(
        self,
        q: Any,
        qd: Any,
        tau: Any,
        *,
        steps: int,
        time_step: float = 1e-3,
        integrator: str = 'semi_implicit_euler',
    ) -> State:
        """Return State(q, qd), each (..., n), after some steps under constant torques tau.

        Friction brakes the joints; effort and position limits are left to the caller. A motion
        that diverges ends in numbers that are not finite.

        Args:
            q: (..., n) joint positions.
            qd: (..., n) joint velocities.
            tau: (..., n) torques of the motors, and of whatever else pushes.
            steps: how many, 0 or more.
            time_step: s.
            integrator: 'semi_implicit_euler', the only one that takes stiff friction, 'rk4' or
                'explicit_euler': see `algorithms.simulation_step`.

        Raises:
            ModelError: joints that move no inertia, by name.
            ValueError: steps, time_step or integrator is not one of these.
        """
        step = self.simulation_step(integrator)
        return stepping.simulate(step, q, qd, tau, steps=steps, time_step=time_step)

    def rollout(
        self,
        q: Any,
        qd: Any,
        tau: Any,
        *,
        time_step: float = 1e-3,
        integrator: str = 'semi_implicit_euler',
    ) -> State:
        """Return State(q, qd), each (steps + 1, n), from q, qd (n,) under torques tau (steps, n).

        Row 0 is the start; a torque is held over its step. Otherwise as `simulate`.
        """
        return stepping.rollout(self.simulation_step(integrator), q, qd, tau, time_step=time_step)

    def simulation_step(self, integrator: str) -> CompiledFunction:
        """Return the program of one step: step(q, qd, tau, time_step) -> State, time_step (1,).

        Raises ModelError and ValueError as `simulate`.
        """
        if integrator not in INTEGRATORS:
            raise ValueError(
                f'integrator is {integrator!r}; it must be one of {", ".join(INTEGRATORS)}'
            )
        key = f'simulation_step {integrator}'
        if key not in self.__dict__:
            self._require_inertia()

            def step(robot: Robot, q: Scalars, qd: Scalars, tau: Scalars, h: Scalars) -> State:
                friction = Friction(
                    robot.per_joint(robot.model.viscous), robot.per_joint(robot.model.coulomb)
                )
                return simulation_step(robot.tree, friction, integrator, q, qd, tau, h[0])

            inputs = {**dict.fromkeys(('q', 'qd', 'tau'), self.model.n), 'time_step': 1}
            self.__dict__[key] = self.programs.compiled(key, step, inputs, result=State)
        return self.__dict__[key]  # type: ignore[no-any-return]

    def _require_inertia(self) -> None:
        """Raise ModelError, which names a joint, unless every joint moves some inertia."""
        if self.joint_without_inertia is not None:
            raise ModelError(
                f'forward dynamics of {self.model.name!r} is undefined: joint '
                f'{self.joint_without_inertia!r} moves no inertia; give the links beyond it a '
                'mass, or lock it'
            )


def _joint_without_inertia(model: RobotModel, tree: CanonicalTree) -> str | None:
    massless = model.massless_joints()
    if massless:
        return massless[0]
    rng = np.random.default_rng(0)
    for q in rng.uniform(-np.pi, np.pi, (3, model.n)):
        M = np.array(crba(tree, q.tolist()), dtype=float)
        scale = np.sqrt(np.diag(M))
        if not np.all(scale > 0):
            return model.joint_names[int(np.argmin(scale))]
        values, vectors = np.linalg.eigh(M / np.outer(scale, scale))
        if values[0] > SINGULAR:
            return None
    return model.joint_names[int(np.argmax(np.abs(vectors[:, 0])))]
