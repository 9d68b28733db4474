# SPDX-License-Identifier: Apache-2.0
"""Arm whose motors are fixed to its links: one coordinate per joint, y = q.

Rotors move with their joints and add r^2 J_m to the mass matrix (Spong, Hutchinson and Vidyasagar,
example 6.1).
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from robot_dynamics.common.made_once import made_once
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.algorithms import Terms
from robot_dynamics.core.algorithms.friction_step import FrictionStep
from robot_dynamics.core.algorithms.simulation_step import State, held_friction
from robot_dynamics.core.compiled_robot import CompiledRobot
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coulomb import Friction
from robot_dynamics.core.friction.impulses import DryFriction
from robot_dynamics.core.programs import Robot, Scalars
from robot_dynamics.core.rollout import MOST_COUPLED
from robot_dynamics.simulation.converged import solved
from robot_dynamics.simulation.steps.body import BodyStep, Energy, FrictionPart, slowed_by_arrays
from robot_dynamics.simulation.steps.held_base import HeldBase, on_base, weight_work


class RigidArm:
    """A `Body`; explicit steps are compiled.

    Attributes:
        arm: the arm with its present payloads.
    """

    springs = None
    fastest = 0.0

    def __init__(self, arm: Dynamics, base: HeldBase | None = None):
        """Use the friction of the arm's model. The base is fixed if it is None."""
        self.arm, self._base = arm, base
        self._on_base = on_base(arm, base)
        self._with_friction = {
            'viscous': arm.without_dry_friction(),
            'none': arm.without_friction(),
        }
        self.lower, self.upper = arm.model.lower, arm.model.upper

    @made_once
    def friction(self) -> Friction:
        """Friction of the joints."""
        return Friction(self.arm.model.viscous, self.arm.model.coulomb)

    def carrying(self, load: Callable[[Dynamics], Dynamics]) -> RigidArm:
        """Return the body with the payloads that `load` adds to an arm."""
        other = RigidArm.__new__(RigidArm)
        # Arms with different payloads share their programs.
        other.arm, other._base = load(self.arm), self._base
        other._on_base = on_base(other.arm, self._base)
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
        return self._on_base.terms(q, qd)

    def mass_matrix(self, q: Array) -> Array:
        """Return M (n, n)."""
        return self.arm.mass_matrix(q)

    def acceleration(self, q: Array, qd: Array, torque: Array) -> Array:
        """Return qdd (n,) without friction."""
        return self._on_base.forward_dynamics(q, qd, torque)

    def energy(self, q: Array, qd: Array) -> Energy:
        """Return the energy."""
        on_base = self._on_base
        return Energy(float(on_base.kinetic_energy(q, qd)), float(on_base.potential_energy(q)))

    def weight_work(self, q: Array, after: Array) -> float:
        """Return the work of weight and inertial forces on a moving base over a step, J."""
        return weight_work(self._on_base, q, after)

    def slowed(
        self, q: Array, qd: Array, torque: Array, h: float, dry: DryFriction
    ) -> FrictionStep:
        """Return velocities and impulses of dry friction at the end of a step."""
        if len(q) > MOST_COUPLED:
            return slowed_by_arrays(self, q, qd, torque, h, dry)
        given = [x for x in dry if x is not None]
        rounds, time_step = self._rounds(len(given)), np.array([h])
        given += [] if self._base is None else [self._base.now]
        return solved(lambda s: rounds(q, qd, torque, time_step, s, *given), qd)

    @made_once
    def _rounds(self) -> Callable[[int], Callable[..., FrictionStep]]:
        """Return rounds for friction of one vector, without memory, or of all three."""

        def rounds(robot: Robot, *scalars: Scalars) -> FrictionStep:
            q, qd, tau, (h,), s, *dry = scalars
            viscous = robot.friction().viscous
            return held_friction(robot.tree, viscous, DryFriction(*dry), q, qd, tau, h, s)

        def compiled(given: int) -> Callable[..., FrictionStep]:
            names = ('q', 'qd', 'tau', 'time_step', 's', *DryFriction._fields[:given])
            inputs = {**dict.fromkeys(names, self.arm.model.n), 'time_step': 1}
            key = f'held_friction of {given}'
            programs = self._robot(self.arm).programs
            return programs.compiled(key, rounds, inputs, result=FrictionStep).call

        return functools.cache(compiled)

    def stepper(self, integrator: str, friction: FrictionPart, h: float) -> BodyStep:
        """Return compiled steps of an explicit integrator with a part of the friction."""
        step = self._robot(self._with_friction[friction]).simulation_step(integrator).call
        base = self._base
        if base is None:
            return lambda q, qd, torque, h: step(q, qd, torque, np.array([h]))
        return lambda q, qd, torque, h: step(q, qd, torque, np.array([h]), base.now)

    def _robot(self, arm: Dynamics) -> CompiledRobot:
        """Return the arm whose programs take the motion of the base, if it moves."""
        return arm if self._base is None else arm.on_moving_base()
