# SPDX-License-Identifier: Apache-2.0
"""The result of a check: laws that hold, laws that fail, and why."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from textwrap import fill

from robot_dynamics.common.reporting.findings import Finding
from robot_dynamics.common.spatial import Array
from robot_dynamics.textbook.grading.functions import vector

WIDTH = 96
UNKNOWN = 'unknown'


@dataclass(frozen=True)
class Law:
    """A law that functions of a robot's dynamics obey."""

    name: str  # 'skew_symmetry'
    equation: str  # 'dM/dt - 2 C is skew-symmetric'
    source: str  # work, section, equation


@dataclass(frozen=True)
class Place:
    """The state and the entry of a largest violation."""

    q: Array
    qd: Array | None = None
    qdd: Array | None = None
    entry: tuple[int, ...] = ()  # counted from 1
    value: float = 0.0
    expected: float = 0.0

    def __str__(self) -> str:
        entry = f'entry {", ".join(map(str, self.entry))}: ' if self.entry else ''
        state = [('q', self.q), ('qd', self.qd), ('qdd', self.qdd)]
        at = ', '.join(f'{name} = {vector(x)}' for name, x in state if x is not None)
        return f'{entry}{self.value:.6g}, expected {self.expected:.6g}, at {at}'


@dataclass(frozen=True)
class FailedLaw:
    """A law that fails."""

    law: str  # its name, of `graded_laws.LAWS`
    equation: str
    source: str  # work, section, equation
    functions: tuple[str, ...]  # those that take part
    error: float  # largest violation, relative to the size of the compared values
    place: Place | None  # of the largest violation
    cause: str | None  # None: unknown
    follows: bool = False  # from another finding, which the cause names
    entries: str = ''  # which entries are wrong, and by what, where that restricts the cause

    @property
    def finding(self) -> Finding:
        """The violation in the form of all tools; its size is relative to the compared values."""
        words = f'{self.equation}; cause: {self._cause}'
        size = None if math.isinf(self.error) else self.error
        return Finding(self.law, ', '.join(self.functions), words, size)

    @property
    def _cause(self) -> str:
        return self.cause or '; '.join(filter(None, (UNKNOWN, self.entries)))

    @property
    def _error(self) -> str:
        if self.place is None or math.isinf(self.error):
            return ''
        difference = abs(self.place.value - self.place.expected)
        size = f'{difference:.3g} of {difference / self.error:.3g}'
        return f'relative error {self.error:.2g} ({size}); '

    def __str__(self) -> str:
        lines = [
            f'{", ".join(self.functions)}: {self.equation}',
            f'law {self.law}; {self.source}',
            *([f'{self._error}{self.place}'] if self.place is not None else []),
            f'cause: {self._cause}',
        ]
        indents = ('FAILS ', *['      '] * (len(lines) - 1))
        return '\n'.join(
            fill(line, WIDTH, initial_indent=indent, subsequent_indent='        ')
            for line, indent in zip(lines, indents, strict=True)
        )


def merged(findings: Iterable[FailedLaw]) -> tuple[FailedLaw, ...]:
    """Return the findings, one for all functions with the same mistake, consequences last."""
    kept: dict[tuple[str, object], FailedLaw] = {}
    for k, finding in enumerate(findings):
        # A mistake in M is one mistake, although tau, K and qdd contain it.
        same = finding.cause is not None and finding.law.startswith('robot_')
        key = (finding.law, finding.cause if same else k)
        first = kept.setdefault(key, finding)
        if first is not finding:
            names = dict.fromkeys(first.functions + finding.functions)
            kept[key] = replace(first, functions=tuple(names))
    return tuple(sorted(kept.values(), key=lambda finding: finding.follows))


@dataclass(frozen=True, repr=False)
class Report:
    """The result of `check`; printing it shows all findings.

    Attributes:
        robot: the robot that the functions were compared with.
        checked: names of the laws that were checked, once for each set of functions.
        findings: the laws that fail.
        notes: remarks on functions that are not wrong.
    """

    robot: str
    checked: tuple[str, ...]
    findings: tuple[FailedLaw, ...]
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether no law fails."""
        return not self.findings

    def __repr__(self) -> str:
        # A law is checked once for each set of functions, and counts once.
        checked = tuple(dict.fromkeys(self.checked))
        failed = {finding.law for finding in self.findings}
        count = len(checked)
        verdict = (
            f'all {count} laws hold' if self.passed else f'{len(failed)} of {count} laws fail'
        )
        own = [finding for finding in self.findings if not finding.follows]
        lines = [f'{self.robot}: {verdict}', *map(str, own)]
        followed = [f'{f.law} ({", ".join(f.functions)})' for f in self.findings if f.follows]
        if followed:
            text = f'ALSO  as a consequence: {", ".join(followed)}'
            lines.append(fill(text, WIDTH, subsequent_indent='        '))
        held = [law for law in checked if law not in failed]
        if held:
            lines.append(fill(f'hold: {", ".join(held)}', WIDTH, subsequent_indent='  '))
        lines += [fill(f'note: {note}', WIDTH, subsequent_indent='  ') for note in self.notes]
        return '\n'.join(lines)
