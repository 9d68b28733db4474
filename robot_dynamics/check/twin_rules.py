# SPDX-License-Identifier: Apache-2.0
"""Rules of twins: slips in an inertia or axis that the mirrored twin does not have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robot_dynamics.check.description import Description, Joint, Link
from robot_dynamics.check.evidence import (
    USUAL,
    best_fit,
    tensor_distance,
)
from robot_dynamics.check.findings import Fault, inertial_repair, short
from robot_dynamics.check.hypotheses import (
    Hypothesis,
    entry_hypotheses,
    frame_hypotheses,
    tensor_hypotheses,
    unit_hypotheses,
)
from robot_dynamics.check.joint_rules import direction
from robot_dynamics.check.twins import Twins, agree, tensors_agree
from robot_dynamics.common.reporting.findings import Repair
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.inertia import Inertial, inconsistency, second_moment

LIMIT_TOLERANCE = 1e-3  # rad or m
RULES = ('same axis', 'mirrored motion')
MIN_OTHERS, MIN_COPIES = 2, 3  # pairs of twins that follow one rule, or have equal axes
SNAP = 1e-9  # of the largest moment: differences of rounding size are none


def twin_inertia_findings(robot: Description, twins: list[Twins]) -> Iterator[Fault]:
    """Yield inertias that one slip makes the mirror image of their twin's."""
    for pair in twins:
        if not pair.one.body.mass or not pair.two.body.mass or pair.related(robot):
            continue
        slips = [
            (_cost(robot, link, link.body) - _cost(robot, link, slip.body), link, twin, slip)
            for link, twin in ((pair.two, pair.one), (pair.one, pair.two))
            for slip in _hypotheses(robot, pair, link, twin)[:1]
        ]
        if not slips:
            continue
        _, link, twin, slip = max(slips, key=lambda found: found[0])
        severity = 'error' if inconsistency(link.body) else 'warning'
        message = (
            f'{slip.slip}: without it the numbers are those of the mirrored twin {twin.name!r}'
        )
        repair = inertial_repair(link.body, slip.body)
        # Which of two consistent inertias is wrong is not proved.
        proved = severity == 'error'
        yield Fault(severity, slip.kind, link.name, message, repair, proved=proved)


def _hypotheses(robot: Description, pair: Twins, link: Link, twin: Link) -> list[Hypothesis]:
    """Return the slips that make a link the mirror image of its twin."""
    expected = pair.image(robot, twin, link)
    if inconsistency(expected):
        return []
    found = explanations(link, expected)
    if not found and inconsistency(link.body):
        meant = Inertial(link.body.mass, link.body.com, _snapped(expected, link.body))
        if agree(expected, meant) and not tensors_agree(expected, link.body):
            slip = f'{inconsistency(link.body)}; tensor of the twin'
            found = [Hypothesis('inertia-inconsistent', meant, slip)]
    return found


def explanations(link: Link, expected: Inertial) -> list[Hypothesis]:
    """Return the single slips without which a link has the expected inertia."""
    candidates = [
        *unit_hypotheses(link.body),
        *tensor_hypotheses(link),
        *entry_hypotheses(link.body),
        *frame_hypotheses(link),
    ]
    return [h for h in candidates if agree(expected, h.body)]


def _snapped(expected: Inertial, old: Inertial) -> Array:
    """Return the expected tensor, with the digits of the old one where they agree."""
    scale = SNAP * np.abs(expected.inertia_com).max()
    same = np.abs(expected.inertia_com - old.inertia_com) <= scale
    return np.where(same, old.inertia_com, expected.inertia_com)


def _cost(robot: Description, link: Link, body: Inertial) -> float:
    """Return how implausible an inertia is, by geometry if there is any, else by the skeleton."""
    cost = 100.0 if inconsistency(body) else 0.0
    fit = best_fit(link, body)
    if fit is not None and link.geometry.solids:
        return cost + USUAL.cost(fit) + min(tensor_distance(link, body), 20.0)
    masses = [other.body.mass for other in robot.links.values() if other.body.mass]
    cost += abs(float(np.log(max(body.mass, 1e-12) / np.median(masses))))
    ends = [joint.placement[:3, 3] for joint in robot.outward[link.name]]
    length = max([float(np.linalg.norm(end)) for end in ends] + [float(np.linalg.norm(body.com))])
    sigma = second_moment(link.rotation @ body.inertia_com @ link.rotation.T)
    spread = float(np.trace(sigma))
    if length == 0 or spread <= 0 or body.mass <= 0:
        return cost
    cost += abs(float(np.log(spread / body.mass / length**2)))
    # A link is elongated along the lines from its joint to its ends and centre of mass.
    lines = [*ends, body.com]
    return cost - float(sum(line @ sigma @ line for line in lines)) / spread / length**2


# -- axes --------------------------------------------------------------------------------------


class _Axes(NamedTuple):
    """The axes of twin joints in the root link, and the mirror image of the first."""

    one: Joint
    two: Joint
    a: Array
    b: Array
    image: Array

    @property
    def convention(self) -> str:
        """Which rule the axes follow, 'any' if they cannot tell."""
        # Both rules ask for the image where that is on the same side as the first axis.
        if self.image @ self.a >= 0:
            return 'any' if self.image @ self.b > 0 else 'none'
        return 'mirrored motion' if self.image @ self.b > 0 else 'same axis'

    @property
    def turned(self) -> bool:
        """Whether the frames are turned copies, with the same axis in their own coordinates."""
        return np.allclose(direction(self.one), direction(self.two))


