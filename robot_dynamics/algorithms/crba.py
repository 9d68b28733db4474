"""Composite rigid body algorithm: the mass matrix.

M_ij is the torque in joint j when joint i alone accelerates at unit rate. Then everything from
joint i outwards moves as one rigid body, and only the joints between it and the base feel it.

Source: Walker and Orin, "Efficient dynamic computer simulation of robotic mechanisms", ASME J.
Dyn. Sys. Meas. Control 104, 1982; Featherstone, Rigid Body Dynamics Algorithms (2008), table 6.2.
"""

from __future__ import annotations

from robot_dynamics.algorithms.base_frame import (
    base_poses,
    felt,
    is_deep,
    joint_axes,
    wrench_in_base,
)
from robot_dynamics.algorithms.column_propagation import walk_inwards
from robot_dynamics.algorithms.composite_bodies import composite_bodies, unit_momentum
from robot_dynamics.algorithms.joint_frame import JointFrame, joint_frames
from robot_dynamics.algorithms.tree_traversal import of_coordinates, pairs, plus_diagonal
from robot_dynamics.algorithms.vectors import Scalar, Vector
from robot_dynamics.algorithms.wrench import along_joint, wrench_in_parent
from robot_dynamics.model.canonical import CanonicalTree


def crba(tree: CanonicalTree, q: Vector) -> list[list[Scalar]]:
    """Return the mass matrix M(q) (n, n), rotors included. Arguments as for `rnea`."""
    return in_coordinates(tree, _body_mass_matrix(tree, joint_frames(tree, q)))


def in_coordinates(tree: CanonicalTree, M: list[list[Scalar]]) -> list[list[Scalar]]:
    """Return the mass matrix (n, n) of that between the bodies' joints (nb, nb)."""
    # M_p = S^T M S + diag(B)
    return plus_diagonal(tree, of_coordinates(tree, M), tree.reflected_inertia)


def _body_mass_matrix(tree: CanonicalTree, frames: list[JointFrame]) -> list[list[Scalar]]:
    """Return M (nb, nb) between the bodies' joints."""
    if is_deep(tree):
        return _seen_from_base(tree, frames)
    composites = composite_bodies(tree, frames)
    M: list[list[Scalar]] = [[0.0] * tree.nb for _ in range(tree.nb)]
    columns = [
        unit_momentum(frame.revolute, composite)
        for frame, composite in zip(frames, composites, strict=True)
    ]
    for j, i, torque in walk_inwards(
        tree,
        columns,
        in_parent=lambda i, F: wrench_in_parent(frames[i], F),
        felt=lambda j, F: along_joint(frames[j].revolute, F),
    ):
        M[i][j] = M[j][i] = torque
    return M


def _seen_from_base(tree: CanonicalTree, frames: list[JointFrame]) -> list[list[Scalar]]:
    """Return the same M, by way of the base frame."""
    poses = base_poses(tree, frames)
    momenta = [
        unit_momentum(frame.revolute, body)
        for frame, body in zip(frames, composite_bodies(tree, frames), strict=True)
    ]
    diagonal = [along_joint(frame.revolute, F) for frame, F in zip(frames, momenta, strict=True)]
    seen = [wrench_in_base(pose, F) for pose, F in zip(poses, momenta, strict=True)]
    return pairs(tree, diagonal, joint_axes(frames, poses), seen, below=felt, above=felt)
