"""Forward dynamics and simulation: the methods of `Dynamics` that take torques.

Each of them takes `friction`: 'none', or 'model' for `friction_torque(qd)` with the coefficients
of the model. That is a smooth function of the velocities: dry friction is F_s tanh(qd / v_0), zero
at standstill, where a joint that is pushed by less than F_s creeps at less than v_0. A joint that
stands still under such a push is the work of `simulation.Simulator`, friction law 'stick_slip'.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from robot_dynamics import rollout as stepping
from robot_dynamics.algorithms.crba import crba
from robot_dynamics.algorithms.forward_dynamics import forward_dynamics
from robot_dynamics.algorithms.friction import COULOMB_SPEED
from robot_dynamics.algorithms.integrators import INTEGRATORS
from robot_dynamics.algorithms.simulation_step import (
    Friction,
    State,
    driven_acceleration,
    simulation_step,
)
from robot_dynamics.codegen.calls import CompiledFunction
from robot_dynamics.errors import ModelError
from robot_dynamics.model.canonical import CanonicalTree
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.programs import Programmed, Robot, Scalars, made_once, program
from robot_dynamics.spatial import Array

# Values of `friction` in forward dynamics and simulation.
FRICTION = ('none', 'model')

# Largest product of the time step and the rate [1/s] at which friction brakes a joint. Beyond it
# an integrator that evaluates friction at given velocities reverses the joint, farther each time.
STABLE = {'explicit_euler': 2.0, 'rk4': 2.78}
POSTURES = 64

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

        Called as `forward_dynamics(q, qd, tau, friction='none')`. With `friction='model'`,
        qdd = M^-1 (tau - C qd - g - friction(qd)), friction(qd) being `friction_torque(qd)`, dry
        friction zero at standstill; the first such call compiles another program.

        Raises:
            ModelError: joints that move no inertia, by name: their acceleration is undefined.
            ValueError: friction is neither 'none' nor 'model'.
        """
        without = self.forward_dynamics_program()
        # What refers to `self` would be in a circle of references with it.
        twin = copy.copy(self)
        choices = {
            'none': lambda: without.call,
            'model': lambda: twin.forward_dynamics_program('model').call,
        }
        return without.choosing('friction', choices).call

    def forward_dynamics_program(self, friction: str = 'none') -> CompiledFunction:
        """Return the program of `forward_dynamics`. Raises ModelError and ValueError."""
        check_friction(friction)
        self._require_inertia()
        if friction == 'none':
            return MotionMethods._forward_dynamics.of(self)  # type: ignore[no-any-return]
        key = 'forward_dynamics with friction'
        if key not in self.__dict__:

            def driven(robot: Robot, q: Scalars, qd: Scalars, tau: Scalars) -> list[Any]:
                return driven_acceleration(robot.tree, _friction(robot), q, qd, tau)

            inputs = dict.fromkeys(('q', 'qd', 'tau'), self.model.n)
            self.__dict__[key] = self.programs.compiled(key, driven, inputs)
        return self.__dict__[key]  # type: ignore[no-any-return]

    @program
    def _forward_dynamics(self, q: Scalars, qd: Scalars, tau: Scalars) -> Any:
        """Return the accelerations (..., n) under torques.   qdd = M^-1 (tau - C qd - g).

        friction='model' subtracts friction_torque(qd) from the torques.
        """
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
        friction: str = 'model',
    ) -> State:
        """Return State(q, qd), each (..., n), after some steps under constant torques tau.

        Effort and position limits are left to the caller. A motion that diverges ends in numbers
        that are not finite.

        Args:
            q: (..., n) joint positions.
            qd: (..., n) joint velocities.
            tau: (..., n) torques of the motors, and external joint torques.
            steps: how many, 0 or more.
            time_step: s.
            integrator: 'semi_implicit_euler', the only one that takes stiff friction, 'rk4' or
                'explicit_euler': see `algorithms.simulation_step`.
            friction: 'model' or 'none'.

        Raises:
            ModelError: joints that move no inertia, by name.
            ValueError: steps, time_step, integrator or friction is not one of these; or friction
                could reverse a joint within a step of this integrator.
        """
        step = self.simulation_step(integrator, friction)
        if friction == 'model' and integrator in STABLE:
            require_resolved(self._fastest_friction, integrator, time_step)
        return stepping.simulate(step, q, qd, tau, steps=steps, time_step=time_step)

    def rollout(
        self,
        q: Any,
        qd: Any,
        tau: Any,
        *,
        time_step: float = 1e-3,
        integrator: str = 'semi_implicit_euler',
        friction: str = 'model',
    ) -> State:
        """Return State(q, qd), each (steps + 1, n), from q, qd (n,) under torques tau (steps, n).

        Row 0 is the start; a torque is held over its step. Otherwise as `simulate`.
        """
        step = self.simulation_step(integrator, friction)
        if friction == 'model' and integrator in STABLE:
            require_resolved(self._fastest_friction, integrator, time_step)
        return stepping.rollout(step, q, qd, tau, time_step=time_step)

    def simulation_step(self, integrator: str, friction: str = 'model') -> CompiledFunction:
        """Return the program of one step: step(q, qd, tau, time_step) -> State, time_step (1,).

        It takes any time step; `simulate` checks that the integrator resolves friction.

        Raises:
            ModelError: joints that move no inertia, by name.
            ValueError: integrator or friction is not one of those of `simulate`.
        """
        check_friction(friction)
        if integrator not in INTEGRATORS:
            raise ValueError(
                f'integrator is {integrator!r}; it must be one of {", ".join(INTEGRATORS)}'
            )
        key = f'simulation_step {integrator}'
        if friction == 'none':
            key += ' without friction'
        if key not in self.__dict__:
            self._require_inertia()

            def step(robot: Robot, q: Scalars, qd: Scalars, tau: Scalars, h: Scalars) -> State:
                lost = _friction(robot, friction)
                return simulation_step(robot.tree, lost, integrator, q, qd, tau, h[0])

            inputs = {**dict.fromkeys(('q', 'qd', 'tau'), self.model.n), 'time_step': 1}
            self.__dict__[key] = self.programs.compiled(key, step, inputs, result=State)
        return self.__dict__[key]  # type: ignore[no-any-return]

    @made_once
    def _fastest_friction(self) -> tuple[str, float]:
        """Return the joint that friction brakes fastest, and the rate [1/s]."""
        return fastest_friction(self.model, self.tree, self.model.viscous, self.model.coulomb)

    def _require_inertia(self) -> None:
        """Raise ModelError, which names a joint, unless every joint moves some inertia."""
        if self.joint_without_inertia is not None:
            raise ModelError(
                f'forward dynamics of {self.model.name!r} is undefined: joint '
                f'{self.joint_without_inertia!r} moves no inertia; give the links beyond it a '
                'mass, or lock it'
            )


