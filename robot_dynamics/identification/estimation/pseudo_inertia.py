# SPDX-License-Identifier: Apache-2.0
"""Physically consistent least squares: a linear matrix inequality for the body of each joint.

    minimise  ||A x - b||^2 + lambda sum_bodies (tr(J0^-1 J) - log det J)
    subject to  J >= eps J0,  friction and rotor inertia >= 0

J is the pseudo-inertia of a body about its frame; J0 that of the description. The second term is
the entropic divergence of J from J0, which depends neither on units nor on frames: what the data
do not determine stays as in the description. Each J is written as L X L^T with J0 = L L^T, so that
X = 1 is the description, and all unknowns are of the same size.

Sources: Wensing, Kim and Slotine, "Linear matrix inequalities for physically consistent inertial
parameter identification", RA-L 3(1), 2018; Lee, Wensing and Park, "Geometric robot dynamic
identification: a convex programming approach", IEEE Trans. Robotics 36(2), 2020 (the divergence).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.inertia import second_moment, symmetric
from robot_dynamics.identification.estimation.solver import SolverError, solver

PRIOR = 1.0  # lambda: the weight of the description, in independent samples
SMALLEST = 1e-4  # eps: of the description's pseudo-inertia
MASS_FLOOR = 1e-3  # of the arm's mass: least mass of a body of J0
SIZE_FLOOR = 0.01  # m: least radius of gyration of a body of J0
NEGLIGIBLE = 1e-2  # standard deviations of all rows together: on the bound
ENTRIES = tuple(zip(*np.triu_indices(4), strict=True))  # of a symmetric 4x4 matrix


def _symmetric() -> Array:
    """Return the map (16, 10) from an upper triangle to the symmetric matrix, by rows."""
    result = np.zeros((16, 10))
    for k, (i, j) in enumerate(ENTRIES):
        result[4 * i + j, k] = result[4 * j + i, k] = 1.0
    return result


SYMMETRIC = _symmetric()


def to_pseudo_inertia(parameters: Array) -> Array:
    """Return J (4, 4) of the ten parameters (10,) about the same frame.

    Wensing, Kim and Slotine 2018, (8): J = [[tr(I)/2 1 - I, m c], [m c^T, m]].
    """
    m, h = parameters[0], parameters[1:4]
    J = np.empty((4, 4))
    J[:3, :3] = second_moment(symmetric(parameters[4:]))
    J[:3, 3] = J[3, :3] = h
    J[3, 3] = m
    return J


def from_pseudo_inertia(J: Array) -> Array:
    """Return the ten parameters (10,) of J (4, 4): the inverse of `to_pseudo_inertia`."""
    # I = tr(Sigma) 1 - Sigma
    I = np.trace(J[:3, :3]) * np.eye(3) - J[:3, :3]
    return np.concatenate([[J[3, 3]], J[:3, 3], I[np.triu_indices(3)]])


def with_extent(m: float, sigma: Array) -> Array:
    """Return second moments (3, 3) about the centre of mass, at least those of a small extent."""
    values, axes = np.linalg.eigh(sigma)
    return np.asarray((axes * np.maximum(values, m * SIZE_FLOOR**2)) @ axes.T)


def displacement(T: Array) -> Array:
    """Return the matrix (10, 10) of parameters in the frame in which their frame has pose T."""
    units = [to_pseudo_inertia(unit) for unit in np.eye(10)]
    # J' = T J T^T
    return np.array([from_pseudo_inertia(T @ J @ T.T) for J in units]).T


class Bodies(NamedTuple):
    """Factors L of J0 = L L^T of each body, and the parameters that are not estimated.

    theta = maps X + kept, with X the upper triangles of the scaled pseudo-inertias.
    """

    maps: Array  # (nb, 10, 10) from the upper triangle of X to the ten parameters
    kept: Array  # (nb, 10) of links that move with the body and keep their inertia

    @property
    def nb(self) -> int:
        """Number of bodies."""
        return len(self.maps)

    def theta(self, X: Array) -> Array:
        """Return the parameters (10 nb,) of scaled pseudo-inertias (nb, 4, 4)."""
        upper = X[(slice(None), *np.triu_indices(4))]
        return np.asarray(np.einsum('bij,bj->bi', self.maps, upper) + self.kept).ravel()

    def columns(self, A: Array) -> Array:
        """Return columns (rows, 10 nb) by the triangles, of columns by the parameters."""
        blocks = A.reshape(len(A), self.nb, 10)
        return np.asarray(np.einsum('rbi,bij->rbj', blocks, self.maps)).reshape(len(A), -1)


def bodies(theta: Array, kept: Array) -> Bodies:
    """Return the scaling of bodies by a description.

    Point masses and bodies without mass are given a small extent and mass: they have no J0^-1.

    Args:
        theta: (nb, 10) parameters of the description.
        kept: (nb, 10) the part of them that is not estimated.
    """
    floor = max(MASS_FLOOR * float(theta[:, 0].sum()), 1e-9)
    maps = []
    for own in theta - kept:
        J = to_pseudo_inertia(own)
        m = max(J[3, 3], floor)
        c = J[:3, 3] / m
        # About the centre of mass the second moments are Sigma - m c c^T.
        sigma = with_extent(m, J[:3, :3] - m * np.outer(c, c))
        L = np.zeros((4, 4))
        L[:3, :3] = np.linalg.cholesky(sigma)
        L[:3, 3], L[3, 3] = np.sqrt(m) * c, np.sqrt(m)
        maps.append(_map(L))
    return Bodies(np.array(maps), kept)


def _map(L: Array) -> Array:
    """Return the matrix (10, 10) from the upper triangle of X to the parameters of L X L^T."""
    units = SYMMETRIC.T.reshape(10, 4, 4)
    return np.array([from_pseudo_inertia(L @ E @ L.T) for E in units]).T


def closest_consistent(
    A: Array, b: Array, scaled: Bodies, lower: Array, weight: float
) -> tuple[Array, Array]:
    """Return the minimum of the convex problem: X (nb, 4, 4) and the other unknowns (m,).

    Args:
        A: (rows, 10 nb + m) weighted columns: of the parameters, then of the other unknowns.
        b: (rows,) weighted right-hand side.
        scaled: the bodies.
        lower: (m,) lower bounds of the other unknowns, -inf where there is none.
        weight: lambda, of the divergence from the description.

    Raises:
        SolverError: cvxpy or clarabel is not installed, or the solver fails.
    """
    cp = solver()
    size = 10 * scaled.nb
    b = b - A[:, :size] @ scaled.kept.ravel()
    columns = np.column_stack([scaled.columns(A[:, :size]), A[:, size:], b])
    # QR: a square problem with the same minimum, whatever the number of rows.
    R = np.asarray(np.linalg.qr(columns, mode='r'))
    A, b = R[:, :-1], R[:, -1]
    unit = np.linalg.norm(A, axis=0)[size:]
    unit = np.where(unit > 0, unit, 1.0)
    A[:, size:] /= unit
    # The unknowns are differences from least squares: no large numbers cancel.
    centre = np.linalg.lstsq(*with_prior(A, b, scaled.nb, weight), rcond=None)[0]
    x = cp.Variable(A.shape[1])
    X = [
        cp.reshape(SYMMETRIC @ (x + centre)[10 * i : 10 * i + 10], (4, 4), order='C')
        for i in range(scaled.nb)
    ]
    divergence = cp.sum([cp.trace(one) - cp.log_det(one) for one in X])
    constraints = [one >> SMALLEST * np.eye(4) for one in X]
    bounded = np.flatnonzero(np.isfinite(lower))
    least = (lower * unit)[bounded]
    if len(bounded):
        constraints.append((x + centre)[size + bounded] >= least)
    squares = cp.sum_squares(A @ x - (b - A @ centre))
    _minimise(squares + weight * divergence, constraints, max(float(b @ b), 1.0))
    rest = (x.value + centre)[size:]
    # An interior-point method ends near a bound, not on it.
    rest[bounded] = np.where(rest[bounded] < least + NEGLIGIBLE, least, rest[bounded])
    return np.array([one.value for one in X]), rest / unit


def _minimise(objective: Any, constraints: Sequence[Any], size: float) -> None:
    """Give the variables of a convex objective of cvxpy the values of its minimum.

    Args:
        objective: the expression.
        constraints: on its variables.
        size: of the objective, by which it is divided where it is not minimised as it is: a
            description far from the data ends on the bounds, where large numbers stop the solver.

    Raises:
        SolverError: it is not minimised either way.
    """
    cp = solver()
    for unit in (1.0, size):
        problem = cp.Problem(cp.Minimize(objective / unit), constraints)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter('ignore')  # the status says what they say
                problem.solve(solver=cp.CLARABEL, max_threads=1)
        except cp.error.SolverError as error:
            reason = str(error)
            continue
        if problem.status in ('optimal', 'optimal_inaccurate'):
            return
        reason = f'it is {problem.status}'
    raise SolverError(f'the convex problem was not solved: {reason}')


def with_prior(A: Array, b: Array, nb: int, weight: float) -> tuple[Array, Array]:
    """Return rows whose squares have the divergence to second order added.

    Args:
        A: (rows, 10 nb + m) columns: by the upper triangles of X, then by the other unknowns.
        b: (rows,) right-hand side.
        nb: number of bodies.
        weight: lambda.
    """
    root = np.linalg.cholesky(description_curvature(weight)).T
    rows = np.kron(np.eye(nb), root)
    unit = np.tile(np.eye(4)[np.triu_indices(4)], nb)
    more = np.column_stack([rows, np.zeros((len(rows), A.shape[1] - 10 * nb))])
    return np.vstack([A, more]), np.concatenate([b, rows @ unit])


def description_curvature(weight: float) -> Array:
    """Return the matrix (10, 10) of the divergence of a body to second order about X = 1.

    Args:
        weight: lambda, of the divergence.
    """
    # tr X - log det X = 4 + |X - 1|^2 / 2 near X = 1
    return np.asarray(weight / 2 * divergence_curvature(np.eye(4)[None])[0])


def divergence_curvature(X: Array) -> Array:
    """Return the second derivatives (nb, 10, 10) of -log det X by the upper triangles."""
    E = SYMMETRIC.T.reshape(10, 4, 4)
    inverse = np.linalg.inv(X)
    # tr(X^-1 E_k X^-1 E_l)
    moved = np.einsum('bij,kjl->bkil', inverse, E)
    return np.asarray(np.einsum('bkij,blji->bkl', moved, moved))
