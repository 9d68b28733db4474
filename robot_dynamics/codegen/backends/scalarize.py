# SPDX-License-Identifier: Apache-2.0
"""Scalarize programs: replace the vectors of a program by scalars.

A program may represent several scalars with the same operations as one vector: see `trace`. The
kernel of one sample computes such a vector in one register. A kernel that has a sample in each
lane of its registers needs scalars: the same operations for each lane that a result depends on,
without those on zeros.
"""

from collections.abc import Iterable
from typing import Any

from robot_dynamics.codegen.tracing.program import (
    LANES,
    Node,
    Program,
    entry_in_lane,
    operands,
    sizes,
)

ZERO: Node = ('constant', 0.0)

# Lane k of a node; of a scalar, lane 0.
Entry = tuple[int, int]


def scalarize(program: Program) -> Program:
    """Return the program without vectors. Products and sums stay fused as they are."""
    return _Scalarizer(program).program()


class _Scalarizer:
    """The lanes of a program's vectors, each a node of its own."""

    def __init__(self, source: Program) -> None:
        self._source = source
        self._sizes = sizes(source.nodes)
        self._nodes: list[Node] = []
        self._index: dict[Node, int] = {}
        self._new: dict[Entry, int] = {}

    def program(self) -> Program:
        """Return the program."""
        source = self._source
        results = [[self._entry(i, 0) for i in entries] for entries in source.results]
        wanted = {entry for entries in results for entry in entries}
        # Lane by lane, so that the values of one lane are used soon and free their registers.
        for lane in range(LANES):
            self._add(entry for entry in wanted if entry[1] == lane and self._sizes[entry[0]] > 1)
        self._add(wanted)
        new = tuple(tuple(self._new[entry] for entry in entries) for entries in results)
        return Program(source.name, source.signature, tuple(self._nodes), new)

    def _entry(self, index: int, k: int) -> Entry:
        """Return where lane k of a node is computed."""
        node = self._source.nodes[index]
        while node[0] in ('lane', 'pack'):
            index, k = node[1:] if node[0] == 'lane' else (entry_in_lane(node, k), 0)
            node = self._source.nodes[index]
        return index, (k if self._sizes[index] > 1 else 0)

    def _operands(self, entry: Entry) -> list[Entry]:
        index, k = entry
        return [self._entry(i, k) for i in operands(self._source.nodes[index])]

    def _add(self, wanted: Iterable[Entry]) -> None:
        """Add entries and their operands."""
        found: set[Entry] = set()
        waiting = list(wanted)
        while waiting:
            entry = waiting.pop()
            if entry not in found and entry not in self._new:
                found.add(entry)
                waiting.extend(self._operands(entry))
        for entry in sorted(found):
            op, *rest = self._source.nodes[entry[0]]
            moved = [self._new[i] for i in self._operands(entry)]
            write = self._write_folded if self._sizes[entry[0]] > 1 else self._write
            self._new[entry] = write(op, *(moved or rest))

    def _write(self, *node: Any) -> int:
        if node not in self._index:
            self._index[node] = len(self._nodes)
            self._nodes.append(node)
        return self._index[node]

    def _write_folded(self, op: str, *arguments: int) -> int:
        """Write an operation, unless it is one on zeros."""
        zeros = [self._nodes[i] == ZERO for i in arguments]
        match op, zeros:
            case ('mul', [True, _] | [_, True]) | ('neg', [True]):
                return self._write(*ZERO)
            case ('fma', [True, _, _] | [_, True, _]):
                return arguments[2]
            case ('fma', [_, _, True]):
                return self._write('mul', *arguments[:2])
            case ('add', [True, _]):
                return arguments[1]
            case ('add' | 'sub', [_, True]):
                return arguments[0]
            case ('sub', [True, _]):
                return self._write('neg', arguments[1])
        return self._write(op, *arguments)
