# SPDX-License-Identifier: Apache-2.0
"""Postures, velocities and accelerations that satisfy the closures, nearest to given ones.

Each is the smallest change of the movable joints in the metric of the mass matrix. Velocities and
accelerations take one step; postures take Newton's method on phi(q) = 0, each step of which closes
the loops to first order:

    J dq = -phi,        dq^T M dq minimal.

Source: Hairer and Wanner, Solving Ordinary Differential Equations II (1996), section VII.2.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import qr

from robot_dynamics.common.errors import LoopNotClosed
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.algorithms.closed_chain_terms import ChainTerms
from robot_dynamics.simulation.closed_chains.least_constraint import (
    INDEPENDENT,
    constraints,
    least_change,
)

CLOSED = 1e-12  # largest phi of a closed posture, m, or rad between directions
MAX_ITERATIONS = 100
LARGEST_STEP = 0.5  # rad or m: range of validity of the linearization

# Largest violation of the closures by a consistent motion, relative to its size.
CONSISTENT = 1e-6

# Number and distance of further postures in which the independent equations are counted.
NEIGHBOURS = 4
NEAR = 0.02  # rad or m

# Terms of a posture (n,).
Terms = Callable[[Array], ChainTerms]


def closed_posture(terms: Terms, q: Array, movable: Array) -> Array:
    """Return a posture (n,) near q in which the loops are closed.

    Args:
        terms: terms as a function of the posture.
        q: (n,) initial posture.
        movable: (n,) True for the joints that may change.

    Raises:
        LoopNotClosed: no such posture is found; the message gives the remaining distance.
    """
    q = q.copy()
    for _ in range(MAX_ITERATIONS):
        here = terms(q)
        if np.abs(here.phi).max() <= CLOSED:
            return q
        factors = constraints(here.M[np.ix_(movable, movable)], here.J[:, movable])
        change = least_change(factors, -here.phi)
        q[movable] += change * min(1.0, LARGEST_STEP / max(np.abs(change).max(), CLOSED))
    raise LoopNotClosed(
        "no posture is found in which the loops close: Newton's method ends with frames "
        f'{np.abs(here.phi).max():.3g} m or rad apart at q = {q}; start nearer to a closed '
        'posture, or hold fewer joints'
    )


def fitting(name: str, value: Array, here: ChainTerms, movable: Array, r: int | None) -> Array:
    """Return the velocities or accelerations (n,) nearest to `value` with J x + c = 0.

    Args:
        name: of the quantity, for messages.
        value: (n,) initial values.
        here: terms of the state; c = 0 for velocities.
        movable: (n,) True for the joints whose entries may change.
        r: number of independent equations; counted among the movable joints if None.

    Raises:
        LoopNotClosed: no such values exist.
    """
    factors = constraints(here.M[np.ix_(movable, movable)], here.J[:, movable], r)
    result = value.copy()
    result[movable] += least_change(factors, -here.c - here.J @ value)
    require_fit(name, result, here)
    return result


def require_fit(name: str, value: Array, here: ChainTerms) -> None:
    """Raise LoopNotClosed unless J x + c = 0 for velocities or accelerations x (..., n)."""
    gap = np.abs((here.J @ value[..., None])[..., 0] + here.c)
    size = (np.abs(here.J) @ np.abs(value)[..., None])[..., 0]
    # The comparison is false for NaN.
    if not np.all(gap <= CONSISTENT * (1 + size + np.abs(here.c))):
        raise LoopNotClosed(
            f'{name} = {value} violates the closures by {gap.max():.3g} (m or rad, per s or '
            's^2); expected a motion from `velocity` or `acceleration`, with at most as many '
            'joints held as the mechanism has mobility'
        )


def independent_equations(terms: Terms, q: Array) -> list[int]:
    """Return the rows of a maximal independent subset of the closure equations.

    They are chosen in the closed posture q, or, if q is singular, in a closed posture near it:
    equations that are dependent in all closed postures may be independent in open ones.
    """
    rng = np.random.default_rng(0)
    best = _independent_rows(terms(q))
    for _ in range(NEIGHBOURS):
        free = constraints(terms(q).M, terms(q).J).free
        direction = free @ rng.normal(size=free.shape[1])
        step = NEAR * direction / max(float(np.linalg.norm(direction)), NEAR)
        try:
            nearby = closed_posture(terms, q + step, np.ones(len(q), dtype=bool))
        except LoopNotClosed:
            continue
        rows = _independent_rows(terms(nearby))
        best = rows if len(rows) > len(best) else best
    return best


def _independent_rows(here: ChainTerms) -> list[int]:
    """Return independent rows of A = J L^-T, by a QR factorization with pivoting."""
    factors = constraints(here.M, here.J)
    A = (factors.U * factors.s) @ factors.V.T
    length = np.linalg.norm(A, axis=1, keepdims=True)
    # Unit length removes the units; rows that vanish stay zero.
    A = A / np.where(length > INDEPENDENT * factors.s.max(initial=0.0), length, np.inf)
    pivots = qr(A.T, mode='r', pivoting=True)[1]
    return sorted(int(row) for row in pivots[: len(factors.s)])
