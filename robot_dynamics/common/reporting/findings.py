# SPDX-License-Identifier: Apache-2.0
"""Common form of the findings of check, evaluate, validate and textbook.check."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

Value: TypeAlias = float | Sequence[float]


class Repair(NamedTuple):
    """A new value of an attribute of the subject; `old` is None where it is missing."""

    attribute: str  # such as 'inertial/inertia/@ixx'
    old: Value | None
    new: Value


class Finding(NamedTuple):
    """Finding of a tool.

    Attributes:
        kind: one of the tool's kinds, such as 'mass-unit', 'viscous friction', 'skew_symmetry'.
        subject: the link, joint or functions concerned; empty for the whole robot.
        words: a sentence for people, with the numbers that were seen and expected.
        size: magnitude, in the unit that the tool documents; None where nothing is measured.
        repair: changes that mend it, empty where none is known.
    """

    kind: str
    subject: str
    words: str
    size: float | None = None
    repair: tuple[Repair, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON object; `repair` is None where no change is known."""
        changes = [{'attribute': r.attribute, 'from': r.old, 'to': r.new} for r in self.repair]
        return {
            'kind': self.kind,
            'subject': self.subject,
            'words': self.words,
            'size': self.size,
            'repair': changes or None,
        }
