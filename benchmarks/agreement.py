# SPDX-License-Identifier: Apache-2.0
"""Comparison of results between libraries.

Errors are relative to the largest entry. Forward dynamics solves with the mass matrix, so its
tolerance grows with the condition number of that matrix.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.common.spatial import Array

TOLERANCE = 1e-10
# Up to this condition number of M, forward dynamics has the same tolerance as other functions.
HARMLESS_CONDITION = 1e4


class Disagreement(Exception):  # noqa: N818  (the name is sufficient)
    """Results of two libraries differ by more than the tolerance."""


def tolerance(function: str, M: Array) -> float:
    """Return the tolerance of a function at a state with mass matrix M."""
    if not function.startswith('forward_dynamics'):
        return TOLERANCE
    return TOLERANCE * max(1.0, float(np.linalg.cond(M)) / HARMLESS_CONDITION)


def relative_error(found: Sequence[Array], wanted: Sequence[Array]) -> float:
    """Return the largest error of several results, each relative to its largest entry.

    NaN counts as an infinite error.
    """
    worst = 0.0
    for a, b in zip(found, wanted, strict=True):
        a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
        if a.shape != b.shape:
            raise Disagreement(f'a result has shape {a.shape}, expected {b.shape}')
        difference = np.abs(a - b).max()
        error = difference / max(np.abs(b).max(), np.finfo(float).tiny)
        worst = max(worst, float(error) if np.isfinite(error) else np.inf)
    return worst


def check(who: str, error: float, allowed: float) -> None:
    """Raise Disagreement if an error exceeds the tolerance."""
    if not error <= allowed:
        raise Disagreement(f'{who} differs by {error:.1e}, allowed is {allowed:.1e}')
