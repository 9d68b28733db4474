"""Derivatives of inverse dynamics with respect to positions and velocities.

With particles r of mass m (as in `coriolis.py`) and A = rdd - gravity, tau_i = sum m J_i . A.
Since dr/dq_j = J_j, and the order of differentiation does not matter,

    dtau_i/dqd_j  = 2 sum m J_i . Jd_j = 2 C_ij
    dtau_i/dq_j   = sum m J_i . Jdd_j + sum m (dJ_i/dq_j) . A,        dtau/dqdd = M.

dJ_i/dq_j turns J_j or J_i with the other's axis, whichever joint is nearer to the base: z_j x J_i
where j carries i, z_i x J_j where i carries j. In the first case

    sum m (z_j x J_i) . A = z_j . sum m J_i x A.

In both, much of what accelerates particles relative to a joint cancels by Jacobi's identity,
u x (v x w) + v x (w x u) + w x (u x v) = 0, and the rest is in the wrench (N, F) that passes
through the joint: moments of second derivatives are not needed.

The second derivative of a Jacobian's column is, with zdd = U z,

    Jdd_j = zdd x (r - o_j) + 2 zd x (rd - od_j) + z x (rdd - odd_j).

Sources: Carpentier and Mansard, "Analytical derivatives of rigid body dynamics algorithms", RSS
2018; Echeandia and Wensing (2021), see `coriolis.py`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from robot_dynamics.algorithms.base_frame import (
    Axis,
    base_poses,
    felt,
    is_deep,
    joint_axes,
    wrench_in_base,
)
from robot_dynamics.algorithms.base_frame_joints import WorldPose
from robot_dynamics.algorithms.column_propagation import walk_inwards
from robot_dynamics.algorithms.composite_bodies import rotational_inertia
from robot_dynamics.algorithms.coriolis import (
    mass_and_coriolis_matrix,
    origin_velocities,
    origin_velocity,
    seen_from_base,
    unit_column,
)
from robot_dynamics.algorithms.crba import in_coordinates
from robot_dynamics.algorithms.joint_frame import JointFrame, joint_frames
from robot_dynamics.algorithms.link_kinematics import Acceleration, accelerations
from robot_dynamics.algorithms.moving_composite_bodies import MovingBody, moving_composites
from robot_dynamics.algorithms.rnea import joint_wrenches
from robot_dynamics.algorithms.tree_traversal import of_coordinates, pairs, times
from robot_dynamics.algorithms.vectors import (
    ZERO,
    Scalar,
    Vector,
    add,
    cross,
    dot,
    mat_vec,
    scaled,
    sub,
)
from robot_dynamics.algorithms.wrench import Wrench, along_joint, wrench_in_parent
from robot_dynamics.model.canonical import CanonicalTree
from robot_dynamics.model.coordinates import body_rates, generalized_matrix


class Derivatives(NamedTuple):
    """Partial derivatives of tau: lists of scalars, or arrays with leading axes."""

    dtau_dq: Any  # (n, n), row i belongs to tau_i
    dtau_dqd: Any  # (n, n)
    M: Any  # (n, n) dtau/dqdd


class Column(NamedTuple):
    """What joint i, moving at unit rate, means for how tau depends on the joints before it."""

    momentum: Wrench  # sum m (r - o) x J_i  and  sum m J_i
    spin: Vector  # sum m (rd - od) x J_i
    force: Wrench  # d/dq_i of  sum m (r - o) x A  and  sum m A


class AcceleratingAxis(NamedTuple):
    """Joint j seen from the base: its axis, and what dtau/dq_j of the joints beyond it needs."""

    axis: Axis
    zd: Vector
    zdd: Vector
    pull: Vector  # o x zdd + 2 od x zd + a x z, with a = odd - gravity


def inverse_dynamics_derivatives(
    tree: CanonicalTree, q: Vector, qd: Vector, qdd: Vector
) -> Derivatives:
    """Return dtau/dq, dtau/dqd and M = dtau/dqdd. Arguments as for `rnea`."""
    if is_deep(tree):
        return _seen_from_base(tree, q, qd, qdd)
    M, C = mass_and_coriolis_matrix(tree, q, qd)
    dtau_dq = generalized_matrix(tree.S, _position_derivative(tree, q, qd, qdd))
    return Derivatives(dtau_dq, [[2.0 * x for x in row] for row in C], M)


def _position_derivative(
    tree: CanonicalTree, q: Vector, qd: Vector, qdd: Vector
) -> list[list[Scalar]]:
    """Return dtau/dq (nb, nb) between the bodies' joints."""
    frames, rates = joint_frames(tree, q), body_rates(tree.S, qd)
    motions = accelerations(tree, frames, rates, body_rates(tree.S, qdd))
    through = joint_wrenches(tree, frames, motions)
    bodies = moving_composites(tree, frames, rates)

    def in_parent(i: int, column: Column) -> Column:
        pd = origin_velocity(frames[i], motions[tree.joints[i].parent].w, rates[i])
        return _in_parent(frames[i], pd, column)

    def felt(j: int, column: Column) -> tuple[Scalar, Scalar]:
        return (
            along_joint(frames[j].revolute, column.force),
            _seen_by_moving_joint(frames[j].revolute, motions[j], column),
        )

    columns = [
        _unit_column(*of_joint) for of_joint in zip(frames, bodies, motions, through, strict=True)
    ]
    D: list[list[Scalar]] = [[0.0] * tree.nb for _ in range(tree.nb)]
    for j, i, (felt_by_j, felt_by_i) in walk_inwards(tree, columns, in_parent, felt):
        D[i][j] = felt_by_i
        D[j][i] = felt_by_j
    return D


