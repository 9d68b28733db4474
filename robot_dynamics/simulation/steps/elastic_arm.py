# SPDX-License-Identifier: Apache-2.0
"""Arm with a spring between each motor and its link: y = (q, theta).

    M(q) qdd + C(q, qd) qd + g(q) + K (q - theta) + D (qd - thetad) = J^T F      the links
    B thetadd + friction(thetad) + K (theta - q) + D (thetad - qd) = tau         the motors

theta is the motor's angle seen at the joint, B = r^2 J_m its rotor's inertia there, which a rigid
arm has on M's diagonal. Friction acts on the motors. As K grows, the motion approaches that of a
rigid arm: q - theta falls with 1 / K.

Sources: Spong, Hutchinson and Vidyasagar, example 6.2, for one joint; Spong, "Modeling and control
of elastic joint robots", J. Dynamic Systems 109(4), 1987, which assumes that rotors turn about
their own axes only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.made_once import made_once
from robot_dynamics.common.settings import checked
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.algorithms import Terms
from robot_dynamics.core.algorithms.friction_step import FrictionStep
from robot_dynamics.core.algorithms.integrators import INTEGRATORS
from robot_dynamics.core.algorithms.simulation_step import State
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coulomb import Friction
from robot_dynamics.core.friction.impulses import DryFriction
from robot_dynamics.simulation.joint_models.selection import Elasticity
from robot_dynamics.simulation.steps.body import (
    BodyStep,
    Energy,
    FrictionPart,
    Springs,
    damping_of,
    fastest_of,
    slowed_by_arrays,
)
from robot_dynamics.simulation.steps.held_base import HeldBase, on_base, weight_work


class ElasticArm:
    """A `Body` of links and motors."""

    def __init__(self, arm: Dynamics, elasticity: Elasticity, base: HeldBase | None = None):
        """Use friction and rotors of the arm's model. The base is fixed if it is None.

        Raises:
            ModelError: a motor without inertia, a stiffness that is not positive, a negative
                damping, or one that is neither a number nor (n,).
        """
        model = arm.model
        n, still = model.n, np.zeros(model.n)
        self.arm, self.n = arm, n
        links = Dynamics(
            replace(model, reflected_inertia=still),
            snap=arm.programs.snap,
            backend=arm.programs.backend,
        )
        self._links = on_base(links, base)
        self._B = model.reflected_inertia
        if not np.all(self._B > 0):
            name = model.joint_names[int(np.argmin(self._B))]
            raise ModelError(
                f'the motor of joint {name!r} has no inertia; elastic joints need '
                'a positive rotor inertia: with_actuation(rotor_inertia=...)'
            )
        given = checked(elasticity, n)
        self._k, self._d = given.stiffness, given.damping
        between = np.array([[1.0, -1.0], [-1.0, 1.0]])
        self.springs = Springs(*(np.kron(between, np.diag(x)) for x in (self._k, self._d)))
        self.friction = Friction(
            *(np.concatenate([still, x]) for x in (model.viscous, model.coulomb))
        )
        unlimited = np.full(n, np.inf)
        self.lower = np.concatenate([model.lower, -unlimited])
        self.upper = np.concatenate([model.upper, unlimited])

    def carrying(self, load: Callable[[Dynamics], Dynamics]) -> ElasticArm:
        """Return the body with the payloads that `load` adds to an arm."""
        other = ElasticArm.__new__(ElasticArm)
        other.__dict__.update(self.__dict__)
        links = self._links
        other.arm = load(self.arm)
        other._links = load(links) if isinstance(links, Dynamics) else links.carrying(load)
        return other

    def start(self, q: Array, qd: Array) -> State:
        """Return (y, yd) of links at (q, qd), with springs that balance gravity."""
        # K (theta - q) = g(q)
        theta = q + self._links.gravity_torque(q) / self._k
        return State(np.concatenate([q, theta]), np.concatenate([qd, qd]))

    def force(self, effort: Array, outside: Array | None) -> Array:
        """Return the forces on the links (n,), zero if None, then on the motors (n,)."""
        return np.concatenate([np.zeros(self.n) if outside is None else outside, effort])

    def terms(self, y: Array, yd: Array) -> Terms:
        """Return M (2n, 2n), C (2n, 2n) and g (2n,) with the springs."""
        n = self.n
        M, C = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, 2 * n))
        # Equal and opposite to the last bit on link and motor, unlike K y.
        pull = self._k * (y[:n] - y[n:])
        links = self._links.terms(y[:n], yd[:n])
        M[:n, :n], C[:n, :n] = links.M, links.C
        M.reshape(-1)[n * (2 * n + 1) :: 2 * n + 1] = self._B
        return Terms(M, C, np.concatenate([links.g + pull, -pull]))

    def mass_matrix(self, y: Array) -> Array:
        """Return M (2n, 2n)."""
        n = self.n
        M = np.zeros((2 * n, 2 * n))
        M[:n, :n] = self._links.mass_matrix(y[:n])
        M.reshape(-1)[n * (2 * n + 1) :: 2 * n + 1] = self._B
        return M

    def acceleration(self, y: Array, yd: Array, force: Array) -> Array:
        """Return ydd (2n,) without friction."""
        n = self.n
        q, qd = y[:n], yd[:n]
        # K (q - theta) + D (qd - thetad)
        pull = self._k * (q - y[n:]) + self._d * (qd - yd[n:])
        links = self._links.forward_dynamics(q, qd, force[:n] - pull)
        return np.concatenate([links, (force[n:] + pull) / self._B])

    def energy(self, y: Array, yd: Array) -> Energy:
        """Return the energy."""
        n, q, rate = self.n, y[: self.n], yd[self.n :]
        kinetic = float(self._links.kinetic_energy(q, yd[:n])) + 0.5 * float(
            rate @ (self._B * rate)
        )
        stretch = q - y[n:]
        spring = 0.5 * float(stretch @ (self._k * stretch))
        return Energy(kinetic, float(self._links.potential_energy(q)), spring)

    def weight_work(self, y: Array, after: Array) -> float:
        """Return the work of weight and inertial forces on a moving base over a step, J."""
        return weight_work(self._links, y[: self.n], after[: self.n])

    def slowed(
        self, y: Array, yd: Array, force: Array, h: float, dry: DryFriction
    ) -> FrictionStep:
        """Return velocities and impulses of dry friction at the end of a step."""
        return slowed_by_arrays(self, y, yd, force, h, dry)

    def stepper(self, integrator: str, friction: FrictionPart, h: float) -> BodyStep:
        """Return steps of at most h [s] of an explicit integrator with a part of the friction.

        Raises ValueError if springs or dampers are too fast for it.
        """
        self._require_resolved(integrator, h)
        method, damping = INTEGRATORS[integrator].step, damping_of(self, friction)

        def step(y: Array, yd: Array, force: Array, h: float) -> State:
            def a(y: Array, yd: Array) -> Array:
                return self.acceleration(y, yd, force - damping * yd)

            return State(*method(a, y, yd, h))

        return step

    def _require_resolved(self, integrator: str, h: float) -> None:
        limit = INTEGRATORS[integrator].spring_limit  # of its damper, too
        for what, rate in (
            ('stiffness oscillates', self.fastest),
            ('damping settles', fastest_of(self, self.springs.D)),
        ):
            if limit and h * rate > limit:
                raise ValueError(
                    f'time_step is {h:g} s, but a joint of this {what} at {rate:.4g} rad/s, for '
                    f'which {integrator} needs a step of at most {limit / rate:.2g} s; '
                    'implicit_midpoint has no limit'
                )

    @made_once
    def fastest(self) -> float:
        """The largest frequency of the springs [rad/s]."""
        return float(np.sqrt(fastest_of(self, self.springs.K)))
