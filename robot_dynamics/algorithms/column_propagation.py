"""Columns that walk inwards: what the motion of one joint means for all the joints that carry it.

Entry (j, i) of a matrix between joints, j nearer to the base, says what joint j feels of joint i.
What i moves is summed up in its column, which passes from frame to frame towards the base. All the
columns that come to a frame take the next step together.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from robot_dynamics.algorithms.scalars import together
from robot_dynamics.algorithms.tree_traversal import inward
from robot_dynamics.model.canonical import CanonicalTree

Column = TypeVar('Column')
Entries = TypeVar('Entries')


def walk_inwards(
    tree: CanonicalTree,
    columns: Sequence[Column],
    in_parent: Callable[[int, Column], Column],
    felt: Callable[[int, Column], Entries],
) -> Iterator[tuple[int, int, Entries]]:
    """Yield (j, i, what joint j feels of column i) for every joint j, its own column included.

    Args:
        tree: the robot.
        columns: (nb) of each joint, in its own frame.
        in_parent: (i, a column in frame i) to the same column in the frame of its parent.
        felt: (j, a column in frame j) to the entries that it gives.
    """

    def passed_on(i: int, beyond: dict[int, Column]) -> dict[int, Column]:
        moved = together(functools.partial(in_parent, i), list(beyond.values()))
        return dict(zip(beyond, moved, strict=True))

    seen = inward(
        tree,
        [{i: column} for i, column in enumerate(columns)],
        passed_on,
        lambda a, b: dict(sorted({**a, **b}.items())),
    )
    for j, beyond in enumerate(seen):
        entries = together(functools.partial(felt, j), list(beyond.values()))
        yield from ((j, i, entry) for i, entry in zip(beyond, entries, strict=True))
