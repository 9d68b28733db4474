# SPDX-License-Identifier: Apache-2.0
"""Rules of the inertia of single links."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from robot_dynamics.check.description import Description, Link
from robot_dynamics.check.evidence import (
    DENSITIES,
    SIZES,
    Slip,
    Typical,
    best_fit,
    consistent_slip,
    tensor_distance,
    tensor_slip,
    typical_fit,
    unit_slip,
)
from robot_dynamics.check.findings import Fault, inertial_repair, is_round, short
from robot_dynamics.check.hypotheses import (
    Hypothesis,
)
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.inertia import Inertial, consistent, inconsistency

# Of the robot's mass, and of its mass times squared reach: less is a remark, not a warning.
MIN_SHARE, MIN_TENSOR_SHARE = 5e-4, 1e-3
# A link with geometry but no <inertial>: the density of its body, and its share of the volume.
LIGHT_DENSITY, OWN_SHARE = 50.0, 0.2
FITS = 0.5


def inertia_findings(robot: Description, both_sides: Collection[str] = ()) -> Iterator[Fault]:
    """Yield the faults of inertias, at most one per link.

    Args:
        robot: the description.
        both_sides: links whose twins have a centre of mass of the same, unlikely sign.
    """
    placeholders = {finding.element: finding for finding in _placeholders(robot)}
    typical = typical_fit(robot)
    for link in robot.links.values():
        if link.name in placeholders:
            yield placeholders[link.name]
        elif link.has_inertial:
            # Without a tree the other side is not known.
            unknown = link.name in both_sides or not robot.rigid
            yield from _inertia(robot, link, typical, unknown)
        else:
            yield from _missing(robot, link)


def _inertia(
    robot: Description, link: Link, typical: Typical, both_sides: bool
) -> Iterator[Fault]:
    """Yield the fault of a link with numbers that can be read."""
    body = link.body
    reason = inconsistency(body)
    if reason is None and body.mass == 0:
        return
    reach = float(np.linalg.norm(robot.offsets, axis=1).sum()) if len(robot.offsets) else 0.0
    if slip := unit_slip(link, typical, both_sides, reach, _elsewhere(robot, link)):
        message = f'{slip.meant.slip}: {_numbers(link, slip.meant, typical)}'
        severity = _impossible(robot, link) if reason else _severity(robot, link, slip.meant.body)
        yield _slipped(link, slip, severity, message)
    elif body.mass == 0:
        message = f'{reason}; expected a mass, or a tensor of zeros'
        repair = inertial_repair(body, consistent(body))
        severity = _impossible(robot, link)
        yield Fault(severity, 'inertia-without-mass', link.name, message, repair)
    elif reason:
        how = 'the repair is the nearest physically consistent tensor'
        meant = consistent_slip(link)
        if meant is not None:
            how = f'{meant.slip} explains it'
        repair = inertial_repair(body, consistent(body) if meant is None else meant.body)
        message, severity = f'{reason}; {how}', _impossible(robot, link)
        yield Fault(severity, 'inertia-inconsistent', link.name, message, repair, proved=True)
    elif slip := tensor_slip(link):
        now, then = (tensor_distance(link, b) for b in (body, slip.meant.body))
        message = (
            f'{slip.meant.slip}: distance {now:.2g} from the tensor of the geometry, {then:.2g} '
            'if repaired'
        )
        severity = _severity(robot, link, slip.meant.body)
        yield _slipped(link, slip, severity, message)
    else:
        yield from _implausible(robot, link)


def _slipped(link: Link, slip: Slip, severity: str, message: str) -> Fault:
    """Return the finding of a slip, with a repair if no other slip explains the numbers."""
    repair = inertial_repair(link.body, slip.meant.body) if slip.unique else ()
    message += '' if slip.unique else '; other slips explain it, too'
    return Fault(severity, slip.meant.kind, link.name, message, repair, proved=slip.proved)


def _elsewhere(robot: Description, link: Link) -> list[Array]:
    """Return the centre of mass (3,) if its numbers are those of the root's or parent's frame."""
    if link.name not in robot.inward or link.name not in robot.placements:
        return []
    poses = robot.placements[link.name], robot.inward[link.name].placement
    return [T[:3, :3].T @ (link.body.com - T[:3, 3]) for T in poses]


def _numbers(link: Link, slip: Hypothesis, typical: Typical) -> str:
    """Return the numbers that a slip of a unit made implausible, before and after its repair."""
    now, then = (best_fit(link, body, typical) for body in (link.body, slip.body))
    assert now is not None
    assert then is not None
    density = f'density {now.density:.3g} kg/m^3, {then.density:.3g} if repaired'
    size = f'{now.size:.3g} times that of the geometry, {then.size:.3g}'
    if not link.geometry.solids:
        density = 'compared with the masses of the other links'
        size = f'{now.size:.3g} times that of a link of its length, {then.size:.3g}'
    place = f'{now.excess:.3g} diagonals of the geometry outside, {then.excess:.2g} if repaired'
    return {
        'mass-unit': density,
        'inertia-unit': f'radius of gyration {size} if repaired',
        'com-unit': place,
        'com-sign': place,
    }[slip.kind]


def _implausible(robot: Description, link: Link) -> Iterator[Fault]:
    """Yield numbers outside what parts are made of, without an explanation."""
    fit = best_fit(link, link.body)
    if fit is None or not fit.faults or not link.geometry.solids:
        return
    diagonal = max(np.linalg.norm(s.upper - s.lower) for s in link.geometry.solids)
    messages = {
        'density': f'density {fit.density:.3g} kg/m^3 of the volume of its geometry; '
        f'expected {DENSITIES[0]:g} to {DENSITIES[1]:g}',
        'com-outside-geometry': f'centre of mass at {short(link.body.com)} m is '
        f'{fit.excess * diagonal:.3g} m outside the geometry; expected inside',
        'radius-of-gyration': 'tensor of zeros; expected that of a part of this size'
        if not link.body.inertia_com.any()
        else f'radius of gyration {fit.size:.3g} times that of the geometry; '
        f'expected {SIZES[0]:g} to {SIZES[1]:g}',
    }
    kind = fit.faults[0]
    severity = _severity(robot, link)
    if kind == 'radius-of-gyration' and not _turns_implausibly(robot, link):
        severity = 'info'
    yield Fault(severity, kind, link.name, messages[kind])


def _turns_implausibly(robot: Description, link: Link) -> bool:
    """Return whether a moment that a torque can see is implausible.

    A link behind the first joint turns about the axis of that joint alone: its other moments are
    in no torque, and identification leaves them anywhere. Without a tree that is not known.
    """
    if not robot.rigid:
        return False
    first = robot.rigid.get(link.name, '')
    joint = robot.inward.get(first)
    at_base = joint is not None and robot.rigid[joint.parent] not in robot.inward
    if joint is None or not at_base or joint.type == 'prismatic':
        return True
    R = robot.placements[link.name][:3, :3].T @ robot.placements[first][:3, :3]
    axis = R @ joint.axis / np.linalg.norm(joint.axis)
    moment = axis @ link.tensor @ axis / link.body.mass
    expected = [
        axis @ (np.trace(solid.sigma) * np.eye(3) - solid.sigma) @ axis
        for solid in link.geometry.solids
    ]
    return all(not SIZES[0] ** 2 <= moment / other <= SIZES[1] ** 2 for other in expected)


def _severity(robot: Description, link: Link, *repaired: Inertial) -> str:
    matters = _moves(robot, link) and _matters(robot, link.body, *repaired)
    return 'warning' if matters else 'info'


def _impossible(robot: Description, link: Link) -> str:
    """Return the severity of a physically inconsistent inertia, by its effect on torques."""
    return 'error' if _moves(robot, link) else 'info'


def _matters(robot: Description, *bodies: Inertial) -> bool:
    """Return whether one of some inertias is of the size of those that load the robot."""
    mass = sum(link.body.mass for link in robot.links.values())
    reach = sum(np.linalg.norm(joint.placement[:3, 3]) for joint in robot.joints.values())
    return any(
        body.mass >= MIN_SHARE * mass
        or np.trace(body.inertia_com) >= MIN_TENSOR_SHARE * mass * reach**2
        for body in bodies
    )


def _moves(robot: Description, link: Link) -> bool:
    """Return whether a joint moves the link; without a tree it is assumed."""
    first = robot.rigid.get(link.name)
    return first is None or first in robot.inward


# -- missing and default inertias --------------------------------------------------------------


def _missing(robot: Description, link: Link) -> Iterator[Fault]:
    """Yield a moving link without <inertial>, unless another link stands for it."""
    joint = robot.inward.get(link.name)
    if joint is None or not joint.moves or not robot.rigid:
        return
    mass = sum(member.body.mass for member in robot.members(link.name))
    if mass == 0:
        offsets = [np.linalg.norm(j.placement[:3, 3]) for j in robot.outward[link.name] if j.moves]
        is_frame = not link.geometry.shapes and offsets and max(offsets) < 1e-6
        message = 'moves but has no <inertial>; expected its mass, centre of mass and tensor'
        yield Fault('info' if is_frame else 'warning', 'inertia-missing', link.name, message)
        return
    own = max((solid.volume for solid in link.geometry.solids), default=0.0)
    fixed = [m for m in robot.members(link.name) if m.body.mass]
    theirs = [max((solid.volume for solid in m.geometry.solids), default=np.inf) for m in fixed]
    if mass < LIGHT_DENSITY * own or own > OWN_SHARE * sum(theirs):
        message = (
            f'has no <inertial>, and its volume of {own:.3g} m^3 is not that of the links fixed '
            f'to it, {mass:.3g} kg; expected its mass, centre of mass and tensor'
        )
        yield Fault('warning', 'inertia-missing', link.name, message)


def _placeholders(robot: Description) -> Iterator[Fault]:
    """Yield links whose mass and tensor are pasted defaults.

    Evidence is a tensor that is a multiple of identity, and with the same mass on at least three
    links of different size, or with numbers of one digit that no part of the link's size has.
    """
    same: dict[tuple[float, ...], list[Link]] = {}
    for link in robot.links.values():
        if link.body.mass > 0 and link.body.inertia_com.any():
            key = link.body.mass, *link.body.inertia_com.ravel().tolist()
            same.setdefault(key, []).append(link)
    for (mass, moment, *rest), links in same.items():
        isotropic = rest == (moment * np.eye(3)).ravel().tolist()[1:]
        # Other numbers may be those of a motor that several links are.
        pasted = isotropic and len(set(map(_extent, links))) > 2 and not _fit(links)
        absurd = isotropic and is_round(mass) and is_round(moment)
        for link in links:
            fit = best_fit(link, link.body)
            misfit = fit is None or 'radius-of-gyration' in fit.faults
            if not pasted and not (absurd and misfit and (len(links) > 1 or mass == 1)):
                continue
            tensor = f'{moment:g} times identity' if isotropic else f'ixx {moment:g}'
            others = f', as on {len(links)} links' if len(links) > 1 else ''
            message = (
                f'mass {mass:g} kg, tensor {tensor}{others}; expected the numbers of the part'
            )
            severity = _severity(robot, link)
            yield Fault(severity, 'default-inertial', link.name, message)


def _extent(link: Link) -> float:
    """Return a number that tells links of different size."""
    return float(f'{max((np.trace(solid.sigma) for solid in link.solids), default=0.0):.3g}')


def _fit(links: list[Link]) -> bool:
    """Return whether the tensor of each link is that of its geometry."""
    return all(tensor_distance(link, link.body) < FITS for link in links)
