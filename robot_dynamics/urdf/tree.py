# SPDX-License-Identifier: Apache-2.0
"""Tree of the links of a URDF, and the coordinate that moves each joint.

Links and joints may be listed in any order. They form one tree, traversed depth-first with
siblings in document order. Every joint, whether independent, mimic (also of a mimic) or locked, is
reduced to the form

    position = multiplier * q[coordinate] + offset;

a joint without a coordinate stays at its offset.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from robot_dynamics.common.errors import ModelError
from robot_dynamics.urdf.rules import MAX_NUMBER


class JointMotion(NamedTuple):
    """A joint's position as multiplier * q[coordinate] + offset, in rad or m."""

    coordinate: str | None = None
    multiplier: float = 0.0
    offset: float = 0.0


class LinkTree(NamedTuple):
    """Links and joints of a robot, checked to form one tree."""

    root: str
    links: Mapping[str, Any]  # by name, document order
    joints: Mapping[str, Any]  # by name, document order
    children: Mapping[str, list[Any]]  # joints that leave a link, document order

    def walk(self) -> Iterator[Any]:
        """Yield the joints depth-first, parents before their children."""
        waiting = self.children[self.root][::-1]
        while waiting:
            joint = waiting.pop()
            yield joint
            waiting.extend(self.children[joint.child][::-1])

    def path(self, link: str) -> list[Any]:
        """Return the joints between the root and a link, tip first."""
        inward = {joint.child: joint for joint in self.joints.values()}
        joints = []
        while link != self.root:
            joints.append(inward[link])
            link = inward[link].parent
        return joints


def link_tree(robot: Any) -> LinkTree:
    """Return the tree of a robot read by `read_urdf`.

    Raises:
        ModelError: a name is repeated or unknown, a link has two parents, or the links do not
            form one tree.
    """
    links, joints = _by_name('link', robot.links), _by_name('joint', robot.joints)
    if not links:
        raise ModelError(f'robot {robot.name!r} has no link; expected at least two, and a joint')
    inward = _inward_joints(links, joints)
    children: dict[str, list[Any]] = {name: [] for name in links}
    for joint in joints.values():
        children[joint.parent].append(joint)
    roots = [name for name in links if name not in inward]
    if len(roots) > 1:
        raise ModelError(
            f'links {_listed(roots)} have no parent joint; '
            'exactly one link, the root, must have none'
        )
    tree = LinkTree(roots[0] if roots else '', links, joints, children)
    _reject_loop(tree, inward)
    return tree


def joint_motions(
    tree: LinkTree, locked: Mapping[str, float], tip_link: str | None
) -> dict[str, JointMotion]:
    """Return the motion of each joint; fixed and locked joints have no coordinate.

    Args:
        tree: the robot.
        locked: positions [rad or m] of locked independent joints.
        tip_link: if given, every coordinate that does not move this link is locked, at 0 or at
            its value in `locked`.

    Raises:
        ModelError: a mimic has no leader, or a name or value is wrong.
    """
    motions = {
        name: JointMotion() if joint.type == 'fixed' else _mimicked(joint, tree.joints)
        for name, joint in tree.joints.items()
    }
    values = _locked_values(motions, locked)
    if tip_link is not None:
        if tip_link not in tree.links:
            raise ModelError(f'tip_link is {tip_link!r}; expected one of {_listed(tree.links)}')
        needed = {motions[joint.name].coordinate for joint in tree.path(tip_link)}
        coordinates = {motion.coordinate for motion in motions.values() if motion.coordinate}
        values = {**dict.fromkeys(coordinates - needed, 0.0), **values}
    return {name: _with_locked(motion, values) for name, motion in motions.items()}


def _by_name(kind: str, items: list[Any]) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for item in items:
        if item.name in named:
            raise ModelError(f'{kind} {item.name!r} is defined twice; names must be unique')
        named[item.name] = item
    return named


