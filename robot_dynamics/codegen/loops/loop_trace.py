# SPDX-License-Identifier: Apache-2.0
"""Record a tree traversal once per kind of rows instead of once per row.

A straight-line program grows with the number of rows (bodies of a robot, say). Long trees are
recorded as loops instead. Rows fall into a few kinds, and the operations at a row are recorded
once for each kind. A vector with an entry per row is then a list with a scalar per kind, and list
comprehensions over it stay as they are. Values pass between rows by the methods of `LoopTracer`:
`outward`, `inward`, `of_parent` and `pairs`.

A number that differs from row to row is a column of a table; one that does not, such as the zeros
and ones of sparse matrices, is a constant, and folded. Entries of a state that are constant, or
equal to each other, along the whole tree are found by assuming so, recording, and recording again
without the assumptions that turned out to be wrong.

Independent traversals share a loop. Loop 2 goes outward, 4 inward, 6 outward, and so on: they
compute what passes from row to row. Loops 1, 3, 5, ... compute the rest, each row by itself, so
that several rows can be computed at once. A value is computed in the first loop that can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from robot_dynamics.codegen.loops.loop_program import CARRIED, CARRIER, PARENT, ROW, TABLE, Rows
from robot_dynamics.codegen.tracing.graph import Graph
from robot_dynamics.codegen.tracing.program import operands
from robot_dynamics.codegen.tracing.trace import SEQUENCES, Scalar, nodes_of

# The sum over a row and the rows beyond it, a column that is complete after its loop.
TOTAL = 'total'

# What a matrix is, of equations M X = B that have its entries: M^-1, or X.
INVERSE, SOLUTION = 'inverse', 'solution'

# The inputs whose values are in slots.
SEEN = (PARENT, TOTAL, CARRIER, CARRIED)


@dataclass(frozen=True)
class PairMatrix:
    """A matrix between rows: its diagonal, and the entries where one row carries another."""

    diagonal: Sequence[Any]  # per kind
    below: Any  # entry (i, j) where row j carries row i
    above: Any  # entry (j, i)
    becomes: str = ''  # INVERSE, SOLUTION: of the equations that have these entries


@dataclass
class Slot:
    """A scalar of every row that other rows can read."""

    values: list[int] = field(default_factory=list)  # the node that is stored, per kind
    passed_on: dict[int, int] = field(default_factory=dict)  # the node added to the parent's
    level: int = 0  # the first loop that can read it


class Pattern(NamedTuple):
    """Properties of the entries of a state that hold for all rows."""

    constant: tuple[int | None, ...]  # the node of a constant, if the entry is one
    first: tuple[int, ...]  # the first entry that is always equal


class LoopTracer:
    """Records a tree traversal once for each kind of rows."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.graph = Graph()
        self.slots: list[Slot] = []
        self.tables: dict[tuple[float, ...], int] = {}
        self.kinds = range(len(rows.members))
        self._roots = [kind for kind in self.kinds if rows.is_root(kind)]
        self._others = [kind for kind in self.kinds if not rows.is_root(kind)]

    # -- numbers and inputs -------------------------------------------------------------------

    def table(self, values: Sequence[float]) -> list[Any]:
        """Return a number of every row, as one scalar or number per kind."""
        column: tuple[float, ...] = tuple(map(float, values))
        entries: list[Any] = []
        for members in self.rows.members:
            distinct = {column[row] for row in members}
            if len(distinct) == 1:
                entries.append(distinct.pop())
            else:
                entries.append(self._leaf(TABLE, self.tables.setdefault(column, len(self.tables))))
        return entries

    def vector(self, name: str) -> list[Any]:
        """Return an input with an entry for every row."""
        return [self._leaf(name, ROW) for _ in self.kinds]

    def shared(self, name: str, size: int) -> list[Any]:
        """Return an input that is the same for all rows."""
        return [self._leaf(name, i) for i in range(size)]

    def nodes_of(self, state: Any) -> list[int]:
        """Return the nodes of the entries of a state, in order."""
        return nodes_of(self.graph, state)

    def _leaf(self, where: str, place: int | str) -> Scalar:
        return Scalar(self.graph, self.graph.node('input', where, place))

    # -- from row to row ----------------------------------------------------------------------

    def outward(self, base: Any, step: Callable[[int, Any], Any]) -> list[Any]:
        """Return the state step(kind, the parent's state) of every kind; `base` is of no row."""
        states = {kind: step(kind, base) for kind in self._roots}
        pattern = self._pattern([self.nodes_of(states[kind]) for kind in self._roots])
        while True:
            view, slots = self._view(PARENT, pattern, base)
            states |= {kind: step(kind, view) for kind in self._others}
            found = [self.nodes_of(states[kind]) for kind in self.kinds]
            refined = self._pattern(found, old=pattern)
            if refined == pattern:
                break
            pattern = refined
        for entry, slot in slots.items():
            slot.values = [nodes[entry] for nodes in found]
        self._place(slots.values(), found, outward=True)
        return [states[kind] for kind in self.kinds]

    def inward(self, own: Sequence[Any], passed_on: Callable[[int, Any], Any]) -> list[Any]:
        """Return the sums, entry by entry, of a row's own value and those of its children."""
        found = [self.nodes_of(value) for value in own]
        pattern = self._pattern(found)
        while True:
            view, slots = self._view(TOTAL, pattern, own[0])
            passed = {kind: self.nodes_of(passed_on(kind, view)) for kind in self._others}
            refined = self._pattern(found, old=pattern, added=list(passed.values()))
            if refined == pattern:
                break
            pattern = refined
        for entry, slot in slots.items():
            slot.values = [nodes[entry] for nodes in found]
            slot.passed_on = {kind: nodes[entry] for kind, nodes in passed.items()}
        self._place(slots.values(), list(passed.values()), outward=False)
        return [view for _ in self.kinds]

    def of_parent(self, values: Sequence[Any], base: Any) -> list[Any]:
        """Return the value of the parent of each kind; `base` without a parent."""
        view = self._common(PARENT, values)
        return [base if kind in self._roots else view for kind in self.kinds]

    def pairs(
        self,
        diagonal: Sequence[Any],
        carriers: Sequence[Any],
        carried: Sequence[Any],
        below: Callable[[Any, Any], Any],
        above: Callable[[Any, Any], Any],
    ) -> PairMatrix:
        """Return the matrix with entries below(carrier, carried) and above(carrier, carried)."""
        pair = self._common(CARRIER, carriers), self._common(CARRIED, carried)
        return PairMatrix(diagonal, below(*pair), above(*pair))

    def plus_diagonal(self, matrix: PairMatrix, more: Sequence[Any]) -> PairMatrix:
        """Return a matrix with more on its diagonal."""
        diagonal = [x + y for x, y in zip(matrix.diagonal, more, strict=True)]
        return PairMatrix(diagonal, matrix.below, matrix.above)

    def times(self, factor: float, matrix: PairMatrix) -> PairMatrix:
        """Return a matrix times a number."""
        diagonal = [factor * x for x in matrix.diagonal]
        return PairMatrix(diagonal, factor * matrix.below, factor * matrix.above)

    def solved(self, M: PairMatrix, *others: PairMatrix) -> list[PairMatrix]:
        """Return M^-1 B of other matrices B, and M^-1: results, of a program once."""
        return [*(replace(B, becomes=SOLUTION) for B in others), replace(M, becomes=INVERSE)]

    def _common(self, where: str, values: Sequence[Any]) -> Any:
        """Return a value of all kinds as other rows read it."""
        found = [self.nodes_of(value) for value in values]
        view, slots = self._view(where, self._pattern(found), values[0])
        for entry, slot in slots.items():
            slot.values = [nodes[entry] for nodes in found]
        if where == PARENT:
            self._place(slots.values(), found, outward=True)
        return view

    def _pattern(
        self,
        found: Sequence[Sequence[int]],
        old: Pattern | None = None,
        added: Sequence[Sequence[int]] = (),
    ) -> Pattern:
        """Return the properties common to the entries of states, and to `old`."""
        zero = self.graph.constant(0.0)
        constant, first = [], []
        keys: dict[Any, int] = {}
        for entry, nodes in enumerate(zip(*found, strict=True)):
            more = [nodes[entry] for nodes in added]
            same = len(set(nodes)) == 1 and self.graph.nodes[nodes[0]][0] == 'constant'
            stays = old is None or old.constant[entry] is not None
            constant.append(nodes[0] if same and stays and set(more) <= {zero} else None)
            before = None if old is None else old.first[entry]
            first.append(keys.setdefault((before, constant[-1], nodes, *more), entry))
        return Pattern(tuple(constant), tuple(first))

    def _view(self, where: str, pattern: Pattern, like: Any) -> tuple[Any, dict[int, Slot]]:
        """Return a state as other rows read it, and its slots by entry."""
        slots: dict[int, Slot] = {}
        leaves: dict[int, Scalar] = {}
        entries = []
        for entry, (constant, first) in enumerate(zip(*pattern, strict=True)):
            if constant is not None:
                entries.append(self.graph.nodes[constant][1])
                continue
            if first == entry:
                slots[entry] = Slot()
                leaves[entry] = self._leaf(where, len(self.slots))
                self.slots.append(slots[entry])
            entries.append(leaves[first])
        return rebuilt(like, iter(entries)), slots

    # -- which loop ---------------------------------------------------------------------------

    def _place(self, slots: Any, results: Sequence[Sequence[int]], *, outward: bool) -> None:
        """Set the loop of slots: the first in their direction in which results can be computed."""
        slots = list(slots)
        levels = self.levels()
        level = max((levels[node] for nodes in results for node in nodes), default=0)
        if not outward:
            # A sum begins before its loop.
            starts = [levels[node] for slot in slots for node in slot.values]
            level = max(level, 1 + max(1, *starts, 0))
        level += ((2 if outward else 4) - level) % 4
        for slot in slots:
            slot.level = level

    def levels(self) -> list[int]:
        """Return, for each node, the loop in which it can be computed first; 0 for any."""
        levels: list[int] = []
        for node in self.graph.nodes:
            if node[0] == 'input' and node[1] in SEEN:
                levels.append(self.slots[node[2]].level)
            elif node[0] in ('input', 'constant'):
                levels.append(0)
            else:
                levels.append(max(1, *(levels[i] for i in operands(node))))
        return levels

    def final_levels(self) -> list[int]:
        """Return the loop of each node: the next, if the first does not pass it between rows."""
        levels, nodes = self.levels(), self.graph.nodes
        passed = {
            (node, slot.level)
            for slot in self.slots
            for node in (*slot.values, *slot.passed_on.values())
        }
        for i in reversed(range(len(nodes))):
            if levels[i] % 2 == 0 and operands(nodes[i]):
                if (i, levels[i]) in passed:
                    passed |= {(j, levels[i]) for j in operands(nodes[i])}
                else:
                    levels[i] += 1
        return levels


def rebuilt(like: Any, entries: Iterator[Any]) -> Any:
    """Return nested sequences of a given form, filled with entries."""
    if not isinstance(like, SEQUENCES):
        return next(entries)
    parts = [rebuilt(part, entries) for part in like]
    return type(like)(*parts) if hasattr(like, '_fields') else parts
