"""Derivatives of inverse dynamics with respect to positions and velocities.

With particles r of mass m (as in `coriolis.py`) and A = rdd - gravity, tau_i = sum m J_i . A.
Since dr/dq_j = J_j, and the order of differentiation does not matter,

    dtau_i/dqd_j  = 2 sum m J_i . Jd_j = 2 C_ij
    dtau_i/dq_j   = sum m J_i . Jdd_j + sum m (dJ_i/dq_j) . A,        dtau/dqdd = M.

dJ_i/dq_j turns J_j or J_i with the other's axis, whichever joint is nearer to the base: z_j x J_i
where j carries i, z_i x J_j where i carries j. In the first case

    sum m (z_j x J_i) . A = z_j . sum m J_i x A.

The second derivative of a Jacobian's column is, with zdd = U z,

    Jdd_j = zdd x (r - o_j) + 2 zd x (rd - od_j) + z x (rdd - odd_j).

Sources: Carpentier and Mansard, "Analytical derivatives of rigid body dynamics algorithms", RSS
2018; Echeandia and Wensing (2021), see `coriolis.py`.
"""

from __future__ import annotations

from typing import NamedTuple

from robot_dynamics.algorithms.composite import rotational_inertia
from robot_dynamics.algorithms.coriolis import (
    MovingBody,
    mass_and_coriolis_matrix,
    moving_composites,
    origin_velocity,
    unit_column,
)
from robot_dynamics.algorithms.joint_frame import JointFrame, joint_frames
from robot_dynamics.algorithms.motion import Acceleration, accelerations
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
    sub,
    transposed,
)
from robot_dynamics.algorithms.wrench import Wrench, along_joint, wrench_in_parent
from robot_dynamics.model.canonical import CanonicalTree
from robot_dynamics.model.coordinates import body_rates, generalized_matrix


class Derivatives(NamedTuple):
    """Derivatives of tau, each (n, n): row i belongs to tau_i."""

    dtau_dq: list[list[Scalar]]
    dtau_dqd: list[list[Scalar]]
    M: list[list[Scalar]]  # dtau/dqdd


class AcceleratingBody(NamedTuple):
    """Moments of a subtree's acceleration about its first origin, in its first frame."""

    hdd: Vector  # sum m rdd, relative to the origin, kg m/s^2
    Q: Matrix  # sum m r rdd^T, kg m^2/s^2


class Column(NamedTuple):
    """What joint i, moving at unit rate, means for how tau depends on the joints before it."""

    momentum: Wrench  # sum m (r - o) x J_i  and  sum m J_i
    spin: Vector  # sum m (rd - od) x J_i
    pull: Vector  # sum m (rdd - odd) x J_i + sum m J_i x A
    force: Wrench  # sum m (r - o) x (dA/dq_i)  and  sum m dA/dq_i, with J_i x A in the moment


class Local(NamedTuple):
    """Quantities of body i and its joint that the walk over its ancestors needs."""

    frame: JointFrame
    motion: Acceleration
    pd: Vector  # velocity of the origin relative to the parent's, parent frame
    pdd: Vector  # its acceleration


def inverse_dynamics_derivatives(
    tree: CanonicalTree, q: Vector, qd: Vector, qdd: Vector
) -> Derivatives:
    """Return dtau/dq, dtau/dqd and M = dtau/dqdd. Arguments as for `rnea`."""
    M, C = mass_and_coriolis_matrix(tree, q, qd)
    dtau_dq = generalized_matrix(tree.S, _position_derivative(tree, q, qd, qdd))
    return Derivatives(dtau_dq, [[2.0 * x for x in row] for row in C], M)


def _position_derivative(
    tree: CanonicalTree, q: Vector, qd: Vector, qdd: Vector
) -> list[list[Scalar]]:
    """Return dtau/dq (nb, nb) between the bodies' joints."""
    frames, rates = joint_frames(tree, q), body_rates(tree.S, qd)
    motions = accelerations(tree, frames, rates, body_rates(tree.S, qdd))
    moving = moving_composites(tree, frames, [motion.w for motion in motions], rates)
    local = _locals(tree, frames, motions, rates, body_rates(tree.S, qdd))
    bodies = _accelerating_composites(tree, local, moving)
    D: list[list[Scalar]] = [[0.0] * tree.nb for _ in range(tree.nb)]
    for i, at in enumerate(local):
        column = _unit_column(at, moving[i], bodies[i])
        D[i][i] = along_joint(at.frame.revolute, column.force)
        child, j = i, tree.joints[i].parent
        while j >= 0:
            column = _in_parent(local[child], column)
            D[j][i] = along_joint(frames[j].revolute, column.force)
            D[i][j] = _seen_by_moving_joint(local[j], column)
            child, j = j, tree.joints[j].parent
    return D


