# SPDX-License-Identifier: Apache-2.0
"""Rules of the places of joints: origins in other units, angles in degrees.

The place of a joint is compared with the geometry of the bodies on both sides: the gap between
their bounding boxes, over the sum of their diagonals. Without geometry it is compared with the
lengths of the other joints. Of several units the one counts that puts the joint nearest to the end
of its parent in that direction; another joint at the same offset, or on the other side, is exact.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from robot_dynamics.check.description import Description, Joint
from robot_dynamics.check.evidence import (
    lost_digits,
)
from robot_dynamics.check.findings import Fault, short
from robot_dynamics.check.hypotheses import (
    LENGTHS,
)
from robot_dynamics.common.reporting.findings import Repair
from robot_dynamics.common.spatial import Array

DEGREE = np.pi / 180
FAR_GAP, NEAR_GAP = 0.6, 0.25  # over the sum of the diagonals of the boxes
# Without geometry: times the longest other joint, of at least so many, and in all, m.
LONG, MIN_OTHERS, LONGEST, SHORT = 3.0, 3, 5.0, 0.5
SAME, TINY = 1e-3, 1e-8  # difference of equal offsets, relative and m
STEP = np.pi / 12  # designers choose angles that are multiples of 15 degrees
ANGLE_TOLERANCE = 2e-3  # rad: angles written with few digits


def placement_findings(robot: Description) -> Iterator[Fault]:
    """Yield origins of joints in mm, cm or inches, and angles in degrees."""
    for joint in robot.joints.values():
        p = joint.placement[:3, 3]
        if implausible(robot, joint):
            repair, unit, proved = _unit(robot, joint)
            seen = _seen(robot, joint)
            message = f'its origin {short(p)} m is {seen}; expected {short(repair)} if in {unit}'
            change = (Repair('origin/@xyz', p.tolist(), repair.tolist()),) if repair.any() else ()
            yield Fault(
                'warning', 'origin-unit', joint.name, message, change, 'joint', proved=proved
            )
        if joint.rpy.any() and in_degrees(robot, joint):
            meant = (joint.rpy * DEGREE).tolist()
            message = (
                f'its angles {short(joint.rpy)} rad are in degrees; expected {short(meant)} rad'
            )
            repaired = (Repair('origin/@rpy', joint.rpy.tolist(), meant),)
            yield Fault(
                'warning', 'rpy-degrees', joint.name, message, repaired, 'joint', proved=True
            )


def implausible(robot: Description, joint: Joint) -> bool:
    """Return whether the origin of a joint is so far away that another unit explains it."""
    p = joint.placement[:3, 3]
    gap = _gap(robot, joint, p)
    if gap is not None and gap <= FAR_GAP:
        return False
    length = float(np.linalg.norm(p))
    others = sorted(_lengths(robot, joint))
    # The first joints may be where the robot stands in the world.
    usual = min([*others[-1:], LONGEST]) if _carried(robot, joint) else LONGEST
    long = len(others) >= MIN_OTHERS and length > LONG * usual
    return bool(length > SHORT and (long or gap is not None)) and any(
        plausible(robot, joint, p * k) for k in LENGTHS
    )


def _carried(robot: Description, joint: Joint) -> bool:
    """Return whether there is a part between a joint and the root."""
    link: str | None = joint.parent
    seen = set()
    while link is not None and link in robot.links and link not in seen:
        seen.add(link)
        if robot.links[link].body.mass or robot.links[link].geometry.shapes:
            return True
        link = robot.inward[link].parent if link in robot.inward else None
    return False


def plausible(robot: Description, joint: Joint, p: Array) -> bool:
    """Return whether a joint may be at a place in its parent."""
    gap = _gap(robot, joint, p)
    if gap is None:
        return bool(np.linalg.norm(p) <= max(_lengths(robot, joint), default=0.0))
    return gap <= NEAR_GAP


def in_degrees(robot: Description, joint: Joint) -> bool:
    """Return whether the angles of a joint are in degrees: beyond a turn, or those of a twin."""
    if round_angles(joint):
        return False
    return bool(np.abs(joint.rpy).max() > 2 * np.pi + ANGLE_TOLERANCE) or any(
        other.rpy.any() and np.allclose(np.abs(joint.rpy * DEGREE), np.abs(other.rpy), rtol=SAME)
        for other in robot.joints.values()
    )


def round_angles(joint: Joint) -> bool:
    """Return whether all angles of a joint are multiples of 15 degrees, as rad."""
    return bool((np.abs(joint.rpy - STEP * np.round(joint.rpy / STEP)) < ANGLE_TOLERANCE).all())


def same_place(robot: Description, joint: Joint, p: Array) -> bool:
    """Return whether another joint has the same offset, but for signs."""
    rows = np.vstack([np.abs(joint.placement[:3, 3]), robot.offsets])
    same = (np.abs(rows - np.abs(p)) <= SAME * np.abs(p) + TINY).all(axis=1)
    return bool(p.any() and same[1:].sum() > same[0])


def _unit(robot: Description, joint: Joint) -> tuple[Array, str, bool]:
    """Return the origin meant, its unit, and whether no other unit explains the place."""
    p = joint.placement[:3, 3]
    expected = _extent(robot, joint) or float(np.median(_lengths(robot, joint) or [1.0]))

    def exact(k: float) -> bool:
        return same_place(robot, joint, p * k) or any(map(lost_digits, p, p * k))

    def cost(k: float) -> float:
        return abs(float(np.log(np.linalg.norm(p) * k / expected))) - 10.0 * exact(k)

    good = [k for k in LENGTHS if plausible(robot, joint, p * k)]
    best = min(good, key=cost)
    alone = len(good) == 1 or [k for k in good if exact(k)] == [best]
    return p * best, LENGTHS[best], alone


def _seen(robot: Description, joint: Joint) -> str:
    if (gap := _gap(robot, joint, joint.placement[:3, 3])) is not None:
        return f'{gap:.3g} diagonals between the geometry of the links on both sides'
    length = float(np.linalg.norm(joint.placement[:3, 3]))
    return f'{length / max(_lengths(robot, joint)):.3g} times as long as that of any other joint'


def _lengths(robot: Description, joint: Joint) -> list[float]:
    """Return the lengths of the offsets of all other joints that have one."""
    own = list(robot.joints.values()).index(joint)
    lengths = np.linalg.norm(np.delete(robot.offsets, own, axis=0), axis=1)
    return [float(length) for length in lengths[lengths > 0]]


# -- bounding boxes ----------------------------------------------------------------------------


def _box(robot: Description, link: str, rigid: bool) -> Array | None:
    """Return the corners (8, 3) of what is drawn of a link, or of its rigid body, in its frame."""
    members = [robot.links[link]] if link in robot.links else []
    if rigid and link in robot.rigid:
        members = list(robot.members(robot.rigid[link]))
    ends = []
    for member in members:
        T = np.eye(4)
        if member.name != link:
            T = np.linalg.inv(robot.placements[link]) @ robot.placements[member.name]
        for solid in member.geometry.solids:
            ends.append(_corners(solid.lower, solid.upper) @ T[:3, :3].T + T[:3, 3])
    if not ends:
        return None
    points = np.concatenate(ends)
    return _corners(points.min(axis=0), points.max(axis=0))


def _corners(lower: Array, upper: Array) -> Array:
    return np.array(list(itertools.product(*zip(lower, upper, strict=True))))


def _gap(robot: Description, joint: Joint, p: Array) -> float | None:
    """Return the gap between the boxes of both sides of a joint at a place, None without both."""
    one, two = (_box(robot, name, joint.moves) for name in (joint.parent, joint.child))
    if one is None or two is None:
        return None
    two = two @ joint.placement[:3, :3].T + p
    apart = np.maximum(two.min(axis=0) - one.max(axis=0), one.min(axis=0) - two.max(axis=0))
    diagonals = sum(float(np.linalg.norm(np.ptp(box, axis=0))) for box in (one, two))
    return float(np.linalg.norm(np.maximum(apart, 0.0))) / diagonals


def _extent(robot: Description, joint: Joint) -> float:
    """Return how far the parent's box reaches towards a joint, 0 without geometry."""
    box, p = _box(robot, joint.parent, joint.moves), joint.placement[:3, 3]
    return 0.0 if box is None else max(float((box @ p).max() / np.linalg.norm(p)), 0.0)
