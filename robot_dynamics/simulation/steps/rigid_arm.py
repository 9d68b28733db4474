"""Arm whose motors are fixed to its links: one coordinate per joint, y = q.

Rotors move with their joints and add r^2 J_m to the mass matrix (Spong, Hutchinson and Vidyasagar,
example 6.1).
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from robot_dynamics.algorithms import Terms, simulation_step
from robot_dynamics.algorithms.implicit_friction import Braked, braked_velocity
from robot_dynamics.algorithms.simulation_step import State
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.programs import Robot, Scalars, made_once
from robot_dynamics.simulation.joint_models.smooth_friction import (
    CONVERGED,
    Friction,
    FrictionPart,
)
from robot_dynamics.simulation.steps.body import Step
from robot_dynamics.spatial import Array

# Calls of a few rounds each, until friction agrees with the velocities.
MOST_CALLS = 10


class RigidArm:
    """A `Body`; explicit steps are compiled."""

    springs = None
    fastest = 0.0

    def __init__(self, arm: Dynamics):
        """Use the friction of the arm's model."""
        self._with_friction = {
            'all': arm,
            'viscous': arm.without_dry_friction(),
            'none': arm.without_friction(),
        }
        self.lower, self.upper = arm.model.lower, arm.model.upper

    @property
    def arm(self) -> Dynamics:
        """The arm with its present payloads."""
        return self._with_friction['all']

    @functools.cached_property
    def friction(self) -> Friction:
        """Friction of the joints."""
        return Friction(self.arm.model.viscous, self.arm.model.coulomb)

    def carrying(self, load: Callable[[Dynamics], Dynamics]) -> RigidArm:
        """Return the body with the payloads that `load` adds to an arm."""
        other = RigidArm.__new__(RigidArm)
        # Arms with different payloads share their programs.
        other._with_friction = {kind: load(arm) for kind, arm in self._with_friction.items()}
        other.lower, other.upper = self.lower, self.upper
        return other

    def start(self, q: Array, qd: Array) -> State:
        """Return (q, qd)."""
        return State(q, qd)

    def force(self, effort: Array, outside: Array | None) -> Array:
        """Return the sum of the torques of drives (n,) and environment (n,)."""
        return effort if outside is None else effort + outside

    def terms(self, q: Array, qd: Array) -> Terms:
        """Return M (n, n), C (n, n) and g (n,)."""
        return self.arm.terms(q, qd)

    def mass_matrix(self, q: Array) -> Array:
        """Return M (n, n)."""
        return self.arm.mass_matrix(q)

    def acceleration(self, q: Array, qd: Array, torque: Array) -> Array:
        """Return qdd (n,) without friction."""
        return self.arm.forward_dynamics(q, qd, torque)

    def energy(self, q: Array, qd: Array) -> tuple[float, float]:
        """Return the kinetic and the potential energy, J."""
        return float(self.arm.kinetic_energy(q, qd)), float(self.arm.potential_energy(q))

    def braked(self, q: Array, qd: Array, torque: Array, h: float) -> Array:
        """Return the friction (n,) at the velocities of the end of a step."""
        v, time_step = qd, np.array([h])
        for _ in range(MOST_CALLS):
            v, before, lost = self._brake(q, qd, torque, v, time_step)
            if np.abs(v - before).max() <= CONVERGED * np.abs(v).max():
                break
        return np.asarray(lost)

    @made_once
    def _brake(self) -> Callable[..., Braked]:
        def braked(robot: Robot, *scalars: Scalars) -> Braked:
            q, qd, tau, guess, h = scalars
            coefficients = robot.model.viscous.tolist(), robot.model.coulomb.tolist()
            friction = simulation_step.Friction(*coefficients)

            def slope(v: Scalars) -> Scalars:
                return simulation_step.friction_slope(friction, v)

            return braked_velocity(robot.tree, slope, q, qd, tau, guess, h[0])

        n = self.arm.model.n
        inputs = {**dict.fromkeys(('q', 'qd', 'tau', 'guess'), n), 'time_step': 1}
        program = self.arm.programs.compiled('braked_velocity', braked, inputs, result=Braked)
        return program.call

    def stepper(self, integrator: str, friction: FrictionPart, h: float) -> Step:
        """Return the compiled step of an explicit integrator with a part of the friction."""
        step = self._with_friction[friction].simulation_step(integrator).call
        time_step = np.array([h])
        return lambda q, qd, torque: step(q, qd, torque, time_step)
