# SPDX-License-Identifier: Apache-2.0
"""Rules of a reference: another description of the robot, compared by the names of its elements.

What differs between two models, whatever their names and frames are, is said by `sameness`; here
texts are compared, to repair the one.

A slip that makes a number that of the reference is named as such. Other differences are warnings
beyond what two calibrations of one robot differ by, else remarks.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robot_dynamics.check.description import Description, Joint, Link
from robot_dynamics.check.findings import Fault, inertial_repair, short
from robot_dynamics.check.hypotheses import (
    LENGTHS,
)
from robot_dynamics.check.joint_rules import direction
from robot_dynamics.check.placement_rules import DEGREE
from robot_dynamics.check.twin_rules import explanations
from robot_dynamics.check.twins import agree
from robot_dynamics.common.reporting.findings import Repair
from robot_dynamics.common.spatial import Array, rotation_rpy
from robot_dynamics.core.model.inertia import Inertial, inconsistency

# Beyond calibration: m, rad, and a factor of mass or moments.
DISTANCE, ANGLE, FACTOR = 0.01, 0.02, 2.0
SAME = 1e-6  # m, rad
SLIP = 1e-3  # relative, of a number whose slip is undone


def reference_findings(robot: Description, reference: Description) -> Iterator[Fault]:
    """Yield the differences of a description from a reference."""
    for name, joint in robot.joints.items():
        if name in reference.joints:
            yield from _joint(joint, reference.joints[name])
    for name, link in robot.links.items():
        if name in reference.links:
            yield from _link(link, reference.links[name])


def _joint(joint: Joint, right: Joint) -> Iterator[Fault]:
    p, q = joint.placement[:3, 3], right.placement[:3, 3]
    R, S = joint.placement[:3, :3], right.placement[:3, :3]
    unit = any(np.allclose(p * k, q, rtol=SLIP, atol=SAME) for k in LENGTHS)
    degrees = np.allclose(rotation_rpy(*(joint.rpy * DEGREE)), S, rtol=0, atol=SLIP)
    # attribute, here, in the reference, how far apart, the most by calibration, slip
    rows: list[tuple[str, Array, Array, float, float, str]] = [
        ('origin/@xyz', p, q, _norm(p - q), DISTANCE, 'origin-unit' * unit),
        ('origin/@rpy', joint.rpy, right.rpy, _norm(R - S), ANGLE, 'rpy-degrees' * degrees),
    ]
    # An axis without direction, or of no numbers, has its own finding.
    if joint.moves and right.moves and np.linalg.norm(joint.axis) > 0:
        a, b = direction(joint), direction(right)
        flipped = 'joint-flipped' * np.allclose(-a, b, rtol=0, atol=SLIP)
        rows.append(('axis/@xyz', joint.axis, right.axis, _norm(a - b), ANGLE, flipped))
        for key in ('lower', 'upper'):
            here, there = np.array(getattr(joint, key)), np.array(getattr(right, key))
            empty = 'limit-empty' * (joint.lower == joint.upper)
            rows.append((f'limit/@{key}', here, there, _norm(here - there), np.inf, empty))
    for attribute, here, there, apart, most, slip in rows:
        if apart > SAME:  # false where numbers are missing
            message = f'{attribute} is {short(here)}; the reference has {short(there)}'
            loud = bool(slip) or apart > most
            repair = (Repair(attribute, here.tolist(), there.tolist()),) if loud else ()
            kind = slip or 'differs-from-reference'
            severity = 'warning' if loud else 'info'
            yield Fault(severity, kind, joint.name, message, repair, 'joint', proved=True)


def _norm(difference: Array) -> float:
    return float(np.linalg.norm(difference))


def _link(link: Link, right: Link) -> Iterator[Fault]:
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
            yield Fault('info', kind, link.name, message)
            return
    repair = inertial_repair(link.body, expected)
    yield Fault(severity, kind, link.name, message, repair, proved=True)


def _alike(one: Inertial, two: Inertial) -> bool:
    """Return whether two inertias differ as those of two calibrations may."""
    sizes = [(b.mass, np.trace(b.inertia_com)) for b in (one, two)]
    factors = np.abs(np.log(np.maximum(sizes[0], 1e-300)) - np.log(np.maximum(sizes[1], 1e-300)))
    return bool(factors.max() < np.log(FACTOR) and np.linalg.norm(one.com - two.com) < DISTANCE)
