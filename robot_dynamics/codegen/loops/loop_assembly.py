# SPDX-License-Identifier: Apache-2.0
"""Assemble recorded operations into loops.

A value is computed in the first loop in which it can be. Values that a later loop, or another row,
needs are stored in columns; operations that no result needs are dropped.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from robot_dynamics.codegen.loops.loop_program import (
    CARRIED,
    CARRIER,
    OWN,
    PARENT,
    TABLE,
    Equations,
    Loop,
    LoopForm,
    LoopProgram,
    Pairs,
    RowStep,
    Store,
)
from robot_dynamics.codegen.loops.loop_trace import (
    INVERSE,
    SEEN,
    SOLUTION,
    TOTAL,
    LoopTracer,
    PairMatrix,
)
from robot_dynamics.codegen.tracing.graph import TraceError
from robot_dynamics.codegen.tracing.program import Node, Nodes, Program, Signature, moved, operands
from robot_dynamics.codegen.tracing.trace import by_name

# Names of inputs that every program of loops has.
RESERVED_NAMES = {TABLE, OWN, PARENT, CARRIER, CARRIED, TOTAL, 'memory'}


def trace_loops(
    form: LoopForm, inputs: Mapping[str, int], *, name: str, outputs: Sequence[str] | None = None
) -> LoopProgram:
    """Run a function on recording scalars of each kind of rows and return the loops it stands for.

    Args:
        form: the function takes a `LoopTracer` and one list of scalars per input: one per kind if
            the input has an entry for every row, else one per entry. It returns a list of one
            scalar per kind, or a `PairMatrix`: one output. A tuple of these: several outputs.
        inputs: name and size of each input vector.
        name: of the program.
        outputs: names of the outputs; by default `out`, or `out0`, `out1`, ...
    """
    for key in inputs:
        if key in RESERVED_NAMES:
            raise TraceError(f'{key!r} cannot name an input: loops have inputs of this name')
    tracer, n = LoopTracer(form.rows), len(form.rows)
    arguments = [
        tracer.vector(key) if key in form.vectors else tracer.shared(key, size)
        for key, size in inputs.items()
    ]
    results = by_name(name, form.function(tracer, *arguments), outputs)
    shapes = tuple(
        (key, (n, n) if isinstance(value, PairMatrix) else (n,)) for key, value in results.items()
    )
    signature = Signature(tuple(inputs.items()), shapes)
    return _Assembly(tracer, name).program(signature, results, form)


class _Assembly:
    """Puts the nodes that results need into loops."""

    def __init__(self, tracer: LoopTracer, name: str) -> None:
        self.name = name
        self.tracer = tracer
        self.nodes = tracer.graph.nodes
        self.columns: dict[Hashable, int] = {}  # by what they hold
        self.kept: list[dict[int, int]] = [{} for _ in tracer.kinds]  # columns of nodes, per kind
        self._final: set[int] = set()  # columns to which nothing is added
        self.stores: dict[tuple[int, int], dict[Store, int]] = {}  # nodes, by loop and kind
        self._seen: set[tuple[int, int, int]] = set()
        self._waiting: list[tuple[int, int, int]] = []

    def program(
        self, signature: Signature, results: Mapping[str, Any], form: LoopForm
    ) -> LoopProgram:
        """Return the loops that compute results."""
        matrices = {k: value for k, value in results.items() if isinstance(value, PairMatrix)}
        wanted = {
            Store(OWN, self._column(('diagonal', key)))
            if key in matrices
            else Store(key): self.tracer.nodes_of(value.diagonal if key in matrices else value)
            for key, value in results.items()
        }
        below = self.tracer.nodes_of([matrix.below for matrix in matrices.values()])
        above = self.tracer.nodes_of([matrix.above for matrix in matrices.values()])
        self.levels = self.tracer.final_levels()
        for store, nodes in wanted.items():
            self._store_all(store, nodes)
        pairs = None
        if matrices:
            diagonal = tuple(self._column(('diagonal', key)) for key in matrices)
            pairs = Pairs(tuple(matrices), diagonal, self._straight(below), self._straight(above))
        while self._waiting:
            self._visit(*self._waiting.pop())
        self._keep()
        last = max(level for level, _ in self.stores)
        loops = [self._loop(level) for level in range(1, last + 1)]
        return LoopProgram(
            self.name,
            signature,
            self.tracer.rows,
            tuple(self.tracer.tables),
            len(self.columns),
            tuple(loop for loop in loops if any(step.stores for step in loop.steps)),
            pairs,
            _equations(matrices),
        )

    def _column(self, content: Hashable) -> int:
        """Return the column for some content, the same for the same."""
        return self.columns.setdefault(content, len(self.columns))

    def _store_all(self, store: Store, nodes: Sequence[int]) -> None:
        for kind, node in enumerate(nodes):
            self._store(store, kind, node, max(1, self.levels[node]))

    def _store(self, store: Store, kind: int, node: int, level: int) -> None:
        self.stores.setdefault((level, kind), {})[store] = node
        self._waiting.append((kind, node, level))

    def _visit(self, kind: int, node: int, level: int) -> None:
        """Let a loop compute a node of a kind, and its operands."""
        if (kind, node, level) in self._seen:
            return
        self._seen.add((kind, node, level))
        self._found(self.nodes[node])
        if self._before(node, level):
            self.kept[kind][node] = -1
            self._waiting.append((kind, node, self.levels[node]))
        else:
            self._waiting += [(kind, i, level) for i in operands(self.nodes[node])]

    def _before(self, node: int, level: int) -> bool:
        """Return whether a loop takes a node from a column that an earlier loop has stored."""
        computed = bool(operands(self.nodes[node])) or self.nodes[node][1] == PARENT
        return computed and self.levels[node] < level

    def _keep(self) -> None:
        """Find columns for the nodes that a later loop needs."""
        for kind, kept in enumerate(self.kept):
            more = itertools.count()
            for node in kept:
                stores = self.stores.setdefault((self.levels[node], kind), {})
                known = (store.column for store, i in stores.items() if i == node)
                kept[node] = next((c for c in known if c in self._final), -1)
                if kept[node] < 0:
                    # Kinds share columns, as no row is of two.
                    kept[node] = self._column(('kept', next(more)))
                    stores[Store(OWN, kept[node])] = node

    def _found(self, node: Node) -> Node:
        """Return a node as it is in a step: a column replaces a slot."""
        if node[0] != 'input' or node[1] not in SEEN:
            return node
        slot = self.tracer.slots[node[2]]
        # A column to which nothing is added can serve several slots.
        content = ('sum', node[2]) if slot.passed_on else ('values', *slot.values)
        known, column = content in self.columns, self._column(content)
        if not known:
            self._store_all(Store(OWN, column), slot.values)
            self._final |= set() if slot.passed_on else {column}
            for kind, passed in slot.passed_on.items():
                self._store(Store(PARENT, column), kind, passed, slot.level)
        return ('input', OWN if node[1] == TOTAL else node[1], column)

    def _loop(self, level: int) -> Loop:
        steps = []
        for kind in self.tracer.kinds:
            stores = self.stores.get((level, kind), {})
            steps.append(
                RowStep(self._straight(list(stores.values()), level, kind), tuple(stores))
            )
        return Loop(level % 4 == 0, level % 2 == 1, tuple(steps))

    def _straight(self, results: Sequence[int], level: int = 0, kind: int = 0) -> Program:
        """Return the straight-line program of nodes of a kind in a loop; level 0: of a pair."""
        found: dict[int, Node] = {}
        waiting = list(results)
        while waiting:
            i = waiting.pop()
            if i not in found:
                before = self._before(i, level)
                own = ('input', OWN, self.kept[kind][i]) if before else self._found(self.nodes[i])
                found[i] = own
                waiting += operands(own)
        code, new = Nodes(), dict[int, int]()
        for i in sorted(found):
            new[i] = code.node(*moved(found[i], new))
        signature = Signature((), (('stored', (len(results),)),))
        stored = tuple(new[i] for i in results)
        return Program(self.name, signature, tuple(code.nodes), (stored,))


def _equations(matrices: Mapping[str, PairMatrix]) -> Equations | None:
    """Return the equations that some results are of."""
    inverses, solutions = (
        tuple(key for key, matrix in matrices.items() if matrix.becomes == what)
        for what in (INVERSE, SOLUTION)
    )
    if not (inverses or solutions):
        return None
    (inverse,) = inverses
    return Equations(inverse, solutions)
