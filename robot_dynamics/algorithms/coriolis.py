"""The Coriolis matrix of Christoffel symbols, with the mass matrix, from composite bodies.

Seen as particles r of mass m, a robot has M = sum m J^T J and, with the derivative of the same
Jacobian, C = sum m J^T Jd. This C is the Christoffel one: J = dr/dq, so dJ_j/dq_k = dJ_k/dq_j,
which makes sum m J_i . dJ_j/dq_k the symbol c_ijk. Then Md - 2C is skew-symmetric.

A revolute joint i moves the particles beyond it by J_i = z_i x (r - o_i), so

    Jd_i = zd_i x (r - o_i) + z_i x (rd - od_i).

The sums over particles need no more than six moments of every subtree, which one inward sweep
collects: m, h, Sigma = sum m r r^T, hd = sum m rd, P = sum m r rd^T, all about the subtree's
first origin, rd relative to it. A second walk inwards per joint then reads off row and column.

Sources: 003, (44) to (46); 000, (6.63) and (6.67); Echeandia and Wensing, "Numerical methods to
compute the Coriolis matrix and Christoffel symbols for rigid-body systems", J. Comput. Nonlinear
Dyn. 16, 2021 (with a 6x6 matrix per body in the place of P and hd).
"""

from __future__ import annotations

from typing import NamedTuple

from robot_dynamics.algorithms.composite import (
    moments_in_parent,
    rotational_inertia,
    total_moments,
    unit_momentum,
)
from robot_dynamics.algorithms.crba import in_coordinates
from robot_dynamics.algorithms.deep import (
    axis_rates,
    base_poses,
    felt,
    is_deep,
    joint_axes,
    wrench_in_base,
)
from robot_dynamics.algorithms.joint_frame import JointFrame, joint_frames
from robot_dynamics.algorithms.motion import angular_velocities, velocities
from robot_dynamics.algorithms.sweeps import inward
from robot_dynamics.algorithms.vectors import (
    Matrix,
    Scalar,
    Vector,
    add,
    cross,
    dot,
    mat_add,
    mat_vec,
    outer,
    scaled,
)
from robot_dynamics.algorithms.wrench import (
    Wrench,
    along_joint,
    wrench_in_parent,
)
from robot_dynamics.model.canonical import CanonicalTree, MassMoments
from robot_dynamics.model.coordinates import body_rates, generalized_matrix


class MovingBody(NamedTuple):
    """Moments of a subtree's mass and velocity about its first origin, in its first frame."""

    moments: MassMoments
    hd: Vector  # sum m rd, kg m/s
    P: Matrix  # sum m r rd^T, kg m^2/s


class Column(NamedTuple):
    """What joint i, moving at unit rate, means for the joints that carry it."""

    momentum: Wrench  # sum m (r - o) x J_i  and  sum m J_i
    momentum_rate: Wrench  # the same with Jd_i
    spin: Vector  # sum m (rd - od) x J_i


def coriolis_matrix(tree: CanonicalTree, q: Vector, qd: Vector) -> list[list[Scalar]]:
    """Return C(q, qd) (n, n), such that C qd is the torque. Arguments as for `rnea`."""
    return mass_and_coriolis_matrix(tree, q, qd)[1]


def mass_and_coriolis_matrix(
    tree: CanonicalTree, q: Vector, qd: Vector
) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """Return M(q) and C(q, qd), each (n, n). Arguments as for `rnea`."""
    frames, rates = joint_frames(tree, q), body_rates(tree.S, qd)
    w = angular_velocities(tree, frames, rates)
    bodies = moving_composites(tree, frames, w, rates)
    walk = _seen_from_base if is_deep(tree) else _walked_inwards
    M, C = walk(tree, frames, w, rates, bodies)
    return in_coordinates(tree, M), generalized_matrix(tree.S, C)


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
    for i, body in enumerate(bodies):
        column = unit_column(frames[i].revolute, body, w[i])
        M[i][i] = along_joint(frames[i].revolute, column.momentum)
        C[i][i] = along_joint(frames[i].revolute, column.momentum_rate)
        child, j = i, tree.joints[i].parent
        while j >= 0:
            pd = origin_velocity(frames[child], w[j], rates[child])
            column = column_in_parent(frames[child], pd, column)
            M[i][j] = M[j][i] = along_joint(frames[j].revolute, column.momentum)
            C[j][i] = along_joint(frames[j].revolute, column.momentum_rate)
            C[i][j] = seen_by_moving_joint(frames[j].revolute, w[j], column)
            child, j = j, tree.joints[j].parent
    return M, C


