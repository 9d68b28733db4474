"""How the links of a URDF hang together, and which coordinate moves each joint.

A URDF lists links and joints in any order. Here they become one tree, walked depth-first with
siblings in document order; and every joint, be it free, a mimic, a mimic of a mimic or locked, is
brought to the one form

    position = multiplier * q[coordinate] + offset,

where a joint without a coordinate stays at its offset.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from robot_dynamics.errors import ModelError
from robot_dynamics.urdf.rules import MAX_NUMBER


class Motion(NamedTuple):
    """A joint's position as multiplier * q[coordinate] + offset, in rad or m."""

    coordinate: str | None = None
    multiplier: float = 0.0
    offset: float = 0.0


class LinkTree(NamedTuple):
    """The links and joints of a robot, known to form one tree."""

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
        ModelError: a name occurs twice or is unknown, a link has two parents, or the links form
            no single tree.
    """
    links, joints = _by_name('link', robot.links), _by_name('joint', robot.joints)
    if not links:
        raise ModelError(f'robot {robot.name!r} has no link; it needs two and a joint between')
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
    _refuse_loop(tree, inward)
    return tree


def joint_motions(
    tree: LinkTree, locked: Mapping[str, float], tip_link: str | None
) -> dict[str, Motion]:
    """Return how each joint moves; fixed and locked ones have no coordinate.

    Args:
        tree: the robot.
        locked: values [rad or m] at which independent joints stand still.
        tip_link: if given, every coordinate that does not move this link is locked at 0, unless
            `locked` gives it another value.

    Raises:
        ModelError: a mimic has no leader, or a name or value is wrong.
    """
    motions = {
        name: Motion() if joint.type == 'fixed' else _mimicked(joint, tree.joints)
        for name, joint in tree.joints.items()
    }
    values = _locked_values(motions, locked)
    if tip_link is not None:
        if tip_link not in tree.links:
            raise ModelError(
                f'tip_link {tip_link!r} is not a link; those are {_listed(tree.links)}'
            )
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
    """Return the one joint that leads to each link from its parent."""
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


def _refuse_loop(tree: LinkTree, inward: Mapping[str, Any]) -> None:
    """Raise ModelError if some links are each other's ancestors, naming them in order."""
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


def _mimicked(joint: Any, joints: Mapping[str, Any]) -> Motion:
    """Return the motion of a moving joint, following its mimics to the one that leads them all."""
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
            f'and offset {offset:g} in all; neither may exceed {MAX_NUMBER:g}'
        )
    return Motion(joint.name, multiplier, offset)


def _leader(joint: Any, joints: Mapping[str, Any]) -> Any:
    """Return the joint that a mimic joint names."""
    leader = joints.get(joint.mimic.joint)
    if leader is None or leader.type == 'fixed':
        problem = 'is not defined' if leader is None else 'is fixed'
        raise ModelError(
            f'joint {joint.name!r} mimics {joint.mimic.joint!r}, which {problem}; '
            'it must be a joint that moves'
        )
    return leader


def _locked_values(motions: Mapping[str, Motion], locked: Mapping[str, float]) -> dict[str, float]:
    """Return the locked values as floats, after checking that each is a coordinate's."""
    values = {}
    for name, value in locked.items():
        leader = motions[name].coordinate if name in motions else None
        if leader is None:
            known = [other for other, motion in motions.items() if motion.coordinate == other]
            raise ModelError(
                f'locked_joints: {name!r} is not a joint that moves; those are {_listed(known)}'
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


def _with_locked(motion: Motion, values: Mapping[str, float]) -> Motion:
    """Return the motion once the locked coordinates stand still."""
    if motion.coordinate is None or motion.multiplier == 0:
        return Motion(offset=motion.offset)
    if motion.coordinate in values:
        return Motion(offset=motion.multiplier * values[motion.coordinate] + motion.offset)
    return motion


def _listed(names: Any) -> str:
    """Return the names for a message, shortened where there are very many."""
    shown = [repr(name) for name in names]
    return ', '.join(shown if len(shown) <= 40 else [*shown[:40], f'... ({len(shown)} in all)'])
