# SPDX-License-Identifier: Apache-2.0
"""Places of the bodies of one model in another one of the same robot.

Frames, zeros and signs of two descriptions may differ although the
mechanisms are equal, so the places of joint axes decide: from the base outwards, the pose of each
body of B in the body frame of A follows from that of its parent. Where an axis is not where it is
in A, or the contents of a body contradict, there are several explanations: this axis is off, a
zero differs, the whole rest is displaced, this body alone is different. The set of explanations
with the fewest differences is chosen, by a search of bounded width; the identity is preferred.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from robot_dynamics.check.inertia_differences import TENSOR, inertia_differs
from robot_dynamics.common.spatial import Array, axis_rotation, inverse_pose, pose
from robot_dynamics.core.model.inertia import Inertial, transformed
from robot_dynamics.core.model.robot_model import RobotModel

# Differences of two descriptions of one robot that are rounding.
ANGLE, LENGTH = 2e-3, 2e-4  # rad and m, of axes and zeros
# Directions and lengths below which an axis does not determine an angle about another one.
SINE, LEVER = 0.1, 1e-3
ROUNDING = 1e-12  # of the product of unit vectors that are parallel
# Costs of differences: in a tie an inertia is to blame before a zero, a zero before an axis. Link
# frames decide between an inertia and a zero where all else explains as much.
WRONG_AXIS, WRONG_ZERO, WRONG_INERTIA, OTHER_FRAME = 110, 105, 100, 10
WIDTH = 24  # explanations that are kept from body to body
FITS, FIT = 20, 1e-7  # iterations of the fit of a base; residual with the largest weight


@dataclass(frozen=True)
class Place:
    """Where a body of B is, and its joint, if both robots are at q = 0.

    Attributes:
        Q: (4, 4) pose of the body frame of B in that of A once the differences are undone.
        undo: (4, 4) displacement of the body, in the frame of the parent in A, that undoes them.
        angle: rad between the axes.
        distance: m of the axes of revolute joints.
        turn: rad about the axis of A: the difference of the zeros of a revolute joint.
        slide: m along the axis of A: that of a prismatic joint.
        reverse: -1 if the axes have opposite directions, else 1.
        rest_moves: the bodies beyond the joint are displaced with its axis.
        cost: of all differences.
    """

    Q: Array
    undo: Array
    angle: float
    distance: float
    turn: float
    slide: float
    reverse: int
    rest_moves: bool
    cost: int


class Correspondence(NamedTuple):
    """Places of the bodies of B in A, in the order of A.

    Attributes:
        bodies: of B.
        places: of these.
        base: (4, 4) pose of the base frame of B in that of A.
        cost: of all differences.
    """

    bodies: tuple[int, ...]
    places: tuple[Place, ...]
    base: Array
    cost: int


def correspondence(A: RobotModel, B: RobotModel, bodies: Sequence[int]) -> Correspondence:
    """Return the explanation with the fewest differences of two models with paired bodies.

    A rigid displacement of a robot on one joint is one of its base: the zero of the first joint
    and a turn of the base about its axis are the same.
    """
    roots = np.flatnonzero(A.parent < 0)
    bases = [(np.eye(4), 0)]
    if len(roots) > 1:
        bases.append((_fitted_base(A, B, bodies), WRONG_ZERO))
    search = [Correspondence(tuple(bodies), (), base, cost) for base, cost in bases]
    for i in range(A.nb):
        step = _Step(A, B, bodies, i)
        longer = [
            found._replace(places=(*found.places, place), cost=found.cost + place.cost)
            for found in search
            for place in step.options(
                found.base if A.parent[i] < 0 else found.places[A.parent[i]].Q
            )
        ]
        # Stable: of equal costs the first, the identity where it is one of them.
        search = sorted(longer, key=lambda found: found.cost)[:WIDTH]
    best = search[0]
    if len(roots) > 1:
        return best
    first, *others = best.places
    off = not first.rest_moves  # the axis is, alone
    first = replace(
        first,
        angle=off * first.angle,
        distance=off * first.distance,
        turn=0.0,
        slide=0.0,
        undo=np.eye(4),
    )
    return best._replace(places=(first, *others), base=best.places[0].undo)


def _fitted_base(A: RobotModel, B: RobotModel, bodies: Sequence[int]) -> Array:
    """Return the pose (4, 4) of B's base in A's with which most axes at q = 0 agree.

    Least absolute residuals, by weights: a few axes that are elsewhere have no effect.
    """
    (z_a, p_a), (z_b, p_b) = _lines_at_zero(A), _lines_at_zero(B)
    z_b, p_b = z_b[list(bodies)], p_b[list(bodies)]
    N = np.eye(3) - z_a[:, :, None] * z_a[:, None, :]
    w = np.ones((2, len(z_a)))  # of directions and of places
    for _ in range(FITS):
        # Kabsch: R = U diag(1, 1, det) V^T of sum w z_a z_b^T
        U, _, Vt = np.linalg.svd((w[0, :, None] * z_a).T @ z_b)
        R = U @ np.diag([1.0, 1.0, np.linalg.det(U @ Vt)]) @ Vt
        # w (1 - z z^T) (R p_b + t - p_a) = 0
        gap = np.einsum('kij,kj->ki', N, p_a - p_b @ R.T)
        left, right = w[1, :, None, None] * N, w[1, :, None] * gap
        t = np.linalg.lstsq(left.reshape(-1, 3), right.ravel(), rcond=None)[0]
        errors = np.linalg.norm([z_a - z_b @ R.T, gap - N @ t], axis=2)
        w = 1 / np.maximum(errors, FIT)
    return pose(R, t)


def _lines_at_zero(model: RobotModel) -> tuple[Array, Array]:
    poses: list[Array] = []
    for i, p in enumerate(model.parent):
        T = pose(*model.joint_transform(i, model.s0[i]))
        poses.append(T if p < 0 else poses[p] @ T)
    T_0 = np.stack(poses)
    return np.einsum('kij,kj->ki', T_0[:, :3, :3], model.axis), T_0[:, :3, 3]


class _Line(NamedTuple):
    """Axis of a joint: unit direction and a point, (3,) each."""

    z: Array
    p: Array


class _Step:
    """The explanations of one body, given the place of its parent."""

    def __init__(self, A: RobotModel, B: RobotModel, bodies: Sequence[int], i: int):
        self.A, self.B, self.i, self.j = A, B, i, bodies[i]
        self.axis = A.axis[i]
        self.is_root = A.parent[i] < 0 and np.count_nonzero(A.parent < 0) == 1
        children = [c for c in range(A.nb) if A.parent[c] == i]
        # The next axis may be off itself, so those after it count as well.
        after = [c for c in range(A.nb) if A.parent[c] in children]
        self.next = [c for c in range(A.nb) if c != i] if self.is_root else [*children, *after]
        self.lines_a = [_line(A, c, i) for c in self.next]
        self.lines_b = [_line(B, bodies[c], self.j) for c in self.next]
        self.body = A.inertial(i)
        self.T_a = pose(*A.joint_transform(i, A.s0[i]))
        self.T_b = pose(*B.joint_transform(self.j, B.s0[self.j]))

    def options(self, Q_parent: Array) -> Iterator[Place]:
        """Yield the places of the body; the first has no correction."""
        T_b = Q_parent @ self.T_b
        z, p = self.T_a[:3, :3] @ self.axis, self.T_a[:3, 3]
        z_b = T_b[:3, :3] @ self.B.axis[self.j]
        sign = -1 if z @ z_b < 0 else 1
        angle = math.atan2(float(np.linalg.norm(np.cross(z_b, z))), float(sign * z @ z_b))
        # The point of B's axis next to the origin of the body frame of A.
        nearest = T_b[:3, 3] + z_b * (z_b @ (p - T_b[:3, 3]))
        distance = float(np.linalg.norm(nearest - p)) if self.A.revolute[self.i] else 0.0
        off = angle > ANGLE or distance > LENGTH
        yield from self._screwed(np.eye(4), T_b, (angle, distance, sign, False))
        # Signs of directions that are turned onto that of A; a base may be upside down.
        for reverse in ([sign] if off else []) + ([-sign] if self.is_root else []):
            R = _smallest_turn(reverse * z_b, z)
            K = pose(R, p - R @ nearest)
            yield from self._screwed(K, T_b, (angle, distance, reverse, True))

    def _screwed(
        self, K: Array, T_b: Array, line: tuple[float, float, int, bool]
    ) -> Iterator[Place]:
        """Yield the places of the body with a correction of its axis, and screws along it.

        Args:
            K: (4, 4) the correction, in the frame of the parent.
            T_b: (4, 4) the body of B there.
            line: angle, distance, reverse and rest_moves of the places.
        """
        angle, distance, reverse, moves = line
        axis_cost = WRONG_AXIS * (angle > ANGLE or distance > LENGTH)
        Q = inverse_pose(self.T_a) @ K @ T_b
        for turn, slide in _distinct(self._screws(Q)):
            G = pose(axis_rotation(self.axis, turn), self.axis * slide)
            for shift in self._shifts(G @ Q):
                undo = self.T_a @ shift @ G @ inverse_pose(self.T_a) @ K
                zeros = WRONG_ZERO * ((turn != 0) + (slide != 0))
                cost = axis_cost + zeros
                if self.is_root:  # one displacement of the base
                    displaced = not np.allclose(undo, np.eye(4), rtol=0, atol=LENGTH)
                    cost = axis_cost * (not moves) + WRONG_ZERO * displaced
                cost += WRONG_ZERO * (reverse < 0) + self._contradictions(shift @ G @ Q)
                yield Place(
                    *(shift @ G @ Q, undo, angle, distance, turn, slide, reverse, moves),
                    cost=cost,
                )

    def _shifts(self, Q: Array) -> Iterator[Array]:
        """Yield displacements (4, 4) of a slide on the base: none, and onto the next axes of A."""
        yield np.eye(4)
        rows = [
            (np.eye(3) - np.outer(a.z, a.z), a.p - Q[:3, :3] @ b.p - Q[:3, 3])
            for c, a, b in zip(self.next, self.lines_a, self.lines_b, strict=True)
            if self.A.revolute[c]
        ]
        if self.is_root and not self.A.revolute[self.i] and rows:
            # (1 - z z^T) (p - R p' - t) = 0
            left, right = np.vstack([N for N, _ in rows]), np.hstack([N @ gap for N, gap in rows])
            yield pose(np.eye(3), np.linalg.lstsq(left, right, rcond=None)[0])

    def _contradictions(self, Q: Array) -> int:
        """Return the cost of a centre of mass, a tensor and a frame of another place."""
        other = transformed(self.B.inertial(self.j), Q)
        cost = WRONG_INERTIA * sum(inertia_differs(self.body, other))
        name = self.A.body_names[self.i]
        if name in self.B.frame_names and name in self.A.frame_names:
            k, m = self.A.frame_index(name), self.B.frame_index(name)
            there = Q @ self.B.frame_placement[m]
            same = np.allclose(self.A.frame_placement[k], there, rtol=0, atol=ANGLE)
            cost += OTHER_FRAME * (not same)
        return cost

    def _screws(self, Q: Array) -> Iterator[tuple[float, float]]:
        """Yield turns and slides by which the next axes, or the inertia, are where they are in A.

        Args:
            Q: (4, 4) place of the body without them.
        """
        other = transformed(self.B.inertial(self.j), Q)
        differs = any(inertia_differs(self.body, other))
        # Along the axis, on which parallel axes tell nothing, the centre of mass.
        along = float(self.axis @ (self.body.com - other.com)) * differs
        slides = [along] * (abs(along) > LENGTH)
        for c, ours, theirs in zip(self.next, self.lines_a, self.lines_b, strict=True):
            for sign in (1.0, -1.0):
                line = _Line(sign * Q[:3, :3] @ theirs.z, Q[:3, :3] @ theirs.p + Q[:3, 3])
                turn, slide = self._screw(ours, line, bool(self.A.revolute[c]))
                if turn or slide:
                    yield turn, slide
                    yield from ((turn, other_slide) for other_slide in slides)
        yield from ((0.0, slide) for slide in slides)
        if differs and self.A.revolute[self.i]:
            turns = self._inertial_turns(other)
            both = [(turn, slide) for turn in turns for slide in (0.0, *slides)]
            yield from (screw for screw in both if abs(screw[0]) > ANGLE)

    def _screw(self, ours: _Line, theirs: _Line, revolute: bool) -> tuple[float, float]:
        """Return the turn about the axis, and the slide along it, from one line to another."""
        across, from_ = self._across(ours.z), self._across(theirs.z)
        if revolute and min(np.linalg.norm(across), np.linalg.norm(from_)) < SINE:
            across, from_ = self._across(ours.p), self._across(theirs.p)
        turn = self._angle(from_, across)
        R = axis_rotation(self.axis, turn)
        slide = 0.0
        N = np.eye(3) - np.outer(ours.z, ours.z)
        along = N @ self.axis
        if revolute and np.linalg.norm(along) > SINE:
            # min |N (p - R p' - d a)| over d
            slide = float(along @ N @ (ours.p - R @ theirs.p) / (along @ along))
        return turn if abs(turn) > ANGLE else 0.0, slide if abs(slide) > LENGTH else 0.0

    def _inertial_turns(self, other: Inertial) -> Iterator[float]:
        """Yield turns about the axis to the centre of mass and to the principal axes of A."""
        yield self._angle(self._across(other.com), self._across(self.body.com))
        x = self._across(np.eye(3)[int(np.argmin(np.abs(self.axis)))])
        E = np.stack([x / np.linalg.norm(x), np.cross(self.axis, x / np.linalg.norm(x))])
        angles = []
        for tensor in (self.body.inertia_com, other.inertia_com):
            (xx, xy), (_, yy) = E @ tensor @ E.T
            if math.hypot(2 * xy, xx - yy) < TENSOR * np.linalg.norm(tensor):
                return
            # Angle of a principal axis: tan 2 phi = 2 I_xy / (I_xx - I_yy)
            angles.append(math.atan2(2 * xy, xx - yy) / 2)
        turn = math.remainder(angles[0] - angles[1], math.pi)
        yield turn
        yield math.remainder(turn + math.pi, 2 * math.pi)

    def _across(self, v: Array) -> Array:
        return np.asarray(v - self.axis * (self.axis @ v))

    def _angle(self, from_: Array, to: Array) -> float:
        """Return the angle about the axis between vectors across it, 0 where one is too short."""
        if min(np.linalg.norm(from_), np.linalg.norm(to)) < LEVER:
            return 0.0
        return math.atan2(float(self.axis @ np.cross(from_, to)), float(from_ @ to))


def _distinct(screws: Iterator[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return no screw and the given ones, each once."""
    kept = [(0.0, 0.0)]
    for turn, slide in screws:
        if all(abs(turn - a) > ANGLE / 10 or abs(slide - b) > LENGTH / 10 for a, b in kept):
            kept.append((turn, slide))
    return kept