def check_friction(friction: str) -> None:
    """Raise ValueError unless `friction` is one of `FRICTION`."""
    if friction not in FRICTION:
        raise ValueError(f'friction is {friction!r}; it must be one of {", ".join(FRICTION)}')


def fastest_friction(
    model: RobotModel, tree: CanonicalTree, viscous: Array, coulomb: Array
) -> tuple[str, float]:
    """Return the largest rate [1/s] at which friction brakes a joint, and which joint.

    Args:
        model: the robot.
        tree: the same, with its loads.
        viscous: (n,) coefficients, N m s/rad or N s/m.
        coulomb: (n,) likewise, N m or N.
    """
    # S, the slope of friction over velocity, is largest at standstill. The rates are the
    # eigenvalues of M^-1 S, which are those of S^1/2 M^-1 S^1/2.
    root = np.sqrt(viscous + coulomb / COULOMB_SPEED)
    q = np.random.default_rng(0).uniform(-np.pi, np.pi, (POSTURES, model.n))
    rows = [[np.broadcast_to(x, POSTURES) for x in row] for row in crba(tree, list(q.T))]
    M = np.moveaxis(np.array(rows, dtype=float), -1, 0)
    rates, vectors = np.linalg.eigh(root[:, None] * np.linalg.inv(M) * root)
    k = int(np.argmax(rates[:, -1]))
    joint = model.joint_names[int(np.argmax(np.abs(vectors[k, :, -1])))]
    return joint, float(rates[k, -1])


def require_resolved(fastest: tuple[str, float], integrator: str, time_step: float) -> None:
    """Raise ValueError if the fastest friction could reverse a joint within a step."""
    joint, rate = fastest
    h, limit = stepping.checked_time_step(time_step), STABLE.get(integrator, np.inf)
    if h * rate > limit:
        raise ValueError(
            f'time_step is {h:g} s, but friction brakes joint {joint!r} at up to {rate:.4g} per '
            f'second; {integrator} needs a step of at most {limit / rate:.2g} s. '
            'semi_implicit_euler takes any step, simulation.Simulator takes stiff friction with '
            'every integrator, and without_friction() leaves it out'
        )


def _friction(robot: Robot, choice: str = 'model') -> Friction:
    """Return the coefficients of the model, or zeros, as algorithms take them."""
    share = float(choice == 'model')
    b, c = share * robot.model.viscous, share * robot.model.coulomb
    return Friction(robot.per_joint(b), robot.per_joint(c))


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
