"""The loops over rows, in LLVM's language: for one sample, or for several in the lanes of vectors.

What rows keep is in memory. For one sample, a column's numbers are neighbours there, so that many
entries of a matrix's row are computed side by side. For several samples every number is a vector,
one sample in each lane, and a row's are neighbours.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from robot_dynamics.compiler.arithmetic import Arithmetic
from robot_dynamics.compiler.llvm_writer import Writer
from robot_dynamics.compiler.rolled.program import (
    OWN,
    PARENT,
    ROW,
    TABLE,
    Coordinates,
    Loop,
    Pairs,
    RolledProgram,
    Step,
)
from robot_dynamics.compiler.trace import Program

# Doubles in a line of the processor's fastest memory.
LINE = 8


@dataclass
class Memory:
    """Where rows keep their numbers: how many doubles rows and columns are apart."""

    row: int
    column: int
    size: int

    @classmethod
    def of_columns(cls, program: RolledProgram) -> Memory:
        """Return memory with the numbers of a column side by side."""
        # Columns are whole lines apart, an odd number of them: with a power of two they would
        # compete for the same lines. Vectors may read beyond the last one.
        apart = (-(-len(program.rows) // LINE) | 1) * LINE
        return cls(1, apart, program.columns * apart + LINE)

    @classmethod
    def of_vectors(cls, program: RolledProgram, lanes: int) -> Memory:
        """Return memory with the numbers of a row side by side, each a vector."""
        return cls(program.columns * lanes, lanes, len(program.rows) * program.columns * lanes)

    def reserve(self, doubles: int) -> int:
        """Return where more memory begins."""
        self.size += doubles
        return self.size - doubles


@contextlib.contextmanager
def counting(w: Writer, begin: object, end: object, by: int = 1) -> Iterator[str]:
    """Write a loop around what is written inside, which is given the counter."""
    before, head, body, latch, done = map(w.new_block, ('before', 'head', 'body', 'latch', 'done'))
    i, following = f'%{head}.i', f'%{head}.next'
    w.do(f'br label %{before}')
    w.begin_block(before)
    w.do(f'br label %{head}')
    w.begin_block(head)
    w.do(f'{i} = phi i64 [ {begin}, %{before} ], [ {following}, %{latch} ]')
    go_on = w.let(f'icmp {"slt" if by > 0 else "sgt"} i64 {i}, {end}')
    w.do(f'br i1 {go_on}, label %{body}, label %{done}')
    w.begin_block(body)
    yield i
    w.do(f'br label %{latch}')
    w.begin_block(latch)
    w.do(f'{following} = add i64 {i}, {by}')
    w.do(f'br label %{head}')
    w.begin_block(done)


@dataclass
class Loops:
    """Writes the loops. Subclasses know how matrices are written."""

    program: RolledProgram
    w: Writer  # of one sample's number, or of those of several samples
    memory: Memory
    places: dict[str, str]  # where the entries of inputs and outputs are

    def __post_init__(self) -> None:
        self.one = self.w.with_lanes(1)
        self.n = len(self.program.rows)

    def write(self) -> None:
        """Write everything."""
        given, coordinates = dict(self.places), self.program.coordinates
        if coordinates:
            self._spread(coordinates)
        for loop in self.program.loops:
            self._loop(loop)
        if self.program.pairs:
            self._pairs(self.program.pairs)
        if coordinates:
            for name, shape in self.program.signature.outputs:
                self._gather(self.places[f'%out.{name}'], given[f'%out.{name}'], shape)

    def _pairs(self, pairs: Pairs) -> None:
        """Write the matrices."""
        raise NotImplementedError

    # -- steps ------------------------------------------------------------------------------

    def _loop(self, loop: Loop) -> None:
        """Write a loop over all rows, which does the step of each row's kind."""
        one = self.one
        limits = (self.n - 1, -1, -1) if loop.inward else (0, self.n, 1)
        with counting(one, *limits) as row:
            blocks = {k: one.new_block('kind') for k, step in enumerate(loop.steps) if step.stores}
            after = one.new_block('after')
            targets = ' '.join(f'i8 {kind}, label %{block}' for kind, block in blocks.items())
            kind = one.let(f'load i8, ptr {one.let(f"getelementptr i8, ptr @kind, i64 {row}")}')
            one.do(f'switch i8 {kind}, label %{after} [{targets}]')
            for kind_of_step, block in blocks.items():
                one.begin_block(block)
                self._step(loop.steps[kind_of_step], row)
                one.do(f'br label %{after}')
            one.begin_block(after)

    def _step(self, step: Step, row: str) -> None:
        """Write what is done at a row."""
        w, one = self.w, self.one
        rows = {OWN: self._row(row), PARENT: self._row(self._integer('parent', row))}
        constants = one.element('@table', row)

        def load(name: str, i: int | str) -> str:
            if name == TABLE:
                return self._everywhere(one.load(one.element(constants, int(i) * self.n)))
            if name in rows:
                return w.load(self._number(rows[name], int(i)))
            return w.load(self._entry(f'%in.{name}', row if i == ROW else i))

        values = self._results(w, step.program, load)
        for store, value in zip(step.stores, values, strict=True):
            if store.where not in rows:
                w.store(value, self._entry(f'%out.{store.where}', row))
                continue
            place = self._number(rows[store.where], store.column)
            w.store(w.add(w.load(place), value) if store.where == PARENT else value, place)

    def _results(
        self,
        w: Writer,
        program: Program,
        load: Callable[[str, int], str],
        known: dict[int, str] | None = None,
    ) -> list[str]:
        arithmetic = Arithmetic(w, program, load)
        arithmetic.values.update(known or {})
        arithmetic.evaluate(range(len(program.nodes)))
        return [arithmetic.values[node] for node in program.results[0]]

    # -- addresses --------------------------------------------------------------------------

    def _row(self, row: str) -> str:
        """Return where a row's numbers are."""
        return self._at('%memory', row, self.memory.row)

    def _number(self, row: str, column: int) -> str:
        return self.one.element(row, column * self.memory.column)

    def _entry(self, array: str, i: int | str) -> str:
        """Return where an entry of an input or output is."""
        return self._at(self.places[array], i, self.w.lanes)

    def _at(self, array: str, i: int | str, length: int) -> str:
        """Return where part i of an array of parts begins."""
        return self.one.element(array, self.one.let(f'mul i64 {i}, {length}'))

    def _integer(self, array: str, i: str) -> str:
        """Return an entry of a constant."""
        return self.one.let(
            f'load i64, ptr {self.one.let(f"getelementptr i64, ptr @{array}, i64 {i}")}'
        )

    def _reserved(self, entries: int) -> str:
        """Return where there is memory, in whole blocks of vectors."""
        lanes = self.w.lanes
        doubles = -(-entries // lanes) * lanes * lanes
        return self.one.element('%memory', self.memory.reserve(doubles))

    def _everywhere(self, value: str) -> str:
        """Return the same number for all samples."""
        return value if self.w.lanes == 1 else self.w.spread(value)

    # -- matrices ---------------------------------------------------------------------------

    @contextlib.contextmanager
    def _related(self, row: str, name: str, by: int) -> Iterator[tuple[str, str]]:
        """Write loops over the rows that carry a row, or that it carries: counter and end."""
        first = self._integer(f'{name}.first', row)
        last = self._integer(f'{name}.first', self.one.let(f'add i64 {row}, 1'))
        with counting(self.one, first, last) as run:
            place = self.one.let(f'mul i64 {run}, 2')
            begin = self._integer(f'{name}.runs', place)
            end = self._integer(f'{name}.runs', self.one.let(f'add i64 {place}, 1'))
            with counting(self.one, begin, end, by) as other:
                yield other, end

    def _has_zeros(self) -> bool:
        """Tell whether some rows neither carry nor are carried by each other."""
        return any(parent < row - 1 for row, parent in enumerate(self.program.rows.parents))

    # -- coordinates ------------------------------------------------------------------------

    def _spread(self, coordinates: Coordinates) -> None:
        """Write coordinates as entries of rows, and find memory for results of rows."""
        for name in self.program.vectors:
            given = self.places[f'%in.{name}']
            self.places[f'%in.{name}'] = rows = self._zeros(self.n)
            with self._terms() as (row, i, weight):
                self._add(rows, row, weight, given, i)
        for name, shape in self.program.signature.outputs:
            self.places[f'%out.{name}'] = self._reserved(self.n ** len(shape))

    def _gather(self, rows: str, target: str, shape: tuple[int, ...]) -> None:
        """Write entries of rows as entries of coordinates."""
        n, m, lanes = self.n, shape[0], self.w.lanes
        self._clear(target, math.prod(shape))
        if len(shape) == 1:
            with self._terms() as (row, i, weight):
                self._add(target, i, weight, rows, row)
            return
        # S^T M, then that times S
        half = self._zeros(m * n)
        with self._terms() as (row, i, weight), counting(self.one, 0, n) as k:
            lines = self._at(half, i, n * lanes), self._at(rows, row, n * lanes)
            self._add(lines[0], k, weight, lines[1], k)
        with counting(self.one, 0, m) as k, self._terms() as (row, i, weight):
            lines = self._at(target, k, m * lanes), self._at(half, k, n * lanes)
            self._add(lines[0], i, weight, lines[1], row)

    @contextlib.contextmanager
    def _terms(self) -> Iterator[tuple[str, str, str]]:
        """Write a loop over the terms of coordinates: row, coordinate and weight."""
        coordinates = self.program.coordinates
        with counting(self.one, 0, len(coordinates.terms) if coordinates else 0) as term:
            weight = self.one.load(self.one.element('@term.weight', term))
            row, i = self._integer('term.row', term), self._integer('term.coordinate', term)
            yield row, i, self._everywhere(weight)

    def _add(self, target: str, i: str, weight: str, source: str, k: str) -> None:
        """Write target[i] += weight source[k]."""
        w, place = self.w, self._at(target, i, self.w.lanes)
        value = w.load(self._at(source, k, w.lanes))
        w.store(w.fma(weight, value, w.load(place)), place)

    def _zeros(self, entries: int) -> str:
        place = self._reserved(entries)
        self._clear(place, entries)
        return place

    def _clear(self, place: str, entries: int) -> None:
        with counting(self.one, 0, entries) as i:
            self.w.store(self.w.constant(0.0), self._at(place, i, self.w.lanes))
