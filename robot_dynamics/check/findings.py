# SPDX-License-Identifier: Apache-2.0
"""Findings about a robot description, their kinds and their proposed repairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.common.reporting.findings import Finding, Repair
from robot_dynamics.common.reporting.numbers import decimals
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.inertia import Inertial
from robot_dynamics.urdf.editing import Change
from robot_dynamics.urdf.rules import TENSOR

SEVERITIES = ('error', 'warning', 'info')
TIERS = ('syntax', 'topology', 'physics', 'plausibility', 'assets')


class Kind(NamedTuple):
    """A kind of finding: its tier and why it matters for torques."""

    tier: str
    why: str


KINDS = {
    'invalid-element': Kind('syntax', 'the description is rejected, or the value is not used'),
    'invalid-geometry': Kind('syntax', 'view and excite reject the description'),
    'deviation': Kind('syntax', 'other programs may reject the description, or read it otherwise'),
    'not-portable': Kind('syntax', 'other programs read another robot, or none'),
    'duplicate-name': Kind('topology', 'one of the two elements is ignored or replaces the other'),
    'unknown-link': Kind('topology', 'the links beyond the joint are not part of the robot'),
    'two-parents': Kind('topology', 'a URDF is a tree; the kinematic loop cannot be described'),
    'loop': Kind('topology', 'links that are their own ancestors carry no torque to the base'),
    'several-roots': Kind('topology', 'the masses of the other trees load no joint'),
    'mimic-leader': Kind('topology', 'the joint follows no motor, so its load is on none'),
    'rejected': Kind('topology', 'no torque can be computed'),
    'inertia-inconsistent': Kind(
        'physics', 'kinetic energy can be negative; simulations and identified models diverge'
    ),
    'inertia-without-mass': Kind('physics', 'no body has a tensor but no mass'),
    'inertia-missing': Kind('physics', 'the link counts as massless in all torques'),
    'axis-zero': Kind('physics', 'the joint has no direction of motion'),
    'axis-not-unit': Kind(
        'physics', 'programs that do not normalize the axis scale torques and velocities by it'
    ),
    'mass-unit': Kind('plausibility', 'gravity and inertia torques scale with the mass'),
    'inertia-unit': Kind('plausibility', 'inertia torques scale with the tensor'),
    'com-unit': Kind('plausibility', 'gravity torques scale with the lever of the weight'),
    'com-sign': Kind('plausibility', 'gravity torques have the opposite sign'),
    'inertia-about-origin': Kind(
        'plausibility', 'm d^2 of the centre of mass is counted twice in inertia torques'
    ),
    'products-sign': Kind('plausibility', 'the principal axes are tilted the wrong way'),
    'inertia-permuted': Kind('plausibility', 'the moments belong to other axes'),
    'inertial-axes': Kind(
        'plausibility', 'the weight has another lever and the moments belong to other axes'
    ),
    'inertia-entry': Kind('plausibility', 'one moment of inertia is wrong'),
    'default-inertial': Kind('plausibility', 'placeholders replace the mass and tensor of a part'),
    'frame-mass': Kind('plausibility', 'a frame without geometry loads every joint before it'),
    'payload-duplicated': Kind('plausibility', 'the mass is counted twice'),
    'density': Kind('plausibility', 'the mass does not belong to a part of this size'),
    'density-contrast': Kind('plausibility', 'a mass may be wrong by a factor'),
    'density-uniform': Kind(
        'plausibility', 'hollow parts, motors and gears are not solid: the masses may be too large'
    ),
    'weight': Kind('plausibility', 'gravity torques scale with the masses'),
    'com-outside-geometry': Kind('plausibility', 'the lever of the weight is wrong'),
    'radius-of-gyration': Kind(
        'plausibility', 'the tensor does not belong to a part of this size'
    ),
    'joint-flipped': Kind('plausibility', 'torque and motion have the opposite sign on this side'),
    'origin-unit': Kind('plausibility', 'every lever beyond the joint is wrong'),
    'rpy-degrees': Kind('plausibility', 'the axes beyond the joint have other directions'),
    'limit-empty': Kind('plausibility', 'the joint may not move'),
    'limit-zero': Kind('plausibility', 'the joint may not move, or the limit is ignored'),
    'limit-absurd': Kind('plausibility', 'commands are not limited to what the motor can do'),
    'limit-degrees': Kind('plausibility', 'angles are in rad: the joint is limited far too late'),
    'limit-digits': Kind('plausibility', 'the joint is limited too early, or too late'),
    'armature-solver': Kind(
        'plausibility', 'rotors that no motor has dominate inertia torques of light links'
    ),
    'gravity-above-effort': Kind('plausibility', 'the motor cannot hold the arm at rest'),
    'gravity-zero': Kind('plausibility', 'the weight beyond the joint has no lever'),
    'differs-from-reference': Kind('plausibility', 'one of the two descriptions is wrong'),
    'cannot-tell': Kind(
        'plausibility', 'a slip would not be found; --reference compares with another description'
    ),
    'mesh-unresolved': Kind('assets', 'mass and tensor cannot be compared with the geometry'),
    'mesh-unread': Kind('assets', 'mass and tensor cannot be compared with the geometry'),
    'not-checked': Kind('assets', 'mass and tensor were not compared with geometry'),
}


@dataclass(frozen=True)
class Fault:
    """A fault of a robot description, or a remark about it."""

    severity: str
    kind: str
    element: str  # name of the link or joint
    message: str  # the number seen and the number expected
    repair: tuple[Repair, ...] = ()
    tag: str = 'link'
    slips: tuple[str, ...] = ()  # kinds that a remark cannot exclude
    proved: bool = False  # whether nothing but the fault that is repaired explains the numbers

    @property
    def applied(self) -> bool:
        """Whether `--fix` applies its repair without being told its kind."""
        return bool(self.repair) and self.proved and self.severity != 'info'

    @property
    def tier(self) -> str:
        """One of TIERS."""
        return KINDS[self.kind].tier

    def changes(self) -> list[Change]:
        """Return the changes of the URDF that repair it."""
        return [
            Change(self.tag, self.element, repair.attribute, decimals(repair.new).tolist())
            for repair in self.repair
        ]

    @property
    def finding(self) -> Finding:
        """The fault in the form of all tools."""
        return Finding(self.kind, self.element, self.message, repair=self.repair)

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return {
            'severity': self.severity,
            'tier': self.tier,
            **self.finding.to_json(),
            'cannot_exclude': list(self.slips),
            'why': KINDS[self.kind].why,
            'applied': self.applied,
        }


def inertial_repair(old: Inertial, new: Inertial) -> tuple[Repair, ...]:
    """Return the changes of an <inertial>, both with tensors in its axes."""
    repairs = [
        Repair('inertial/mass/@value', old.mass, new.mass),
        Repair('inertial/origin/@xyz', old.com.tolist(), new.com.tolist()),
        *(
            Repair(f'inertial/inertia/@{key}', a, b)
            for key, a, b in zip(TENSOR, _entries(old), _entries(new), strict=True)
        ),
    ]
    return tuple(repair for repair in repairs if repair.old != repair.new)


def _entries(body: Inertial) -> Sequence[float]:
    return body.inertia_com[np.triu_indices(3)].tolist()  # type: ignore[no-any-return]


def short(value: float | Sequence[float] | Array) -> str:
    """Return a number or vector as messages show it."""
    return ' '.join(f'{number:.4g}' for number in np.atleast_1d(value))


def is_round(value: float) -> bool:
    """Return whether a number is written with one digit."""
    return float(f'{value:.0e}') == value
