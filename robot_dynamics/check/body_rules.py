# SPDX-License-Identifier: Apache-2.0
"""Rules of links that load the robot without being parts of it, and of geometry files."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from robot_dynamics.check.description import Description, Link
from robot_dynamics.check.findings import Fault, inertial_repair, is_round
from robot_dynamics.common.errors import ModelError
from robot_dynamics.common.extras import install_line
from robot_dynamics.core.model.inertia import Inertial, second_moment
from robot_dynamics.urdf.geometry.meshes import MeshNotFound, TrimeshMissing
from robot_dynamics.urdf.geometry.shapes import material_colours

MIN_SHARE = 2e-3  # of the robot's mass: lighter links are remarks
SAME_MASS = 1e-6  # relative, of masses and moments
UNSEEN = ('mass-unit', 'inertia-unit', 'com-unit', 'com-sign', 'inertia-permuted')  # by shape
SAME_PLACE = 0.02  # of the radius of gyration


def frame_findings(robot: Description) -> Iterator[Fault]:
    """Yield frames with a mass: fixed links without geometry, which may be payloads or ballast.

    Other links of the robot must show that its parts have geometry. A repair is offered where the
    same mass stands on another link of the body, or the numbers are those of an exporter.
    """
    bodies = [link for link in robot.links.values() if link.body.mass]
    total = sum(link.body.mass for link in bodies)
    drawn = sum(link.geometry.shapes > 0 for link in bodies)
    frames = [link for link in bodies if _is_frame(robot, link)]
    for link in frames if drawn > len(bodies) - drawn else ():
        share = link.body.mass / total
        reason = _reason(robot, link)
        removed = Inertial(0.0, link.body.com, np.zeros((3, 3)))
        yield Fault(
            'info',
            'frame-mass',
            link.name,
            f'has no geometry and {link.body.mass:.4g} kg, {100 * share:.2g} % of the '
            f'robot{reason}',
            inertial_repair(link.body, removed) if reason else (),
        )


def _reason(robot: Description, link: Link) -> str:
    """Return why the mass of a frame may be a mistake, or ''."""
    mass, moments = link.body.mass, np.linalg.eigvalsh(link.body.inertia_com).tolist()
    for other in robot.members(robot.rigid.get(link.name, '')):
        if other is not link and np.isclose(other.body.mass, mass, rtol=SAME_MASS, atol=0):
            return f'; link {other.name!r} of the same body has the same mass'
    if is_round(mass) and moments[0] > 0 and moments[2] - moments[0] <= SAME_MASS * moments[2]:
        return ', with equal moments of inertia, as exporters write for a frame'
    return ''


def _is_frame(robot: Description, link: Link) -> bool:
    """Return whether a link is the root or fixed to another, and has no geometry."""
    joint = robot.inward.get(link.name)
    return (joint is None or joint.type == 'fixed') and not link.geometry.shapes


def payload_findings(robot: Description) -> Iterator[Fault]:
    """Yield pairs of links of one rigid body with the same inertia at the same place."""
    total = sum(link.body.mass for link in robot.links.values())
    for first in dict.fromkeys(robot.rigid.values()):
        for one, two in itertools.combinations(robot.members(first), 2):
            if _coincide(robot, one, two):
                matters = first in robot.inward and two.body.mass > MIN_SHARE * total
                yield Fault(
                    'warning' if matters else 'info',
                    'payload-duplicated',
                    two.name,
                    f'has the mass, {two.body.mass:.4g} kg, the centre of mass and the tensor of '
                    f'link {one.name!r} on the same body; expected one of them',
                    inertial_repair(two.body, Inertial(0.0, two.body.com, np.zeros((3, 3)))),
                )


def _coincide(robot: Description, one: Link, two: Link) -> bool:
    if one.body.mass == 0 or not np.isclose(one.body.mass, two.body.mass, rtol=SAME_MASS):
        return False
    T, U = robot.placements[one.name], robot.placements[two.name]
    apart = T[:3, :3] @ one.body.com + T[:3, 3] - U[:3, :3] @ two.body.com - U[:3, 3]
    tensors = [P[:3, :3] @ link.tensor @ P[:3, :3].T for P, link in ((T, one), (U, two))]
    scale = np.abs(tensors[0]).max()
    radius = np.sqrt(max(np.trace(second_moment(tensors[0])) / one.body.mass, 0.0))
    return bool(
        np.linalg.norm(apart) <= SAME_PLACE * radius
        and np.abs(tensors[0] - tensors[1]).max() <= 1e-3 * scale
    )


def asset_findings(robot: Description) -> Iterator[Fault]:
    """Yield shapes that are wrong, meshes that were not read, and links that were not compared."""
    yield from _material_faults(robot)
    for link in robot.links.values():
        for fault in link.geometry.faults:
            yield Fault('error', 'invalid-geometry', link.name, fault)
        why = 'wrong shapes' if link.geometry.faults else 'no geometry with a volume'
        for error in link.geometry.unread:
            if isinstance(error, TrimeshMissing):
                why = f'trimesh is not installed: {install_line("check")}'
            elif isinstance(error, MeshNotFound):
                yield Fault('warning', 'mesh-unresolved', link.name, str(error))
            else:
                yield Fault('info', 'mesh-unread', link.name, str(error))
        if link.body.mass > 0 and not link.geometry.solids:
            message = f'mass and tensor not checked: {why}'
            yield Fault('info', 'not-checked', link.name, message, slips=UNSEEN)


def _material_faults(robot: Description) -> Iterator[Fault]:
    try:
        material_colours(robot.root)
    except ModelError as error:
        name = robot.root.get('name', '')
        yield Fault('error', 'invalid-geometry', name, str(error), tag='robot')
