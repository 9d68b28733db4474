"""Simulation step of a mechanism with kinematic loops, by r independent constraint equations.

With X = M^-1 J^T and the r x r matrix H = J X, a step solves one small system:

    accelerations    qdd = a_0 - X H^-1 (c + J a_0),    a_0 = M^-1 (tau - friction - C qd - g)
    closing          q  <- q - X H^-1 phi, twice;       qd <- qd - X H^-1 J qd

Straight-line code cannot select independent equations for a posture: where the chosen ones are
dependent, it divides by zero. It therefore returns a measure of independence, which the caller
checks; `closed_chains.least_constraint` solves the equations in any posture, at a hundred times
the cost.

Sources: Featherstone, Rigid Body Dynamics Algorithms (2008), section 8.5; Hairer and Wanner,
Solving Ordinary Differential Equations II (1996), section VII.2 (projection).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.algorithms.closed_chain_terms import LoopTerms, closure_state, loop_terms
from robot_dynamics.algorithms.forward_dynamics import Factors, factorize, solve
from robot_dynamics.algorithms.friction import friction_torque
from robot_dynamics.algorithms.integrators import INTEGRATORS
from robot_dynamics.algorithms.simulation_step import Friction
from robot_dynamics.algorithms.vectors import Matrix, Scalar, Vector, is_zero
from robot_dynamics.model.canonical import CanonicalTree
from robot_dynamics.model.closures import LoopClosure

CORRECTIONS = 2  # Newton iterations: each squares the remaining error


class LoopStep(NamedTuple):
    """A state one step later: scalars, or arrays with more axes before these."""

    q: Any  # (n)
    qd: Any  # (n)
    phi: Any  # (m) remaining constraint error
    before: Any  # (r) independence of the equations at the start of the step, 0 to 1
    after: Any  # (r) the same at its end


class Loops(NamedTuple):
    """A tree, and the constraint equations of its loops."""

    tree: CanonicalTree
    closures: Sequence[LoopClosure]
    rows: Sequence[int]  # r of those that `loop_terms` lists


class Hold(NamedTuple):
    """Factors of M and H for r independent equations."""

    mass: Factors  # of M
    J: Matrix  # (r, n)
    X: Matrix  # (r, n) rows M^-1 J^T
    L: Matrix  # (r, r) of H = L D L^T, below the diagonal
    D: Vector  # (r)


def loop_step(
    loops: Loops,
    friction: Friction,
    integrator: str,
    q: Vector,
    qd: Vector,
    tau: Vector,
    h: Scalar,
) -> LoopStep:
    """Return the state after a time step h, projected onto closed loops.

    Args:
        loops: the mechanism.
        friction: of its joints, evaluated at the velocities of each evaluation.
        integrator: a name of `INTEGRATORS`.
        q: (n) joint positions, rad or m.
        qd: (n) joint velocities.
        tau: (n) torques of the motors, held over the step.
        h: the step, s.
    """

    def a(q: Vector, qd: Vector) -> Any:
        lost = friction_torque(*friction, qd)
        driving = [t - f for t, f in zip(tau, lost, strict=True)]
        return _column(loop_acceleration(loops, q, qd, driving))

    moved, speed = INTEGRATORS[integrator](a, _column(q), _column(qd), h)
    return closed(loops, list(moved), list(speed))._replace(before=independence(loops, q))


def loop_acceleration(loops: Loops, q: Vector, qd: Vector, tau: Vector) -> list[Scalar]:
    """Return qdd (n) under torques (n), subject to the closures."""
    here = loop_terms(loops.tree, loops.closures, q, qd)
    hold = held(loops, here)
    # a_0 = M^-1 (tau - C qd - g)
    free = solve(hold.mass, [t - b for t, b in zip(tau, here.b, strict=True)])
    parting = [here.c[k] + _dot(row, free) for k, row in zip(loops.rows, hold.J, strict=True)]
    return _less(free, hold, parting)


def closed(loops: Loops, q: Vector, qd: Vector) -> LoopStep:
    """Return the state nearest to (q, qd) in which the loops are closed."""
    rest = [0.0] * len(q)
    for _ in range(CORRECTIONS):
        here = loop_terms(loops.tree, loops.closures, q, rest)
        q = _less(q, held(loops, here), [here.phi[k] for k in loops.rows])
    here = loop_terms(loops.tree, loops.closures, q, rest)
    hold = held(loops, here)
    qd = _less(qd, hold, [_dot(row, qd) for row in hold.J])
    return LoopStep(q, qd, here.phi, before=[], after=independence(loops, q))


def held(loops: Loops, here: LoopTerms) -> Hold:
    """Return the factors of M and H for the chosen equations."""
    mass = factorize(loops.tree, here.M)
    J = [here.J[k] for k in loops.rows]
    X = [solve(mass, row) for row in J]
    # H = J M^-1 J^T = L D L^T
    H = [[_dot(a, b) for b in X[: i + 1]] for i, a in enumerate(J)]
    r = len(J)
    for k in range(r):
        for i in range(k + 1, r):
            factor = H[i][k] / H[k][k]
            for j in range(k + 1, i + 1):
                # H_ij -= H_ik H_jk / H_kk; left of j, H_jk is L_jk D_k still
                H[i][j] = H[i][j] - factor * H[j][k]
        for i in range(k + 1, r):
            H[i][k] = H[i][k] / H[k][k]
    return Hold(mass, J, X, H, [H[k][k] for k in range(r)])


def independence(loops: Loops, q: Vector) -> list[Scalar]:
    """Return the independence of each chosen equation from those before it (r), 0 to 1.

    D_k relative to the mobility of the two frames of its closure, in rotation or translation.
    """
    rest = [0.0] * len(q)
    here = loop_terms(loops.tree, loops.closures, q, rest)
    hold = held(loops, here)
    scales: list[Scalar] = []
    for closure in loops.closures:
        J = closure_state(loops.tree, closure, q, rest).J
        # J M^-1 J^T, summed over three directions
        turning, moving = (
            sum(_dot(row, solve(hold.mass, row)) for row in rows) for rows in (J[:3], J[3:])
        )
        scales += [turning] * len(closure.perpendicular) + [moving] * 3
    return [d / scales[k] for d, k in zip(hold.D, loops.rows, strict=True)]


def _less(x: Vector, hold: Hold, e: Vector) -> list[Scalar]:
    """Return x - X H^-1 e (n)."""
    r = len(e)
    y = list(e)
    # L y = e,   y <- D^-1 y,   L^T y = y
    for i in range(r):
        for k in range(i):
            y[i] = y[i] - hold.L[i][k] * y[k]
    y = [value / d for value, d in zip(y, hold.D, strict=True)]
    for i in reversed(range(r)):
        for k in range(i + 1, r):
            y[i] = y[i] - hold.L[k][i] * y[k]
    result = list(x)
    for weight, row in zip(y, hold.X, strict=True):
        result = [a - weight * b for a, b in zip(result, row, strict=True)]
    return result


def _dot(a: Vector, b: Vector) -> Scalar:
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        if not (is_zero(x) or is_zero(y)):
            total = total + x * y
    return total


def _column(values: Vector) -> Any:
    """Return scalars of any kind as an array that integrators can add and scale."""
    column = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        column[i] = value
    return column
