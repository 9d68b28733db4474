# SPDX-License-Identifier: Apache-2.0
"""Mirrored twins: pairs of links, and of the joints before them, left and right of a plane.

Twins are found by the positions of their frames at zero joint positions and by the types of their
joints; names are no evidence. The plane is normal to an axis of the root link, at the place that
mirrors most sibling links into one another.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from robot_dynamics.check.description import Description, Joint, Link
from robot_dynamics.common.spatial import Array, pose
from robot_dynamics.core.model.inertia import Inertial, transformed

PLACE_TOLERANCE = 2e-3  # of the size of the robot
TOLERANCE = 0.02  # of inertias of twins, relative


class Plane(NamedTuple):
    """A plane normal to axis k of the root link."""

    k: int
    offset: float  # m

    @property
    def reflection(self) -> Array:
        """S (3, 3)."""
        S = np.eye(3)
        S[self.k, self.k] = -1.0
        return S

    def mirrored(self, point: Array) -> Array:
        """Return a mirrored point (3,)."""
        image = point.copy()
        image[self.k] = 2 * self.offset - point[self.k]
        return image


class Twins(NamedTuple):
    """Two links that mirror each other, the first before the second in the description."""

    plane: Plane
    one: Link
    two: Link

    def related(self, robot: Description) -> bool:
        """Return whether both are the same part: mirrored, turned, or in the same link axes."""
        bodies = [
            Inertial(link.body.mass, link.body.com, link.tensor) for link in (self.one, self.two)
        ]
        if agree(*bodies):
            return True
        one, two = (
            transformed(body, pose(robot.placements[link.name][:3, :3], np.zeros(3)))
            for body, link in zip(bodies, (self.one, self.two), strict=True)
        )
        return any(
            agree(transformed(one, pose(np.diag(signs), np.zeros(3))), two)
            for signs in itertools.product((1.0, -1.0), repeat=3)
        )

    def same(self, robot: Description) -> bool:
        """Return whether both have the same numbers: in their own axes, or mirrored."""
        one = Inertial(self.one.body.mass, self.one.body.com, self.one.tensor)
        two = Inertial(self.two.body.mass, self.two.body.com, self.two.tensor)
        return agree(one, two) or agree(self.image(robot, self.one, self.two), self.two.body)

    def image(self, robot: Description, source: Link, target: Link) -> Inertial:
        """Return the inertia of one twin mirrored, in the axes of the other's <inertial>."""
        S = self.plane.reflection
        T, U = robot.placements[source.name], robot.placements[target.name]
        com = self.plane.mirrored(T[:3, :3] @ source.body.com + T[:3, 3])
        R = (U[:3, :3] @ target.rotation).T @ S @ T[:3, :3]
        return Inertial(
            source.body.mass,
            U[:3, :3].T @ (com - U[:3, 3]),
            R @ source.tensor @ R.T,
        )


def find_twins(robot: Description) -> list[Twins]:
    """Return the twins of a robot, empty without a tree."""
    size = _size(robot)
    plane = _plane(robot, size)
    if plane is None:
        return []
    order = {name: i for i, name in enumerate(robot.links)}
    (root,) = set(robot.links) - set(robot.inward)
    found, waiting = [], [(root, root)]
    while waiting:
        for pair in _matched(robot, plane, size, *waiting.pop()):
            waiting.append(pair)
            if pair[0] != pair[1]:
                one, two = sorted(pair, key=order.__getitem__)
                found.append(Twins(plane, robot.links[one], robot.links[two]))
    return found


def _plane(robot: Description, size: float) -> Plane | None:
    """Return the plane that mirrors most pairs of siblings, or None."""
    votes: Counter[tuple[int, int]] = Counter()
    beyond = _descendants(robot)
    for joints in robot.outward.values() if robot.placements else ():
        for a, b in itertools.combinations(joints, 2):
            p, r = (robot.placements[joint.child][:3, 3] for joint in (a, b))
            (apart,) = np.nonzero(np.abs(p - r) > PLACE_TOLERANCE * size)
            if a.type == b.type and len(apart) == 1:
                k = int(apart[0])
                step = round((p[k] + r[k]) / 2 / (PLACE_TOLERANCE * size))
                votes[k, step] += 1 + min(beyond[a.child], beyond[b.child])
    if not votes:
        return None
    (k, steps), _ = votes.most_common(1)[0]
    return Plane(k, steps * PLACE_TOLERANCE * size)


def _size(robot: Description) -> float:
    points = np.array([T[:3, 3] for T in robot.placements.values()] or [np.zeros(3)])
    return max(float(np.ptp(points, axis=0).max()), 1e-9)


def _descendants(robot: Description) -> dict[str, int]:
    """Return the number of links beyond each link."""
    beyond = dict.fromkeys(robot.placements, 0)
    order = list(_walk(robot))
    for joint in reversed(order):
        beyond[joint.parent] += 1 + beyond[joint.child]
    return beyond


def _walk(robot: Description) -> Iterator[Joint]:
    """Yield the joints, parents before their children."""
    waiting = [
        joint
        for link in set(robot.placements) - set(robot.inward)
        for joint in robot.outward[link]
    ]
    while waiting:
        joint = waiting.pop()
        yield joint
        waiting.extend(robot.outward[joint.child])


def _matched(
    robot: Description, plane: Plane, size: float, a: str, b: str
) -> Iterator[tuple[str, str]]:
    """Yield the pairs of children of two twins, or of one link on the plane, that are twins."""
    free = list(robot.outward[b])
    for joint in robot.outward[a]:
        image = plane.mirrored(robot.placements[joint.child][:3, 3])

        def far(other: Joint, image: Array = image) -> float:
            return float(np.linalg.norm(robot.placements[other.child][:3, 3] - image))

        alike = [other for other in free if other.type == joint.type]
        other = min(alike, key=far, default=None)
        if other is None or far(other) > 2 * PLACE_TOLERANCE * size:
            continue
        if a != b:
            free.remove(other)
        elif joint in free:
            free = [j for j in free if j not in (joint, other)]
        else:
            continue
        yield joint.child, other.child


def agree(one: Inertial, two: Inertial) -> bool:
    """Return whether two inertias in the same axes are the same within the tolerance."""
    return (
        bool(np.isclose(one.mass, two.mass, rtol=TOLERANCE))
        and _com_agrees(one, two)
        and tensors_agree(one, two)
    )


def tensors_agree(one: Inertial, two: Inertial) -> bool:
    """Return whether two tensors in the same axes are the same within the tolerance."""
    difference = np.linalg.norm(one.inertia_com - two.inertia_com)
    return bool(difference <= TOLERANCE * np.linalg.norm(one.inertia_com))


def _com_agrees(one: Inertial, two: Inertial) -> bool:
    scale = max(float(np.linalg.norm(one.com)), 1e-3)
    return float(np.linalg.norm(one.com - two.com)) <= TOLERANCE * scale