def twin_joint_findings(robot: Description, twins: list[Twins]) -> Iterator[Fault]:
    """Yield joints that turn the other way than their mirrored twins.

    Evidence are limits that belong to the other direction, or one pair of joints that does not
    follow the rule of all others of the robot: the same axis, or the mirrored motion.
    """
    pairs = _all_axes(robot, twins)
    for axes in pairs:
        if reason := _reason(axes, pairs):
            yield _flipped(axes, pairs, reason)


def known_axes(robot: Description, twins: list[Twins]) -> set[str]:
    """Return the joints whose mirrored twins would show an opposite axis."""
    pairs = _all_axes(robot, twins)
    axes_known = set()
    for axes in pairs:
        opposite = axes._replace(two=replace(axes.two, axis=-axes.two.axis), b=-axes.b)
        if _reason(opposite, [opposite if other is axes else other for other in pairs]):
            axes_known |= {axes.one.name, axes.two.name}
    return axes_known


def _all_axes(robot: Description, twins: list[Twins]) -> list[_Axes]:
    return [axes for pair in twins if (axes := _axes(robot, pair)) is not None]


def _reason(axes: _Axes, pairs: list[_Axes]) -> str:
    """Return why one of two twin joints turns the wrong way, or ''."""
    conventions = Counter(pair.convention for pair in pairs)
    rare = conventions[axes.convention] == 1 and not axes.turned
    others = conventions.total() - conventions['any'] - 1
    usual, times = max(
        ((rule, conventions[rule]) for rule in RULES if rule != axes.convention),
        key=lambda pair: pair[1],
    )
    limits = _limits(axes)
    copies = [pair.turned for pair in pairs if pair is not axes]
    if limits == 'opposite':
        return 'the limits are those of the other direction'
    if not axes.turned and len(copies) >= MIN_COPIES and all(copies):
        return 'all other twins have the same axis in their own coordinates'
    if limits != 'symmetric' or not rare or axes.convention == 'any':
        return ''
    if axes.convention == 'none':
        return 'neither motion nor axis is that of the other side'
    if times == others >= MIN_OTHERS:
        return f'all other twins that tell have the {usual}'
    return ''


def twin_limits(robot: Description, twins: list[Twins]) -> dict[str, tuple[float, float]]:
    """Return the position limits of joints that those of their mirrored twins say."""
    found = {}
    for axes in _all_axes(robot, twins):
        for joint, twin in ((axes.one, axes.two), (axes.two, axes.one)):
            ranges = [(twin.lower, twin.upper), (-twin.upper, -twin.lower)]
            order = ranges if axes.image @ axes.b > 0 else ranges[::-1]
            # A joint without a range has one end of that of its twin.
            fits = (r for r in order if np.isclose(joint.lower, r, atol=LIMIT_TOLERANCE).any())
            found[joint.name] = next(fits, order[0])
    return found


def _flipped(axes: _Axes, pairs: list[_Axes], reason: str) -> Fault:
    """Return the finding of the joint whose axis points to the rarer side, else the negative."""
    wrong, twin = axes.one, axes.two
    others = [joint for pair in pairs if pair is not axes for joint in pair[:2]]
    line = np.abs(direction(wrong))
    signs = [direction(j).sum() for j in others if np.allclose(np.abs(direction(j)), line)]
    usual = np.sign(np.sign(signs).sum()) or 1.0
    if usual * direction(wrong).sum() >= usual * direction(twin).sum():
        wrong, twin = twin, wrong
    flipped = (0.0 - direction(wrong)).tolist()
    message = (
        f'its axis {short(wrong.axis)} is opposite to that of its mirrored twin {twin.name!r}: '
        f'{reason}'
    )
    repair = (Repair('axis/@xyz', wrong.axis.tolist(), flipped),)
    return Fault('warning', 'joint-flipped', wrong.name, message, repair, 'joint')


def _axes(robot: Description, pair: Twins) -> _Axes | None:
    """Return the axes of the joints before twins, None if they are not along mirrored lines."""
    one, two = (robot.inward[link.name] for link in (pair.one, pair.two))
    if not one.moves:
        return None
    a = robot.placements[one.child][:3, :3] @ direction(one)
    b = robot.placements[two.child][:3, :3] @ direction(two)
    # A rotation vector is an axial vector: its mirror image has the opposite sign.
    image = pair.plane.reflection @ a * (1 if one.type == 'prismatic' else -1)
    along = np.allclose(b, np.sign(image @ b) * image, atol=1e-3)
    return _Axes(one, two, a, b, image) if along else None


def _limits(axes: _Axes) -> str:
    """Return whether the position limits mirror each other, as the axes are."""
    ends = [(j.lower, j.upper) for j in axes[:2] if j.has_limit and j.type != 'continuous']
    if len(ends) < 2 or np.isnan(ends).any():
        return 'symmetric'
    (low, high), other = np.array(ends)
    mirrored, opposite = (low, high), (-high, -low)
    if axes.image @ axes.b < 0:
        mirrored, opposite = opposite, mirrored
    fits = [np.allclose(other, x, atol=LIMIT_TOLERANCE) for x in (mirrored, opposite)]
    return {(True, True): 'symmetric', (False, True): 'opposite'}.get((fits[0], fits[1]), 'other')
