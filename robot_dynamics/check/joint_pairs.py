# SPDX-License-Identifier: Apache-2.0
"""Joints and bodies of two models that are taken for the same ones.

Joints are paired by name, else by the words of names, else by tree order; bodies by the joints
that move them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.errors import ModelError, RobotDynamicsError
from robot_dynamics.core.model.robot_model import RobotModel

# Words of names that do not tell the joints of a robot apart.
COMMON = {'joint', 'link', 'j', 'a', 'axis', 'robot', 'act', 'actuator', 'motor'}


class OtherRobot(RobotDynamicsError):  # noqa: N818  (names the condition)
    """Two models are not of one robot."""


class Pairing(NamedTuple):
    """Joints of A and B that are taken for the same one, in the order of A."""

    pairs: tuple[tuple[str, str], ...]
    how: str
    given: frozenset[str] = frozenset()  # joints of A that the user has paired


def pairings(a: Sequence[str], b: Sequence[str], given: Mapping[str, str]) -> list[Pairing]:
    """Return the pairings of joints to try, the most plausible first.

    Args:
        a: joints of A.
        b: joints of B.
        given: joints of B by joints of A, which are not searched for.

    Raises:
        ModelError: a given joint is unknown, or given twice.
        OtherRobot: no joints have a counterpart.
    """
    for names, known in ((given.keys(), a), (given.values(), b)):
        for name in names:
            if name not in known:
                raise ModelError(f'joint {name!r} is unknown; expected one of {", ".join(known)}')
    if len(set(given.values())) < len(given):
        raise ModelError(f'joints {dict(given)} name a joint of B twice; expected it once')
    rest_a = [x for x in a if x not in given]
    rest_b = [x for x in b if x not in given.values()]
    equal = {x: x for x in rest_a if x in rest_b}
    left_a, left_b = ([x for x in rest if x not in equal] for rest in (rest_a, rest_b))
    alike = _by_words(left_a, left_b)
    named = {**given, **equal, **alike}
    sources = {'as given': given, 'by name': equal, 'by words of names': alike}
    how = [words for words, pairs in sources.items() if pairs]
    in_order = 'by tree order'
    found = []
    if 2 * len(named) >= min(len(a), len(b)):
        loose_a = [x for x in left_a if x not in alike]
        loose_b = [x for x in left_b if x not in alike.values()]
        if loose_a and len(loose_a) == len(loose_b):
            rest = dict(zip(loose_a, loose_b, strict=True))
            found.append(_ordered(a, {**named, **rest}, [*how, in_order]))
        found.append(_ordered(a, named, how))
    if rest_a and len(rest_a) == len(rest_b):
        rest = dict(zip(rest_a, rest_b, strict=True))
        found.append(_ordered(a, {**given, **rest}, [*how[: bool(given)], in_order]))
    if not found:
        raise OtherRobot(
            f'{len(named)} of {len(a)} and {len(b)} joints have a counterpart by name, and their '
            'numbers differ; --joints a=b pairs them'
        )
    distinct: dict[tuple[tuple[str, str], ...], Pairing] = {}
    for pairing in found:
        distinct.setdefault(pairing.pairs, pairing._replace(given=frozenset(given)))
    return list(distinct.values())


def _ordered(a: Sequence[str], pairs: Mapping[str, str], how: Sequence[str]) -> Pairing:
    return Pairing(tuple((x, pairs[x]) for x in a if x in pairs), ' and '.join(how))


def _by_words(a: Sequence[str], b: Sequence[str]) -> dict[str, str]:
    """Return pairs of names that agree without the words that all joints of a robot share."""
    short_a, short_b = _distinctive(a), _distinctive(b)
    return {
        x: b[short_b.index(s)]
        for x, s in zip(a, short_a, strict=True)
        if short_a.count(s) == 1 and short_b.count(s) == 1
    }


def _distinctive(names: Sequence[str]) -> list[tuple[str, ...]]:
    words = []
    for name in names:
        split = re.sub(r'(?<=[a-z])(?=[A-Z])|(?<=\D)(?=\d)', ' ', name).lower()
        parts = re.findall(r'[a-z]+|\d+', split)
        words.append([part.lstrip('0') or part for part in parts if part not in COMMON])
    shared = set.intersection(*map(set, words)) if len(words) > 1 else set()
    return [tuple(part for part in parts if part not in shared) or tuple(parts) for parts in words]


def paired_bodies(A: RobotModel, B: RobotModel, pairing: Pairing) -> list[int]:
    """Return the body of B of each body of A: moved by the same joints, on the same parent.

    Raises:
        OtherRobot: there is none, or one too many.
    """
    column = {x: B.joint_names.index(y) for x, y in pairing.pairs}
    rows = [{column[A.joint_names[k]] for k in np.flatnonzero(row)} for row in A.S]
    bodies: list[int] = []
    for i, row in enumerate(rows):
        parent = -1 if A.parent[i] < 0 else bodies[A.parent[i]]
        free = [
            j
            for j in range(B.nb)
            if j not in bodies and B.parent[j] == parent and {*np.flatnonzero(B.S[j])} == row
        ]
        if not free:
            moved = ', '.join(A.joint_names[k] for k in np.flatnonzero(A.S[i]))
            on = 'the base' if A.parent[i] < 0 else A.body_names[A.parent[i]]
            raise OtherRobot(f'{A.body_names[i]}, moved by {moved} on {on}, has no counterpart')
        if bool(A.revolute[i]) != bool(B.revolute[free[0]]):
            raise OtherRobot(f'{A.body_names[i]} turns in one description and slides in the other')
        same = [j for j in free if B.body_names[j] == A.body_names[i]]
        bodies.append((same or free)[0])
    for j in set(range(B.nb)) - set(bodies):
        raise OtherRobot(f'{B.body_names[j]} of the second robot has no counterpart')
    return bodies
