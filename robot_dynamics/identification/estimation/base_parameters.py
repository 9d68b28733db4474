# SPDX-License-Identifier: Apache-2.0
"""Base parameters: the combinations of inertial parameters that joint torques determine.

Ten parameters describe a body, but the torques of an arm depend on fewer: a link that turns about
a fixed axis has one relevant moment of inertia, and mass on a joint's axis acts as if it were part
of the previous link. The regressor Y of Y(q, qd, qdd) pi = tau therefore has linearly dependent
columns: the rank of Y at random states, column by column, gives the number of base parameters.

Sources: Spong, Hutchinson and Vidyasagar, section 6.5.4 (linearity in the parameters); Gautier,
"Numerical calculation of the base inertial parameters of robots", J. Robotic Systems 8(4), 1991.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array

RANK_TOLERANCE = 1e-9  # relative: singular values below it are rounding


class BaseParameters(NamedTuple):
    """A minimal set: Y pi = Y[:, columns] (grouping pi) for every pi and every state."""

    columns: Array  # (b,) indices of the parameters in pi that are kept
    grouping: (
        Array  # (b, 10 nb) coefficients of pi in each base parameter; (b, 10 nb + n) of rotors
    )

    @property
    def number(self) -> int:
        """The number b of base parameters."""
        return len(self.columns)


def base_parameters(arm: Any, rng: np.random.Generator, *, rotors: bool = False) -> BaseParameters:
    """Return the base parameters, from the regressor at random states.

    A parameter is dropped if its column depends on those of earlier ones, so that links far from
    the base are regrouped into their parents.

    Args:
        arm: a Dynamics.
        rng: source of the states.
        rotors: whether the rotor inertias (n,) are parameters too, after the inertial ones.
    """
    n, nb = arm.model.n, arm.model.nb
    # Twice as many equations as unknowns.
    q, qd, qdd = rng.uniform(-2, 2, (3, 2 * (10 * nb + n) // n + 2, n))
    Y = arm.regressor(q, qd, qdd)
    if rotors:
        Y = np.concatenate([Y, qdd[:, :, None] * np.eye(n)], axis=2)
    return _independent_columns(Y.reshape(-1, Y.shape[2]))


def _independent_columns(W: Array) -> BaseParameters:
    """Return the first independent columns of W (rows, p), and the others in terms of them."""
    # Gram-Schmidt: a column is kept if it has a component orthogonal to those kept.
    basis = np.zeros((len(W), 0))
    columns = []
    for j, column in enumerate(W.T):
        rest = column - basis @ (basis.T @ column)
        rest = rest - basis @ (basis.T @ rest)
        if np.linalg.norm(rest) > RANK_TOLERANCE * np.linalg.norm(W):
            basis = np.column_stack([basis, rest / np.linalg.norm(rest)])
            columns.append(j)
    # W = W[:, columns] grouping
    grouping = np.linalg.lstsq(W[:, columns], W, rcond=None)[0]
    return BaseParameters(np.array(columns, dtype=int), grouping)
