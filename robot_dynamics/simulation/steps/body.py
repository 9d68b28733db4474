# SPDX-License-Identifier: Apache-2.0
"""Coordinates y of a simulated arm, and the quantities that the integrators evaluate.

    M(y) ydd + C(y, yd) yd + g(y) + D yd + friction(yd) = force

A `RigidArm` has one coordinate per joint; an `ElasticArm` has two, link and motor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, Protocol

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.algorithms import Terms
from robot_dynamics.core.algorithms.friction_step import FrictionStep
from robot_dynamics.core.algorithms.simulation_step import State
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.friction.coulomb import Friction
from robot_dynamics.core.friction.impulses import DryFriction
from robot_dynamics.core.model.states import extreme_postures
from robot_dynamics.core.rollout import fastest_rate
from robot_dynamics.simulation.converged import solved_by_arrays

# Largest h omega of springs that a step resolves: their torques may be those of its start.
RESOLVED = 1.0

# The part of the friction that an integrator evaluates.
FrictionPart = Literal['viscous', 'none']

# State = step(y, yd, force, h)
BodyStep = Callable[[Array, Array, Array, float], State]


class Springs(NamedTuple):
    """Linear springs and dampers between coordinates. Their torques are part of g, and D."""

    K: Array  # (m, m) N m/rad or N/m
    D: Array  # (m, m) N m s/rad or N s/m


class Energy(NamedTuple):
    """Energy of an arm, J."""

    kinetic: float
    gravity: float  # potential, zero at the base's origin
    springs: float = 0.0

    @property
    def potential(self) -> float:
        """Potential energy of gravity and of springs."""
        return self.gravity + self.springs


class Body(Protocol):
    """An arm as a system of m coordinates, n of which are the joints of its links."""

    @property
    def arm(self) -> Dynamics:
        """The dynamics of the links, with the present payloads."""

    @property
    def friction(self) -> Friction:
        """Friction of each coordinate."""

    @property
    def lower(self) -> Array:
        """Position limits (m,), infinite where there are none."""

    @property
    def upper(self) -> Array:
        """Position limits (m,)."""

    @property
    def springs(self) -> Springs | None:
        """Springs between coordinates, if there are any."""

    @property
    def fastest(self) -> float:
        """The largest frequency of the springs [rad/s], 0 if there are none."""

    def start(self, q: Array, qd: Array) -> State:
        """Return (y, yd), (m,) each, of links at (q, qd)."""

    def force(self, effort: Array, outside: Array | None) -> Array:
        """Return the forces (m,) of drives (n,) and of the environment on the links (n,)."""

    def terms(self, y: Array, yd: Array) -> Terms:
        """Return M (m, m), C (m, m) and g (m,), with the torques of springs, at a state."""

    def mass_matrix(self, y: Array) -> Array:
        """Return M (m, m)."""

    def acceleration(self, y: Array, yd: Array, force: Array) -> Array:
        """Return ydd (m,) without friction."""

    def energy(self, y: Array, yd: Array) -> Energy:
        """Return the energy; on a moving base that relative to it, without gravity's."""

    def weight_work(self, y: Array, after: Array) -> float:
        """Return the work [J] of weight and inertial forces over a step if the base moves, else 0.

        Gravity of a fixed base is part of the energy.
        """

    def stepper(self, integrator: str, friction: FrictionPart, h: float) -> BodyStep:
        """Return steps of at most h [s] of an explicit integrator with a part of the friction."""

    def slowed(
        self, y: Array, yd: Array, force: Array, h: float, dry: DryFriction
    ) -> FrictionStep:
        """Return velocities and impulses of dry friction (m,) at the end of a step.

        The step is one of semi-implicit Euler, with viscous friction at its end. Raises
        SimulationDiverged if its equation is not solved.
        """

    def carrying(self, load: Callable[[Dynamics], Dynamics]) -> Body:
        """Return the body with the payloads that `load` adds to an arm."""


def fastest_of(body: Body, D: Array) -> float:
    """Return the rate of dampers D (m, m) in `extreme_postures`, or the square of a frequency."""
    m = len(body.lower)
    M = np.array([body.mass_matrix(np.resize(q, m)) for q in extreme_postures(body.arm.model)])
    return fastest_rate(M, D)[1]


def damping_of(body: Body, part: FrictionPart) -> Array:
    """Return the viscous coefficients (m,) of a part of the friction."""
    return np.asarray(body.friction.viscous) * (part == 'viscous')


def slowed_by_arrays(
    body: Body, y: Array, yd: Array, force: Array, h: float, dry: DryFriction
) -> FrictionStep:
    """Return `Body.slowed` of a body of any size."""
    H, b = end_momentum(body, y, yd, force, h)
    W = np.linalg.inv(H)
    return solved_by_arrays(W, W @ b, lambda s, m: dry.response(s, m, h))


def end_momentum(body: Body, y: Array, yd: Array, force: Array, h: float) -> tuple[Array, Array]:
    """Return H (m, m) and b (m,) with H v' = b for the velocities v' at the end of a step.

    Dry friction and stops are left out; springs are in H where they are too fast for the step.
    """
    M, C, g = body.terms(y, yd)
    # M v' = M v + h (f - C v - g - h K v' - D v' - F_v v')
    H, b = M.copy(), M @ yd + h * (force - C @ yd - g)
    H.reshape(-1)[:: len(H) + 1] += h * body.friction.viscous
    if body.springs is not None:
        H = H + h * body.springs.D
        if h * body.fastest > RESOLVED:
            H = H + h**2 * body.springs.K
    return H, b
