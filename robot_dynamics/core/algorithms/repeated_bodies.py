# SPDX-License-Identifier: Apache-2.0
"""A long tree as a few kinds of bodies, for loop code generation.

Bodies are of one kind if their joints are of one type, if both or neither have a rotor, and if
both or neither are attached to the base. A `LoopTree` has one symbolic body for each kind, whose
parameters are columns of a table (see `codegen.loops.loop_trace`). Only its traversals know the
order of the bodies. Algorithms that use these traversals alone accept it like any other tree, and
their results, one scalar per kind, stand for all joints.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from robot_dynamics.core.model.canonical import CanonicalJoint, CanonicalTree, MassMoments

Vector = Sequence[Any]
Matrix = list[list[Any]]


class LoopTracer(Protocol):
    """Recorder of loops over rows of several kinds; see `CanonicalTree` for the traversals."""

    kinds: Sequence[int]
    rows: Any

    def table(self, values: Sequence[float]) -> list[Any]:
        """Return a number of every row, as one scalar per kind."""

    def outward(self, base: Any, step: Callable[[int, Any], Any]) -> list[Any]:
        """Return the states of all kinds."""

    def inward(self, own: Sequence[Any], passed_on: Callable[[int, Any], Any]) -> list[Any]:
        """Return the loads of all kinds."""

    def of_parent(self, values: Sequence[Any], base: Any) -> list[Any]:
        """Return the parents' values."""

    def pairs(
        self, diagonal: Vector, carriers: Vector, carried: Vector, below: Any, above: Any
    ) -> Matrix:
        """Return a matrix."""

    def plus_diagonal(self, matrix: Matrix, more: Vector) -> Matrix:
        """Return a matrix with more on its diagonal."""

    def times(self, factor: float, matrix: Matrix) -> Matrix:
        """Return a matrix times a number."""

    def solved(self, M: Matrix, *others: Matrix) -> list[Matrix]:
        """Return M^-1 B of other matrices B, and M^-1."""


@dataclass(frozen=True)
class LoopTree(CanonicalTree):
    """A tree with one body for each kind; frames belong to bodies of a kind of their own."""

    tracer: LoopTracer
    by_kind: ClassVar[bool] = True

    def outward(self, base: Any, step: Callable[[int, Any], Any]) -> list[Any]:
        """Record a forward pass."""
        return self.tracer.outward(base, step)

    def inward(
        self,
        own: Sequence[Any],
        passed_on: Callable[[int, Any], Any],
        total: Callable[[Any, Any], Any],
    ) -> list[Any]:
        """Record a backward pass, which sums loads entry by entry."""
        return self.tracer.inward(own, passed_on)

    def of_parent(self, values: Sequence[Any], base: Any) -> list[Any]:
        """Record the values of the parents."""
        return self.tracer.of_parent(values, base)

    def pairs(
        self, diagonal: Vector, carriers: Vector, carried: Vector, below: Any, above: Any
    ) -> Any:
        """Record a matrix between bodies."""
        return self.tracer.pairs(diagonal, carriers, carried, below, above)

    def per_joint(self, values: Sequence[float]) -> list[Any]:
        """Return numbers, one for each joint of the robot, as one scalar per kind."""
        return self.tracer.table(values)

    def of_coordinates(self, M: Any) -> Any:
        """Return M: the coordinates of this tree are its joints."""
        return M

    def plus_diagonal(self, M: Any, diagonal: Sequence[Any]) -> Any:
        """Record M + diag(diagonal)."""
        return self.tracer.plus_diagonal(M, diagonal)

    def scaled(self, factor: float, M: Any) -> Any:
        """Record factor M."""
        return self.tracer.times(factor, M)

    def solved(self, M: Any, *others: Any) -> list[Any]:
        """Record M^-1 B of other matrices B, and M^-1."""
        return self.tracer.solved(M, *others)


