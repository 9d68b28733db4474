"""Gauss's principle of least constraint, for equations of which some may say the same.

Of all accelerations that a mechanism's closures allow, J qdd = e, nature takes the one nearest to
the free acceleration a_0 = M^-1 (tau - C qd - g), measured by the mass matrix:

    qdd = arg min (qdd - a_0)^T M (qdd - a_0),        M (qdd - a_0) = J^T lambda.

With M = L L^T and A = J L^-T this is an ordinary least-squares problem, and the singular values of
A tell which equations are independent:

    A = U diag(s) V^T,    qdd = a_0 + L^-T V s^-1 U^T (e - J a_0),    lambda = U s^-2 U^T (...).

A planar loop has 2 independent equations of the 5 of a pin: the others hold by themselves. Only
the r largest singular values are used. Of the many lambda that give the same motion this is the
smallest; the forces which the linkage could lock up in itself are taken as zero.

The number r belongs to the mechanism, not to the posture. Where the r-th singular value vanishes
the posture is singular: the links line up, the closures lose their grip in one direction, and the
motion is no longer determined.

All functions take leading axes, `(..., n)`.

Source: Udwadia and Kalaba, Analytical Dynamics (1996), chapter 3; Featherstone, Rigid Body
Dynamics Algorithms (2008), section 8.5.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.errors import SingularityError
from robot_dynamics.spatial import Array

# Equations count as independent if their singular value is at least this part of the largest.
INDEPENDENT = 1e-8


class Grip(NamedTuple):
    """How r independent equations hold n joints: factors of A = J L^-T."""

    L_inv: Array  # (..., n, n) of M = L L^T
    U: Array  # (..., m, r)
    s: Array  # (..., r), falling
    V: Array  # (..., n, r)
    free: Array  # (..., n, n - r) columns perpendicular to V: the motions left, in L^-T units


def grip(M: Array, J: Array, r: int | None = None, *, least: float = INDEPENDENT) -> Grip:
    """Return how equations J (..., m, n) hold joints of the mass matrix M (..., n, n).

    Args:
        M: the mass matrix, positive definite.
        J: the equations' Jacobian.
        r: how many of them are independent; counted in this one posture if omitted.
        least: smallest singular value, as part of the largest, that still holds a direction.

    Raises:
        SingularityError: in this posture fewer than r hold.
    """
    L_inv = np.linalg.inv(np.linalg.cholesky(M))
    # A = J L^-T
    U, s, Vt = np.linalg.svd(J @ np.swapaxes(L_inv, -1, -2))
    if r is None:
        r = int(np.sum((s > least * s[0]) & (s > 0)))
    elif r > 0 and np.any(s[..., r - 1] < least * s[..., 0]):
        raise SingularityError(
            f'the closures hold fewer than {r} directions in this posture, whose singular values '
            f'are {s[..., :r]}: links have lined up, and the motion is not determined'
        )
    V = np.swapaxes(Vt, -1, -2)
    return Grip(L_inv, U[..., :r], s[..., :r], V[..., :r], V[..., r:])


def least_change(hold: Grip, e: Array) -> Array:
    """Return x (..., n), smallest in x^T M x, with J x = e (..., m)."""
    # x = L^-T V s^-1 U^T e
    x = _times(hold.V, _times_transposed(hold.U, e) / hold.s)
    return _times_transposed(hold.L_inv, x)


def multipliers(hold: Grip, e: Array) -> Array:
    """Return lambda (..., m), smallest, with J^T lambda = M x, x being the `least_change`."""
    # lambda = U s^-2 U^T e
    return _times(hold.U, _times_transposed(hold.U, e) / hold.s**2)


def balancing(hold: Grip, force: Array) -> Array:
    """Return lambda (..., m), smallest, with J^T lambda nearest to joint torques (..., n)."""
    # A^T lambda = L^-1 force
    return _times(hold.U, _times_transposed(hold.V, _times(hold.L_inv, force)) / hold.s)


def free_motions(hold: Grip) -> Array:
    """Return T (..., n, d), a basis of the velocities with J T = 0, and T^T M T = 1."""
    return np.asarray(np.swapaxes(hold.L_inv, -1, -2) @ hold.free)


def crossing(before: Grip, after: Grip) -> float:
    """Return 1, or -1 if a singular posture lies between two near ones.

    Where the linkage moves on through a singular posture, one singular value passes through zero
    and its direction comes out reversed; the determinant below then changes sign.
    """
    A = (after.U * after.s) @ after.V.T
    return float(np.linalg.slogdet(before.U.T @ A @ before.V)[0])


def _times(matrix: Array, vector: Array) -> Array:
    return np.asarray((matrix @ vector[..., None])[..., 0])


def _times_transposed(matrix: Array, vector: Array) -> Array:
    return np.asarray((np.swapaxes(matrix, -1, -2) @ vector[..., None])[..., 0])
