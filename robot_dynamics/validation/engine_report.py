# SPDX-License-Identifier: Apache-2.0
"""Report of a comparison with a reference engine: verdict, residuals, notes, cause."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.common.reporting.findings import Finding
from robot_dynamics.common.spatial import Array

QUANTITIES = ('inverse dynamics', 'mass matrix', 'gravity torque', 'Coriolis torque')
# Of joints while every coordinate is 0, in the base frame.
JOINT_QUANTITIES = ('joint axis', 'joint origin', 'mass moved by a joint')
NOTHING_COMPARED = 3  # exit code: no engine is installed, or none loads the robot unchanged


class Verdict(enum.Enum):
    """Outcome of a comparison."""

    PASS = 'PASS'
    FAIL = 'FAIL'
    NOT_COMPARABLE = 'NOT COMPARABLE'  # no engine loads the same robot
    NO_ENGINE = 'NO ENGINE'  # none is installed


@dataclass(frozen=True)
class Residual:
    """Largest difference of one quantity over all states."""

    quantity: str
    joint: str  # of the largest difference
    error: float  # N m, N, kg m^2 ...: |our value - the engine's|
    relative: float  # to the largest value of the quantity

    def __str__(self) -> str:
        return f'{self.quantity} {self.relative:.1e} ({self.error:.1e} at joint {self.joint!r})'


@dataclass(frozen=True)
class Report:
    """Verdict of a comparison and the figures behind it."""

    verdict: Verdict
    robot: str
    engine: str = ''  # name and version of the reference engine, if there was one
    residuals: tuple[Residual, ...] = ()
    states: int = 0
    tolerance: float = 0.0
    notes: tuple[str, ...] = ()  # why other engines or the original text were not used
    cause: str = ''  # mistake that explains a difference, if a single one does
    additional: tuple[Report, ...] = ()  # of additional engines

    @property
    def largest(self) -> Residual | None:
        """The largest relative residual, None if nothing was compared.

        NaN counts as larger than all numbers.
        """
        return max(self.residuals, key=lambda r: (np.isnan(r.relative), r.relative), default=None)

    @property
    def exit_code(self) -> int:
        """0 for PASS, 1 for FAIL, and `NOTHING_COMPARED` for the other verdicts."""
        return {Verdict.PASS: 0, Verdict.FAIL: 1}.get(self.verdict, NOTHING_COMPARED)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Failures in the form of all tools: quantities, and the mistake behind them.

        Sizes are relative to the largest value of a quantity.
        """
        beyond = [r for r in self.residuals if not r.relative <= self.tolerance]
        found = [Finding(r.quantity, r.joint, str(r), r.relative) for r in beyond]
        if self.cause:
            found.append(Finding('modelling mistake', '', self.cause))
        return tuple(found)

    def with_observed(self, residuals: Sequence[Residual]) -> Report:
        """Return the report with more residuals: the largest of each quantity is kept."""
        largest = {kept.quantity: kept for kept in self.residuals}
        for new in residuals:
            kept = largest.get(new.quantity)
            # Written so that NaN counts as larger.
            if kept is None or not new.relative <= kept.relative:
                largest[new.quantity] = new
        passed = all(kept.relative <= self.tolerance for kept in largest.values())
        return replace(
            self,
            residuals=tuple(largest.values()),
            verdict=Verdict.PASS if passed else Verdict.FAIL,
        )

    def with_additional(self, reports: Sequence[Report]) -> Report:
        """Return the report with those of additional engines; one that differs makes it a FAIL."""
        compared = [r for r in (self, *reports) if r.verdict in (Verdict.PASS, Verdict.FAIL)]
        agree, differ = (
            ', '.join(r.engine for r in compared if r.verdict is verdict)
            for verdict in (Verdict.PASS, Verdict.FAIL)
        )
        notes = self.notes
        if agree and differ:
            notes += (f'engines that agree with this package: {agree}; that differ: {differ}',)
        verdict = self.verdict
        if compared:
            verdict = Verdict.FAIL if differ else Verdict.PASS
        return replace(self, verdict=verdict, notes=notes, additional=tuple(reports))

    def __str__(self) -> str:
        head = f'{self.verdict.value}: {self.robot}'
        if self.largest is not None:
            head += (
                f' against {self.engine}, {self.states} states, largest difference in '
                f'{self.largest}, tolerance {self.tolerance:g}'
            )
        cause = [f'likely cause: {self.cause}'] if self.cause else []
        additional = [f'additional engine: {report}' for report in self.additional]
        return '\n  '.join([head, *cause, *self.notes, *additional])


def residual(
    quantity: str,
    ours: Array,
    reference: Array,
    joint_names: tuple[str, ...],
    size: float | None = None,
) -> Residual:
    """Return the largest difference of two arrays; NaN counts as the largest.

    Args:
        quantity: name of the quantity.
        ours: (k, n) or (k, n, n).
        reference: of the same shape.
        joint_names: n names.
        size: the value to which the difference is relative; the largest of both if omitted.
    """
    difference = np.abs(ours - reference)
    rows = difference.reshape(len(difference), len(joint_names), -1).max(axis=(0, 2))
    joint = int(np.argmax(rows))  # the first NaN, if there is one
    if size is None:
        size = max(np.abs(ours).max(), np.abs(reference).max())
    # Without gravity both are zero; then so is their difference.
    relative = rows[joint] / size if size != 0 else rows[joint]
    return Residual(quantity, joint_names[joint], float(rows[joint]), float(relative))
