"""Composite rigid body algorithm: the mass matrix.

M_ij is the torque in joint j when joint i alone accelerates at unit rate. Then everything from
joint i outwards moves as one rigid body, and only the joints between it and the base feel it.

Source: Walker and Orin, "Efficient dynamic computer simulation of robotic mechanisms", ASME J.
Dyn. Sys. Meas. Control 104, 1982; Featherstone, Rigid Body Dynamics Algorithms (2008), table 6.2.
"""

from __future__ import annotations

from robot_dynamics.algorithms.composite import composite_bodies, unit_momentum
from robot_dynamics.algorithms.deep import base_poses, felt, is_deep, joint_axes, wrench_in_base
from robot_dynamics.algorithms.joint_frame import JointFrame, joint_frames
from robot_dynamics.algorithms.vectors import Scalar, Vector
from robot_dynamics.algorithms.wrench import along_joint, wrench_in_parent
from robot_dynamics.model.canonical import CanonicalTree
from robot_dynamics.model.coordinates import generalized_matrix


def crba(tree: CanonicalTree, q: Vector) -> list[list[Scalar]]:
    """Return the mass matrix M(q) (n, n), rotors included. Arguments as for `rnea`."""
    return in_coordinates(tree, _body_mass_matrix(tree, joint_frames(tree, q)))


def in_coordinates(tree: CanonicalTree, M: list[list[Scalar]]) -> list[list[Scalar]]:
    """Return the mass matrix (n, n) of that between the bodies' joints (nb, nb)."""
    # M_p = S^T M S + diag(B)
    result = generalized_matrix(tree.S, M)
    for j, B in enumerate(tree.reflected_inertia):
        result[j][j] = result[j][j] + B
    return result


def _body_mass_matrix(tree: CanonicalTree, frames: list[JointFrame]) -> list[list[Scalar]]:
    """Return M (nb, nb) between the bodies' joints."""
    if is_deep(tree):
        return _seen_from_base(tree, frames)
    composites = composite_bodies(tree, frames)
    M: list[list[Scalar]] = [[0.0] * tree.nb for _ in range(tree.nb)]
    for i, composite in enumerate(composites):
        F = unit_momentum(frames[i].revolute, composite)
        M[i][i] = along_joint(frames[i].revolute, F)
        # Down the chain that carries body i.
        child, j = i, tree.joints[i].parent
        while j >= 0:
            F = wrench_in_parent(frames[child], F)
            M[i][j] = M[j][i] = along_joint(frames[j].revolute, F)
            child, j = j, tree.joints[j].parent
    return M


def _seen_from_base(tree: CanonicalTree, frames: list[JointFrame]) -> list[list[Scalar]]:
    """Return the same M, by way of the base frame."""
    poses = base_poses(tree, frames)
    axes = joint_axes(frames, poses)
    M: list[list[Scalar]] = [[0.0] * tree.nb for _ in range(tree.nb)]
    for i, composite in enumerate(composite_bodies(tree, frames)):
        momentum = unit_momentum(frames[i].revolute, composite)
        M[i][i] = along_joint(frames[i].revolute, momentum)
        momentum = wrench_in_base(poses[i], momentum)
        for j in tree.support(tree.joints[i].parent):
            M[i][j] = M[j][i] = felt(axes[j], momentum)
    return M
