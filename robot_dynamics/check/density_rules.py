# SPDX-License-Identifier: Apache-2.0
"""Rules of masses that are compared with each other, and with the weight on the data sheet."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robot_dynamics.check.description import Description, Link
from robot_dynamics.check.findings import Fault
from robot_dynamics.common.spatial import Array

SAME_DENSITY = 0.02  # relative
MIN_PARTS = 4  # fewer may be of one material, and have no median
MATERIALS = {'steel': (7_600.0, 8_100.0), 'aluminium': (2_600.0, 2_850.0)}  # kg/m^3
CONTRAST = 6.0  # of the density of a part over that of each neighbour
HEAVY = 0.02  # of the robot's mass: lighter parts are not compared
TOO_HEAVY, TOO_LIGHT, WITHOUT_BASE = 1.1, 0.9, 0.6  # of the weight on the data sheet


def weight_findings(robot: Description, weight: float) -> Iterator[Fault]:
    """Yield the sum of all masses if it is not the weight [kg] on the data sheet."""
    total = sum(link.body.mass for link in robot.links.values())
    # The root is the base, of which no torque depends: its mass is often left out.
    roots = [link for name, link in robot.links.items() if name not in robot.inward]
    based = any(link.body.mass for link in roots)
    least = TOO_LIGHT if based else WITHOUT_BASE
    if least * weight <= total <= TOO_HEAVY * weight:
        return
    without = '' if based else ' without a base'
    message = (
        f'the masses add up to {total:.4g} kg{without}; the data sheet has {weight:.4g} kg, '
        f'{100 * (total / weight - 1):+.0f} %'
    )
    yield Fault('warning', 'weight', robot.root.get('name', ''), message, tag='robot')


def density_findings(robot: Description) -> Iterator[Fault]:
    """Yield masses of one solid density, and parts whose density is not that of those beside."""
    densities = {
        link.name: _densities(link)
        for link in robot.links.values()
        if link.body.mass and link.geometry.solids
    }
    yield from _uniform(robot, densities)
    total = sum(link.body.mass for link in robot.links.values())
    # A part is unlike the others, too: one at the end has a single neighbour.
    usual = np.array([np.median(own) for own in densities.values()])
    middle = np.array([np.median(usual)]) if len(densities) >= MIN_PARTS else None
    for name, own in densities.items():
        beside = [densities[other] for other in _neighbours(robot, name) if other in densities]
        if not beside or middle is None or robot.links[name].body.mass < HEAVY * total:
            continue
        denser = min(own.min() / other.max() for other in (*beside, middle))
        lighter = min(other.min() / own.max() for other in (*beside, middle))
        if max(denser, lighter) >= CONTRAST:
            seen = f'more than {CONTRAST:g} times'
            if lighter > denser:
                seen = f'less than 1/{CONTRAST:g} of'
            others = ', '.join(f'{other.min():.3g}' for other in beside)
            message = (
                f'density {own.min():.3g} kg/m^3, {seen} that of the parts beside it, {others}'
            )
            yield Fault('info', 'density-contrast', name, message)


def _densities(link: Link) -> Array:
    """Return the mass over the volume of each solid of a link, kg/m^3."""
    return np.array([link.body.mass / solid.volume for solid in link.geometry.solids])


def _uniform(robot: Description, densities: dict[str, Array]) -> Iterator[Fault]:
    # Copies of one part, such as wheels, have one density.
    if len({robot.links[name].body.mass for name in densities}) < MIN_PARTS:
        return
    for value in next(iter(densities.values())):
        if all(np.isclose(own, value, rtol=SAME_DENSITY).any() for own in densities.values()):
            names = [m for m, (low, high) in MATERIALS.items() if low <= value <= high]
            material = f', that of {names[0]},' if names else ''
            message = (
                f'all {len(densities)} parts with geometry have the density {value:.4g} '
                f'kg/m^3{material} of solid parts; compare their sum with the data sheet: '
                '--weight KG'
            )
            yield Fault(
                'info', 'density-uniform', robot.root.get('name', ''), message, tag='robot'
            )
            return


def _neighbours(robot: Description, name: str) -> list[str]:
    """Return the links on the other side of the joints of a link's rigid body."""
    if name not in robot.rigid:
        return []
    first = robot.rigid[name]
    inward = robot.inward.get(first)
    bodies = [] if inward is None else [robot.rigid[inward.parent]]
    for member in robot.members(first):
        bodies += [j.child for j in robot.outward[member.name] if j.moves]
    return [member.name for body in bodies for member in robot.members(body)]
