# SPDX-License-Identifier: Apache-2.0
"""Matrices between joints: columns propagated toward the base, projected on every joint there.

Column i is the spatial momentum of the bodies beyond joint i for unit velocity of that joint, and
what belongs to it; entry (j, i) of a matrix, j nearer to the base, is a linear function of it. A
tree of single bodies propagates columns from frame to frame, where most entries of transformations
are 0 or 1; all columns that arrive at a frame are transformed together. In generated loops, where
one symbolic body represents many, columns and projections are expressed in the base frame instead:
an entry then costs two scalar products.

Sources: Featherstone, Rigid Body Dynamics Algorithms (2008), table 6.2; Lynch and Park, draft
chapters 5 and 8 (space Jacobian), for the base frame.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from robot_dynamics.common.scalars import Scalar
from robot_dynamics.core.algorithms.joint_frame import (
    JointFrame,
    Wrench,
    along_joint,
    wrench_in_parent,
)
from robot_dynamics.core.algorithms.link_kinematics import WorldPose, next_pose
from robot_dynamics.core.algorithms.vectors import (
    IDENTITY,
    ZERO,
    Vector,
    add,
    cross,
    dot,
    map_traced,
    mat_vec,
)
from robot_dynamics.core.model.canonical import CanonicalTree

Item = TypeVar('Item')
Entries = TypeVar('Entries')

# Rows of scalars; of a tree in loops, the representation of its traversal.
JointMatrix = Any

Z: Vector = (0.0, 0.0, 1.0)


class Column(NamedTuple):
    """Momentum for unit velocity of joint i, and rates; about one origin o, in its frame."""

    momentum: Wrench  # sum m (r - o) x J_i  and  sum m J_i
    rates: Sequence[Wrench]  # of momentum, in time or along q_i: one for each further matrix
    spin: Vector  # sum m (rd - od) x J_i


class Projection(NamedTuple):
    """Linear function of a column: n . momentum.n + f . momentum.f + spin . spin."""

    n: Vector
    f: Vector
    spin: Vector


def column_matrices(
    tree: CanonicalTree,
    frames: list[JointFrame],
    pd: Sequence[Vector],
    columns: Sequence[Column],
    projections: Sequence[Sequence[Projection]],
) -> list[JointMatrix]:
    """Return a symmetric matrix (nb, nb) between the bodies' joints, and one for each rate.

    For joint j that carries joint i, with the axis s_j of joint j,

        M_ij = M_ji = s_j . momentum_i,    A_ij = projection_j . column_i,    A_ji = s_j . rate_i.

    Args:
        tree: the robot.
        frames: (nb) of the bodies in their parents'.
        pd: (nb) velocity of every origin less that of its parent's, in the parent's frame.
        columns: (nb) of each joint, in its own frame.
        projections: (nb) of each joint, in its own frame, one for each rate.
    """
    if tree.by_kind:
        return _in_base(tree, frames, pd, columns, projections)

    def in_parent(i: int, column: Column) -> Column:
        return column_in_outer(frames[i], pd[i], column)

    def entries(j: int, column: Column) -> list[tuple[Scalar, Scalar]]:
        return _entries(frames[j].revolute, projections[j], column)

    count = 1 + len(columns[0].rates)
    matrices = [[[0.0] * tree.nb for _ in range(tree.nb)] for _ in range(count)]
    for j, i, found in _propagated(tree, columns, in_parent, entries):
        for A, (below, above) in zip(matrices, found, strict=True):
            A[i][j] = below
            A[j][i] = above
    return matrices


def column_in_outer(frame: JointFrame, pd: Vector, column: Column) -> Column:
    """Return a column in another frame, in which its own has this pose and origin velocity."""
    momentum = wrench_in_parent(frame, column.momentum)
    # sum m (rd + pd) x J_i = spin + pd x sum m J_i
    spin = add(frame.up(column.spin), cross(pd, momentum.f))
    return Column(momentum, [wrench_in_parent(frame, rate) for rate in column.rates], spin)


def projection_in_outer(frame: JointFrame, pd: Vector, projection: Projection) -> Projection:
    """Return the projection of the outer frame with the same value for every column."""
    n, f, spin = map(frame.up, projection)
    # n . (N - p x F) + spin . (L - pd x F) = n . N + (p x n + pd x spin) . F + spin . L
    return Projection(n, add(f, add(cross(frame.p, n), cross(pd, spin))), spin)


def projected(projection: Projection, momentum: Wrench, spin: Vector) -> Scalar:
    """Return the value of a projection."""
    value = dot(projection.n, momentum.n) + dot(projection.f, momentum.f)
    return value + dot(projection.spin, spin)


def _entries(
    revolute: bool, projections: Sequence[Projection], column: Column
) -> list[tuple[Scalar, Scalar]]:
    """Return the entries (i, j) and (j, i) of all matrices, from a column in the frame of j."""
    inertia = along_joint(revolute, column.momentum)
    others = [
        (projected(projection, column.momentum, column.spin), along_joint(revolute, rate))
        for projection, rate in zip(projections, column.rates, strict=True)
    ]
    return [(inertia, inertia), *others]


def _propagated(
    tree: CanonicalTree,
    columns: Sequence[Item],
    in_parent: Callable[[int, Item], Item],
    entries: Callable[[int, Item], Entries],
) -> Iterator[tuple[int, int, Entries]]:
    """Yield (j, i, entries of column i at joint j) for every joint j on the way to the base.

    Args:
        tree: the robot.
        columns: (nb) of each joint, in its own frame.
        in_parent: from i and a column in frame i to the same column in the frame of its parent.
        entries: from j and a column in frame j to its entries there.
    """

    def passed_on(i: int, beyond: dict[int, Item]) -> dict[int, Item]:
        moved = map_traced(functools.partial(in_parent, i), list(beyond.values()))
        return dict(zip(beyond, moved, strict=True))

    arrived = tree.inward(
        [{i: column} for i, column in enumerate(columns)],
        passed_on,
        lambda a, b: dict(sorted({**a, **b}.items())),
    )
    for j, beyond in enumerate(arrived):
        found = map_traced(functools.partial(entries, j), list(beyond.values()))
        yield from ((j, i, each) for i, each in zip(beyond, found, strict=True))


# -- in the base frame ----------------------------------------------------------------------------


class _Pose(NamedTuple):
    """Pose of a body in the base frame, and the velocity of its origin."""

    pose: WorldPose
    od: Vector


class _Joint(NamedTuple):
    """The axis of a joint and its projections, in the base frame."""

    axis: Projection
    projections: Sequence[Projection]


def _in_base(
    tree: CanonicalTree,
    frames: list[JointFrame],
    pd: Sequence[Vector],
    columns: Sequence[Column],
    projections: Sequence[Sequence[Projection]],
) -> list[JointMatrix]:
    """Return the matrices of `column_matrices` from columns and projections in the base frame."""

    def step(i: int, parent: _Pose) -> _Pose:
        od = add(parent.od, mat_vec(parent.pose.R, pd[i]))
        return _Pose(next_pose(parent.pose, frames[i]), od)

    poses = tree.outward(_Pose(WorldPose(IDENTITY, ZERO), ZERO), step)
    joints, carried, diagonal = [], [], []
    for frame, (pose, od), column, own in zip(frames, poses, columns, projections, strict=True):
        place = JointFrame(False, pose.R, 1.0, 0.0, pose.p)
        axis = Projection(Z, ZERO, ZERO) if frame.revolute else Projection(ZERO, Z, ZERO)
        axis, *others = [projection_in_outer(place, od, each) for each in (axis, *own)]
        joints.append(_Joint(axis, others))
        carried.append(column_in_outer(place, od, column))
        diagonal.append([below for below, _ in _entries(frame.revolute, own, column)])

    def inertia(joint: _Joint, column: Column) -> Scalar:
        return projected(joint.axis, column.momentum, ZERO)

    matrices = [tree.pairs([each[0] for each in diagonal], joints, carried, inertia, inertia)]
    for k in range(len(columns[0].rates)):

        def below(joint: _Joint, column: Column, k: int = k) -> Scalar:
            return projected(joint.projections[k], column.momentum, column.spin)

        def above(joint: _Joint, column: Column, k: int = k) -> Scalar:
            return projected(joint.axis, column.rates[k], ZERO)

        own_entries = [each[k + 1] for each in diagonal]
        matrices.append(tree.pairs(own_entries, joints, carried, below, above))
    return matrices
