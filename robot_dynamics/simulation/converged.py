# SPDX-License-Identifier: Apache-2.0
"""Friction of a step, solved until it agrees with the velocities at the end of the step."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.linalg.lapack import dgesv, dposv

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.algorithms.friction_step import ROUNDS, FrictionStep
from robot_dynamics.core.friction.impulses import TINY, Response
from robot_dynamics.simulation.errors import SimulationDiverged

# Change of the velocities, relative to the largest, at which friction is that of the velocities:
# of compiled rounds, and of rounds by arrays.
CONVERGED, CLOSER = 1e-10, 1e-12
# Calls of `core.algorithms.friction_step.ROUNDS` rounds each; two suffice for all arms that were
# tried.
MOST_CALLS = 10
# Sweeps after the first rounds that do not converge; twice as many after each further call.
SWEEPS = 6

# Responses (m,) = law(s (m,), inertia (m,))
ArrayLaw = Callable[[Array, Array], Response]


def solved(rounds: Callable[[Array], FrictionStep], s: Array) -> FrictionStep:
    """Return velocities (n,) and impulses (n,) of a step with dry friction.

    Args:
        rounds: some rounds of the solver from s (n,).
        s: (n,) a guess of the velocities.

    Raises:
        SimulationDiverged: the rounds do not converge.
    """
    for _ in range(MOST_CALLS):
        slowed = rounds(s)
        if _converged(slowed, np.abs(slowed.v).max(), CONVERGED):
            return slowed
        s = slowed.s
    raise _not_found(slowed)


def inverse(H: Array) -> Array:
    """Return H^-1 (m, m) of a symmetric, positive definite matrix."""
    return np.asarray(dposv(H, np.eye(len(H)))[1])


def solved_by_arrays(W: Array, free: Array, law: ArrayLaw) -> FrictionStep:
    """Return velocities v (m,) and impulses p (m,) with v = free - W p, which obey any law.

    The law may hold v at a value, as stops and sticking do. Newton's method of
    `core.algorithms.friction_step` may then cycle; it continues from sweeps over the joints, which
    reduce a convex function of the impulses with every joint.

    Args:
        W: (m, m) velocities per impulse: H^-1, positive semidefinite with a positive diagonal.
        free: (m,) velocities without impulses; values that are not finite are returned.
        law: of the joints.

    Raises:
        SimulationDiverged: the rounds do not converge.
    """
    m, swept, largest = 1.0 / W.diagonal(), free, float(np.abs(free).max())
    if not math.isfinite(largest):
        return FrictionStep(free, 0.0 * free, free, free)
    for call in range(MOST_CALLS):
        s, change, last = swept, 0.0 * free, np.inf
        for _ in range(ROUNDS << min(call, 3)):
            v, p, slope = law(s + change, m)
            slowed = FrictionStep(v, p, s + change, free - W @ p - v)
            if _converged(slowed, largest, CLOSER):
                return slowed
            size = float(slowed.error @ (m * slowed.error))
            if call > 0 and size >= last:
                change = change / 2
                continue
            # (W dp/ds + dv/ds) ds = free - W p - v,   dp/ds = m (1 - dv/ds)
            share = m / (m + slope)
            steep = W * (m * (1.0 - share)) + np.diag(share)
            s, last, change = slowed.s, size, dgesv(steep, slowed.error)[2]
        swept = _swept(W, free, law, swept, SWEEPS << call)
    raise _not_found(slowed)


def _swept(W: Array, free: Array, law: ArrayLaw, s: Array, sweeps: int) -> Array:
    """Return s (m,) after solving for the impulse of each joint in turn."""
    m, s = 1.0 / W.diagonal(), s.copy()
    p = np.array(law(s, m).p)
    v = free - W @ p
    for _ in range(sweeps):
        for j in range(len(s)):
            # s_j = v_j + W_jj p_j
            s[j] = v[j] + p[j] / m[j]
            change = law(s, m).p[j] - p[j]
            v, p[j] = v - W[:, j] * change, p[j] + change
    return s


def _converged(slowed: FrictionStep, speed: float, share: float) -> bool:
    size = max(speed, np.abs(slowed.s).max())
    return bool(np.abs(slowed.error).max() <= share * size + TINY)


def _not_found(slowed: FrictionStep) -> SimulationDiverged:
    return SimulationDiverged(
        f'friction of a step was not found in {MOST_CALLS} calls: the velocities at its end still '
        f'differ by {np.abs(slowed.error).max():.2g} of {np.abs(slowed.v).max():.2g} per second'
    )
