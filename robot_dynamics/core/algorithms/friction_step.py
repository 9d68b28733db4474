# SPDX-License-Identifier: Apache-2.0
"""Velocities at the end of a step under dry friction, for a step of any length.

    H v + p = b,    p_j = p_j(v_j)

H is the mass matrix, with h F_v where viscous friction is taken at the end of the step; b is the
momentum without dry friction; p_j the impulse of friction on joint j, which grows with v_j
(`friction.impulses`). Hence v is unique, whatever the step, the stiffness of friction and the
coupling of the joints.

The equation is solved for s, with s_j = v_j + p_j / m_j and m_j = 1 / (H^-1)_jj, the velocities
that the joints would have without their own friction. p_j is a bounded function of s_j whose slope
lies within [0, m_j], however steep p_j(v_j) is. Newton's method on s, in the form

    r = b - H v - p,    (H + dp/dv) dv = r,    s <- s + dv + (r - H dv) / m,

converges in four rounds on the arms that were tried. With m_j = H_jj, or the pivots of the
factorization of H, it may cycle. After any number of rounds |p_j| is at most the largest impulse
d_j, and v = H^-1 (b - p) balances the momentum.

Source: Qi and Sun, "A nonsmooth version of Newton's method", Mathematical Programming 58 (1993).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from robot_dynamics.common.scalars import Scalar
from robot_dynamics.core.algorithms.forward_dynamics import (
    Factors,
    factorize,
    solve,
    solve_transposed,
)
from robot_dynamics.core.algorithms.vectors import Matrix, Vector, inner
from robot_dynamics.core.friction.impulses import Response

ROUNDS = 4

# Responses (n) = law(s (n), m (n))
Law = Callable[[Sequence[Scalar], Sequence[Scalar]], Sequence[Response]]


class FrictionStep(NamedTuple):
    """Velocities and impulses of a step with dry friction."""

    v: Any  # (n) velocities at the end, in balance with p
    p: Any  # (n) impulses of dry friction, N m s or N s
    s: Any  # (n) velocities without the joint's own friction, from which further rounds may start
    error: Any  # (n) v - v(s), which vanishes where p is the law's impulse at v


def slowed_velocity(
    H: Matrix,
    coupled: Sequence[Sequence[int]],
    b: Vector,
    law: Law,
    rounds: int = ROUNDS,
    s: Vector | None = None,
) -> FrictionStep:
    """Return the velocities at the end of a step under dry friction.

    Args:
        H: (n, n) symmetric and positive definite; the lower triangle is used.
        coupled: the places of H that are not zero, as for `factorize`.
        b: (n) momentum without dry friction.
        law: friction of the joints.
        rounds: of Newton's method.
        s: (n) start of the rounds; by default the velocities without dry friction.
    """
    factors = factorize(H, coupled)
    m = free_inertia(factors)
    s = solve(factors, b) if s is None else list(s)
    for k in range(rounds + 1):
        v, p, slope = zip(*law(s, m), strict=True)
        if k == rounds:
            break
        # r = b - H v - p,   (H + dp/dv) dv = r
        r = [x - y - z for x, y, z in zip(b, _times(H, coupled, v), p, strict=True)]
        steeper = [list(row) for row in H]
        for j, x in enumerate(slope):
            steeper[j][j] = steeper[j][j] + x
        dv = solve(factorize(steeper, coupled), r)
        # s + dv + (r - H dv) / m,   r - H dv = dp/dv dv
        s = [a + x + y * x / i for a, x, y, i in zip(s, dv, slope, m, strict=True)]
    balanced = solve(factors, [x - y for x, y in zip(b, p, strict=True)])
    return FrictionStep(balanced, p, s, [x - y for x, y in zip(balanced, v, strict=True)])


def free_inertia(factors: Factors) -> list[Scalar]:
    """Return 1 / (H^-1)_jj (n): the inertia of each joint while the others move freely."""
    n = len(factors.D_inverse)
    m = []
    for j in range(n):
        # (H^-1)_jj = y^T D^-1 y,   L^T y = e_j
        y = solve_transposed(factors, [float(i == j) for i in range(n)])
        m.append(1.0 / inner(y, [x * d for x, d in zip(y, factors.D_inverse, strict=True)]))
    return m


def _times(H: Matrix, coupled: Sequence[Sequence[int]], v: Vector) -> list[Scalar]:
    """Return H v (n), from the lower triangle of H."""
    result = [row[i] * v[i] for i, row in enumerate(H)]
    for i, columns in enumerate(coupled):
        for j in columns:
            result[i] = result[i] + H[i][j] * v[j]
            result[j] = result[j] + H[i][j] * v[i]
    return result
