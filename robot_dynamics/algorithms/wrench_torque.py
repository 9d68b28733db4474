"""The joint torques that a wrench on a frame amounts to, by virtual work:   tau = J(q)^T F.

Source: 003, generalized forces (contact wrench J^T h_e); 001, (9.81).
"""

from __future__ import annotations

from robot_dynamics.algorithms.jacobian import jacobian
from robot_dynamics.algorithms.vectors import Scalar, Vector
from robot_dynamics.model.canonical import CanonicalTree


def wrench_torque(tree: CanonicalTree, q: Vector, wrench: Vector, frame: str) -> list[Scalar]:
    """Return tau = J^T F (n).

    Args:
        tree: the robot.
        q: (n) joint positions.
        wrench: (6) moment and force on the robot, world-aligned at the frame's origin.
        frame: name of the frame.
    """
    J = jacobian(tree, q, frame)
    # tau_j = sum_k J_kj F_k
    return [sum(row[j] * F for row, F in zip(J, wrench, strict=True)) for j in range(tree.n)]
