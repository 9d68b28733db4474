"""What a comparison with another engine found: a verdict, its numbers, and the reasons."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics.spatial import Array

QUANTITIES = ('inverse dynamics', 'mass matrix', 'gravity torque', 'Coriolis torque')


class Verdict(enum.Enum):
    """The outcome in a word."""

    PASS = 'PASS'
    FAIL = 'FAIL'
    NOT_COMPARABLE = 'NOT COMPARABLE'  # no engine holds the same robot
    NO_ENGINE = 'NO ENGINE'  # nothing to compare with is installed


@dataclass(frozen=True)
class Residual:
    """The largest difference of one quantity over all states."""

    quantity: str
    joint: str  # where it is largest
    error: float  # N m, N, kg m^2 ...: our value minus the engine's, in size
    relative: float  # to the largest value of the quantity

    def __str__(self) -> str:
        return f'{self.quantity} {self.relative:.1e} ({self.error:.1e} at joint {self.joint!r})'


@dataclass(frozen=True)
class Report:
    """A verdict, and what led to it."""

    verdict: Verdict
    robot: str
    engine: str = ''  # name and version of the judge, if there was one
    residuals: tuple[Residual, ...] = ()
    states: int = 0
    tolerance: float = 0.0
    notes: tuple[str, ...] = ()  # why other engines could not judge
    cause: str = ''  # what would explain a difference, if anything simple does
    opinions: tuple[Report, ...] = ()  # of second judges

    @property
    def worst(self) -> Residual | None:
        """The largest residual relative to its quantity, if anything was compared.

        NaN counts as larger than all numbers.
        """
        return max(self.residuals, key=lambda r: (np.isnan(r.relative), r.relative), default=None)

    @property
    def exit_code(self) -> int:
        """1 if an engine disagrees, else 0: a missing judge is no failure of the robot's."""
        return int(self.verdict is Verdict.FAIL)

    def with_observed(self, found: Sequence[Residual]) -> Report:
        """Return the report with more differences: of each quantity the largest is kept."""
        largest = {kept.quantity: kept for kept in self.residuals}
        for new in found:
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

    def __str__(self) -> str:
        head = f'{self.verdict.value}: {self.robot}'
        if self.worst is not None:
            head += (
                f' against {self.engine}, {self.states} states, worst {self.worst}, '
                f'tolerance {self.tolerance:g}'
            )
        cause = [f'likely cause: {self.cause}'] if self.cause else []
        seconds = [f'second opinion: {opinion}' for opinion in self.opinions]
        return '\n  '.join([head, *cause, *self.notes, *seconds])

    def with_opinions(self, opinions: Sequence[Report]) -> Report:
        """Return the report with those of second judges: one that disagrees is enough to fail."""
        judged = [r for r in (self, *opinions) if r.verdict in (Verdict.PASS, Verdict.FAIL)]
        failed = [r for r in judged if r.verdict is Verdict.FAIL]
        notes = self.notes
        if failed and len(failed) < len(judged):
            agree = ', '.join(r.engine for r in judged if r.verdict is Verdict.PASS)
            notes += (f'{agree} and this package agree: {failed[0].engine} stands alone',)
        verdict = self.verdict
        if judged:
            verdict = Verdict.FAIL if failed else Verdict.PASS
        return replace(self, verdict=verdict, notes=notes, opinions=tuple(opinions))


def residual(
    quantity: str,
    ours: Array,
    theirs: Array,
    joint_names: tuple[str, ...],
    size: float | None = None,
) -> Residual:
    """Return the largest difference of two arrays; NaN counts as the largest.

    Args:
        quantity: what they are.
        ours: (k, n) or (k, n, n).
        theirs: the same.
        joint_names: n names.
        size: what the difference is relative to; the largest value of both if omitted.
    """
    difference = np.abs(ours - theirs)
    rows = difference.reshape(len(difference), len(joint_names), -1).max(axis=(0, 2))
    joint = int(np.argmax(rows))  # the first NaN, if there is one
    if size is None:
        size = max(np.abs(ours).max(), np.abs(theirs).max())
    # Without gravity both are zero; then so is their difference.
    relative = rows[joint] / size if size != 0 else rows[joint]
    return Residual(quantity, joint_names[joint], float(rows[joint]), float(relative))
