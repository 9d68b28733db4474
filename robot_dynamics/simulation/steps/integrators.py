# SPDX-License-Identifier: Apache-2.0
"""Integrators of a simulator, explicit and implicit.

| integrator | order | energy of a conservative arm |
|---|---|---|
| explicit_euler | 1 | grows: for study, and as in textbooks |
| semi_implicit_euler | 1 | off by O(h), with a trend; as in physics engines |
| rk4 | 4 | drifts by O(h^4): accurate, the default |
| implicit_midpoint | 2 | oscillates by O(h^2), no trend |
| discrete_gradient | 2 | constant to rounding |

The first three are compiled (`core.algorithms.integrators`). The implicit ones, below, solve an
equation in every step, which takes twenty to fifty times longer. Both write the equation of motion
for the momenta p = M(y) v,

    dy/dt = v,    dp/dt = C(y, v)^T v - g(y) + f        (since dM/dt = C + C^T),

and evaluate the right-hand side at the middle y_m of the step, where v = (y' - y) / h:

    M(y_m) v = (p + p') / 2,    y' = y + h v,    p' = p + h (C^T v - g + f).

This is the implicit midpoint rule of the Hamiltonian (y, p), and also the variational integrator
of the Lagrangian at the midpoint: symplectic, time-reversible, of order 2. The energy of a
conservative arm oscillates by O(h^2) without trend.

The discrete gradient method removes the remaining energy error of the midpoint rule by a force
along the momentum, -kappa M v: Gonzalez's discrete gradient, with the mass matrix as metric. The
change of energy over a step is then the work of f to rounding. It is of order 2, time-reversible,
not symplectic, and changes the momentum about an axis without torque, which the midpoint rule
keeps, by O(h^2).

v solves a fixed-point equation. Springs, dampers and friction, which can be stiff, are part of its
matrix, so it contracts by about h times the joint speed, and a dozen rounds reach rounding.

Sources: Hairer, Lubich and Wanner, Geometric Numerical Integration (2006), sections
VI.6.2 and IX; Gonzalez, "Time integration and discrete Hamiltonian systems", J. Nonlinear Science
6 (1996).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.algorithms import integrators
from robot_dynamics.core.algorithms.simulation_step import State
from robot_dynamics.simulation.errors import SimulationDiverged
from robot_dynamics.simulation.steps.body import Body

MAX_ROUNDS = 60
CORRECTIONS = 5
# Largest energy error that is corrected, as a share of the kinetic energy; above it the error is
# rounding of an arm at rest, or a velocity that reverses within the step.
CORRECTABLE = 0.1
EPS = float(np.finfo(float).eps)
CONVERGED = 4 * EPS  # relative change of the velocities
ACCEPTED = 1e-10  # the same, once it falls no more
BLUR = 16.0  # roundings of a position, which limit the velocity of a step
SLOW = 1.0  # per s^2: less than such an acceleration makes in a step counts as rest
ROUNDING = 4 * EPS  # of an energy, which is a sum of many terms


class AppliedForce(NamedTuple):
    """All forces but those of gravity, springs and dampers."""

    force: Array  # (m,) held over the step
    damping: Array  # (m,) viscous friction, N m s/rad or N s/m

    def torque(self, v: Array) -> Array:
        """Return the forces at velocities v (m,)."""
        return np.asarray(self.force - self.damping * v)


# State = integrator(body, y, yd, applied, h)
ImplicitIntegrator = Callable[[Body, Array, Array, AppliedForce, float], State]


class Middle(NamedTuple):
    """The middle of a step."""

    v: Array  # (m,) velocities
    rate: Array  # (m,) dp/dt, but for the force that corrects the energy
    momentum: Array  # (m,) M v


def implicit_midpoint(body: Body, y: Array, yd: Array, applied: AppliedForce, h: float) -> State:
    """Return the state after h seconds by the implicit midpoint rule in momenta.

    Args:
        body: the arm.
        y: (m,) coordinates.
        yd: (m,) velocities.
        applied: forces of drives, friction and environment.
        h: the step, s.

    Raises:
        SimulationDiverged: the step is too long for its equation to be solved.
    """
    p = body.mass_matrix(y) @ yd
    middle = _solved(body, y, p, applied, h, yd)
    return _end(body, y, p, middle, h)


def discrete_gradient(body: Body, y: Array, yd: Array, applied: AppliedForce, h: float) -> State:
    """Return the state after h seconds, its energy changed by the work of `applied` alone.

    Arguments and errors as for `implicit_midpoint`.
    """
    p = body.mass_matrix(y) @ yd
    before = sum(body.energy(y, yd))
    v, s, after = yd, 0.0, State(y, yd)  # s = h kappa
    for _ in range(CORRECTIONS):
        middle = _solved(body, y, p, applied, h, v, s)
        v = middle.v
        after = _end(body, y, p, middle, h, s)
        energy = body.energy(*after)
        exerted = applied.torque(v)
        if body.springs is not None:
            exerted = exerted - body.springs.D @ v
        miscounted = sum(energy) - before - h * float(v @ exerted)
        twice_kinetic = float(v @ middle.momentum)
        rounding = ROUNDING * (energy.kinetic + abs(energy.potential))
        if abs(miscounted) <= rounding or abs(miscounted) >= CORRECTABLE * twice_kinetic:
            break
        # A share s of the momentum takes out  s v . M v
        s += miscounted / twice_kinetic
    return after


def _solved(
    body: Body, y: Array, p: Array, applied: AppliedForce, h: float, v: Array, s: float = 0.0
) -> Middle:
    """Return the middle of the step that starts at y with momenta p, from a guess of v (m,)."""
    last = np.inf
    # Springs know their positions to rounding, and so the velocity that the step needs.
    blur = BLUR * EPS * float(np.abs(y).max()) / h
    for left in reversed(range(MAX_ROUNDS)):
        M, C, g = body.terms(y + h / 2 * v, v)
        rate, stiff = C.T @ v - g + applied.torque(v), M + np.diag(h / 2 * applied.damping)
        if body.springs is not None:
            K, D = body.springs
            rate, stiff = rate - D @ v, stiff + h / 2 * D + h**2 / 4 * K
        momentum = M @ v
        # M v = (p + p') / 2,   p' = p + h dp/dt - s M v
        change = dposv(stiff, (1 + s / 2) * momentum - p - h / 2 * rate)[1]
        moved, size = float(np.abs(change).max()), max(float(np.abs(v).max()), h * SLOW)
        falls = moved < last and left > 0
        if moved <= CONVERGED * size or (moved <= ACCEPTED * size + blur and not falls):
            return Middle(v, rate, momentum)
        v, last = v - change, moved
    raise SimulationDiverged(
        f'the equation of an implicit step was not solved in {MAX_ROUNDS} rounds: {h:g} s is too '
        f'long at velocities of {size:.3g} per second'
    )


def _end(body: Body, y: Array, p: Array, middle: Middle, h: float, s: float = 0.0) -> State:
    """Return the state at the end of a step."""
    # y' = y + h v,   M(y') yd' = p'
    after = y + h * middle.v
    p = p + h * middle.rate - s * middle.momentum
    return State(after, dposv(body.mass_matrix(after), p)[1])


# -- all integrators ------------------------------------------------------------------------

IMPLICIT_INTEGRATORS: dict[str, ImplicitIntegrator] = {
    'implicit_midpoint': implicit_midpoint,
    'discrete_gradient': discrete_gradient,
}

INTEGRATORS = (*integrators.INTEGRATORS, *IMPLICIT_INTEGRATORS)

# Beyond it implicit integrators reverse the velocity at each step, since they multiply it by
# (1 - h r / 2) / (1 + h r / 2): they remain stable, and their velocities are wrong.
IMPLICIT_DAMPING_LIMIT = 2.0  # h r, as in `Integrator`


def damping_limit(name: str) -> float:
    """Return the largest product of a step and the rate of a damper that it resolves."""
    if name in IMPLICIT_INTEGRATORS:
        return IMPLICIT_DAMPING_LIMIT
    return integrators.INTEGRATORS[name].damping_limit


def checked_integrator(name: str) -> str:
    """Return the name of an integrator. Raises ValueError unless it is one of `INTEGRATORS`."""
    if name not in INTEGRATORS:
        raise ValueError(f'integrator is {name!r}; it must be one of {", ".join(INTEGRATORS)}')
    return name