def kind_keys(tree: CanonicalTree, separate: Collection[int] = ()) -> list[Hashable]:
    """Return the kind of each body; bodies in `separate` are of kinds of their own."""
    return [
        (joint.revolute, rotor != 0.0, i if i in separate else -1)
        for i, (joint, rotor) in enumerate(zip(tree.joints, rotors(tree), strict=True))
    ]


def rotors(tree: CanonicalTree) -> Sequence[float]:
    """Return the reflected inertia (nb) of the joints, zero where joints are not coordinates."""
    return tree.reflected_inertia if independent(tree) else [0.0] * tree.nb


def independent(tree: CanonicalTree) -> bool:
    """Return whether every joint is a coordinate of its own."""
    return coordinate_terms(tree) == [(i, i, 1.0) for i in range(tree.nb)]


def coordinate_terms(tree: CanonicalTree) -> list[tuple[int, int, float]]:
    """Return (body, coordinate, weight) of all entries of S that are not 0."""
    return [
        (i, j, float(weight))
        for i, row in enumerate(tree.S)
        for j, weight in enumerate(row)
        if weight != 0.0
    ]


def loop_tree(tree: CanonicalTree, tracer: LoopTracer, separate: Collection[int] = ()) -> LoopTree:
    """Return the kinds of bodies of a tree.

    Args:
        tree: the robot.
        tracer: records loops over rows of the kinds of `kind_keys`.
        separate: bodies of kinds of their own, whose frames can be named.
    """
    one_each = [members[0] for members in tracer.rows.members]
    firsts = [tree.joints[i] for i in one_each]
    poses = [_placement(joint, s0) for joint, s0 in zip(tree.joints, tree.s0, strict=True)]
    moments = [[body.m, *body.h, *(x for row in body.Sigma for x in row)] for body in tree.bodies]

    joints = []
    for pose, first in zip(_columns(tracer, poses), firsts, strict=True):
        R, p, offset = _rows(pose[:9]), pose[9:12], pose[12]
        # Only the traversals know the parent.
        parent: Any = -1 if first.parent < 0 else None
        joints.append(CanonicalJoint(parent, first.revolute, R, p, offset, 0))
    kinds = range(len(joints))
    return LoopTree(
        joints=tuple(joints),
        bodies=tuple(MassMoments(m[0], m[1:4], _rows(m[4:])) for m in _columns(tracer, moments)),
        gravity=tree.gravity,
        S=tuple(tuple(float(i == j) for j in kinds) for i in kinds),
        s0=(0.0,) * len(joints),
        reflected_inertia=tuple(tracer.table(rotors(tree))),
        frames={
            name: place._replace(body=tracer.rows.kinds[place.body])
            for name, place in tree.frames.items()
            if place.body in separate
        },
        body_frames=(),
        base_moment=tree.base_moment,
        base=tree.base,
        base_w=tree.base_w,
        base_wd=tree.base_wd,
        tracer=tracer,
    )


def _placement(joint: CanonicalJoint, s0: float) -> list[float]:
    """Return R, p and the angle of a joint at the origin of its coordinate."""
    R, p = [x for row in joint.R for x in row], list(joint.p)
    if joint.revolute:
        return [*R, *p, joint.offset + joint.quarter_turns * (math.pi / 2) + s0]
    return [*R, *(x + s0 * row[2] for x, row in zip(p, joint.R, strict=True)), 0.0]


def _columns(tracer: LoopTracer, rows: Sequence[Sequence[float]]) -> list[list[Any]]:
    """Return the numbers of all bodies, column by column in tables, as numbers of each kind."""
    columns = [tracer.table(column) for column in zip(*rows, strict=True)]
    return [list(entries) for entries in zip(*columns, strict=True)]


def _rows(entries: Vector) -> list[Vector]:
    """Return a 3x3 matrix."""
    return [entries[0:3], entries[3:6], entries[6:9]]
