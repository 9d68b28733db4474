"""Errors of a regression whose noise is larger in some samples, and common to several joints.

Weights do not account for either; the variation of the scores does. The score of a sample is its
gradient of the log likelihood, X^T r for whitened columns X and rest r.

Source: White, Maximum likelihood estimation of misspecified models, Econometrica 50, 1982.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.identification.evaluation.selection import Solution
from robot_dynamics.spatial import Array

TOGETHER = 5  # successive samples whose scores are added


def spread(solution: Solution, joints: Sequence[tuple[Array, Array]]) -> Solution:
    """Return a solution with errors at least as large as the scores of the samples vary.

    Args:
        solution: of P unknowns.
        joints: of each joint, whitened columns and residual (R, c + 1), and the columns per
            unknown (P, c).
    """
    x, C = solution
    scores = np.zeros((len(joints[0][0]), len(x)))
    for Z, directions in joints:
        rest = Z[:, -1] - Z[:, :-1] @ (x @ directions)
        scores += rest[:, None] * (Z[:, :-1] @ directions.T)
    together = np.add.reduceat(scores, np.arange(0, len(scores), TOGETHER), axis=0)
    varied = ((together @ C) ** 2).sum(axis=0)
    size = C.diagonal()
    more = np.sqrt(np.maximum(1.0, varied / np.where(size > 0, size, 1.0)))
    return Solution(x, C * np.outer(more, more))
