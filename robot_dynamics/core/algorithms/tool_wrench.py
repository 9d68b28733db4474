# SPDX-License-Identifier: Apache-2.0
"""Wrench at a frame that explains external torques, with its covariance.

    F = (J W^2 J^T + P_0^-1)^-1 J W^2 r,    P = (J W^2 J^T + P_0^-1)^-1,    W = diag(1 / sigma)

is the mean of F, given r = J^T F with errors of standard deviation sigma, and F itself with mean
zero and covariance P_0. Where the arm does not feel a direction, P is P_0 there, and F is zero.

Source: Tarantola, "Inverse Problem Theory", SIAM 2005, section 3.2 (linear least squares with a
prior).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.core.algorithms.forward_dynamics import dense, factorize, solve
from robot_dynamics.core.algorithms.jacobian import forward_kinematics, jacobian
from robot_dynamics.core.algorithms.vectors import Vector, inner
from robot_dynamics.core.model.canonical import CanonicalTree


class ToolWrench(NamedTuple):
    """A wrench in k directions of (moment, force), in the axes of its frame."""

    F: Any  # (k) N m and N
    P: Any  # (k, k) covariance
    unexplained: Any  # (n) r - J^T F, N m or N


def tool_wrench(
    tree: CanonicalTree,
    q: Vector,
    r: Vector,
    sigma: Vector,
    frame: str,
    prior: Sequence[float],
    directions: Sequence[int],
) -> ToolWrench:
    """Return the wrench of the environment on a frame, at its origin and in its axes.

    Args:
        tree: the robot.
        q: (n) joint positions, rad or m.
        r: (n) external torques, N m or N.
        sigma: (n) their standard deviations.
        frame: a name of `model.frame_names`.
        prior: (k) standard deviations of the wrench, N m and N.
        directions: the k of the six directions that it has.

    Raises:
        FrameNotFound: the robot has no frame of that name.
    """
    T, J_base = forward_kinematics(tree, q, frame), jacobian(tree, q, frame)
    # The rows along the axes of the frame: R^T w and R^T v.
    along_axes = [
        [inner([T[k][i] for k in range(3)], column) for column in zip(*rows, strict=True)]
        for rows in (J_base[:3], J_base[3:])
        for i in range(3)
    ]
    J = [along_axes[k] for k in directions]
    JW2 = [[x / (s * s) for x, s in zip(row, sigma, strict=True)] for row in J]
    A = [[inner(row, other) for other in J] for row in JW2]
    for k, deviation in enumerate(prior):
        A[k][k] = A[k][k] + 1.0 / deviation**2
    factors = factorize(A, dense(len(J)))
    F = solve(factors, [inner(row, r) for row in JW2])
    P = [solve(factors, unit) for unit in np.eye(len(J)).tolist()]
    explained = [inner(column, F) for column in zip(*J, strict=True)]
    return ToolWrench(F, P, [x - y for x, y in zip(r, explained, strict=True)])
