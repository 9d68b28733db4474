"""The Coriolis matrix of Christoffel symbols, with the mass matrix, from composite bodies.

Seen as particles r of mass m, a robot has M = sum m J^T J and, with the derivative of the same
Jacobian, C = sum m J^T Jd. This C is the Christoffel one: J = dr/dq, so dJ_j/dq_k = dJ_k/dq_j,
which makes sum m J_i . dJ_j/dq_k the symbol c_ijk. Then Md - 2C is skew-symmetric.

A revolute joint i moves the particles beyond it by J_i = z_i x (r - o_i), so

    Jd_i = zd_i x (r - o_i) + z_i x (rd - od_i).

The sums over particles need no more than the moments of every subtree in `moving.py`, which one
inward sweep collects. A second walk inwards then reads off row and column of each joint.

Sources: 003, (44) to (46); 000, (6.63) and (6.67); Echeandia and Wensing, "Numerical methods to
compute the Coriolis matrix and Christoffel symbols for rigid-body systems", J. Comput. Nonlinear
Dyn. 16, 2021 (with a 6x6 matrix per body in the place of these moments).
"""

from __future__ import annotations

from typing import NamedTuple

from robot_dynamics.algorithms.base_frame import (
    Axis,
    axis_rates,
    base_poses,
    felt,
    is_deep,
    joint_axes,
    wrench_in_base,
)
from robot_dynamics.algorithms.base_frame_joints import WorldPose
from robot_dynamics.algorithms.column_propagation import walk_inwards
from robot_dynamics.algorithms.composite_bodies import (
    axial,
    unit_momentum,
)
from robot_dynamics.algorithms.crba import in_coordinates
from robot_dynamics.algorithms.joint_frame import JointFrame, joint_frames
from robot_dynamics.algorithms.link_kinematics import angular_velocities, velocities
from robot_dynamics.algorithms.moving_composite_bodies import MovingBody, moving_composites
from robot_dynamics.algorithms.tree_traversal import of_coordinates, pairs
from robot_dynamics.algorithms.vectors import (
    Scalar,
    Vector,
    add,
    cross,
    dot,
    mat_vec,
    scaled,
    sub,
)
from robot_dynamics.algorithms.wrench import (
    Wrench,
    along_joint,
    wrench_in_parent,
)
from robot_dynamics.model.canonical import CanonicalTree
from robot_dynamics.model.coordinates import body_rates


class Column(NamedTuple):
    """What joint i, moving at unit rate, means for the joints that carry it."""

    momentum: Wrench  # sum m (r - o) x J_i  and  sum m J_i
    momentum_rate: Wrench  # the same with Jd_i
    spin: Vector  # sum m (rd - od) x J_i


class MovingAxis(NamedTuple):
    """Unit twist of a joint, and its time derivative; base frame."""

    axis: Axis
    rate: Axis


def coriolis_matrix(tree: CanonicalTree, q: Vector, qd: Vector) -> list[list[Scalar]]:
    """Return C(q, qd) (n, n), such that C qd is the torque. Arguments as for `rnea`."""
    return mass_and_coriolis_matrix(tree, q, qd)[1]


def mass_and_coriolis_matrix(
    tree: CanonicalTree, q: Vector, qd: Vector
) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """Return M(q) and C(q, qd), each (n, n). Arguments as for `rnea`."""
    frames, rates = joint_frames(tree, q), body_rates(tree.S, qd)
    w = angular_velocities(tree, frames, rates)
    bodies = moving_composites(tree, frames, rates)
    if is_deep(tree):
        poses = base_poses(tree, frames)
        od = origin_velocities(tree, frames, poses, rates)
        M, C = seen_from_base(tree, frames, poses, w, od, bodies)
    else:
        M, C = _walked_inwards(tree, frames, w, rates, bodies)
    return in_coordinates(tree, M), of_coordinates(tree, C)


def _walked_inwards(
    tree: CanonicalTree,
    frames: list[JointFrame],
    w: list[Vector],
    rates: Vector,
    bodies: list[MovingBody],
) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """Return M and C (nb, nb) between the bodies' joints."""
    M: list[list[Scalar]] = [[0.0] * tree.nb for _ in range(tree.nb)]
    C: list[list[Scalar]] = [[0.0] * tree.nb for _ in range(tree.nb)]

    def in_parent(i: int, column: Column) -> Column:
        pd = origin_velocity(frames[i], w[tree.joints[i].parent], rates[i])
        return column_in_parent(frames[i], pd, column)

    def felt(j: int, column: Column) -> tuple[Scalar, Scalar, Scalar]:
        revolute = frames[j].revolute
        return (
            along_joint(revolute, column.momentum),
            along_joint(revolute, column.momentum_rate),
            seen_by_moving_joint(revolute, w[j], column),
        )

    columns = [
        unit_column(frame.revolute, body, w_i)
        for frame, body, w_i in zip(frames, bodies, w, strict=True)
    ]
    for j, i, (inertia, felt_by_j, felt_by_i) in walk_inwards(tree, columns, in_parent, felt):
        M[i][j] = M[j][i] = inertia
        C[i][j] = felt_by_i
        C[j][i] = felt_by_j
    return M, C


