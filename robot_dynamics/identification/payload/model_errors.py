# SPDX-License-Identifier: Apache-2.0
"""Errors of a description, as unknowns with a prior, beside those of a payload.

Every link has errors of mass, centre of mass and tensor, in proportion to those of a CAD model,
and every joint a rotor. How large they are follows from the recording: the sizes of both priors
have the largest likelihood of the efforts, all unknowns integrated out (the evidence). For a
description that fits, they are near zero, and the payload loses no accuracy. Otherwise the errors
are estimated as far as the motion distinguishes them from a payload, and are part of its errors as
far as it does not.

Errors of an identified model are smaller and of another shape: what the motion of the
identification told is right, the rest is arbitrary. Fitted as those of a CAD model, they made
payloads of simulated arms less accurate (4 % instead of 1 %), since friction of another law looks
like errors of links.

Source: MacKay, "Bayesian interpolation", Neural Computation 4(3), 1992 (evidence).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.inertia import Inertial, to_parameters
from robot_dynamics.core.model.robot_model import RobotModel


class Accuracy(NamedTuple):
    """Standard deviations of the links of a CAD model; their proportions matter.

    They were found by trial on twelve arms of `test/drawn_arms.py` without a payload: with 0.05 of
    the mass, errors of the payload were 1.5 times those stated (root mean square), with 0.08
    1.06 times.
    """

    mass: float = 0.08  # relative
    centre: float = 0.003  # m
    of_gyration: float = 0.02  # of the centre, if larger: of the radius of gyration
    tensor: float = 0.05  # of the mean principal moment


class Sizes(NamedTuple):
    """Errors of the links and the rotors, in units of their prior."""

    links: float  # 1: those of a CAD model
    rotors: float  # 1: their torque is the effort of the joint


CAD = Accuracy()
LIKELY = Sizes(1.0, 1.0)
BOUNDS = (1e-3, 1e2)  # of the sizes
NEGLIGIBLE = Sizes(BOUNDS[0], BOUNDS[0])
RANK = 1e-10  # relative eigenvalue: combinations below are not determined


def link_errors(model: RobotModel) -> Array:
    """Return one standard deviation of each error of each body (nb, 10, 10): [:, :, k] is one."""
    return np.stack([_of_body(model.inertial(i)) for i in range(model.nb)])


def _of_body(body: Inertial) -> Array:
    m, c, tensor = body.mass, body.com, body.inertia_com
    pi = to_parameters(body)
    trace = float(np.trace(tensor))
    if m <= 0:
        return np.zeros((10, 10))
    gyration = np.sqrt(max(trace, 0.0) / (2 * m))
    step = max(CAD.centre, CAD.of_gyration * gyration)
    moved = [
        (to_parameters(Inertial(m, c + e, tensor)) - to_parameters(Inertial(m, c - e, tensor))) / 2
        for e in step * np.eye(3)
    ]
    tensors = np.eye(10)[4:] * CAD.tensor * trace / 3
    return np.column_stack([CAD.mass * pi, *moved, *tensors])


def likeliest(A: Array, b: Array, first: int, n: int) -> Sizes:
    """Return the sizes of the errors with the largest evidence.

    Args:
        A: (P, P) normal matrix of all unknowns in units of their prior, of unit weight.
        b: (P,) right side.
        first: those before it are free; errors of links follow, and n of
        n: rotors.
    """
    from scipy.linalg import cho_factor, cho_solve
    from scipy.optimize import minimize

    S, v = _without_free(A, b, first)

    def cost(logarithms: Array) -> float:
        links, rotors = np.exp(logarithms)
        D = np.append(np.full(len(v) - n, links), np.full(n, rotors))
        # -2 log evidence = log det(1 + D S D) - v^T D (1 + D S D)^-1 D v
        factor = cho_factor(np.eye(len(v)) + D[:, None] * S * D, lower=True)
        log_det = 2 * float(np.log(np.diag(factor[0])).sum())
        return log_det - float((D * v) @ cho_solve(factor, D * v))

    start = np.log([(1.0, 1.0), (0.2, 1.0), (1.0, 0.1)])
    found = minimize(
        cost,
        start[0],
        method='Nelder-Mead',
        bounds=[(math.log(BOUNDS[0]), math.log(BOUNDS[1]))] * 2,
        options={'initial_simplex': start, 'xatol': 0.02, 'fatol': 0.01},
    )
    return Sizes(*np.exp(found.x).tolist())


def _without_free(A: Array, b: Array, first: int) -> tuple[Array, Array]:
    """Return normal matrix and right side of the later unknowns, the first ones integrated out."""
    size = np.sqrt(A.diagonal()[:first])
    size = np.where(size > 1e-12 * size.max(), size, np.inf)
    free, mixed = A[:first, :first] / np.outer(size, size), A[:first, first:] / size[:, None]
    by_free = mixed.T @ np.linalg.pinv(free, rcond=RANK, hermitian=True)
    return A[first:, first:] - by_free @ mixed, b[first:] - by_free @ (b[:first] / size)