def _locals(
    tree: CanonicalTree,
    frames: list[JointFrame],
    motions: list[Acceleration],
    rates: Vector,
    joint_accelerations: Vector,
) -> list[Local]:
    """Return the local quantities of every body; those relative to the base are not needed."""
    result = []
    for i, (frame, motion) in enumerate(zip(frames, motions, strict=True)):
        p = tree.joints[i].parent
        if p < 0:
            result.append(Local(frame, motion, frame.p, frame.p))
            continue
        pd = origin_velocity(frame, motions[p].w, rates[i])
        pdd = mat_vec(motions[p].U, frame.p)
        if not frame.revolute:
            # pdd = U_p p + 2 w_p x R z qd + R z qdd
            z = [row[2] for row in frame.R]
            pdd = add(pdd, scaled(2.0, cross(motions[p].w, scaled(rates[i], z))))
            pdd = add(pdd, scaled(joint_accelerations[i], z))
        result.append(Local(frame, motion, pd, pdd))
    return result


def _accelerating_composites(
    tree: CanonicalTree, local: list[Local], moving: list[MovingBody]
) -> list[AcceleratingBody]:
    """Return the moments of every body with all bodies beyond it, in its own frame."""

    def passed_on(i: int, body: AcceleratingBody) -> AcceleratingBody:
        frame, pdd = local[i].frame, local[i].pdd
        m, h, _ = moving[i].moments
        # sum m (rdd + pdd) = hdd + m pdd
        hdd = add(frame.up(body.hdd), scaled(m, pdd))
        # sum m (r + p)(rdd + pdd)^T = Q + h pdd^T + p (hdd + m pdd)^T
        Q = mat_add(frame.up_matrix(body.Q), outer(frame.up(h), pdd))
        return AcceleratingBody(hdd, mat_add(Q, outer(frame.p, hdd)))

    own = [
        # rdd = U r:   sum m r rdd^T = Sigma U^T
        AcceleratingBody(
            mat_vec(at.motion.U, body.h), [mat_vec(at.motion.U, row) for row in body.Sigma]
        )
        for body, at in zip(tree.bodies, local, strict=True)
    ]
    return inward(
        tree,
        own,
        passed_on,
        lambda a, b: AcceleratingBody(add(a.hdd, b.hdd), mat_add(a.Q, b.Q)),
    )


def _unit_column(at: Local, moving: MovingBody, body: AcceleratingBody) -> Column:
    """Return the column of a joint, from the composite body that it carries."""
    w, _, U, a = at.motion
    m, h, Sigma = moving.moments
    hdd, Q = body.hdd, body.Q
    first = unit_column(at.frame.revolute, moving, w)
    # zd = w x z,   zdd = U z
    zd, zdd = [w[1], -w[0], 0.0], [row[2] for row in U]
    if not at.frame.revolute:
        # sum m z x A,   A = a + rdd
        turned = [-(m * a[1] + hdd[1]), m * a[0] + hdd[0], 0.0]
        force = Wrench(add(cross(h, zdd), turned), scaled(m, zdd))
        return Column(first.momentum, first.spin, add([hdd[1], -hdd[0], 0.0], turned), force)
    # sum m J_i x A = sum m (z x r) x A = sum m [r (z . A) - z (r . A)],   N = sum m r A^T
    N = mat_add(outer(h, a), Q)
    turned = [N[0][2], N[1][2], -(N[0][0] + N[1][1])]
    # sum m rdd x (z x r) = (tr(Q) 1 - Q) z
    pull = add([-Q[0][2], -Q[1][2], Q[0][0] + Q[1][1]], turned)
    # sum m Jdd = zdd x h + 2 zd x hd + z x hdd
    f = add(add(cross(zdd, h), scaled(2.0, cross(zd, moving.hd))), [-hdd[1], hdd[0], 0.0])
    # sum m r x Jdd = I zdd + 2 (tr(P) 1 - P^T) zd + (tr(Q) 1 - Q^T) z
    P = moving.P
    trace = P[0][0] + P[1][1] + P[2][2]
    twice = scaled(2.0, sub(scaled(trace, zd), mat_vec(transposed(P), zd)))
    n = add(mat_vec(rotational_inertia(Sigma), zdd), twice)
    n = add(add(n, [-Q[2][0], -Q[2][1], Q[0][0] + Q[1][1]]), turned)
    return Column(first.momentum, first.spin, pull, Wrench(n, f))


def _in_parent(at: Local, column: Column) -> Column:
    """Return the same column about the parent's origin, in its frame."""
    frame = at.frame
    momentum = wrench_in_parent(frame, column.momentum)
    # sum m (rd + pd) x J_i,   sum m (rdd + pdd) x J_i
    spin = add(frame.up(column.spin), cross(at.pd, momentum.f))
    pull = add(frame.up(column.pull), cross(at.pdd, momentum.f))
    return Column(momentum, spin, pull, wrench_in_parent(frame, column.force))


def _seen_by_moving_joint(at: Local, column: Column) -> Scalar:
    """Return dtau_i/dq_j of the joint j in whose frame the column is given."""
    w, U = at.motion.w, at.motion.U
    zd, zdd = [w[1], -w[0], 0.0], [row[2] for row in U]
    if not at.frame.revolute:
        # J_i . zdd; sliding turns no axis
        return dot(zdd, column.momentum.f)
    # J_i . (zdd x r + 2 zd x rd + z x rdd) + z . (J_i x A)
    return dot(zdd, column.momentum.n) + 2.0 * dot(zd, column.spin) + column.pull[2]
