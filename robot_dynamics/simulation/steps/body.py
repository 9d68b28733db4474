"""Coordinates y of a simulated arm, and the quantities that the integrators evaluate.

    M(y) ydd + C(y, yd) yd + g(y) + D yd + friction(yd) = force

A `RigidArm` has one coordinate per joint; an `ElasticArm` has two, link and motor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from robot_dynamics.algorithms import Terms
from robot_dynamics.algorithms.simulation_step import State
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.simulation.joint_models.smooth_friction import Friction, FrictionPart
from robot_dynamics.spatial import Array

# Largest h omega of springs that a step resolves: their torques may be those of its start.
RESOLVED = 1.0

# State = step(y, yd, force)
Step = Callable[[Array, Array, Array], State]


class Springs(NamedTuple):
    """Linear springs and dampers between coordinates. Their torques are part of g, and D."""

    K: Array  # (m, m) N m/rad or N/m
    D: Array  # (m, m) N m s/rad or N s/m


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

    def energy(self, y: Array, yd: Array) -> tuple[float, float]:
        """Return the kinetic energy and the potential energy, springs included, J."""

    def stepper(self, integrator: str, friction: FrictionPart, h: float) -> Step:
        """Return the step of an explicit integrator with a part of the friction."""

    def braked(self, y: Array, yd: Array, force: Array, h: float) -> Array:
        """Return the friction (m,) at the velocities of the end of a step."""

    def carrying(self, load: Callable[[Dynamics], Dynamics]) -> Body:
        """Return the body with the payloads that `load` adds to an arm."""


def end_momentum(body: Body, y: Array, yd: Array, force: Array, h: float) -> tuple[Array, Array]:
    """Return H (m, m) and b (m,) with H v' = b for the velocities v' at the end of a step.

    Friction and stops are left out; springs are in H where they are too fast for the step.
    """
    M, C, g = body.terms(y, yd)
    # M v' = M v + h (f - C v - g - h K v' - D v')
    H, b = M, M @ yd + h * (force - C @ yd - g)
    if body.springs is not None:
        H = H + h * body.springs.D
        if h * body.fastest > RESOLVED:
            H = H + h**2 * body.springs.K
    return H, b
