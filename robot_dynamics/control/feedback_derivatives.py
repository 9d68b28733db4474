# SPDX-License-Identifier: Apache-2.0
"""Derivatives of the torque of a control law by the state, for a linear closed loop.

With A and B of `Dynamics.linearize` and x = (q, qd), the arm under the law obeys

    dx/dt = (A + B [dtau_dq  dtau_dqd]) x

about a state in which the law holds it. The law is compiled with dual numbers: one call has the
derivatives along the 2 n directions of the state as a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.codegen.calls.arguments import checked_output
from robot_dynamics.common.errors import ShapeError
from robot_dynamics.common.spatial import Array


class FeedbackDerivatives(NamedTuple):
    """Derivatives of the torque of a law, (..., n, n) each, row i of tau_i."""

    dtau_dq: Array  # N m/rad, N m/m or N/m: minus the stiffness
    dtau_dqd: Array  # N m s/rad, N m s/m or N s/m: minus the damping


def feedback_derivatives(
    slopes: Callable[..., Array],
    n: int,
    arguments: Sequence[ArrayLike],
    out: tuple[Array, Array] | None,
) -> FeedbackDerivatives:
    """Return the derivatives of a law.

    Args:
        slopes: the compiled derivative along a direction (dq, dqd), its first arguments.
        n: number of joints.
        arguments: the others: q, qd and those of the law, (..., size); leading axes broadcast.
        out: two float64 arrays (..., n, n) that receive the results.

    Raises:
        ShapeError: an argument has another shape, or `out` does not fit.
    """
    units, rest = np.eye(n), np.zeros((n, n))
    along = [np.atleast_1d(np.asarray(x, dtype=float))[..., None, :] for x in arguments]
    rows = slopes(np.concatenate([units, rest]), np.concatenate([rest, units]), *along)
    columns: Any = np.swapaxes(rows, -1, -2)
    found = columns[..., :n], columns[..., n:]
    if out is None:
        return FeedbackDerivatives(*map(np.ascontiguousarray, found))
    if not isinstance(out, (tuple, list)) or len(out) != len(found):
        expected = ', '.join(FeedbackDerivatives._fields)
        raise ShapeError(f'out is {type(out).__name__}, expected a tuple of 2: {expected}')
    filled: list[Array] = []
    for name, given, result in zip(FeedbackDerivatives._fields, out, found, strict=True):
        filled.append(checked_output('derivatives', name, given, result.shape, filled))
    for given, result in zip(filled, found, strict=True):
        given[...] = result
    return FeedbackDerivatives(*out)
