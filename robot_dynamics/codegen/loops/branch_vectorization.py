# SPDX-License-Identifier: Apache-2.0
"""Branch vectorization: parallel branches of a tree as lanes of vectors.

Legs, arms and fingers of a robot repeat the same operations. Rows of one kind and depth form a
group; a function is recorded once per group, on vectors with a lane for each row, in a
straight-line program. So a humanoid costs little more than one of its legs.

As in `trace`, values pass between rows by `outward`, `inward` and `of_parent`. A branch keeps its
lane along its length: longer branches are in the last lanes, which are those of shorter vectors.
Matrices between rows are not recorded this way.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from robot_dynamics.codegen.loops.loop_program import LoopForm, Rows
from robot_dynamics.codegen.loops.loop_trace import rebuilt
from robot_dynamics.codegen.tracing.graph import Graph
from robot_dynamics.codegen.tracing.program import LANES, Program, Signature
from robot_dynamics.codegen.tracing.trace import Scalar, by_name, nodes_of, recorded


class NotVectorizable(Exception):  # noqa: N818  (never leaves this package and `compiled`)
    """A function cannot be recorded for several branches at once."""


def trace_branches(
    form: LoopForm,
    inputs: Mapping[str, int],
    *,
    name: str,
    outputs: Sequence[str] | None = None,
    limit: int | None = None,
) -> Program:
    """Run a function on vectors of recording scalars and return the program it stands for.

    Args:
        form: the function takes a `BranchTracer`, and inputs as `assembly.trace_loops` says; it
            returns lists of one scalar per kind.
        inputs: name and size of each input vector.
        name: of the program.
        outputs: names of the outputs; by default `out`, or `out0`, `out1`, ...
        limit: how many nodes may be recorded; by default any number.

    Raises:
        NotVectorizable: the function makes matrices.
        TooLong: it records more nodes than the limit.
    """
    tracer = BranchTracer(form.rows, limit)
    arguments = [
        tracer.vector(key) if key in form.vectors else tracer.shared(key, size)
        for key, size in inputs.items()
    ]
    results = {
        key: tracer.gathered(value)
        for key, value in by_name(name, form.function(tracer, *arguments), outputs).items()
    }
    shapes = tuple((key, (len(entries),)) for key, entries in results.items())
    signature = Signature(tuple(inputs.items()), shapes)
    return recorded(name, signature, tracer.graph, tuple(results.values()))


def lane_groups(rows: Rows) -> list[list[int]]:
    """Return the rows in groups, each of one kind and depth, in the order of their lanes."""
    height = [0] * len(rows)
    for row in reversed(range(len(rows))):
        if (parent := rows.parents[row]) >= 0:
            height[parent] = max(height[parent], height[row] + 1)
    groups: dict[tuple[int, int], list[int]] = {}
    depth: list[int] = []
    for row, (parent, kind) in enumerate(zip(rows.parents, rows.kinds, strict=True)):
        depth.append(depth[parent] + 1 if parent >= 0 else 0)
        groups.setdefault((depth[row], kind), []).append(row)
    place: dict[int, int] = {}
    ordered = []
    for key in sorted(groups):
        members = sorted(groups[key], key=lambda i: (height[i], place.get(rows.parents[i], 0), i))
        place |= {row: k for k, row in enumerate(members)}
        ordered += [members[k : k + LANES] for k in range(0, len(members), LANES)]
    return ordered


class BranchTracer:
    """Records a tree traversal once for each group of rows: these are its kinds."""

    def __init__(self, rows: Rows, limit: int | None = None) -> None:
        self._members = lane_groups(rows)
        self._lane: dict[int, int] = {}
        group: dict[int, int] = {}
        for kind, members in enumerate(self._members):
            group |= dict.fromkeys(members, kind)
            self._lane |= {row: k for k, row in enumerate(members, LANES - len(members))}
        self.rows = Rows(rows.parents, tuple(group[row] for row in range(len(rows))))
        self.kinds = range(len(self._members))
        self.graph = BranchGraph(limit=limit)

    # -- numbers, inputs and results ----------------------------------------------------------

    def table(self, values: Sequence[float]) -> list[Any]:
        """Return a number of every row, as one scalar or number per kind."""
        return self._of_kinds([self.graph.constant(float(value)) for value in values])

    def vector(self, name: str) -> list[Any]:
        """Return an input with an entry for every row."""
        rows = range(len(self.rows))
        return self._of_kinds([self.graph.node('input', name, row) for row in rows])

    def shared(self, name: str, size: int) -> list[Any]:
        """Return an input that is the same for all rows."""
        return [Scalar(self.graph, self.graph.node('input', name, i)) for i in range(size)]

    def gathered(self, values: Any) -> tuple[int, ...]:
        """Return the nodes of the rows' entries of a result."""
        if isinstance(values, Scalar):
            raise NotVectorizable
        nodes = nodes_of(self.graph, values)
        return tuple(
            self.graph.lane(nodes[kind], self._lane[row])
            for row, kind in enumerate(self.rows.kinds)
        )

    def _of_kinds(self, entries: Sequence[int]) -> list[Any]:
        """Return the nodes of all rows as a scalar or number of each kind."""
        return [self._pack(entries[row] for row in members) for members in self._members]

    def _pack(self, entries: Iterable[int]) -> Any:
        """Return nodes, one for each lane, as a scalar, or as a number if it is one."""
        index = self.graph.pack(list(entries))
        op, *value = self.graph.nodes[index]
        return value[0] if op == 'constant' else Scalar(self.graph, index)

    # -- from row to row ----------------------------------------------------------------------

    def outward(self, base: Any, step: Callable[[int, Any], Any]) -> list[Any]:
        """Return the state step(kind, the parent's state) of every kind; `base` is of no row."""
        states: list[Any] = []
        for kind in self.kinds:
            states.append(step(kind, self._parents_of(kind, states, base)))
        return states

    def of_parent(self, values: Sequence[Any], base: Any) -> list[Any]:
        """Return the value of the parent of each kind; `base` without a parent."""
        return [self._parents_of(kind, values, base) for kind in self.kinds]

    def inward(self, own: Sequence[Any], passed_on: Callable[[int, Any], Any]) -> list[Any]:
        """Return the sums, entry by entry, of a row's own value and those of its children."""
        totals = list(own)
        for kind in reversed(self.kinds):
            if not self.rows.is_root(kind):
                passed = nodes_of(self.graph, passed_on(kind, totals[kind]))
                for carrier in {self.rows.kinds[parent] for parent in self._parents(kind)}:
                    totals[carrier] = self._plus(carrier, totals[carrier], kind, passed)
        return totals

    def pairs(self, *_: Any) -> NoReturn:
        """Reject a matrix."""
        raise NotVectorizable

    plus_diagonal = times = solved = pairs

    def _parents(self, kind: int) -> list[int]:
        """Return the parent of each row of a kind."""
        return [self.rows.parents[row] for row in self._members[kind]]

    def _parents_of(self, kind: int, values: Sequence[Any], base: Any) -> Any:
        """Return the values of the parents of a kind's rows, a lane each; `base` for roots."""
        if self.rows.is_root(kind):
            return base
        carriers = {parent: self.rows.kinds[parent] for parent in self._parents(kind)}
        nodes = {carrier: nodes_of(self.graph, values[carrier]) for carrier in carriers.values()}
        lanes = [
            [self.graph.lane(node, self._lane[parent]) for node in nodes[carriers[parent]]]
            for parent in self._parents(kind)
        ]
        like = values[carriers[self._parents(kind)[0]]]
        return rebuilt(like, map(self._pack, zip(*lanes, strict=True)))

    def _plus(self, carrier: int, total: Any, kind: int, passed: Sequence[int]) -> Any:
        """Return the total of a kind plus the values that rows of another kind pass on."""
        entries = []
        for own, more in zip(nodes_of(self.graph, total), passed, strict=True):
            sums = []
            for parent in self._members[carrier]:
                children = [row for row in self._members[kind] if self.rows.parents[row] == parent]
                lanes = [self.graph.lane(more, self._lane[row]) for row in children]
                sums.append(functools.reduce(self.graph.add, lanes, self.graph.constant(0.0)))
            entries.append(self._pack([self.graph.add(own, self.graph.pack(sums))]))
        return rebuilt(total, iter(entries))


class BranchGraph(Graph):
    """A graph in which sines and cosines of inputs are those of scalars.

    A kernel computes all of these at once, whatever groups their inputs belong to.
    """

    def function(self, name: str, i: int) -> int:
        """Record a function, of inputs lane by lane."""
        if self.size(i) == 1 or not self._is_input(i):
            return super().function(name, i)
        lanes = range(LANES - self.size(i), LANES)
        return self.pack([self.function(name, self._in_lane(i, k)) for k in lanes])

    def _is_input(self, i: int) -> bool:
        """Tell whether a vector is filled with scalars, perhaps plus a number."""
        op, *terms = self.nodes[i]
        if op == 'add':
            return all(self.size(term) == 1 or self._is_input(term) for term in terms)
        return bool(op == 'pack')

    def _in_lane(self, i: int, k: int) -> int:
        """Return lane k of an input, perhaps plus a number."""
        op, *terms = self.nodes[i]
        return self.add(*(self._in_lane(j, k) for j in terms)) if op == 'add' else self.lane(i, k)
