# SPDX-License-Identifier: Apache-2.0
"""Rules of syntax and topology: what keeps a description from being one robot."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from xml.etree.ElementTree import Element

import numpy as np

from robot_dynamics.check.description import Description, Joint
from robot_dynamics.check.findings import Fault
from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.reporting.findings import Repair
from robot_dynamics.urdf.deviations import MIMICS_FREE, UNKNOWN_ATTRIBUTES, UNKNOWN_ELEMENTS
from robot_dynamics.urdf.rules import MIN_AXIS, checked_element


def structure_findings(robot: Description) -> Iterator[Fault]:
    """Yield the faults of single elements, then those of the tree."""
    found = [*_elements(robot), *_names(robot), *_tree(robot), *_mimics(robot)]
    yield from found
    for kind, sentence in zip(robot.remarks, robot.remarks.sentences(), strict=True):
        # What is not used changes nothing; mimics are findings of their own.
        unused = kind in (UNKNOWN_ATTRIBUTES, UNKNOWN_ELEMENTS)
        if kind != MIMICS_FREE:
            severity, name = 'info' if unused else 'warning', robot.root.get('name', '')
            yield Fault(severity, 'deviation', name, sentence, tag='robot')
    known = any(f.severity == 'error' for f in found)
    if robot.rejection and not known and not any(map(axis_is_zero, robot.joints.values())):
        name = robot.root.get('name', 'robot')
        yield Fault('error', 'rejected', name, robot.rejection, tag='robot')


def axis_is_zero(joint: Joint) -> bool:
    """Return whether a moving joint has an axis without direction."""
    return joint.moves and float(np.linalg.norm(joint.axis)) < MIN_AXIS


def _elements(robot: Description) -> Iterator[Fault]:
    zero_axes = [name for name, joint in robot.joints.items() if axis_is_zero(joint)]
    for position, element in enumerate(robot.root, start=1):
        if element.tag not in ('link', 'joint'):
            continue
        name = element.get('name', '')
        try:
            checked_element(element, position)
        except ModelError as error:
            if not (element.tag == 'joint' and name in zero_axes and '<axis>' in str(error)):
                label, repair = name or f'number {position}', _without_commas(element, position)
                message = f'{error}; with repaired numbers it is valid' if repair else str(error)
                yield Fault(
                    'error', 'invalid-element', label, message, repair, element.tag, proved=True
                )
        if element.get('type') in ('revolute', 'prismatic') and element.find('limit') is None:
            message = 'has no <limit>; expected one with effort and velocity'
            yield Fault('warning', 'invalid-element', name, message, tag='joint')


def _without_commas(element: Element, position: int) -> tuple[Repair, ...]:
    """Return the repairs of numbers with commas or as 0.1f, if they make an element valid."""
    meant, repairs = deepcopy(element), []
    for path, owner, key in _attributes(meant):
        text = owner.get(key, '')
        # 1,500 may be 1.5 or 1500, but beside 0,5 it is 1.5.
        commas = [word for word in text.split() if ',' in word]
        ambiguous = all(re.fullmatch(r'[-+]?[1-9]\d{0,2}(,\d{3})+', word) for word in commas)
        marked = ',' in text and not ambiguous and any(map(str.isdigit, text))
        candidates = [text.replace(',', '.'), text.replace(',', ' ')] if marked else []
        if re.fullmatch(r'\s*[-+]?[\d.]+f\s*', text):  # a literal of C
            candidates = [text.replace('f', '')]
        for new in candidates:
            with suppress(ValueError):
                numbers = [float(word) for word in new.split()]
                owner.set(key, new)
                repairs.append(Repair(path, None, numbers if len(numbers) > 1 else numbers[0]))
                break
    try:
        checked_element(meant, position)
    except ModelError:
        return ()
    return tuple(repairs)


def _attributes(element: Element, path: str = '') -> Iterator[tuple[str, Element, str]]:
    """Yield the attributes below an element that can be named by a path."""
    for child in element:
        if child.tag not in ('visual', 'collision'):
            yield from ((f'{path}{child.tag}/@{key}', child, key) for key in child.attrib)
            yield from _attributes(child, f'{path}{child.tag}/')


def _names(robot: Description) -> Iterator[Fault]:
    for tag in ('link', 'joint'):
        counts = Counter(element.get('name', '') for element in robot.root.findall(tag))
        for name, times in counts.items():
            if times > 1:
                message = f'{times} {tag}s have this name; names must be unique'
                yield Fault('error', 'duplicate-name', name, message, tag=tag)


def _tree(robot: Description) -> Iterator[Fault]:
    parents: dict[str, str] = {}
    for joint in robot.joints.values():
        for role, link in (('parent', joint.parent), ('child', joint.child)):
            if link and link not in robot.links:
                message = f'its {role} link {link!r} is not defined'
                yield Fault('error', 'unknown-link', joint.name, message, tag='joint')
        if joint.child in parents:
            message = f'is the child of joints {parents[joint.child]!r} and {joint.name!r}'
            yield Fault('error', 'two-parents', joint.child, message)
        parents[joint.child] = joint.name
    roots = [name for name in robot.links if name not in parents]
    for name in roots[1:]:
        message = f'has no parent joint, as {roots[0]!r}; expected one root link'
        yield Fault('error', 'several-roots', name, message)
    for loop in _loops(robot):
        message = f'links {" <- ".join([*loop, loop[0]])} are their own ancestors'
        yield Fault('error', 'loop', loop[0], message)


def _loops(robot: Description) -> Iterator[list[str]]:
    """Yield each cycle of links once."""
    settled: set[str] = set()
    for link in robot.links:
        path: dict[str, None] = {}
        while link not in settled and link not in path and link in robot.inward:
            path[link] = None
            link = robot.inward[link].parent
        if link in path:
            yield list(path)[list(path).index(link) :]
        settled.update(path)


def _mimics(robot: Description) -> Iterator[Fault]:
    for element in robot.root.findall('joint'):
        mimic = element.find('mimic')
        if mimic is None or not mimic.get('joint') or element.get('type') == 'fixed':
            continue  # a leader without a name is found with the elements
        leader = robot.joints.get(mimic.get('joint', ''))
        if leader is None or not leader.moves:
            severity, problem = 'error', f'is {"" if leader is None else leader.type}'
            if leader is None:
                severity, problem = 'warning', 'is not defined, so it moves freely'
            message = f'mimics {mimic.get("joint")!r}, which {problem}; expected a moving joint'
            yield Fault(severity, 'mimic-leader', element.get('name', ''), message, tag='joint')
