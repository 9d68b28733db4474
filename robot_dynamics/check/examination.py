# SPDX-License-Identifier: Apache-2.0
"""All findings about a robot description, and the description with its repairs."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from robot_dynamics.check.body_rules import asset_findings, frame_findings, payload_findings
from robot_dynamics.check.density_rules import density_findings, weight_findings
from robot_dynamics.check.description import Description, read_description, unread
from robot_dynamics.check.doubt_rules import doubt_findings
from robot_dynamics.check.findings import SEVERITIES, TIERS, Fault
from robot_dynamics.check.gravity_rules import gravity_findings
from robot_dynamics.check.inertia_rules import inertia_findings
from robot_dynamics.check.joint_rules import axis_findings, limit_findings
from robot_dynamics.check.placement_rules import placement_findings
from robot_dynamics.check.portable_rules import portable_findings
from robot_dynamics.check.reference_rules import reference_findings
from robot_dynamics.check.rotor_rules import rotor_findings
from robot_dynamics.check.structure_rules import structure_findings
from robot_dynamics.check.twin_rules import (
    known_axes,
    twin_inertia_findings,
    twin_joint_findings,
    twin_limits,
)
from robot_dynamics.check.twins import Twins, find_twins
from robot_dynamics.common.errors import ModelError
from robot_dynamics.core.model.robot_model import STANDARD_GRAVITY, RobotModel
from robot_dynamics.urdf.deviations import NOT_UTF8, EncodingError
from robot_dynamics.urdf.editing import edited
from robot_dynamics.urdf.geometry.meshes import mesh_folders
from robot_dynamics.urdf.loading import is_mjcf, parse_urdf, urdf_text
from robot_dynamics.urdf.robot_files import named, robot_file


@dataclass(frozen=True)
class Examination:
    """A description and the findings about it, by tier and severity."""

    robot: Description
    text: bytes
    expanded: bool  # from xacro
    findings: tuple[Fault, ...]

    def repaired(self, kinds: Iterable[str] | None = None) -> tuple[bytes, list[Fault]]:
        """Return the text with the repairs that are proved, or of the given kinds; and these.

        Raises:
            ModelError: an element to repair is ambiguous, or the text was accepted when loaded and
                its repair is rejected.
        """
        chosen = None if kinds is None else set(kinds)
        done = [
            f
            for f in self.findings
            if (f.applied if chosen is None else f.repair and f.kind in chosen)
        ]
        text = edited(self.text, [change for f in done for change in f.changes()])
        if self.robot.model is not None:
            parsed(text)
        return text, done

    def to_json(self) -> dict[str, Any]:
        """Return the findings as a JSON object."""
        return {
            'robot': self.robot.root.get('name', ''),
            'expanded_from_xacro': self.expanded,
            'findings': [finding.to_json() for finding in self.findings],
        }


def examine(
    path: str | os.PathLike[str],
    package_paths: Sequence[Path] = (),
    reference: str | os.PathLike[str] | None = None,
    weight: float | None = None,
    xacro_arguments: Mapping[str, str] | None = None,
    portable: bool = False,
    gravity: ArrayLike = STANDARD_GRAVITY,
) -> Examination:
    """Return the findings about a URDF or xacro file, or a bundled robot.

    Args:
        path: the file or name.
        package_paths: folders of packages, searched before the ament index, ROS_PACKAGE_PATH and
            the parents of the file.
        reference: a description of the same robot to compare with, file or name.
        weight: kg, of the whole robot on its data sheet; None: not compared.
        xacro_arguments: values of the arguments of a .xacro file, by name.
        portable: whether to find what other programs read differently.
        gravity: (3,) gravity vector, base frame, m/s^2.

    Raises:
        ModelError: the file, or that of the reference, cannot be read.
    """
    with named(path):
        folders = mesh_folders(robot_file(path), package_paths)
    robot, text, expanded = _read(path, folders, xacro_arguments, package_paths)
    right = None if reference is None else _read(reference, (), None, package_paths)[0]
    if right is not None and not right.links:
        raise ModelError(f'{reference}: {right.rejection}')
    written = robot
    found = [*structure_findings(robot)]
    found += portable_findings(robot, text) if portable else []
    robot, readable = _read_repaired(robot, text, found, folders)
    different = [] if right is None else list(reference_findings(robot, right))
    # Rules of inertias, twins and gravity see the joints where they should be.
    places = list(placement_findings(robot))
    joints = [f for f in different + _without(places, different) if f.tag == 'joint']
    robot, readable = _read_repaired(robot, readable, joints, folders)
    twins = find_twins(robot)
    plausible = [*_links(robot, twins, weight), *_joints(robot, twins), *asset_findings(robot)]
    found += different + _without(places + plausible, different)
    found = _without_unsafe_repairs(found)
    if is_mjcf(path):
        # It has no limits of velocity; a URDF states those that are missing as 0.
        found = [f for f in found if f.kind != 'limit-zero']
    found += _doubts(robot, twins, found, right)
    found += _gravity(readable, robot, found, gravity)
    found.sort(key=lambda f: (SEVERITIES.index(f.severity), TIERS.index(f.tier)))
    return Examination(written, text, expanded, tuple(found))


def _read(
    path: str | os.PathLike[str],
    folders: Sequence[Path],
    xacro_arguments: Mapping[str, str] | None,
    package_paths: Sequence[Path],
) -> tuple[Description, bytes, bool]:
    """Return a description, its text, and whether that was expanded from xacro."""
    with named(path):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter('always')
            try:
                contents = urdf_text(path, xacro_arguments, package_paths)
            except EncodingError as error:
                return unread(str(error)), b'', False
        text = contents.encode() if isinstance(contents, str) else contents
        robot = read_description(text, folders)
    for warning in map(str, (one.message for one in seen)):
        if not warning.startswith(NOT_UTF8):
            warnings.warn(warning, UserWarning, stacklevel=3)
        elif robot.links:
            robot.remarks.add(NOT_UTF8, warning.removeprefix(f'{NOT_UTF8}: '))
    return robot, text, isinstance(contents, str)


def _read_repaired(
    robot: Description, text: bytes, found: list[Fault], folders: Sequence[Path]
) -> tuple[Description, bytes]:
    """Return the description and the text with the repairs of some findings."""
    if changes := [change for finding in found for change in finding.changes()]:
        with suppress(ModelError):
            repaired = edited(text, changes)
            return read_description(repaired, folders), repaired
    return robot, text


def _without(found: list[Fault], different: list[Fault]) -> list[Fault]:
    """Return the findings but what is only plausible of elements that a reference tells."""
    known = {(f.tag, f.element) for f in different if f.severity != 'info'}
    return [
        f
        for f in found
        if (f.tag, f.element) not in known or f.tier not in ('physics', 'plausibility')
    ]


def _doubts(
    robot: Description, twins: list[Twins], found: list[Fault], right: Description | None
) -> Iterator[Fault]:
    """Yield what cannot be told, except of what is named."""
    named = {(f.element, f.kind) for f in found}
    for doubt in doubt_findings(robot, twins, known_axes(robot, twins), right):
        if not any((doubt.element, kind) in named for kind in doubt.slips):
            yield doubt


def _without_unsafe_repairs(found: list[Fault]) -> list[Fault]:
    """Return the findings, without repairs of elements that are ambiguous or malformed."""
    unsafe = {
        f.element
        for f in found
        if f.kind == 'duplicate-name' or (f.kind == 'invalid-element' and not f.repair)
    }
    defaults = {f.element for f in found if f.kind == 'default-inertial'}
    return [
        replace(f, repair=()) if f.element in unsafe else f
        for f in found
        if not (f.kind in ('payload-duplicated', 'frame-mass') and f.element in defaults)
    ]


def _links(robot: Description, twins: list[Twins], weight: float | None) -> Iterator[Fault]:
    yield from _inertias(robot, twins)
    yield from density_findings(robot)
    yield from () if weight is None else weight_findings(robot, weight)
    yield from frame_findings(robot)
    yield from payload_findings(robot)


def _joints(robot: Description, twins: list[Twins]) -> Iterator[Fault]:
    yield from axis_findings(robot)
    yield from limit_findings(robot, twin_limits(robot, twins))
    yield from twin_joint_findings(robot, twins)
    yield from rotor_findings(robot)


def _inertias(robot: Description, twins: list[Twins]) -> Iterator[Fault]:
    """Yield one finding per link: that of the mirrored twin, whose numbers are exact, if any."""
    by_twin = {f.element: f for f in twin_inertia_findings(robot, twins)}
    found = list(inertia_findings(robot))
    # A slip of one sign is not made on both sides.
    signs = {finding.element for finding in found if finding.kind == 'com-sign'}
    pairs = [{pair.one.name, pair.two.name} for pair in twins]
    if both := set[str]().union(*(pair for pair in pairs if pair <= signs)):
        found = list(inertia_findings(robot, both))
    for finding in found:
        yield by_twin.pop(finding.element, finding)
    yield from by_twin.values()


def _gravity(
    text: bytes, robot: Description, found: list[Fault], gravity: ArrayLike
) -> list[Fault]:
    """Return the findings about the gravity torques of the repaired robot."""
    model = robot.model
    # What would be blamed on the weight otherwise; remarks would take away masses.
    loud = [finding for finding in found if finding.severity != 'info']
    changes = [change for finding in loud for change in finding.changes()]
    if model is not None and changes:
        with suppress(ModelError):
            model = parsed(edited(text, changes))
    if model is None:
        return []
    return list(gravity_findings(robot, model.with_gravity(gravity)))


def parsed(text: bytes) -> RobotModel:
    """Return the model of a URDF, without its warnings. Raises ModelError."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        return parse_urdf(text)