def origin_velocities(
    tree: CanonicalTree, frames: list[JointFrame], poses: list[WorldPose], rates: Vector
) -> list[Vector]:
    """Return the velocities of the bodies' origins, base frame."""
    moving = velocities(tree, frames, rates)
    return [mat_vec(pose.R, motion.v) for pose, motion in zip(poses, moving, strict=True)]


def seen_from_base(
    tree: CanonicalTree,
    frames: list[JointFrame],
    poses: list[WorldPose],
    w: list[Vector],
    od: list[Vector],
    bodies: list[MovingBody],
) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """Return the same M and C, by way of the base frame.

    Args:
        tree: the robot.
        frames: of the bodies, in their parents'.
        poses: of the bodies, in the base frame.
        w: angular velocities, each in its body's frame.
        od: velocities of the origins, base frame.
        bodies: the composites of `moving_composites`.
    """
    axes = [
        MovingAxis(*pair)
        for pair in zip(joint_axes(frames, poses), axis_rates(frames, poses, w, od), strict=True)
    ]
    columns = [
        unit_column(frame.revolute, body, w_i)
        for frame, body, w_i in zip(frames, bodies, w, strict=True)
    ]
    seen = [
        column_in_base(pose, od_i, column)
        for pose, od_i, column in zip(poses, od, columns, strict=True)
    ]
    M = pairs(
        tree,
        [
            along_joint(frame.revolute, column.momentum)
            for frame, column in zip(frames, columns, strict=True)
        ],
        axes,
        seen,
        below=lambda axis, column: felt(axis.axis, column.momentum),
        above=lambda axis, column: felt(axis.axis, column.momentum),
    )
    C = pairs(
        tree,
        [
            along_joint(frame.revolute, column.momentum_rate)
            for frame, column in zip(frames, columns, strict=True)
        ],
        axes,
        seen,
        below=moving_axis_felt,
        above=lambda axis, column: felt(axis.axis, column.momentum_rate),
    )
    return M, C


def column_in_base(pose: WorldPose, od: Vector, column: Column) -> Column:
    """Return the same column about the base's origin, in its frame; od: velocity of its own."""
    momentum = wrench_in_base(pose, column.momentum)
    # sum m rd x J_i = spin + od x sum m J_i
    spin = add(mat_vec(pose.R, column.spin), cross(od, momentum.f))
    return Column(momentum, wrench_in_base(pose, column.momentum_rate), spin)


def moving_axis_felt(axis: MovingAxis, column: Column) -> Scalar:
    """Return sum m J_i . Jd_j of a joint j, both seen from the base."""
    # sum m J_i . (wd x r + w x rd + vd) of the twist (w, v) of axis j
    return felt(axis.rate, column.momentum) + dot(axis.axis.w, column.spin)


def unit_column(revolute: bool, body: MovingBody, w: Vector) -> Column:
    """Return the column of a joint, from the composite body that it carries."""
    (m, h, Sigma), h_rate, l = body.moments, body.h_rate, body.l
    momentum = unit_momentum(revolute, body.moments)
    # zd = w x z
    zd = [w[1], -w[0], 0.0]
    if not revolute:
        # J = z, Jd = zd:   sum m r x zd,   sum m rd x z,   rd = w x r + r'
        x, y, _ = add(cross(w, h), h_rate)
        return Column(momentum, Wrench(cross(h, zd), scaled(m, zd)), [y, -x, 0.0])
    # Jd = w x J + z x r':   sum m Jd = w x (z x h) + z x h'
    f = add(cross(w, momentum.f), [-h_rate[1], h_rate[0], 0.0])
    # sum m r x (w x (z x r)) = -z x Sigma w,   sum m (w x r) x (z x r) = Sigma zd
    x, y, _ = mat_vec(Sigma, w)
    # sum m r x (z x r') = (I' z + z x l) / 2,   sum m r' x (z x r) = (I' z - z x l) / 2
    Iz, zl = axial(body.Sigma_rate), [-l[1], l[0], 0.0]
    n = add([y, -x, 0.0], scaled(0.5, add(Iz, zl)))
    spin = add(mat_vec(Sigma, zd), scaled(0.5, sub(Iz, zl)))
    return Column(momentum, Wrench(n, f), spin)


def origin_velocity(frame: JointFrame, w_p: Vector, qd: Scalar) -> Vector:
    """Return pd, the velocity of a body's origin relative to its parent's, in that frame."""
    # pd = w_p x p + R z qd
    pd = cross(w_p, frame.p)
    return pd if frame.revolute else add(pd, scaled(qd, [row[2] for row in frame.R]))


def column_in_parent(frame: JointFrame, pd: Vector, column: Column) -> Column:
    """Return the same column about the parent's origin, in its frame."""
    momentum = wrench_in_parent(frame, column.momentum)
    # sum m (rd + pd) x J_i = spin + pd x sum m J_i
    spin = add(frame.up(column.spin), cross(pd, momentum.f))
    return Column(momentum, wrench_in_parent(frame, column.momentum_rate), spin)


def seen_by_moving_joint(revolute: bool, w: Vector, column: Column) -> Scalar:
    """Return sum m J_i . Jd_j of the joint j in whose frame the column is given."""
    zd = [w[1], -w[0], 0.0]
    if not revolute:
        # Jd_j = zd
        return dot(zd, column.momentum.f)
    # J_i . (zd x r) + J_i . (z x rd) = zd . (r x J_i) + z . (rd x J_i)
    return dot(zd, column.momentum.n) + column.spin[2]