def _seen_from_base(
    tree: CanonicalTree,
    frames: list[JointFrame],
    w: list[Vector],
    rates: Vector,
    bodies: list[MovingBody],
) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """Return the same M and C, by way of the base frame."""
    poses = base_poses(tree, frames)
    od = [
        mat_vec(pose.R, motion.v)
        for pose, motion in zip(poses, velocities(tree, frames, rates), strict=True)
    ]
    axes, turning = joint_axes(frames, poses), axis_rates(frames, poses, w, od)
    M: list[list[Scalar]] = [[0.0] * tree.nb for _ in range(tree.nb)]
    C: list[list[Scalar]] = [[0.0] * tree.nb for _ in range(tree.nb)]
    for i, body in enumerate(bodies):
        column = unit_column(frames[i].revolute, body, w[i])
        M[i][i] = along_joint(frames[i].revolute, column.momentum)
        C[i][i] = along_joint(frames[i].revolute, column.momentum_rate)
        momentum = wrench_in_base(poses[i], column.momentum)
        rate = wrench_in_base(poses[i], column.momentum_rate)
        # sum m rd x J_i = spin + od x sum m J_i
        spin = add(mat_vec(poses[i].R, column.spin), cross(od[i], momentum.f))
        for j in tree.support(tree.joints[i].parent):
            M[i][j] = M[j][i] = felt(axes[j], momentum)
            C[j][i] = felt(axes[j], rate)
            # sum m J_i . (wd x r + w x rd + vd) of the twist (w, v) of axis j
            C[i][j] = felt(turning[j], momentum) + dot(axes[j].w, spin)
    return M, C


def origin_velocity(frame: JointFrame, w_p: Vector, qd: Scalar) -> Vector:
    """Return pd, the velocity of a body's origin relative to its parent's, in that frame."""
    # pd = w_p x p + R z qd
    pd = cross(w_p, frame.p)
    return pd if frame.revolute else add(pd, scaled(qd, [row[2] for row in frame.R]))


def moving_composites(
    tree: CanonicalTree, frames: list[JointFrame], w: list[Vector], rates: Vector
) -> list[MovingBody]:
    """Return the moments of every body with all bodies beyond it, in its own frame."""

    def passed_on(i: int, body: MovingBody) -> MovingBody:
        p = tree.joints[i].parent
        pd = origin_velocity(frames[i], w[p], rates[i])
        return _moving_in_parent(frames[i], pd, body)

    own = [_rigid(body, w_i) for body, w_i in zip(tree.bodies, w, strict=True)]
    return inward(tree, own, passed_on, _total)


def _rigid(body: MassMoments, w: Vector) -> MovingBody:
    """Return the moments of one rigid body: rd = w x r."""
    # sum m r rd^T = Sigma [w]^T: row by row, w x Sigma_row
    return MovingBody(body, cross(w, body.h), [cross(w, row) for row in body.Sigma])


def _total(a: MovingBody, b: MovingBody) -> MovingBody:
    return MovingBody(total_moments(a.moments, b.moments), add(a.hd, b.hd), mat_add(a.P, b.P))


def _moving_in_parent(frame: JointFrame, pd: Vector, body: MovingBody) -> MovingBody:
    """Return the same moments about the parent's origin, in its frame: r + p, rd + pd."""
    m, p, h = body.moments.m, frame.p, frame.up(body.moments.h)
    # sum m (rd + pd) = hd + m pd
    hd = add(frame.up(body.hd), scaled(m, pd))
    # sum m (r + p)(rd + pd)^T = P + h pd^T + p (hd + m pd)^T
    P = mat_add(mat_add(frame.up_matrix(body.P), outer(h, pd)), outer(p, hd))
    return MovingBody(moments_in_parent(frame, body.moments), hd, P)


def unit_column(revolute: bool, body: MovingBody, w: Vector) -> Column:
    """Return the column of a joint, from the composite body that it carries."""
    m, h, Sigma = body.moments
    hd, P = body.hd, body.P
    momentum = unit_momentum(revolute, body.moments)
    # zd = w x z
    zd = [w[1], -w[0], 0.0]
    if not revolute:
        # J = z, Jd = zd:   sum m rd x z
        rate = Wrench(cross(h, zd), scaled(m, zd))
        return Column(momentum, rate, [hd[1], -hd[0], 0.0])
    # sum m r x (zd x r) = I zd,   sum m r x (z x rd) = (tr(P) 1 - P^T) z
    n = add(mat_vec(rotational_inertia(Sigma), zd), [-P[2][0], -P[2][1], P[0][0] + P[1][1]])
    # sum m Jd = zd x h + z x hd
    f = add(cross(zd, h), [-hd[1], hd[0], 0.0])
    # sum m rd x (z x r) = (tr(P) 1 - P) z
    return Column(momentum, Wrench(n, f), [-P[0][2], -P[1][2], P[0][0] + P[1][1]])


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
