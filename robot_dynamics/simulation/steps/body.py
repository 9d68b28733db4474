"""What is stepped: coordinates y, and what the integrators ask about them.

    M(y) ydd + C(y, yd) yd + g(y) + D yd + friction(yd) = force

A `RigidArm` has one coordinate per joint; an `ElasticArm` has two, link and motor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from robot_dynamics.algorithms.simulation_step import State
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.simulation.joint_models.smooth_friction import Friction, Taken
from robot_dynamics.spatial import Array

# State = step(y, yd, force)
Step = Callable[[Array, Array, Array], State]


class Terms(NamedTuple):
    """Of the equation of motion."""

    M: Array  # (m, m)
    C: Array  # (m, m), of Christoffel symbols
    g: Array  # (m,), with the torques of springs


class Springs(NamedTuple):
    """Linear springs and dampers between coordinates. Their torques are part of g, and D."""

    K: Array  # (m, m) N m/rad or N/m
    D: Array  # (m, m) N m s/rad or N s/m


class Body(Protocol):
    """An arm as a system of m coordinates, n of which are the joints of its links."""

    @property
    def arm(self) -> Dynamics:
        """The dynamics that it was made of, with what it carries."""

    @property
    def friction(self) -> Friction:
        """That of each coordinate."""

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
        """Return the forces (m,) of drives (n,) and whatever else pushes the links (n,)."""

    def terms(self, y: Array, yd: Array) -> Terms:
        """Return M, C and g at a state."""

    def mass_matrix(self, y: Array) -> Array:
        """Return M (m, m)."""

    def acceleration(self, y: Array, yd: Array, force: Array) -> Array:
        """Return ydd (m,) without friction."""

    def energy(self, y: Array, yd: Array) -> tuple[float, float]:
        """Return the kinetic energy and the potential energy, springs included, J."""

    def stepper(self, integrator: str, friction: Taken, h: float) -> Step:
        """Return the step of an explicit integrator that evaluates some of the friction."""

    def braked(self, y: Array, yd: Array, force: Array, h: float) -> Array:
        """Return the friction (m,) that belongs to the velocities at the end of a step."""

    def carrying(self, load: Callable[[Dynamics], Dynamics]) -> Body:
        """Return the same with the loads that `load` puts on an arm."""