def _unit_column(
    frame: JointFrame, body: MovingBody, motion: Acceleration, through: Wrench
) -> Column:
    """Return the column of a joint, from the composite body that it carries."""
    w, _, U, a = motion
    m, h, Sigma = body.moments
    N, F = through
    first = unit_column(frame.revolute, body, w)
    # zd = w x z,   zdd = U z
    zd, zdd = [w[1], -w[0], 0.0], [row[2] for row in U]
    if not frame.revolute:
        # J = z:   sum m r x zdd + z x sum m A,   sum m zdd
        n = add(cross(h, zdd), [-F[1], F[0], 0.0])
        return Column(first.momentum, first.spin, Wrench(n, scaled(m, zdd)))
    # sum m Jdd = zdd x h + 2 zd x hd + z x hdd,
    # hd = sum m rd = w x h + h',   zd x (w x h) = (zd . h) w,   hdd = sum m rdd = F - m a
    hdd, zd_2, w_2 = sub(F, scaled(m, a)), scaled(2.0, zd), scaled(2.0, w)
    f = add(cross(zdd, h), add(scaled(dot(zd, h), w_2), cross(zd_2, body.h_rate)))
    f = add(f, [-hdd[1], hdd[0], 0.0])
    # sum m r x (zdd x r) = I zdd,   sum m r x (zd x (w x r)) = -w x Sigma zd
    n = sub(mat_vec(rotational_inertia(Sigma), zdd), cross(w_2, mat_vec(Sigma, zd)))
    # 2 sum m r x (zd x r') = I' zd + zd x l
    n = add(n, add(mat_vec(rotational_inertia(body.Sigma_rate), zd), cross(zd, body.l)))
    # r x (z x rdd) + (z x r) x A = z x (r x A) - r x (z x a),   A = a + rdd
    n = add(n, sub([-N[1], N[0], 0.0], cross(h, [-a[1], a[0], 0.0])))
    return Column(first.momentum, first.spin, Wrench(n, f))


def _in_parent(frame: JointFrame, pd: Vector, column: Column) -> Column:
    """Return the same column about the parent's origin, in its frame."""
    momentum = wrench_in_parent(frame, column.momentum)
    # sum m (rd + pd) x J_i
    spin = add(frame.up(column.spin), cross(pd, momentum.f))
    return Column(momentum, spin, wrench_in_parent(frame, column.force))


