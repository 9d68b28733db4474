"""Friction of a step, solved until it agrees with the velocities at the end of the step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg.lapack import dposv

from robot_dynamics.algorithms.friction_step import ROUNDS, Slowed
from robot_dynamics.friction.impulses import TINY, without_memory
from robot_dynamics.simulation.errors import SimulationDiverged
from robot_dynamics.spatial import Array

# Change of the velocities, relative to the largest, at which friction is that of the velocities.
CONVERGED = 1e-10
# Calls of `algorithms.friction_step.ROUNDS` rounds each; two suffice for all arms that were tried.
MOST_CALLS = 10


def solved(rounds: Callable[[Array], Slowed], s: Array) -> Slowed:
    """Return velocities (n,) and impulses (n,) of a step with dry friction.

    Args:
        rounds: some rounds of the solver from s (n,).
        s: (n,) a guess of the velocities.

    Raises:
        SimulationDiverged: the rounds do not converge.
    """
    for _ in range(MOST_CALLS):
        slowed = rounds(s)
        error, size = np.abs(slowed.error).max(), np.abs(slowed.v).max()
        if error <= CONVERGED * max(size, np.abs(slowed.s).max()) + TINY:
            return slowed
        s = slowed.s
    raise SimulationDiverged(
        f'friction of a step was not found in {MOST_CALLS} calls: the velocities at its end still '
        f'differ by {error:.2g} of {size:.2g} per second'
    )


def rounds_on(H: Array, b: Array, d: Array) -> Callable[[Array], Slowed]:
    """Return the rounds of `algorithms.friction_step` for arrays: H v + p = b.

    Args:
        H: (m, m) symmetric and positive definite.
        b: (m,) momentum without dry friction.
        d: (m,) largest impulses of dry friction without memory.
    """
    W = np.linalg.inv(H)
    m = 1.0 / W.diagonal()

    def rounds(s: Array) -> Slowed:
        v, p, slope = without_memory(s, m, d)
        for _ in range(ROUNDS):
            # (H + dp/dv) dv = b - H v - p,   s <- s + dv + dp/dv dv / m
            steeper = H.copy()
            steeper.reshape(-1)[:: len(m) + 1] += slope
            dv = dposv(steeper, b - H @ v - p)[1]
            s = s + dv * (1.0 + slope / m)
            v, p, slope = without_memory(s, m, d)
        balanced = W @ (b - p)
        return Slowed(balanced, p, s, balanced - v)

    return rounds
