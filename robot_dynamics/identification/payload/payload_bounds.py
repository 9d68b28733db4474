# SPDX-License-Identifier: Apache-2.0
"""Bounds of a payload by linear programmes: all that dry friction admits.

Source: Charnes and Cooper, "Programming with linear fractional functionals", Naval Research
Logistics Quarterly 9, 1962 (the centre of mass is a ratio of two unknowns).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.common.spatial import Array


def least_excess(X: Array, y: Array, margin: Array, slack: Array) -> float:
    """Return the least t >= 0 with |y - X theta| <= margin + t slack for some theta."""
    from scipy.optimize import linprog

    A = np.vstack([np.column_stack([X, -slack]), np.column_stack([-X, -slack])])
    b = np.concatenate([margin + y, margin - y])
    unknowns = [(0, None), *[(None, None)] * 3, (0, None)]
    solution: Any = linprog([0, 0, 0, 0, 1], A, b, bounds=unknowns)
    return float(solution.fun)


def bounds(X: Array, y: Array, margin: Array) -> tuple[Array, Array]:
    """Return the least and largest m and c (4,) with |y - X (m, m c)| <= margin, m >= 0.

    Each is a linear programme; for c in the unknowns c and 1 / m.
    """
    from scipy.optimize import linprog

    # X (1, c) - (y + margin) / m <= 0,   -X (1, c) + (y - margin) / m <= 0
    mass = np.vstack([X, -X]), np.concatenate([y + margin, margin - y])
    centre = (
        np.vstack(
            [np.column_stack([X[:, 1:], -y - margin]), np.column_stack([-X[:, 1:], y - margin])]
        ),
        np.concatenate([-X[:, 0], X[:, 0]]),
    )
    low, high = np.full(4, -np.inf), np.full(4, np.inf)
    low[0] = 0.0
    for k in range(4):
        A, b = mass if k == 0 else centre
        ranges = [(0, None), *[(None, None)] * 3] if k == 0 else [*[(None, None)] * 3, (0, None)]
        for sign, ends in ((1, low), (-1, high)):
            cost = np.zeros(4)
            cost[0 if k == 0 else k - 1] = sign
            result: Any = linprog(cost, A, b, bounds=ranges)
            if result.status == 0:
                ends[k] = sign * result.fun
    return low, high
