# SPDX-License-Identifier: Apache-2.0
"""Operational-space dynamics of a frame: inertia, Coriolis and gravity wrench.

With V = J qd and the wrench F at the frame, M qdd + C qd + g = J^T F becomes

    F = Lambda(q) Vd + mu(q, qd) + p(q),     Lambda = (J M^-1 J^T)^-1.

For a square J this is Lambda = J^-T M J^-1; with more joints than directions it is the dynamically
consistent form, independent of motion in the null space of J.

J M^-1 J^T is not formed: its condition number is the square of that of J. With M = L^T D L and
B = L^-T J^T it is B^T D^-1 B, and its factors come from the orthogonalization of B in the metric
of D^-1 (modified Gram-Schmidt). The relative error is then of the size of eps / s, with s the
smallest singular value of J relative to the largest, as the rounding of J itself makes it.

Sources: Lynch and Park, draft (9.97) to (9.99), where mu + p is eta; Khatib, "A unified approach
for motion and force control of robot manipulators: the operational space formulation", IEEE J.
Robotics and Automation 3(1), 1987; Björck, "Solving linear least squares problems by Gram-Schmidt
orthogonalization", BIT 7, 1967.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.common.scalars import Scalar
from robot_dynamics.core.algorithms.coriolis import terms
from robot_dynamics.core.algorithms.forward_dynamics import (
    Factors,
    dense,
    factorize,
    fill_in,
    solve,
    solve_transposed,
)
from robot_dynamics.core.algorithms.jacobian import jacobian, jacobian_dot
from robot_dynamics.core.algorithms.vectors import Vector, inner
from robot_dynamics.core.model.canonical import CanonicalTree

ALL_DIRECTIONS = (0, 1, 2, 3, 4, 5)


class OperationalSpace(NamedTuple):
    """Dynamics at a frame, in k directions of the six-vector (w, v).

    Lists of scalars, or arrays with leading axes.
    """

    Lambda: Any  # (k, k) inertia
    eta: Any  # (k) mu + p: the wrench at which V is constant
    mu: Any  # (k) Coriolis and centrifugal wrench
    p: Any  # (k) gravity wrench


def operational_space(
    tree: CanonicalTree,
    q: Vector,
    qd: Vector,
    frame: str,
    directions: Sequence[int] = ALL_DIRECTIONS,
) -> OperationalSpace:
    """Return Lambda, mu and p of a named frame, world-aligned at its origin, angular first.

    Args:
        tree: the robot.
        q: (n) joint positions, rad or m.
        qd: (n) joint velocities.
        frame: a name of `model.frame_names`.
        directions: which of the six to keep, for a robot that cannot move in all of them; a planar
            arm in x-y, for example, moves in (3, 4).

    J must have full rank in these directions: at a singularity Lambda is infinite. The caller
    checks that, since recorded scalars cannot be compared.

    Raises:
        FrameNotFound: the robot has no frame of that name.
    """
    M, C, g = terms(tree, q, qd)
    J_all, Jd_all = jacobian(tree, q, frame), jacobian_dot(tree, q, qd, frame)
    J, Jd = [J_all[k] for k in directions], [Jd_all[k] for k in directions]
    M_factors = factorize(M, fill_in(tree))
    # B = L^-T J^T, column by column;   J M^-1 J^T = B^T D^-1 B
    B = [solve_transposed(M_factors, row) for row in J]
    mobility = _orthogonalized(B, M_factors.D_inverse)
    Lambda = [solve(mobility, unit) for unit in np.eye(len(J)).tolist()]
    # mu = Lambda (J M^-1 C qd - Jd qd),   p = Lambda J M^-1 g,   with J M^-1 x = B^T D^-1 L^-T x
    Cqd, weighed = (
        [d * y for d, y in zip(M_factors.D_inverse, solve_transposed(M_factors, x), strict=True)]
        for x in ([inner(row, qd) for row in C], g)
    )
    drift = [inner(a, Cqd) - inner(b, qd) for a, b in zip(B, Jd, strict=True)]
    weight = [inner(a, weighed) for a in B]
    mu, p = ([inner(row, x) for row in Lambda] for x in (drift, weight))
    return OperationalSpace(Lambda, [a + b for a, b in zip(mu, p, strict=True)], mu, p)


def _orthogonalized(B: Sequence[Vector], metric: Vector) -> Factors:
    """Return the factors of B^T diag(metric) B, of the columns B (k lists of n)."""
    B = list(B)
    L: list[list[Scalar]] = [[0.0] * len(B) for _ in B]
    D_inverse: list[Scalar] = [0.0] * len(B)
    for i in reversed(range(len(B))):
        b = [d * x for d, x in zip(metric, B[i], strict=True)]
        D_inverse[i] = 1.0 / inner(b, B[i])
        for j in range(i):
            # b_j -= b_i (b_i . b_j) / (b_i . b_i)
            L[i][j] = inner(b, B[j]) * D_inverse[i]
            B[j] = [x - L[i][j] * y for x, y in zip(B[j], B[i], strict=True)]
    return Factors(L, D_inverse, dense(len(B)))
