# SPDX-License-Identifier: Apache-2.0
"""Gauss's principle of least constraint with redundant equations, and torques of driven joints.

Among all accelerations that the closures allow, J qdd = e, the actual one is nearest to the free
acceleration a_0 = M^-1 (tau - C qd - g) in the metric of the mass matrix:

    qdd = arg min (qdd - a_0)^T M (qdd - a_0),        M (qdd - a_0) = J^T lambda.

With M = L L^T and A = J L^-T this is a least-squares problem, and the singular values of A show
which equations are independent:

    A = U diag(s) V^T,    qdd = a_0 + L^-T V s^-1 U^T (e - J a_0),    lambda = U s^-2 U^T (...).

Of the 5 equations of a pin, 2 are independent in a planar loop; the others are redundant. Only the
r largest singular values are used. Among the lambda with the same motion this is the smallest:
undetermined internal forces are taken as zero. The number r is a property of the mechanism. A
posture in which the r-th singular value vanishes is singular: the links are aligned, and the
motion is not determined.

Driven joints: let the columns of T (n, d) span the motions that the closures allow, J T = 0. The
closures do no work along them, so with the columns B of the unit matrix for the driven joints

    T^T (M qdd + b) = T^T B tau_d.

With as many drives as degrees of freedom d, tau_d is unique; with more, the smallest is taken. The
closures carry the rest: M qdd + b - B tau_d = J^T lambda.

All functions take leading axes, `(..., n)`.

Source: Udwadia and Kalaba, Analytical Dynamics (1996), chapter 3; Featherstone, Rigid Body
Dynamics Algorithms (2008), sections 8.5, 8.6 and 8.12.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.common.errors import SingularityError
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.algorithms.closed_chain_terms import ChainTerms

# Smallest singular value of independent equations, relative to the largest.
INDEPENDENT = 1e-8


class Constraints(NamedTuple):
    """r independent constraints on n joints: factors of A = J L^-T."""

    L_inv: Array  # (..., n, n) of M = L L^T
    U: Array  # (..., m, r)
    s: Array  # (..., r), descending
    V: Array  # (..., n, r)
    free: Array  # (..., n, n - r) orthogonal complement of V: free motions, in L^-T units


def constraints(
    M: Array, J: Array, r: int | None = None, *, least: float = INDEPENDENT
) -> Constraints:
    """Return the factors of constraints J (..., m, n) for the mass matrix M (..., n, n).

    Args:
        M: the mass matrix, positive definite.
        J: Jacobian of the equations.
        r: number of independent equations; counted in this posture if omitted.
        least: smallest singular value of an independent equation, relative to the largest.

    Raises:
        SingularityError: fewer than r equations are independent in this posture.
    """
    L_inv = np.linalg.inv(np.linalg.cholesky(M))
    # A = J L^-T
    U, s, Vt = np.linalg.svd(J @ np.swapaxes(L_inv, -1, -2))
    if r is None:
        r = int(np.sum((s > least * s[0]) & (s > 0)))
    elif r > 0 and np.any(s[..., r - 1] < least * s[..., 0]):
        raise SingularityError(
            f'fewer than {r} closure equations are independent in this posture, with singular '
            f'values {s[..., :r]}: links are aligned, and the motion is not determined'
        )
    V = np.swapaxes(Vt, -1, -2)
    return Constraints(L_inv, U[..., :r], s[..., :r], V[..., :r], V[..., r:])


def least_change(factors: Constraints, e: Array) -> Array:
    """Return x (..., n), smallest in x^T M x, with J x = e (..., m)."""
    # x = L^-T V s^-1 U^T e
    x = _times(factors.V, _times_transposed(factors.U, e) / factors.s)
    return _times_transposed(factors.L_inv, x)


def multipliers(factors: Constraints, e: Array) -> Array:
    """Return the smallest lambda (..., m) with J^T lambda = M x, x from `least_change`."""
    # lambda = U s^-2 U^T e
    return _times(factors.U, _times_transposed(factors.U, e) / factors.s**2)


def balancing(factors: Constraints, force: Array) -> Array:
    """Return the smallest lambda (..., m) with J^T lambda nearest to torques (..., n)."""
    # A^T lambda = L^-1 force
    return _times(
        factors.U, _times_transposed(factors.V, _times(factors.L_inv, force)) / factors.s
    )


def free_motions(factors: Constraints) -> Array:
    """Return T (..., n, d), a basis of the velocities with J T = 0, and T^T M T = 1."""
    return np.asarray(np.swapaxes(factors.L_inv, -1, -2) @ factors.free)


def crossing(before: Constraints, after: Constraints) -> float:
    """Return 1, or -1 if a singular posture lies between two neighbouring ones.

    Across a singular posture one singular value passes through zero and its direction is
    reversed; the determinant below then changes sign.
    """
    A = (after.U * after.s) @ after.V.T
    return float(np.linalg.slogdet(before.U.T @ A @ before.V)[0])


# -- torques of the driven joints ----------------------------------------------------------


class DrivingEffort(NamedTuple):
    """Torques and multipliers of a motion."""

    tau: Array  # (..., n), zero in joints that are not driven
    multipliers: Array  # (..., m)


class DrivenTerms(NamedTuple):
    """The equation of motion in the d driven joints alone: M qdd_d + b = tau_d."""

    M: Array  # (..., d, d)
    b: Array  # (..., d) Coriolis, centrifugal and gravity torque


def driving_effort(factors: Constraints, force: Array, driven: list[int]) -> DrivingEffort:
    """Return the shares of the driven joints and of the closures in M qdd + b (..., n).

    Raises:
        SingularityError: the driven joints do not determine the motion.
    """
    T = free_motions(factors)
    require_control(T, driven)
    work = np.swapaxes(T, -1, -2) @ force[..., None]
    tau = np.zeros(force.shape)
    # T^T B tau_d = T^T force
    tau[..., driven] = (np.linalg.pinv(np.swapaxes(T[..., driven, :], -1, -2)) @ work)[..., 0]
    return DrivingEffort(tau, balancing(factors, force - tau))


def driven_terms(here: ChainTerms, factors: Constraints, driven: list[int]) -> DrivenTerms:
    """Return the equation of motion in d driven joints.

    Raises:
        SingularityError: the driven joints do not determine the motion of the others.
    """
    T = free_motions(factors)
    require_control(T, driven)
    # qd = R qd_d,   R = T (B^T T)^-1
    R = T @ np.linalg.inv(T[..., driven, :])
    R_t = np.swapaxes(R, -1, -2)
    # qdd = R qdd_d + rest, where rest satisfies the closures with qdd_d = 0
    rest = least_change(factors, -here.c)
    rest = rest - (R @ rest[..., driven, None])[..., 0]
    b = here.b + (here.M @ rest[..., None])[..., 0]
    return DrivenTerms(R_t @ here.M @ R, (R_t @ b[..., None])[..., 0])


def require_control(T: Array, driven: list[int]) -> None:
    """Raise SingularityError unless the driven rows of T (..., n, d) have rank d."""
    d = T.shape[-1]
    # Rows of T have the units of their joints; the norm of all rows is the scale.
    s = np.linalg.svd(T[..., driven, :], compute_uv=False)
    size = np.linalg.norm(T, axis=(-2, -1))
    if len(driven) < d or (d > 0 and np.any(s[..., d - 1] <= INDEPENDENT * size)):
        raise SingularityError(
            f'{len(driven)} driven joints do not determine the motion of a mechanism of mobility '
            f'{d} in this posture; expected other driven joints, or more'
        )


# -- helpers -------------------------------------------------------------------------------


def _times(matrix: Array, vector: Array) -> Array:
    return np.asarray((matrix @ vector[..., None])[..., 0])


def _times_transposed(matrix: Array, vector: Array) -> Array:
    return np.asarray((np.swapaxes(matrix, -1, -2) @ vector[..., None])[..., 0])
