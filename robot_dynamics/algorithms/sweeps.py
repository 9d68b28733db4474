"""The two ways through a tree: outward from the base to the tips, and inward back again.

Every recursive algorithm of this package is one or more of these sweeps around a step that
handles a single body. Keeping the loop apart from the step is what lets the same step be run on
numbers, recorded into straight-line code, or recorded once and run in a loop over a long chain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from robot_dynamics.model.canonical import CanonicalTree

State = TypeVar('State')
Load = TypeVar('Load')


def outward(tree: CanonicalTree, base: State, step: Callable[[int, State], State]) -> list[State]:
    """Return step(i, the parent's state) of every body i; `base` is the state of the base."""
    states: list[State] = []
    for i, joint in enumerate(tree.joints):
        states.append(step(i, states[joint.parent] if joint.parent >= 0 else base))
    return states


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
        total: sum of two loads.
    """
    loads = list(own)
    for i in reversed(range(tree.nb)):
        p = tree.joints[i].parent
        if p >= 0:
            loads[p] = total(loads[p], passed_on(i, loads[i]))
    return loads
