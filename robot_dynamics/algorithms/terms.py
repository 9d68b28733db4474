"""All terms of the equation of motion in one pass:   M(q) qdd + C(q, qd) qd + g(q) = tau.

M and C come from the same composite bodies; what they share with gravity is computed once where
the call is compiled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from robot_dynamics.algorithms.coriolis import mass_and_coriolis_matrix
from robot_dynamics.algorithms.gravity import gravity_torque
from robot_dynamics.algorithms.vectors import Vector
from robot_dynamics.model.canonical import CanonicalTree


class Terms(NamedTuple):
    """Terms of the equation of motion: lists of scalars, or arrays with leading axes."""

    M: Any  # (n, n) mass matrix
    C: Any  # (n, n) Coriolis matrix of Christoffel symbols
    g: Any  # (n) gravity torque


def terms(tree: CanonicalTree, q: Vector, qd: Vector) -> Terms:
    """Return M, C and g. Arguments as for `rnea`."""
    M, C = mass_and_coriolis_matrix(tree, q, qd)
    return Terms(M, C, gravity_torque(tree, q))
