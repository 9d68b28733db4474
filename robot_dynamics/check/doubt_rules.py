# SPDX-License-Identifier: Apache-2.0
"""Remarks on what cannot be checked: slips that no rule would find."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from robot_dynamics.check.description import Description, Joint, Link
from robot_dynamics.check.evidence import (
    MASS_OUTLIER,
    MAX_EXCESS,
    Typical,
    best_fit,
    typical_fit,
)
from robot_dynamics.check.findings import Fault
from robot_dynamics.check.hypotheses import (
    unit_hypotheses,
)
from robot_dynamics.check.placement_rules import plausible, round_angles, same_place
from robot_dynamics.check.twins import Twins

SMALL_COM = 1e-3  # m: its sign and unit hardly matter
LARGE_ANGLE = 0.5  # rad: less is no angle in degrees
MESSAGES = {
    'origin-unit': 'the unit of the origin cannot be checked: no geometry is near, and no joint '
    'has the same origin',
    'rpy-degrees': 'rad or degrees of the origin cannot be checked: no angle is a right one, and '
    'no other joint has these',
    'joint-flipped': 'the sign of the axis cannot be checked: no joint is its mirror image',
    'mass-unit': 'kg or pounds of the mass cannot be checked: both are plausible beside the other '
    'links',
    'com-sign': 'the sign of the centre of mass cannot be checked: the geometry contains both '
    'points',
}


def doubt_findings(
    robot: Description,
    twins: list[Twins],
    axes_known: Collection[str],
    compared: Description | None,
) -> Iterator[Fault]:
    """Yield what cannot be told of joints that carry mass and of links that are moved.

    Args:
        robot: the description.
        twins: its mirrored twins.
        axes_known: joints whose twins show their direction.
        compared: the reference; elements that it has are compared with it.
    """
    alike = {link.name for pair in twins if pair.same(robot) for link in (pair.one, pair.two)}
    typical = typical_fit(robot)
    for joint in robot.joints.values():
        if not {joint.parent, joint.child} <= robot.links.keys():
            continue  # the rules of the tree name it
        if (joint.moves or robot.links[joint.child].body.mass) and not (
            compared and joint.name in compared.joints
        ):
            yield from _doubts(joint.name, 'joint', _joint(robot, joint, axes_known))
    for link in robot.links.values():
        moved = robot.rigid.get(link.name) in robot.inward and link.body.mass
        known = link.name in alike or (compared and link.name in compared.links)
        if moved and link.geometry.solids and not known:
            yield from _doubts(link.name, 'link', _link(link, typical))


def _doubts(name: str, tag: str, kinds: Iterator[str]) -> Iterator[Fault]:
    for kind in kinds:
        yield Fault('info', 'cannot-tell', name, MESSAGES[kind], (), tag, (kind,))


def _joint(robot: Description, joint: Joint, axes_known: Collection[str]) -> Iterator[str]:
    p, rpy = joint.placement[:3, 3], joint.rpy
    near = robot.links[joint.parent].geometry.solids and plausible(robot, joint, p)
    if p.any() and not near and not same_place(robot, joint, p):
        yield 'origin-unit'
    others = (other.rpy for other in robot.joints.values() if other is not joint)
    known = round_angles(joint) or any(np.allclose(np.abs(o), np.abs(rpy)) for o in others)
    if np.abs(rpy).max() > LARGE_ANGLE and not known:
        yield 'rpy-degrees'
    if joint.moves and joint.name not in axes_known:
        yield 'joint-flipped'


def _link(link: Link, typical: Typical) -> Iterator[str]:
    fits = {h.slip: best_fit(link, h.body, typical) for h in unit_hypotheses(link.body)}
    pounds, negated = fits['mass in pounds'], fits.get('centre of mass of opposite sign')
    if pounds is None or not typical.deviation(pounds) > MASS_OUTLIER:
        yield 'mass-unit'
    large = np.linalg.norm(link.body.com) > SMALL_COM
    if large and negated is not None and negated.excess <= MAX_EXCESS:
        yield 'com-sign'