def _inward_joints(links: Mapping[str, Any], joints: Mapping[str, Any]) -> dict[str, Any]:
    """Return the joint between each link and its parent."""
    inward: dict[str, Any] = {}
    for joint in joints.values():
        for role in ('parent', 'child'):
            link = getattr(joint, role)
            if link not in links:
                raise ModelError(
                    f'joint {joint.name!r}: its {role} link {link!r} is not defined; '
                    f'links are {_listed(links)}'
                )
        if joint.child in inward:
            raise ModelError(
                f'link {joint.child!r} has two parents, by joints {inward[joint.child].name!r} '
                f'and {joint.name!r}; kinematic loops cannot be described in a URDF'
            )
        inward[joint.child] = joint
    return inward


def _reject_loop(tree: LinkTree, inward: Mapping[str, Any]) -> None:
    """Raise ModelError, with the links in order, if links are their own ancestors."""
    reached = {tree.root, *(joint.child for joint in tree.walk())} if tree.root else set()
    astray = next((link for link in tree.links if link not in reached), None)
    if astray is None:
        return
    seen: dict[str, None] = {}
    while astray not in seen:
        seen[astray] = None
        astray = inward[astray].parent
    loop = list(seen)[list(seen).index(astray) :]
    raise ModelError(
        f'links {" <- ".join([*loop, astray])} form a loop; a URDF is a tree with one root link'
    )


def _mimicked(joint: Any, joints: Mapping[str, Any]) -> JointMotion:
    """Return the motion of a moving joint in the coordinate of its last leader."""
    multiplier, offset, chain = 1.0, 0.0, {joint.name: joint}
    while joint.mimic is not None:
        # a (b q + c) + d = (a b) q + (a c + d)
        offset += multiplier * joint.mimic.offset
        multiplier *= joint.mimic.multiplier
        joint = _leader(joint, joints)
        if joint.name in chain:
            loop = ' -> '.join([*chain, joint.name])
            raise ModelError(f'joints mimic each other in a loop: {loop}')
        chain[joint.name] = joint
    if not max(abs(multiplier), abs(offset)) <= MAX_NUMBER:
        raise ModelError(
            f'joint {next(iter(chain))!r} mimics {joint.name!r} with multiplier {multiplier:g} '
            f'and offset {offset:g}; expected at most {MAX_NUMBER:g} each'
        )
    return JointMotion(joint.name, multiplier, offset)


def _leader(joint: Any, joints: Mapping[str, Any]) -> Any:
    """Return the joint that a mimic joint names."""
    leader = joints.get(joint.mimic.joint)
    if leader is None or leader.type == 'fixed':
        problem = 'is not defined' if leader is None else 'is fixed'
        raise ModelError(
            f'joint {joint.name!r} mimics {joint.mimic.joint!r}, which {problem}; '
            'expected a moving joint'
        )
    return leader


def _locked_values(
    motions: Mapping[str, JointMotion], locked: Mapping[str, float]
) -> dict[str, float]:
    """Return the locked values as floats, once each is checked to be that of a coordinate."""
    values = {}
    for name, value in locked.items():
        leader = motions[name].coordinate if name in motions else None
        if leader is None:
            known = [other for other, motion in motions.items() if motion.coordinate == other]
            raise ModelError(
                f'locked_joints: {name!r} is not a moving joint; expected one of {_listed(known)}'
            )
        if leader != name:
            raise ModelError(f'locked_joints: {name!r} mimics {leader!r}; lock {leader!r} instead')
        values[name] = _finite(name, value)
    return values


def _finite(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not abs(number) <= MAX_NUMBER:
        raise ModelError(
            f'locked_joints: {name!r} has value {value!r}; it must be a finite number, rad or m'
        )
    return number


def _with_locked(motion: JointMotion, values: Mapping[str, float]) -> JointMotion:
    """Return the motion with locked coordinates replaced by their values."""
    if motion.coordinate is None or motion.multiplier == 0:
        return JointMotion(offset=motion.offset)
    if motion.coordinate in values:
        return JointMotion(offset=motion.multiplier * values[motion.coordinate] + motion.offset)
    return motion


def _listed(names: Any) -> str:
    """Return the names for a message, at most 40 of them."""
    shown = [repr(name) for name in names]
    return ', '.join(shown if len(shown) <= 40 else [*shown[:40], f'... ({len(shown)} in all)'])
