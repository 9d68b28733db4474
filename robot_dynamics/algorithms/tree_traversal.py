"""The ways through a tree: outward from the base to the tips, inward back again, and in pairs.

Every recursive algorithm of this package is one or more of these around a step that handles a
single body. Keeping the loop apart from the step is what lets the same step be run on numbers,
recorded into straight-line code, or, for a `RolledTree`, recorded once and run in a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from robot_dynamics.algorithms.repeated_bodies import RolledTree
from robot_dynamics.model.canonical import CanonicalTree
from robot_dynamics.model.coordinates import generalized_matrix

State = TypeVar('State')
Load = TypeVar('Load')
Carrier = TypeVar('Carrier')
Carried = TypeVar('Carried')

# Rows of scalars; of a rolled tree, what its `rolling` makes of them.
Matrix = list[list[Any]]


def outward(tree: CanonicalTree, base: State, step: Callable[[int, State], State]) -> list[State]:
    """Return step(i, the parent's state) of every body i; `base` is the state of the base."""
    if isinstance(tree, RolledTree):
        return tree.rolling.outward(base, step)
    states: list[State] = []
    for i, joint in enumerate(tree.joints):
        states.append(step(i, states[joint.parent] if joint.parent >= 0 else base))
    return states


def of_parent(tree: CanonicalTree, values: Sequence[State], base: State) -> list[State]:
    """Return what the parent of every body has; `base` is what the base has."""
    if isinstance(tree, RolledTree):
        return tree.rolling.of_parent(values, base)
    return [values[joint.parent] if joint.parent >= 0 else base for joint in tree.joints]


def inward(
    tree: CanonicalTree,
    own: Sequence[Load],
    passed_on: Callable[[int, Load], Load],
    total: Callable[[Load, Load], Load],
) -> list[Load]:
    """Return for every body its own load and what all the bodies beyond it pass on.

    Args:
        tree: the robot.
        own: (nb) load of each body by itself.
        passed_on: (i, load of body i and beyond) to the same as its parent receives it.
        total: sum of two loads, entry by entry.
    """
    if isinstance(tree, RolledTree):
        return tree.rolling.inward(own, passed_on)
    loads = list(own)
    for i in reversed(range(tree.nb)):
        p = tree.joints[i].parent
        if p >= 0:
            loads[p] = total(loads[p], passed_on(i, loads[i]))
    return loads


def pairs(
    tree: CanonicalTree,
    diagonal: Sequence[Any],
    carriers: Sequence[Carrier],
    carried: Sequence[Carried],
    below: Callable[[Carrier, Carried], Any],
    above: Callable[[Carrier, Carried], Any],
) -> Matrix:
    """Return the matrix (nb, nb) with an entry for every body i and each body j that carries it.

    Args:
        tree: the robot.
        diagonal: (nb) entries (i, i).
        carriers: (nb) what is to be known of a body as j.
        carried: (nb) what is to be known of a body as i.
        below: (carriers[j], carried[i]) to entry (i, j).
        above: (carriers[j], carried[i]) to entry (j, i).
    """
    if isinstance(tree, RolledTree):
        return tree.rolling.pairs(diagonal, carriers, carried, below, above)
    matrix: Matrix = [[0.0] * tree.nb for _ in range(tree.nb)]
    for i, entry in enumerate(diagonal):
        matrix[i][i] = entry
        for j in tree.support(tree.joints[i].parent):
            matrix[i][j] = below(carriers[j], carried[i])
            matrix[j][i] = above(carriers[j], carried[i])
    return matrix


def of_coordinates(tree: CanonicalTree, M: Matrix) -> Matrix:
    """Return S^T M S (n, n) of a matrix (nb, nb) between the bodies' joints."""
    # A rolled tree's coordinates are its joints.
    return M if isinstance(tree, RolledTree) else generalized_matrix(tree.S, M)


def plus_diagonal(tree: CanonicalTree, M: Matrix, more: Sequence[Any]) -> Matrix:
    """Return M with more on its diagonal."""
    if isinstance(tree, RolledTree):
        return tree.rolling.plus_diagonal(M, more)
    return [[x + more[i] if i == j else x for j, x in enumerate(row)] for i, row in enumerate(M)]


def times(tree: CanonicalTree, factor: float, M: Matrix) -> Matrix:
    """Return a matrix times a number."""
    if isinstance(tree, RolledTree):
        return tree.rolling.times(factor, M)
    return [[factor * x for x in row] for row in M]
