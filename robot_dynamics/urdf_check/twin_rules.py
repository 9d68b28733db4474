"""Rules of twins: slips in an inertia or axis that the mirrored twin does not have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from robot_dynamics.model.inertia import Inertial, inconsistency, second_moment
from robot_dynamics.spatial import Array
from robot_dynamics.urdf_check.description import Description, Joint, Link
from robot_dynamics.urdf_check.evidence import (
    USUAL,
    Hypothesis,
    best_fit,
    entry_hypotheses,
    tensor_distance,
    tensor_hypotheses,
    unit_hypotheses,
)
from robot_dynamics.urdf_check.findings import Finding, Repair, inertial_repair, short
from robot_dynamics.urdf_check.twins import Twins, agree, tensors_agree

LIMIT_TOLERANCE = 1e-3  # rad or m
NO_CONVENTION = 'neither motion nor axis is that of the other side'
SNAP = 1e-9  # of the largest moment: differences of rounding size are none


class _Slip(NamedTuple):
    """A slip of one of two twins."""

    link: Link
    twin: Link
    hypothesis: Hypothesis


def twin_inertia_findings(robot: Description, twins: list[Twins]) -> Iterator[Finding]:
    """Yield inertias that one slip makes the mirror image of their twin's."""
    for pair in twins:
        if pair.one.body is None or pair.two.body is None:
            continue
        if pair.related(robot):
            continue
        slips = [
            _Slip(link, twin, hypothesis)
            for link, twin in ((pair.two, pair.one), (pair.one, pair.two))
            for hypothesis in _hypotheses(robot, pair, link, twin)[:1]
        ]
        if not slips:
            continue
        slip = max(slips, key=lambda slip: _gain(robot, slip))
        assert slip.link.body is not None
        repair = inertial_repair(slip.link.body, slip.hypothesis.body)
        severity = 'error' if inconsistency(slip.link.body) else 'warning'
        message = (
            f'{slip.hypothesis.slip}: without it the numbers are those of the mirrored twin '
            f'{slip.twin.name!r}'
        )
        yield Finding(severity, slip.hypothesis.kind, slip.link.name, message, repair)


def _hypotheses(robot: Description, pair: Twins, link: Link, twin: Link) -> list[Hypothesis]:
    """Return the slips that make a link the mirror image of its twin."""
    assert link.body is not None
    expected = pair.image(robot, twin, link)
    if inconsistency(expected):
        return []
    candidates = [
        *unit_hypotheses(link.body),
        *tensor_hypotheses(link),
        *entry_hypotheses(link.body),
    ]
    found = [h for h in candidates if agree(expected, h.body)]
    if not found and inconsistency(link.body):
        meant = Inertial(link.body.mass, link.body.com, _snapped(expected, link.body))
        if agree(expected, meant) and not tensors_agree(expected, link.body):
            slip = f'{inconsistency(link.body)}; tensor of the twin'
            found = [Hypothesis('inertia-inconsistent', meant, slip)]
    return found


def _snapped(expected: Inertial, old: Inertial) -> Array:
    """Return the expected tensor, with the digits of the old one where they agree."""
    scale = SNAP * np.abs(expected.inertia_com).max()
    same = np.abs(expected.inertia_com - old.inertia_com) <= scale
    return np.where(same, old.inertia_com, expected.inertia_com)


def _gain(robot: Description, slip: _Slip) -> float:
    """Return how much more plausible a link is without the slip."""
    assert slip.link.body is not None
    return _cost(robot, slip.link, slip.link.body) - _cost(robot, slip.link, slip.hypothesis.body)


def _cost(robot: Description, link: Link, body: Inertial) -> float:
    """Return how implausible an inertia is, by geometry if there is any, else by the skeleton."""
    cost = 100.0 if inconsistency(body) else 0.0
    fit = best_fit(link, body)
    if fit is not None and link.geometry.solids:
        return cost + USUAL.cost(fit) + min(tensor_distance(link, body), 20.0)
    masses = [other.body.mass for other in robot.links.values() if other.body and other.body.mass]
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


def twin_joint_findings(robot: Description, twins: list[Twins]) -> Iterator[Finding]:
    """Yield joints that turn the other way than their mirrored twins.

    Without limits that tell, one such pair is a slip; several are a design.
    """
    reasons = []
    for pair in twins:
        one, two = (robot.inward[link.name] for link in (pair.one, pair.two))
        reason = _flip(robot, pair, one, two)
        if reason:
            wrong, twin = (one, two) if _negative(one) > _negative(two) else (two, one)
            reasons.append((reason, wrong, twin))
    exceptions = sum(reason == NO_CONVENTION for reason, _, _ in reasons)
    for reason, wrong, twin in reasons:
        assert wrong.axis is not None
        flipped = (0.0 - wrong.axis).tolist()
        message = (
            f'its axis {short(wrong.axis)} is opposite to that of its mirrored twin '
            f'{twin.name!r}: {reason}'
        )
        severity = 'info' if reason == NO_CONVENTION and exceptions > 1 else 'warning'
        repair = (Repair('axis/@xyz', wrong.axis.tolist(), flipped),)
        yield Finding(severity, 'joint-flipped', wrong.name, message, repair, 'joint')


def _negative(joint: Joint) -> float:
    assert joint.axis is not None
    return -float(joint.axis.sum())


def _flip(robot: Description, pair: Twins, one: Joint, two: Joint) -> str | None:
    """Return the evidence that one of two joints is flipped, or None."""
    if not one.moves or one.axis is None or two.axis is None:
        return None
    a = robot.placements[one.child][:3, :3] @ one.axis
    b = robot.placements[two.child][:3, :3] @ two.axis
    # A rotation vector is an axial vector: its mirror image has the opposite sign.
    image = pair.plane.reflection @ a * (1 if one.type == 'prismatic' else -1)
    sense = float(np.sign(image @ b))
    if not np.allclose(b, sense * image, atol=1e-3):
        return None
    ends = [(j.lower, j.upper) for j in (one, two) if j.has_limit and j.type != 'continuous']
    if len(ends) == 2 and None not in (*ends[0], *ends[1]):
        (low, high), other = np.array(ends, dtype=float)
        mirrored = (low, high) if sense > 0 else (-high, -low)
        reversed_limits = (-mirrored[1], -mirrored[0])
        if np.allclose(mirrored, other, atol=LIMIT_TOLERANCE):
            symmetric = np.allclose(low, -high, atol=LIMIT_TOLERANCE)
        elif np.allclose(reversed_limits, other, atol=LIMIT_TOLERANCE):
            return 'the limits are those of the other direction'
        else:
            return None
        if not symmetric:
            return None
    # Symmetric limits: sides agree in the motion or in the axis, or they have no convention.
    # Frames that are turned copies have the same axis in their own coordinates.
    if sense < 0 and not np.allclose(a, b, atol=1e-3) and not np.allclose(one.axis, two.axis):
        return NO_CONVENTION
    return None
