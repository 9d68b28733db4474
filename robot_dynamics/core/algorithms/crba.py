# SPDX-License-Identifier: Apache-2.0
"""Composite rigid body algorithm: the mass matrix.

M_ij is the torque in joint j when only joint i accelerates, at unit rate. Then all bodies beyond
joint i move as one rigid body, whose momentum loads the joints between it and the base.

Sources: Walker and Orin, "Efficient dynamic computer simulation of robotic mechanisms", ASME J.
Dyn. Sys. Meas. Control 104, 1982; Featherstone, Rigid Body Dynamics Algorithms (2008), table 6.2.
"""

from __future__ import annotations

from robot_dynamics.common.scalars import Scalar
from robot_dynamics.core.algorithms.column_propagation import Column, JointMatrix, column_matrices
from robot_dynamics.core.algorithms.composite_bodies import composite_bodies, unit_momentum
from robot_dynamics.core.algorithms.joint_frame import joint_frames
from robot_dynamics.core.algorithms.vectors import ZERO, Vector
from robot_dynamics.core.model.canonical import CanonicalTree


def crba(tree: CanonicalTree, q: Vector) -> list[list[Scalar]]:
    """Return the mass matrix M(q) (n, n), rotors included. Arguments as for `rnea`."""
    frames = joint_frames(tree, q)
    columns = [
        Column(unit_momentum(frame.revolute, body), rates=(), spin=ZERO)
        for frame, body in zip(frames, composite_bodies(tree, frames), strict=True)
    ]
    at_rest, none = [ZERO] * tree.nb, [()] * tree.nb
    (M,) = column_matrices(tree, frames, at_rest, columns, none)
    return in_coordinates(tree, M)


def in_coordinates(tree: CanonicalTree, M: JointMatrix) -> list[list[Scalar]]:
    """Return the mass matrix (n, n) of that between the bodies' joints (nb, nb)."""
    # M_p = S^T M S + diag(B)
    matrix: list[list[Scalar]] = tree.plus_diagonal(tree.of_coordinates(M), tree.reflected_inertia)
    return matrix