def _seen_by_moving_joint(revolute: bool, motion: Acceleration, column: Column) -> Scalar:
    """Return dtau_i/dq_j of the joint j in whose frame the column is given."""
    w, _, U, a = motion
    zd_2, zdd = [2.0 * w[1], -2.0 * w[0], 0.0], [row[2] for row in U]
    n, f = column.momentum
    if not revolute:
        # J_i . zdd; sliding turns no axis
        return dot(zdd, f)
    # J_i . (zdd x r + 2 zd x rd + z x rdd) + z . (J_i x A),   A = a + rdd
    return dot(zdd, n) + dot(zd_2, column.spin) + (f[0] * a[1] - f[1] * a[0])


# -- deep trees ---------------------------------------------------------------------------------


def _seen_from_base(tree: CanonicalTree, q: Vector, qd: Vector, qdd: Vector) -> Derivatives:
    """Return the same, by way of the base frame."""
    frames, rates = joint_frames(tree, q), body_rates(tree.S, qd)
    motions = accelerations(tree, frames, rates, body_rates(tree.S, qdd))
    w = [motion.w for motion in motions]
    through, bodies = joint_wrenches(tree, frames, motions), moving_composites(tree, frames, rates)
    poses = base_poses(tree, frames)
    od = origin_velocities(tree, frames, poses, rates)
    M, C = seen_from_base(tree, frames, poses, w, od, bodies)

    columns = [_unit_column(*each) for each in zip(frames, bodies, motions, through, strict=True)]
    D = pairs(
        tree,
        [
            along_joint(frame.revolute, column.force)
            for frame, column in zip(frames, columns, strict=True)
        ],
        [
            _accelerating_axis(*each)
            for each in zip(frames, poses, joint_axes(frames, poses), od, motions, strict=True)
        ],
        [_column_in_base(*each) for each in zip(poses, od, columns, strict=True)],
        below=_felt_by_accelerating_axis,
        above=lambda j, column: felt(j.axis, column.force),
    )
    return Derivatives(
        of_coordinates(tree, D),
        times(tree, 2.0, of_coordinates(tree, C)),
        in_coordinates(tree, M),
    )


def _accelerating_axis(
    frame: JointFrame, pose: WorldPose, axis: Axis, od: Vector, motion: Acceleration
) -> AcceleratingAxis:
    """Return the axis of a joint; od: velocity of its origin, base frame."""
    R, o = pose
    # zd = w x z,   zdd = U z
    z, zd = [row[2] for row in R], mat_vec(R, [motion.w[1], -motion.w[0], 0.0])
    zdd = mat_vec(R, [row[2] for row in motion.U])
    if not frame.revolute:
        # J_i . zdd; sliding turns no axis
        return AcceleratingAxis(axis, ZERO, ZERO, zdd)
    pull = add(cross(o, zdd), scaled(2.0, cross(od, zd)))
    return AcceleratingAxis(axis, zd, zdd, add(pull, cross(mat_vec(R, motion.a), z)))


def _column_in_base(pose: WorldPose, od: Vector, column: Column) -> Column:
    """Return a column about the base's origin, in its frame; od: velocity of its own."""
    momentum = wrench_in_base(pose, column.momentum)
    # sum m rd x J_i = spin + od x sum m J_i
    spin = add(mat_vec(pose.R, column.spin), cross(od, momentum.f))
    return Column(momentum, spin, wrench_in_base(pose, column.force))


def _felt_by_accelerating_axis(j: AcceleratingAxis, column: Column) -> Scalar:
    """Return dtau_i/dq_j of the joint j that carries joint i."""
    # J_i . (zdd x (r - o) + 2 zd x (rd - od) + z x (rdd - odd)) + z . (J_i x A) with
    # A = rdd - gravity: what has rdd in it cancels; what has o, od and odd in it is J_i . pull
    turning = dot(j.zdd, column.momentum.n) + 2.0 * dot(j.zd, column.spin)
    return turning + dot(j.pull, column.momentum.f)
