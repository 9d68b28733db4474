# SPDX-License-Identifier: Apache-2.0
"""A program of loops over rows: what is computed at a row, once for each kind of rows.

Rows have parents among the rows before them. Memory holds one number per row and column; a loop
goes over the rows outward (first to last) or inward. At a row it takes a `RowStep`, a program
without loops that reads

    input entries (one per row, or shared), a table of constants, columns of the row itself and,
    going outward, of its parent

and stores to columns of the row, adds to columns of its parent, or writes entries of outputs. What
passes nothing between rows is in loops between these, which compute several rows at once. In the
end `Pairs` writes matrices: an entry for each row and each row that carries it, from columns of
both. There, several entries are computed at once.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from robot_dynamics.codegen.tracing.program import Program, Signature
from robot_dynamics.common.made_once import made_once

# Where a step finds its inputs, beside those of the whole program: ('input', where, column).
TABLE, OWN, PARENT = 'table', 'own', 'parent'
# ... and where a pair does: a row, and a row that it carries.
CARRIER, CARRIED = 'carrier', 'carried'

# Instead of the index of an input's entry: the entry of the row.
ROW = 'row'


@dataclass(frozen=True)
class Rows:
    """Rows, each with its parent, -1 for none, and its kind, counted from 0."""

    parents: tuple[int, ...]
    kinds: tuple[int, ...]

    @classmethod
    def of(cls, parents: Sequence[int], keys: Sequence[Hashable]) -> Rows:
        """Return rows which are of one kind if their keys are equal, and if both have parents."""
        places: dict[Hashable, int] = {}
        kinds = [
            places.setdefault((parent < 0, key), len(places))
            for parent, key in zip(parents, keys, strict=True)
        ]
        return cls(tuple(parents), tuple(kinds))

    @made_once
    def members(self) -> list[list[int]]:
        """The rows of each kind."""
        members: list[list[int]] = [[] for _ in range(max(self.kinds) + 1)]
        for row, kind in enumerate(self.kinds):
            members[kind].append(row)
        return members

    def __len__(self) -> int:
        return len(self.parents)

    def is_root(self, kind: int) -> bool:
        """Tell whether rows of a kind have no parents."""
        return self.parents[self.members[kind][0]] < 0

    @made_once
    def depth(self) -> int:
        """The number of rows in the longest line of rows that carry each other."""
        return 1 + max(len(self.carriers(row)) for row in range(len(self)))

    def carriers(self, row: int) -> list[int]:
        """Return the rows before a row that carry it, in order."""
        found = []
        while (row := self.parents[row]) >= 0:
            found.append(row)
        return found[::-1]

    def carried(self, row: int) -> list[int]:
        """Return the rows that a row carries, in order."""
        inside = {row}
        for other in range(row + 1, len(self.parents)):
            if self.parents[other] in inside:
                inside.add(other)
        return sorted(inside - {row})

    @staticmethod
    def runs(rows: Sequence[int]) -> list[tuple[int, int]]:
        """Return rows in ascending order as runs (begin, end) of neighbours."""
        runs: list[tuple[int, int]] = []
        for row in rows:
            if runs and runs[-1][1] == row:
                runs[-1] = runs[-1][0], row + 1
            else:
                runs.append((row, row + 1))
        return runs


@dataclass(frozen=True)
class LoopForm:
    """How a function is recorded as loops."""

    function: Callable[..., Any]
    rows: Rows
    vectors: tuple[str, ...]  # the inputs that have an entry for every row
    always: bool = False  # also where a straight line takes less time


class Store(NamedTuple):
    """The destination of a result of a step."""

    where: str  # OWN; PARENT, to which it is added; or the name of an output, its entry of the row
    column: int = 0


class RowStep(NamedTuple):
    """The operations of a loop at a row."""

    program: Program  # with one output
    stores: tuple[Store, ...]  # of each of its entries


class Loop(NamedTuple):
    """A loop over all rows."""

    inward: bool
    alone: bool  # no step reads or writes another row: several are computed at once
    steps: tuple[RowStep, ...]  # per kind


class Equations(NamedTuple):
    """Linear equations M X = B, solved when matrices have been written.

    M is symmetric and positive definite. Its rows are eliminated from the tips inwards, which
    creates no new non-zeros.
    """

    inverse: str  # the output whose entries are those of M; it becomes M^-1
    solutions: tuple[str, ...]  # those whose entries are those of a B; each becomes M^-1 B


class Pairs(NamedTuple):
    """The entries of matrices."""

    outputs: tuple[str, ...]
    diagonal: tuple[int, ...]  # per output, the column it is in
    below: Program  # entry (i, j) of each, where row j carries row i
    above: Program  # entry (j, i)


@dataclass(frozen=True)
class LoopProgram:
    """Loops over rows."""

    name: str
    signature: Signature
    rows: Rows
    table: tuple[tuple[float, ...], ...]  # columns
    columns: int
    loops: tuple[Loop, ...]
    pairs: Pairs | None
    equations: Equations | None = None

    def operation_counts(self, lanes: int = 1) -> dict[str, int]:
        """Return how often each operation occurs when the program runs.

        Args:
            lanes: how many rows, or entries of a row of a matrix, are computed in one operation.
        """
        counts: Counter[str] = Counter()
        for loop in self.loops:
            for step, members in zip(loop.steps, self.rows.members, strict=True):
                times = {row // lanes if loop.alone else row for row in members}
                _add(counts, step.program, len(times))
        if self.pairs:
            for program, related in (
                (self.pairs.below, self.rows.carriers),
                (self.pairs.above, self.rows.carried),
            ):
                runs = (self.rows.runs(related(row)) for row in range(len(self.rows)))
                blocks = (-(-(end - begin) // lanes) for run in runs for begin, end in run)
                _add(counts, program, sum(blocks))
        if self.equations:
            counts.update(
                self._solving(len(self.equations.solutions), -(-len(self.rows) // lanes))
            )
        return dict(counts)

    def _solving(self, solutions: int, blocks: int) -> dict[str, int]:
        """Return how often operations occur in solving equations, for rows in so many blocks."""
        n = len(self.rows)
        related = sum(len(self.rows.carriers(row)) for row in range(n))
        # Elimination has M as well; substitution does not.
        products = related * blocks * (2 * (solutions + 1) + 1)
        return {'mul': products + 2 * n * blocks * (solutions + 1), 'add': products, 'div': n}

    def digest(self) -> str:
        """Return a fingerprint: equal programs have equal digests, whatever the process."""
        return hashlib.sha256(repr(self).encode()).hexdigest()

    def size(self, output: str) -> int:
        """Return the number of entries of an output."""
        return math.prod(dict(self.signature.outputs)[output])


def _add(counts: Counter[str], program: Program, times: int) -> None:
    for operation, count in program.operation_counts().items():
        counts[operation] += count * times
