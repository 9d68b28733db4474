# SPDX-License-Identifier: Apache-2.0
"""Distances between the links of a robot, and above a floor, by capsules around their shapes.

Capsules are larger than the shapes they cover, so that links are never closer than they seem.
Pairs of adjacent bodies are not checked, nor pairs of links that are close in many postures: the
limits of their joints keep such links apart, or the capsules are too coarse to tell.

Source: Ericson, Real-Time Collision Detection (2005), section 5.1.9 (closest points of segments).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.states import random_postures

# Pairs of links that are close in a larger part of random postures are not checked: shapes of
# links two joints apart, and of others.
OFTEN_NEAR, OFTEN_FAR = 0.05, 0.5
POSTURES = 400
SOFT = 0.02  # m, kept in addition during a search
EMPTY = 1e-12  # m^2
AT_ONCE = 200  # postures


class Capsule(NamedTuple):
    """All points within a radius [m] of a segment (2, 3), in the frame of a link."""

    link: str
    segment: Array
    radius: float


class _Near(NamedTuple):
    """Pairs of capsules in postures, k in all."""

    row: Array  # (k,) posture
    pair: Array  # (k,)
    a: Array  # (k, 3) closest points of the segments, base frame
    b: Array
    gap: Array  # (k,) distance of the surfaces, m


@dataclass(frozen=True, eq=False)
class Clearance:
    """Distances to be kept by c capsules, and p pairs of them.

    Attributes:
        links: c names.
        body: (c,) that carries the link, -1 for the base.
        segments: (c, 2, 3) in the frame of the body.
        radius: (c,) m.
        distance: between links, m.
        floor: height above which links stay, base frame, m.
        above: (f,) capsules that stay above it.
        pairs: (p, 2) capsules whose distance is checked.
        unchecked: pairs of links that are not checked, for they are close in many postures.
    """

    links: tuple[str, ...]
    body: Array
    segments: Array
    radius: Array
    distance: float
    floor: float
    above: Array
    pairs: Array
    unchecked: tuple[tuple[str, str], ...] = ()

    # -- distances --------------------------------------------------------------------------

    def lack(self, arm: Dynamics, q: Array) -> tuple[float, str]:
        """Return by how much [m] postures q (m, n) miss a distance most, and which distance.

        The first number is 0 or less if they miss none; -SOFT stands for all below.
        """
        ends = self._ends(arm, q)
        worst = [(-SOFT if len(self.pairs) else -np.inf, '')]
        gap, pair = self._closest_pair(ends, self.distance + SOFT)
        if pair is not None:
            worst.append((self.distance - gap, f'the distance of {pair[0]} and {pair[1]}'))
        if len(self.above):
            low = -self._height(ends).min(axis=0)
            link = self.links[self.above[np.argmax(low)]]
            worst.append((float(low.max()), f'the height of {link} above the floor'))
        return max(worst)

    def nearest(self, arm: Dynamics, q: Array) -> tuple[float, str, str] | None:
        """Return the distance [m] of the closest links in postures q (m, n), and their names."""
        gap, pair = self._closest_pair(self._ends(arm, q), np.inf)
        return None if pair is None else (gap, *pair)

    def penalty(self, arm: Dynamics, q: Array) -> tuple[float, Array]:
        """Return the squares of missing distances over postures, in units of `SOFT`, summed.

        Args:
            arm: the robot.
            q: (m, n) postures.

        Returns:
            the sum, and its derivative by q (m, n).
        """
        ends, by_q = self._ends(arm, q), np.zeros_like(q)
        row, k, a, b, gap = self._near(ends, self.distance + SOFT)
        lack = np.maximum(self.distance + SOFT - gap, 0.0) / SOFT
        low = np.maximum(SOFT - self._height(ends), 0.0) / SOFT
        apart = np.linalg.norm(b - a, axis=1, keepdims=True)
        force = -2 * (lack / SOFT)[:, None] * (b - a) / np.maximum(apart, EMPTY)
        self._add(by_q, arm, q, row, self.pairs[k, 1], b, force)
        self._add(by_q, arm, q, row, self.pairs[k, 0], a, -force)
        row, k = np.nonzero(low)
        lowest = ends[:, self.above].reshape(*low.shape, 2, 3)
        lower_end = lowest[..., 2].argmin(axis=2)[row, k]
        force = np.outer(-2 * low[row, k] / SOFT, [0.0, 0.0, 1.0])
        self._add(by_q, arm, q, row, self.above[k], lowest[row, k, lower_end], force)
        return float((lack**2).sum() + (low**2).sum()), by_q

    def _ends(self, arm: Dynamics, q: Array) -> Array:
        """Return the ends (m, c, 2, 3) of the segments in the base frame."""
        result = np.empty((len(q), *self.segments.shape))
        for i in np.unique(self.body):
            mine = self.body == i
            points = self.segments[mine]
            if i >= 0:
                T = arm.forward_kinematics(q, arm.model.body_names[i])[:, None, None]
                points = (T[..., :3, :3] @ points[..., None])[..., 0] + T[..., :3, 3]
            result[:, mine] = points
        return result

    def _closest_pair(self, ends: Array, within: float) -> tuple[float, tuple[str, str] | None]:
        """Return the least distance [m] and its links, None if all are farther than `within`."""
        least, pair = within, None
        for some in np.array_split(ends, -(-len(ends) // AT_ONCE)):
            near = self._near(some, least)
            if len(near.gap) and near.gap.min() < least:
                least = float(near.gap.min())
                a, b = self.pairs[near.pair[np.argmin(near.gap)]]
                pair = self.links[a], self.links[b]
        return least, pair

    def _near(self, ends: Array, within: float) -> _Near:
        """Return the pairs that are within a distance [m], and some that are not.

        Spheres around the capsules rule out the others.
        """
        first, second = self.pairs.T
        middle = ends.mean(axis=2)
        half = np.linalg.norm(self.segments[:, 1] - self.segments[:, 0], axis=1) / 2
        reach = within + (half + self.radius)[self.pairs].sum(axis=1)
        apart = middle[:, second] - middle[:, first]
        row, pair = np.nonzero(np.einsum('mpi,mpi->mp', apart, apart) < np.maximum(reach, 0) ** 2)
        a, b = _closest(ends[row, first[pair]], ends[row, second[pair]])
        gap = np.linalg.norm(b - a, axis=1) - self.radius[self.pairs[pair]].sum(axis=1)
        return _Near(row, pair, a, b, gap)

    def _height(self, ends: Array) -> Array:
        """Return the heights (m, f) above the floor."""
        lowest = ends[:, self.above][..., 2].min(axis=2)
        return np.asarray(lowest - self.radius[self.above] - self.floor)

    def _add(
        self, by_q: Array, arm: Dynamics, q: Array, row: Array, capsule: Array, p: Array, f: Array
    ) -> None:
        """Add f . dp/dq for points p (k, 3) that move with capsules, in the postures `row`."""
        for i in np.unique(self.body[capsule]):
            mine = self.body[capsule] == i
            if i >= 0 and mine.any():
                rows, frame = row[mine], arm.model.body_names[i]
                origin = arm.forward_kinematics(q[rows], frame)[:, :3, 3]
                wrench = np.hstack([np.cross(p[mine] - origin, f[mine]), f[mine]])
                np.add.at(by_q, rows, arm.wrench_torque(q[rows], wrench, frame))


def clearance(
    arm: Dynamics,
    capsules: Sequence[Capsule],
    *,
    distance: float = 0.02,
    floor: float = -np.inf,
    floor_links: Sequence[str] = (),
) -> Clearance:
    """Choose the distances that are kept.

    Args:
        arm: the robot.
        capsules: of its links; without any, no distance between links is checked.
        distance: to be kept between links, m.
        floor: height in the base frame, m.
        floor_links: links that stay above it; the origin stands for one without capsules.

    Raises:
        FrameNotFound: no such link.
        ModelError: a link above the floor is fixed to the base.
    """
    for link in floor_links:
        arm.model.moving_body(link)
    bare = [link for link in floor_links if link not in {c.link for c in capsules}]
    every = [*capsules, *(Capsule(link, np.zeros((2, 3)), 0.0) for link in bare)]
    model = arm.model
    frames = [model.frame_index(c.link) for c in every]
    T = model.frame_placement[frames].reshape(-1, 4, 4)
    segments = np.array([c.segment for c in every]).reshape(-1, 2, 3)
    body = model.frame_body[frames]
    pairs = [
        (a, b)
        for a, b in combinations(range(len(capsules)), 2)
        if _joints_between(arm, int(body[a]), int(body[b])) > 1
    ]
    every_pair = Clearance(
        links=tuple(c.link for c in every),
        body=np.asarray(body, dtype=int),
        segments=segments @ T[:, :3, :3].transpose(0, 2, 1) + T[:, None, :3, 3],
        radius=np.array([c.radius for c in every]),
        distance=distance,
        floor=floor,
        above=np.array([k for k, c in enumerate(every) if c.link in floor_links], dtype=int),
        pairs=np.array(pairs, dtype=int).reshape(-1, 2),
    )
    return _without_overlapping(arm, every_pair)


def _closest(first: Array, second: Array) -> tuple[Array, Array]:
    """Return the closest points (k, 3) of segments (k, 2, 3)."""
    p, u, v = first[:, 0], first[:, 1] - first[:, 0], second[:, 1] - second[:, 0]
    r = p - second[:, 0]
    a, e, b = ((x * y).sum(axis=1) for x, y in ((u, u), (v, v), (u, v)))
    c, f = (u * r).sum(axis=1), (v * r).sum(axis=1)
    a, e = np.maximum(a, EMPTY), np.maximum(e, EMPTY)
    s = np.clip((b * f - c * e) / np.maximum(a * e - b * b, EMPTY * a * e), 0, 1)
    t = np.clip((b * s + f) / e, 0, 1)
    s = np.clip((b * t - c) / a, 0, 1)
    return p + s[:, None] * u, second[:, 0] + t[:, None] * v


def _joints_between(arm: Dynamics, a: int, b: int) -> int:
    """Return the number of joints on the path between two bodies; -1 is the base."""
    first, second = (set(arm.model.support(i)) for i in (a, b))
    return len(first ^ second)


def _without_overlapping(arm: Dynamics, given: Clearance) -> Clearance:
    """Return the clearance without the pairs of links that are close in many postures."""
    ends = given._ends(arm, random_postures(arm.model, POSTURES))
    near = given._near(ends, given.distance + SOFT)
    within = near.gap < given.distance + SOFT
    close = np.zeros((POSTURES, len(given.pairs)), dtype=bool)
    close[near.row[within], near.pair[within]] = True
    names = [(given.links[a], given.links[b]) for a, b in given.pairs]
    unchecked = []
    kept = np.ones(len(names), dtype=bool)
    for pair in dict.fromkeys(names):
        same = np.array([name == pair for name in names])
        a, b = (int(given.body[k]) for k in given.pairs[same][0])
        allowed = OFTEN_NEAR if _joints_between(arm, a, b) == 2 else OFTEN_FAR
        if close[:, same].any(axis=1).mean() > allowed:
            unchecked.append(pair)
            kept &= ~same
    return replace(given, pairs=given.pairs[kept], unchecked=tuple(unchecked))
