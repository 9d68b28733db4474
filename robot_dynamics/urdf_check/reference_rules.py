# SPDX-License-Identifier: Apache-2.0
"""Rules of a reference: another description of the robot, compared by the names of its elements.

A slip that makes a number that of the reference is named as such. Other differences are warnings
beyond what two calibrations of one robot differ by, else remarks.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robot_dynamics.model.inertia import Inertial, inconsistency
from robot_dynamics.spatial import Array, rotation_rpy
from robot_dynamics.urdf_check.description import Description, Joint, Link
from robot_dynamics.urdf_check.evidence import LENGTHS
from robot_dynamics.urdf_check.findings import Finding, Repair, inertial_repair, short
from robot_dynamics.urdf_check.joint_rules import direction
from robot_dynamics.urdf_check.placement_rules import DEGREE
from robot_dynamics.urdf_check.twin_rules import explanations
from robot_dynamics.urdf_check.twins import agree

# Beyond calibration: m, rad, and a factor of mass or moments.
DISTANCE, ANGLE, FACTOR = 0.01, 0.02, 2.0
SAME = 1e-6  # m, rad
SLIP = 1e-3  # relative, of a number whose slip is undone


def reference_findings(robot: Description, reference: Description) -> Iterator[Finding]:
    """Yield the differences of a description from a reference."""
    for name, joint in robot.joints.items():
        if name in reference.joints:
            yield from _joint(joint, reference.joints[name])
    for name, link in robot.links.items():
        if name in reference.links:
            yield from _link(link, reference.links[name])


def _joint(joint: Joint, right: Joint) -> Iterator[Finding]:
    p, q = joint.placement[:3, 3], right.placement[:3, 3]
    R, S = joint.placement[:3, :3], right.placement[:3, :3]
    if not np.allclose(p, q, rtol=0, atol=SAME):
        units = [u for k, u in LENGTHS.items() if np.allclose(p * k, q, rtol=SLIP, atol=SAME)]
        large = float(np.linalg.norm(p - q)) > DISTANCE
        yield _difference(joint, 'origin/@xyz', p, q, 'origin-unit' if units else '', large,
                          f'in {units[0]}' if units else 'm')  # fmt: skip
    if not np.allclose(R, S, rtol=0, atol=SAME):
        slip = np.allclose(rotation_rpy(*(joint.rpy * DEGREE)), S, rtol=0, atol=SLIP)
        large = float(np.linalg.norm(R - S)) > ANGLE
        yield _difference(joint, 'origin/@rpy', joint.rpy, right.rpy,
                          'rpy-degrees' if slip else '', large,
                          'in degrees' if slip else 'rad')  # fmt: skip
    if not (joint.moves and right.moves):
        return
    a, b = direction(joint), direction(right)
    if not np.allclose(a, b, rtol=0, atol=SLIP):
        slip = np.allclose(-a, b, rtol=0, atol=SLIP)
        yield _difference(joint, 'axis/@xyz', joint.axis, right.axis,
                          'joint-flipped' if slip else '', True,
                          'the opposite direction' if slip else 'another direction')  # fmt: skip
    for key in ('lower', 'upper'):
        here, there = getattr(joint, key), getattr(right, key)
        if abs(here - there) > SAME:  # false if one is missing
            empty = joint.lower == joint.upper
            yield _difference(joint, f'limit/@{key}', np.array(here), np.array(there),
                              'limit-empty' if empty else '', empty,
                              'without a range' if empty else 'rad or m')  # fmt: skip


def _difference(
    joint: Joint, attribute: str, here: Array, there: Array, slip: str, large: bool, what: str
) -> Finding:
    """Return the finding of an attribute that is not that of the reference."""
    message = f'{attribute} is {short(here)}, {what}; the reference has {short(there)}'
    severity = 'warning' if slip or large else 'info'
    repair = (Repair(attribute, here.tolist(), there.tolist()),) if severity == 'warning' else ()
    kind = slip or 'differs-from-reference'
    return Finding(severity, kind, joint.name, message, repair, 'joint')


def _link(link: Link, right: Link) -> Iterator[Finding]:
    turn = link.rotation.T @ right.rotation
    body, tensor = right.body, turn @ right.body.inertia_com @ turn.T
    same = np.allclose(turn, np.eye(3), rtol=0, atol=SAME)
    expected = Inertial(body.mass, body.com, body.inertia_com if same else tensor)
    if not expected.mass or agree(expected, link.body) or inconsistency(expected):
        return
    severity = 'error' if inconsistency(link.body) else 'warning'
    slips = explanations(link, expected) if link.body.mass else []
    if slips:
        message, kind = (
            f'{slips[0].slip}: without it the numbers are those of the reference',
            (slips[0].kind),
        )
    else:
        kind = 'differs-from-reference'
        message = (
            f'mass {link.body.mass:.4g} kg at {short(link.body.com)} m; the reference has '
            f'{body.mass:.4g} kg at {short(body.com)} m'
        )
        if severity == 'warning' and _alike(link.body, expected):
            yield Finding('info', kind, link.name, message)
            return
    yield Finding(severity, kind, link.name, message, inertial_repair(link.body, expected))


def _alike(one: Inertial, two: Inertial) -> bool:
    """Return whether two inertias differ as those of two calibrations may."""
    sizes = [(b.mass, np.trace(b.inertia_com)) for b in (one, two)]
    factors = np.abs(np.log(np.maximum(sizes[0], 1e-300)) - np.log(np.maximum(sizes[1], 1e-300)))
    return bool(factors.max() < np.log(FACTOR) and np.linalg.norm(one.com - two.com) < DISTANCE)
