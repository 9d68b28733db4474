# SPDX-License-Identifier: Apache-2.0
"""Kinematics of a frame: pose, Jacobian and its time derivative, torques of a wrench.

V = J qd is the frame's velocity, angular part first: (w, v), in the base's axes, v being that of
the frame's origin. Its time derivative is Vd = J qdd + Jd qd. By virtual work a wrench F at the
frame is equivalent to the joint torques tau = J(q)^T F.

Sources: Lynch and Park, Modern Robotics (2017), chapter 4, and draft (9.81); Siciliano, Sciavicco,
Villani and Oriolo, Robotics (2009), section 3.1; lecture notes, Lagrangian formulation,
generalized forces.
"""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.common.scalars import Scalar
from robot_dynamics.core.algorithms.link_kinematics import Chain, WorldPose, chain_to
from robot_dynamics.core.algorithms.vectors import ZERO, Vector, add, cross, scaled, sub
from robot_dynamics.core.model.canonical import CanonicalTree
from robot_dynamics.core.model.coordinates import body_rates, generalized_forces


def forward_kinematics(tree: CanonicalTree, q: Vector, frame: str) -> list[list[Scalar]]:
    """Return the pose T_wf (4, 4) of a named frame in the base frame.

    Args:
        tree: the robot.
        q: (n) joint positions, rad or m.
        frame: a name of `model.frame_names`.

    Raises:
        FrameNotFound: the robot has no frame of that name.
    """
    R, p = chain_to(tree, q, frame).frame
    rows = [[*row, x] for row, x in zip(R, p, strict=True)]
    return [*rows, [0.0, 0.0, 0.0, 1.0]]


def jacobian(tree: CanonicalTree, q: Vector, frame: str) -> list[list[Scalar]]:
    """Return J(q) (6, n) of a named frame, world-aligned at its origin, angular part first.

    Args:
        tree: the robot.
        q: (n) joint positions, rad or m.
        frame: a name of `model.frame_names`.

    Raises:
        FrameNotFound: the robot has no frame of that name.
    """
    chain = chain_to(tree, q, frame)
    columns: list[list[Scalar]] = [[0.0] * 6 for _ in range(tree.nb)]
    for i, pose in zip(chain.bodies, chain.poses, strict=True):
        z = _axis(pose)
        if tree.joints[i].revolute:
            # w = z,   v = z x (p_f - p_i)
            columns[i] = [*z, *cross(z, sub(chain.frame.p, pose.p))]
        else:
            columns[i] = [*ZERO, *z]
    return _per_coordinate(tree, columns)


def jacobian_dot(tree: CanonicalTree, q: Vector, qd: Vector, frame: str) -> list[list[Scalar]]:
    """Return Jd(q, qd) (6, n), the time derivative of `jacobian`; qd (n) joint velocities."""
    chain = chain_to(tree, q, frame)
    w, arms_rate = _chain_velocities(tree, chain, body_rates(tree.S, qd))
    columns: list[list[Scalar]] = [[0.0] * 6 for _ in range(tree.nb)]
    for k, (i, pose) in enumerate(zip(chain.bodies, chain.poses, strict=True)):
        z = _axis(pose)
        # zd = w x z
        zd = cross(w[k], z)
        if tree.joints[i].revolute:
            # d/dt z x (p_f - p_i) = zd x (p_f - p_i) + z x (v_f - v_i)
            arm = sub(chain.frame.p, pose.p)
            columns[i] = [*zd, *add(cross(zd, arm), cross(z, arms_rate[k]))]
        else:
            columns[i] = [*ZERO, *zd]
    return _per_coordinate(tree, columns)


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


def _chain_velocities(
    tree: CanonicalTree, chain: Chain, rates: Vector
) -> tuple[list[Vector], list[Vector]]:
    """Return w of each body of a chain, and v_f - v_i from its origin to the frame's."""
    w, relative = ZERO, []
    angular: list[Vector] = []
    ends = [*(pose.p for pose in chain.poses[1:]), chain.frame.p]
    for k, (i, pose) in enumerate(zip(chain.bodies, chain.poses, strict=True)):
        if tree.joints[i].revolute:
            # w_i = w_p + z qd
            w = add(w, scaled(rates[i], _axis(pose)))
        angular.append(w)
        # v_next - v_i = w_i x (p_next - p_i) (+ z qd of a sliding next joint)
        step = cross(w, sub(ends[k], pose.p))
        if k + 1 < len(chain.bodies) and not tree.joints[chain.bodies[k + 1]].revolute:
            step = add(step, scaled(rates[chain.bodies[k + 1]], _axis(chain.poses[k + 1])))
        relative.append(step)
    # v_f - v_i: summed from the frame inwards
    total, arms_rate = ZERO, []
    for step in reversed(relative):
        total = add(total, step)
        arms_rate.append(total)
    return angular, arms_rate[::-1]


def _axis(pose: WorldPose) -> Vector:
    return [row[2] for row in pose.R]


def _per_coordinate(tree: CanonicalTree, columns: Sequence[Vector]) -> list[list[Scalar]]:
    """Return (6, n) of the columns (nb, 6) that belong to the bodies' joints."""
    # J_p = J S
    return [generalized_forces(tree.S, row) for row in zip(*columns, strict=True)]
