# SPDX-License-Identifier: Apache-2.0
"""Comparison of two models of one robot: what differs, and the gravity torque that it costs.

`same` compares compiled models by their motion and torques, whatever their frames, names and
formats are. The rules of `check --reference` (`reference_rules`) compare two texts element by
element, by name, and propose repairs of the one; they share no number with this comparison.

Inertias differ only where joint torques depend on it: what a revolute joint cannot distinguish,
such as the mass of a stator that one description counts to the link before, is a remark.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from robot_dynamics.check.differences import Comparison
from robot_dynamics.check.joint_pairs import OtherRobot, Pairing, pairings
from robot_dynamics.common.reporting.findings import Finding
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.model.robot_model import RobotModel


@dataclass(frozen=True)
class Sameness:
    """What differs between two models A and B.

    Attributes:
        names: of the robots.
        other: why they are not one robot; '' if they are.
        findings: differences, those first that cost most gravity torque. `size` is the largest
            difference of the gravity torque of a joint that it alone makes [N m or N], at random
            postures and equal joint positions; None for what gravity does not depend on.
        remarks: what is written differently, without effect on torques.
        joints: of A, that are compared.
        counterparts: joints of B.
        torque_difference: (n,) largest difference of the gravity torques, as `size`, of all.
        torque: (n,) largest gravity torque of A.
        inertia_difference: (n,) of the diagonals of the mass matrices without rotors, relative.
    """

    names: tuple[str, str]
    other: str = ''
    findings: tuple[Finding, ...] = ()
    remarks: tuple[str, ...] = ()
    joints: tuple[str, ...] = ()
    counterparts: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    torque_difference: Array = field(default_factory=lambda: np.zeros(0))
    torque: Array = field(default_factory=lambda: np.zeros(0))
    inertia_difference: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def exit_code(self) -> int:
        """0 if nothing differs, 1 if something does, 3 if they are not one robot."""
        return 3 if self.other else int(bool(self.findings))

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return {
            'robots': self.names,
            'same': self.exit_code == 0,
            'not_one_robot': self.other or None,
            'findings': [finding.to_json() for finding in self.findings],
            'remarks': self.remarks,
            'joints': [
                {
                    'name': name,
                    'counterpart': other,
                    'gravity_torque_difference': self.torque_difference[k],
                    'gravity_torque': self.torque[k],
                    'inertia_difference': self.inertia_difference[k],
                }
                for k, (name, other) in enumerate(zip(self.joints, self.counterparts, strict=True))
            ],
        }


def same(A: RobotModel, B: RobotModel, joints: Mapping[str, str] | None = None) -> Sameness:
    """Return what differs between two models of one robot.

    Args:
        A: a model.
        B: another one.
        joints: joints of B by joints of A; the others are paired by name, words or tree order.

    Raises:
        ModelError: a joint of `joints` is unknown.
    """
    names = (A.name, B.name)
    try:
        candidates = pairings(A.joint_names, B.joint_names, joints or {})
        locked, comparison = _best(A, B, candidates)
        comparison.check_one_robot()
    except OtherRobot as error:
        return Sameness(names, other=str(error))
    inertias, unseen = comparison.inertias()
    findings = [
        *comparison.names(),
        *comparison.gravity(),
        *comparison.axes(),
        *comparison.zeros(),
        *comparison.mimics(),
        *inertias,
        *comparison.values(),
    ]
    difference, torque = comparison.torques()
    return Sameness(
        names,
        findings=tuple(sorted(findings, key=lambda found: -(found.size or 0.0))),
        remarks=(*locked, *comparison.remarks(), *unseen),
        joints=comparison.A.joint_names,
        counterparts=comparison.B.joint_names,
        units=comparison.A.effort_units,
        torque_difference=difference,
        torque=torque,
        inertia_difference=comparison.inertia_difference(),
    )


def _best(A: RobotModel, B: RobotModel, candidates: list[Pairing]) -> tuple[list[str], Comparison]:
    """Return the comparison with the fewest locked joints, then differences; remarks on the first.

    Raises:
        OtherRobot: bodies have no counterpart with any pairing.
    """
    found: list[tuple[tuple[int, int], list[str], Comparison]] = []
    errors: list[OtherRobot] = []
    for pairing in candidates:
        pairs = dict(pairing.pairs)
        (a, locked_a), (b, locked_b) = _reduced(A, pairs.keys()), _reduced(B, pairs.values())
        try:
            comparison = Comparison(a, b, pairing)
        except OtherRobot as error:
            errors.append(error)
            continue
        remarks = [
            f'locked, since only {x} has them: {", ".join(names)}'
            for x, names in (('A', locked_a), ('B', locked_b))
            if names
        ]
        found.append(((len(locked_a) + len(locked_b), comparison.cost), remarks, comparison))
    if not found:
        raise errors[0]
    return min(found, key=lambda one: one[0])[1:]


def _reduced(model: RobotModel, kept: Collection[str]) -> tuple[RobotModel, list[str]]:
    """Return a model with the other joints locked at 0, or the limit next to it; and these."""
    rest = np.clip(np.zeros(model.n), model.lower, model.upper)
    locks = {
        name: float(x) for name, x in zip(model.joint_names, rest, strict=True) if name not in kept
    }
    shown = [f'{name} at {x:.4g}' if x else name for name, x in locks.items()]
    return (model.with_locked(locks) if locks else model), shown
