"""What fits the closures: postures, velocities and accelerations near given ones.

Each is reached by the smallest change of the joints that may move, measured by the mass matrix.
For velocities and accelerations that is one step; for postures, Newton's method on phi(q) = 0
takes several, each of which closes the loops to first order:

    J dq = -phi,        dq^T M dq as small as possible.

Source: Hairer and Wanner, Solving Ordinary Differential Equations II (1996), section VII.2.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from robot_dynamics.algorithms.closed_chain_terms import LoopTerms
from robot_dynamics.closed_chains.least_constraint import INDEPENDENT, grip, least_change
from robot_dynamics.errors import LoopNotClosed
from robot_dynamics.spatial import Array

CLOSED = 1e-12  # largest phi of a closed posture, m, or rad between directions
MAX_ITERATIONS = 100
LARGEST_STEP = 0.5  # rad or m: farther away, the Jacobian says little

# A motion fits if what it violates the closures by is no more than this part of its size.
FITS = 1e-6

# Postures in which the independent equations are counted, beside the first, and how far away.
NEIGHBOURS = 4
NEAR = 0.02  # rad or m

# What is known of a posture (n,).
Terms = Callable[[Array], LoopTerms]


def closed_posture(terms: Terms, q: Array, movable: Array) -> Array:
    """Return a posture (n,) near q in which the loops are closed.

    Args:
        terms: of a posture.
        q: (n,) where to start from.
        movable: (n,) True for the joints that may change.

    Raises:
        LoopNotClosed: none is found; the message says how far apart the frames stay.
    """
    q = q.copy()
    for _ in range(MAX_ITERATIONS):
        here = terms(q)
        if np.abs(here.phi).max() <= CLOSED:
            return q
        hold = grip(here.M[np.ix_(movable, movable)], here.J[:, movable])
        change = least_change(hold, -here.phi)
        q[movable] += change * min(1.0, LARGEST_STEP / max(np.abs(change).max(), CLOSED))
    raise LoopNotClosed(
        "no posture is found in which the loops close: Newton's method is left with frames "
        f'{np.abs(here.phi).max():.3g} m or rad apart at q = {q}; start nearer to a closed '
        'posture, or hold fewer joints'
    )


def fitting(name: str, value: Array, here: LoopTerms, movable: Array, r: int | None) -> Array:
    """Return the velocities or accelerations (n,) nearest to `value` with J x + c = 0.

    Args:
        name: what they are.
        value: (n,) where to start from.
        here: terms of the state; c = 0 for velocities.
        movable: (n,) True for the joints whose entries may change.
        r: number of independent equations; counted among the movable joints if None.

    Raises:
        LoopNotClosed: there are none.
    """
    hold = grip(here.M[np.ix_(movable, movable)], here.J[:, movable], r)
    result = value.copy()
    result[movable] += least_change(hold, -here.c - here.J @ value)
    require_fit(name, result, here)
    return result


def require_fit(name: str, value: Array, here: LoopTerms) -> None:
    """Raise LoopNotClosed unless J x + c = 0 for velocities or accelerations x (..., n)."""
    gap = np.abs((here.J @ value[..., None])[..., 0] + here.c)
    size = (np.abs(here.J) @ np.abs(value)[..., None])[..., 0]
    # Written so that NaN does not fit.
    if not np.all(gap <= FITS * (1 + size + np.abs(here.c))):
        raise LoopNotClosed(
            f'{name} = {value} does not fit the closures: it would part them with '
            f'{gap.max():.3g} m or rad, per second once or twice; see `velocity` and '
            '`acceleration`, and hold no more joints than the mechanism has mobility'
        )


def independent_equations(terms: Terms, q: Array) -> list[int]:
    """Return the rows of a mechanism's equations that say what all of them say.

    They are chosen in the closed posture q, or, where q is singular, in one near it; never away
    from closed postures, where equations differ that say the same in all closed ones.
    """
    rng = np.random.default_rng(0)
    best = _independent_rows(terms(q))
    for _ in range(NEIGHBOURS):
        free = grip(terms(q).M, terms(q).J).free
        direction = free @ rng.normal(size=free.shape[1])
        step = NEAR * direction / max(float(np.linalg.norm(direction)), NEAR)
        try:
            nearby = closed_posture(terms, q + step, np.ones(len(q), dtype=bool))
        except LoopNotClosed:
            continue
        rows = _independent_rows(terms(nearby))
        best = rows if len(rows) > len(best) else best
    return best


def _independent_rows(here: LoopTerms) -> list[int]:
    """Return rows of A = J L^-T, each the one that adds most to those before it."""
    hold = grip(here.M, here.J)
    A = (hold.U * hold.s) @ hold.V.T
    length = np.linalg.norm(A, axis=1, keepdims=True)
    # Of unit length, whatever their units, where they say anything.
    rest = A / np.where(length > INDEPENDENT * hold.s.max(initial=0.0), length, np.inf)
    rows = []
    for _ in hold.s:
        size = np.linalg.norm(rest, axis=1)
        rows.append(int(size.argmax()))
        direction = rest[rows[-1]] / size.max()
        rest = rest - np.outer(rest @ direction, direction)
    return sorted(rows)
