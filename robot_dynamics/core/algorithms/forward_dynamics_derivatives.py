# SPDX-License-Identifier: Apache-2.0
"""Derivatives of forward dynamics with respect to positions, velocities and torques.

The accelerations qdd solve tau = ID(q, qd, qdd) + friction(qd), for every q, qd and tau. Hence

    M dqdd/dq = -dID/dq,    M dqdd/dqd = -dID/dqd - dfriction/dqd,    M dqdd/dtau = 1,

with the derivatives of inverse dynamics at these accelerations. If friction is that of the
velocities qd + h qdd at the end of a step, M + h dfriction/dqd takes the place of M.

Source: Carpentier and Mansard, "Analytical derivatives of rigid body dynamics algorithms", RSS
2018, section IV.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from robot_dynamics.common.scalars import Scalar
from robot_dynamics.core.algorithms.derivatives import inverse_dynamics_derivatives
from robot_dynamics.core.algorithms.forward_dynamics import Factors, factorize, fill_in, solve
from robot_dynamics.core.algorithms.repeated_bodies import LoopTree
from robot_dynamics.core.algorithms.simulation_step import driven_acceleration
from robot_dynamics.core.algorithms.vectors import Matrix, Vector, inner, map_traced
from robot_dynamics.core.friction.coulomb import Friction
from robot_dynamics.core.model.canonical import CanonicalTree


class AccelerationDerivatives(NamedTuple):
    """Partial derivatives of qdd: lists of scalars, or arrays with leading axes."""

    dqdd_dq: Any  # (n, n), row i belongs to qdd_i
    dqdd_dqd: Any  # (n, n)
    M_inverse: Any  # (n, n) dqdd/dtau, symmetric


def forward_dynamics_derivatives(
    tree: CanonicalTree, friction: Friction, q: Vector, qd: Vector, tau: Vector
) -> AccelerationDerivatives:
    """Return dqdd/dq, dqdd/dqd and dqdd/dtau, (n, n) each.

    Args:
        tree: the robot.
        friction: of its joints, at the given velocities.
        q: (n) joint positions, rad or m.
        qd: (n) joint velocities.
        tau: (n) torques of the motors.
    """
    qdd = driven_acceleration(tree, friction, q, qd, tau)
    return acceleration_derivatives(tree, q, qd, qdd, friction.damping(qd))


def acceleration_derivatives(
    tree: CanonicalTree,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    damping: Sequence[Scalar],
    h: Scalar = 0.0,
) -> AccelerationDerivatives:
    """Return the derivatives of accelerations qdd (n) that balance the torques.

    Args:
        tree: the robot.
        q: (n) joint positions, rad or m.
        qd: (n) joint velocities.
        qdd: (n) joint accelerations.
        damping: (n) dfriction/dqd.
        h: friction is that of the velocities qd + h qdd, s.
    """
    by_q, by_qd, M = inverse_dynamics_derivatives(tree, q, qd, qdd)
    M, by_qd = tree.plus_diagonal(M, [h * x for x in damping]), tree.plus_diagonal(by_qd, damping)
    if isinstance(tree, LoopTree):
        negative = tree.scaled(-1.0, by_q), tree.scaled(-1.0, by_qd)
        return AccelerationDerivatives(*tree.solved(M, *negative))
    factors = factorize(M, fill_in(tree))
    return AccelerationDerivatives(_less(factors, by_q), _less(factors, by_qd), inverse(factors))


def _less(factors: Factors, B: Matrix) -> list[list[Scalar]]:
    """Return -M^-1 B."""
    columns = [list(column) for column in zip(*B, strict=True)]
    solved = map_traced(lambda b: solve(factors, [-x for x in b]), columns)
    return [list(row) for row in zip(*solved, strict=True)]


def inverse(factors: Factors) -> list[list[Scalar]]:
    """Return M^-1 (n, n), in a third of the operations that solving for its columns takes."""
    L, D_inverse, coupled = factors
    X: list[list[Scalar]] = []
    for i, d in enumerate(D_inverse):
        # L X = D^-1 L^-T, whose entries left of the diagonal are 0:  X_ij = -L_ik X_kj
        row = [
            0.0 - inner([L[i][k] for k in coupled[i]], [X[k][j] for k in coupled[i]])
            for j in range(i)
        ]
        # X_ii = 1 / D_i - L_ik X_ki
        corner = d - inner([L[i][k] for k in coupled[i]], [row[k] for k in coupled[i]])
        for above, x in zip(X, row, strict=True):
            above.append(x)
        X.append([*row, corner])
    return X