def _line(model: RobotModel, body: int, base: int) -> _Line:
    """Return the axis of a body's joint in the frame of a body before it, at q = 0."""
    T = pose(*model.joint_transform(body, model.s0[body]))
    p = int(model.parent[body])
    while p != base:
        T = pose(*model.joint_transform(p, model.s0[p])) @ T
        p = int(model.parent[p])
    return _Line(T[:3, :3] @ model.axis[body], T[:3, 3])


def _smallest_turn(z_from: Array, z_to: Array) -> Array:
    """Return a rotation (3, 3) by the smallest angle that turns a unit vector onto another."""
    normal = np.cross(z_from, z_to)
    angle = math.atan2(float(np.linalg.norm(normal)), float(z_from @ z_to))
    if np.linalg.norm(normal) < ROUNDING:
        normal = np.cross(z_from, np.eye(3)[int(np.argmin(np.abs(z_from)))])
    return axis_rotation(normal / np.linalg.norm(normal), angle)


def is_mirror_image(A: RobotModel, B: RobotModel, found: Correspondence) -> bool:
    """Return whether B differs from A in several bodies, and not from the mirror image of A."""
    if _differing_bodies(A, B, found) < 2:
        return False
    image = mirrored(A)
    return _differing_bodies(image, B, correspondence(image, B, found.bodies)) == 0


def _differing_bodies(A: RobotModel, B: RobotModel, found: Correspondence) -> int:
    """Return the number of bodies whose joint or inertia differs."""
    return sum(
        bool(place.angle > ANGLE or place.distance > LENGTH or place.turn or place.slide)
        or place.reverse < 0
        or any(inertia_differs(A.inertial(i), transformed(B.inertial(j), place.Q)))
        for i, (j, place) in enumerate(zip(found.bodies, found.places, strict=True))
    )


def mirrored(model: RobotModel) -> RobotModel:
    """Return the mirror image of a robot in the plane y = 0 of its base, in mirrored frames."""
    X = np.diag([1.0, -1.0, 1.0])
    T = np.diag([1.0, -1.0, 1.0, 1.0])
    # X exp([a] q) X = exp([-X a] q)
    signs = np.where(model.revolute, -1.0, 1.0)[:, None]
    return replace(
        model,
        placement=T @ model.placement @ T,
        axis=signs * (model.axis @ X),
        com=model.com @ X,
        inertia_com=X @ model.inertia_com @ X,
        gravity=X @ model.gravity,
        frame_placement=T @ model.frame_placement @ T,
    )
