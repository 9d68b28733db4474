"""Several examiners, one report: the first judge decides, second ones say whether they agree.

Where two engines disagree about a robot, a third opinion tells which of them stands alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.spatial import Array
from robot_dynamics.validation.comparison import Examiner, Observation
from robot_dynamics.validation.report import Report


class Jury:
    """An examiner with second ones beside it, to be used like a single one."""

    def __init__(self, first: Examiner, second: Sequence[Examiner] = ()):
        """Ask `first`, whose judge stays for observations, then the others one by one."""
        self.first, self.second = first, tuple(second)

    @property
    def report(self) -> Report | None:
        """What all of them found; None until the last of them is through."""
        opinions = [examiner.report for examiner in self.second if examiner.report is not None]
        if self.first.report is None or len(opinions) < len(self.second):
            return None
        return self.first.report.with_opinions(opinions) if opinions else self.first.report

    @property
    def restarts(self) -> int:
        """How often an engine had to be started again."""
        return sum(examiner.restarts for examiner in self._all)

    @property
    def misfortune(self) -> str:
        """Why one had to, the last time."""
        return next((e.misfortune for e in reversed(self._all) if e.misfortune), '')

    @property
    def observed(self) -> int:
        """Number of observations judged."""
        return self.first.observed

    @property
    def engine_pid(self) -> int | None:
        """Process id of the first judge's engine, if there is one."""
        return self.first.engine_pid

    def work(self) -> None:
        """Do the next small part of the examination, until there is a report."""
        waiting = next((e for e in self._all if e.report is None), None)
        if waiting is not None:
            waiting.work()
            self._dismiss(waiting)

    def observe(self, seen: Observation) -> Array | None:
        """Put an observation before the first judge: see `Examiner.observe`."""
        return self.first.observe(seen)

    def close(self) -> None:
        """End the engines' processes."""
        for examiner in self._all:
            examiner.close()

    def _dismiss(self, examiner: Examiner) -> None:
        """End the engine of a second examiner that is through; the first one's stays."""
        if examiner.report is not None and examiner is not self.first:
            examiner.close()

    @property
    def _all(self) -> tuple[Examiner, ...]:
        return (self.first, *self.second)
