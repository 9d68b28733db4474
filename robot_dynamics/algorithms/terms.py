"""All terms of the equation of motion in one pass:   M(q) qdd + C(q, qd) qd + g(q) = tau.

M and C come from the same composite bodies; what they share with gravity is computed once where
the call is compiled.
"""

from __future__ import annotations

from typing import NamedTuple

from robot_dynamics.algorithms.coriolis import mass_and_coriolis_matrix
from robot_dynamics.algorithms.gravity import gravity_torque
from robot_dynamics.algorithms.vectors import Scalar, Vector
from robot_dynamics.model.canonical import CanonicalTree


class Terms(NamedTuple):
    """Mass matrix (n, n), Christoffel's Coriolis matrix (n, n) and gravity torque (n)."""

    M: list[list[Scalar]]
    C: list[list[Scalar]]
    g: list[Scalar]


def terms(tree: CanonicalTree, q: Vector, qd: Vector) -> Terms:
    """Return M, C and g. Arguments as for `rnea`."""
    M, C = mass_and_coriolis_matrix(tree, q, qd)
    return Terms(M, C, gravity_torque(tree, q))
