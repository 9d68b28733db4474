# SPDX-License-Identifier: Apache-2.0
"""Simulation step of a mechanism with kinematic loops, by r independent constraint equations.

With X = M^-1 J^T and the r x r matrix H = J X, a step solves one small system:

    accelerations    qdd = a_0 - X H^-1 (c + J a_0),    a_0 = M^-1 (tau - friction - C qd - g)
    closing          q  <- q - X H^-1 phi, twice;       qd <- qd - X H^-1 J qd

Straight-line code cannot select independent equations for a posture: where the chosen ones are
dependent, it divides by zero. It therefore returns a measure of independence, which the caller
checks; `simulation.closed_chains.least_constraint` solves the equations in any posture, at a
hundred times the cost.

Sources: Featherstone, Rigid Body Dynamics Algorithms (2008), section 8.5; Hairer and Wanner,
Solving Ordinary Differential Equations II (1996), section VII.2 (projection).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from robot_dynamics.common.scalars import Scalar
from robot_dynamics.core.algorithms.closed_chain_terms import (
    ChainTerms,
    chain_terms,
    closure_state,
)
from robot_dynamics.core.algorithms.forward_dynamics import (
    Factors,
    dense,
    factorize,
    fill_in,
    solve,
)
from robot_dynamics.core.algorithms.integrators import INTEGRATORS, column
from robot_dynamics.core.algorithms.vectors import Matrix, Vector, inner
from robot_dynamics.core.friction.coulomb import Friction
from robot_dynamics.core.model.canonical import CanonicalTree
from robot_dynamics.core.model.closures import LoopClosure

CORRECTIONS = 2  # Newton iterations: each squares the remaining error


class ChainStep(NamedTuple):
    """A state one step later: scalars, or arrays with more axes before these."""

    q: Any  # (n)
    qd: Any  # (n)
    phi: Any  # (m) remaining constraint error
    before: Any  # (r) independence of the equations at the start of the step, 0 to 1
    after: Any  # (r) the same at its end


class CutChain(NamedTuple):
    """A mechanism with kinematic loops: the tree cut open, and its constraint equations."""

    tree: CanonicalTree
    closures: Sequence[LoopClosure]
    rows: Sequence[int]  # r of those that `chain_terms` lists


class StepFactors(NamedTuple):
    """Factors of M and H, for r independent equations."""

    M: Factors
    J: Matrix  # (r, n)
    X: Matrix  # (r, n) rows M^-1 J^T
    H: Factors


def chain_step(
    chain: CutChain,
    friction: Friction,
    integrator: str,
    q: Vector,
    qd: Vector,
    tau: Vector,
    h: Scalar,
) -> ChainStep:
    """Return the state after a time step h, projected onto the closures.

    Args:
        chain: the mechanism.
        friction: of its joints, evaluated at the velocities of each evaluation.
        integrator: a name of `INTEGRATORS`.
        q: (n) joint positions, rad or m.
        qd: (n) joint velocities.
        tau: (n) torques of the motors, held over the step.
        h: the step, s.
    """

    def a(q: Vector, qd: Vector) -> Any:
        lost = friction.torque(qd)
        driving = [t - f for t, f in zip(tau, lost, strict=True)]
        return column(constrained_acceleration(chain, q, qd, driving))

    moved, speed = INTEGRATORS[integrator].step(a, column(q), column(qd), h)
    return closed(chain, list(moved), list(speed))._replace(before=independence(chain, q))


def constrained_acceleration(chain: CutChain, q: Vector, qd: Vector, tau: Vector) -> list[Scalar]:
    """Return qdd (n) under torques (n), subject to the closures."""
    here = chain_terms(chain.tree, chain.closures, q, qd)
    factors = factorized(chain, here)
    # a_0 = M^-1 (tau - C qd - g)
    free = solve(factors.M, [t - b for t, b in zip(tau, here.b, strict=True)])
    apart = [here.c[k] + inner(row, free) for k, row in zip(chain.rows, factors.J, strict=True)]
    return _corrected(free, factors, apart)


def closed(chain: CutChain, q: Vector, qd: Vector) -> ChainStep:
    """Return the state nearest to (q, qd) in which the loops are closed."""
    rest = [0.0] * len(q)
    for _ in range(CORRECTIONS):
        here = chain_terms(chain.tree, chain.closures, q, rest)
        q = _corrected(q, factorized(chain, here), [here.phi[k] for k in chain.rows])
    here = chain_terms(chain.tree, chain.closures, q, rest)
    factors = factorized(chain, here)
    qd = _corrected(qd, factors, [inner(row, qd) for row in factors.J])
    return ChainStep(q, qd, here.phi, before=[], after=independence(chain, q))


def factorized(chain: CutChain, here: ChainTerms) -> StepFactors:
    """Return the factors of M and H for the chosen equations."""
    M = factorize(here.M, fill_in(chain.tree))
    J = [here.J[k] for k in chain.rows]
    X = [solve(M, row) for row in J]
    # H = J M^-1 J^T
    H = [[inner(a, b) for b in X[: i + 1]] for i, a in enumerate(J)]
    return StepFactors(M, J, X, factorize(H, dense(len(J))))


def independence(chain: CutChain, q: Vector) -> list[Scalar]:
    """Return the independence of each chosen equation from those after it (r), 0 to 1.

    D_k of H relative to the mobility of the two frames of its closure, in rotation or translation.
    """
    rest = [0.0] * len(q)
    here = chain_terms(chain.tree, chain.closures, q, rest)
    factors = factorized(chain, here)
    scales: list[Scalar] = []
    for closure in chain.closures:
        J = closure_state(chain.tree, closure, q, rest).J
        # J M^-1 J^T, summed over three directions
        turning, moving = (
            sum(inner(row, solve(factors.M, row)) for row in rows) for rows in (J[:3], J[3:])
        )
        scales += [turning] * len(closure.perpendicular) + [moving] * 3
    return [1.0 / (d * scales[k]) for d, k in zip(factors.H.D_inverse, chain.rows, strict=True)]


def _corrected(x: Vector, factors: StepFactors, e: Vector) -> list[Scalar]:
    """Return x - X H^-1 e (n)."""
    result = list(x)
    for weight, row in zip(solve(factors.H, e), factors.X, strict=True):
        result = [a - weight * b for a, b in zip(result, row, strict=True)]
    return result
