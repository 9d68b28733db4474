# SPDX-License-Identifier: Apache-2.0
"""Loop programs in LLVM's language: the same functions as `llvm_straight_line` writes.

They have one more input, the last: memory for the values of the rows, provided by the caller. For
one sample, the values of a column are adjacent there, so that several rows, or several entries of
a row of a matrix, are computed in the lanes of a vector. For a batch every value is a vector with
a sample in each lane, the values of a row are adjacent, and rows and entries are computed one by
one. The bits are the same. There is no `rollout`.

A loop in LLVM's language is a generator here (see `llvm_writer.counting`): the instructions
written inside the `for`, which runs once, are the body of the loop.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

from robot_dynamics.codegen.backends.llvm_arithmetic import Arithmetic
from robot_dynamics.codegen.backends.llvm_straight_line import (
    begun,
    ended,
    row_strides,
    rows_in_lanes,
    scan_kernel,
    transpose,
)
from robot_dynamics.codegen.backends.llvm_writer import Writer, counting, within
from robot_dynamics.codegen.loops.loop_program import (
    CARRIED,
    CARRIER,
    OWN,
    PARENT,
    ROW,
    TABLE,
    Equations,
    LoopProgram,
    Pairs,
    RowStep,
)
from robot_dynamics.codegen.tracing.program import Program, Signature
from robot_dynamics.codegen.tracing.sums import fused

# Doubles in a cache line.
LINE = 8

# Memory for the values of the rows.
MEMORY = '%in.memory'

# Matrices of equations that no output has.
UNIT, LESS_L = 'unit', '-L'

# Vectors of a row of a matrix that are solved for at once: three matrices in registers.
VECTORS = 4

# The halves of a matrix, and the index that changes along a row of each.
HALVES = ('below', CARRIER), ('above', CARRIED)


class Loops:
    """Writes the loops for as many samples as the writer has lanes.

    Args:
        program: what is written.
        w: writer for the value of one sample, or for those of several samples.
        entries: number of rows, and of entries of a row of a matrix, that are computed at once.

    Attributes:
        places: addresses of inputs ('%in.q') and outputs ('%out.tau').
    """

    def __init__(self, program: LoopProgram, w: Writer, entries: int) -> None:
        self.program, self.w = program, w
        self.places = {array: array for array in row_strides(program.signature)}
        self.one = w.with_lanes(1)
        self.n = len(program.rows)
        self._entries = entries
        self._wide = w.with_lanes(w.lanes * entries)
        # Equations: memory of matrices by output, the columns that are solved for at once, and the
        # length of a row.
        self._matrices: dict[str, str] = {}
        vectors = -(-self.n // entries)
        together = [count for count in range(1, VECTORS + 1) if vectors % count == 0]
        self._columns, self._length = together[-1] * entries, vectors * entries
        # Strides of rows and columns, in doubles.
        self._row_length, self._column_length = program.columns * w.lanes, w.lanes
        self.memory = self.n * self._row_length  # doubles in use
        if w.lanes == 1:
            # The stride of columns is an odd number of cache lines: with a power of two they would
            # map to the same cache sets. Vectors may read beyond the last column.
            self._row_length, self._column_length = 1, (-(-self.n // LINE) | 1) * LINE
            self.memory = program.columns * self._column_length + LINE
        if program.equations:
            self._reserve_equations(program.equations)

    def write(self) -> None:
        """Write everything."""
        program = self.program
        for loop in program.loops:
            in_lanes = loop.alone and self._entries > 1
            w = self._wide if in_lanes else self.one
            limits = (self.n - 1, -1, -1) if loop.inward else (0, self.n, w.lanes)
            wanted = [kind for kind, step in enumerate(loop.steps) if step.stores]
            for row in counting(self.one, *limits):
                for kind, inside in self._kinds(w, row, wanted):
                    self._step(loop.steps[kind], row, inside if in_lanes else None)
        if program.pairs:
            self._pairs(program.pairs)
        if program.equations:
            self._solve(program.equations)

    # -- steps ------------------------------------------------------------------------------

    def _kinds(self, w: Writer, row: str, wanted: Sequence[int]) -> Iterator[tuple[int, str]]:
        """Write a branch to each kind, and yield which of the rows in the lanes are of it."""
        place = w.let(f'getelementptr i64, ptr @kind, i64 {row}')
        kinds = w.let(f'load {w.integers}, ptr {place}, align 8')
        for kind in wanted:
            block, after = w.new_block('kind'), w.new_block('after')
            inside = w.let(f'icmp eq {w.integers} {kinds}, {w.integer(kind)}')
            lanes = w.let(f'bitcast {w.vector("i1")} {inside} to i{w.lanes}')
            some = w.let(f'icmp ne i{w.lanes} {lanes}, 0')
            w.do(f'br i1 {some}, label %{block}, label %{after}')
            w.begin_block(block)
            yield kind, inside
            w.do(f'br label %{after}')
            w.begin_block(after)

    def _step(self, step: RowStep, row: str, inside: str | None) -> None:
        """Write a step at a row, or at those of the rows in the lanes for which `inside` holds."""
        one, w = self.one, self._wide if inside else self.w
        rows = {OWN: self._row(row), PARENT: self._row(self._integer('parent', row))}
        constants = one.element('@table', row)

        def load(where: str, i: int | str) -> str:
            if where in rows:
                return w.load(self._number(rows[where], int(i)))
            if where == TABLE:
                place = one.element(constants, int(i) * self.n)
                return w.load(place) if inside or w.lanes == 1 else w.spread(one.load(place))
            place = self._entry(f'%in.{where}', row if i == ROW else i)
            if inside:
                return w.load_where(inside, place) if i == ROW else w.spread(one.load(place))
            return w.load(place)

        for store, value in zip(step.stores, results(w, step.program, load), strict=True):
            if store.where in rows:
                place = self._number(rows[store.where], store.column)
                if store.where == PARENT:
                    value = w.add(w.load(place), value)
                elif inside:
                    # Not by `store_where`, which some processors do lane by lane.
                    value = w.select(inside, value, w.load(place))
                w.store(value, place)
            else:
                _store(w, value, self._entry(f'%out.{store.where}', row), inside)

    # -- matrices ---------------------------------------------------------------------------

    def _pairs(self, pairs: Pairs) -> None:
        """Write the matrices, row by row."""
        w, one = self.w, self.one
        for row in counting(one, 0, self.n):
            own, lines = self._row(row), [self._matrix_row(name, row) for name in pairs.outputs]
            # Entries of rows on different branches are 0.
            if any(parent < row - 1 for row, parent in enumerate(self.program.rows.parents)):
                zeros = [self._wide.constant(0.0)] * len(lines)
                for i in counting(one, 0, self.n, self._entries):
                    self._store_entries(zeros, lines, i, self.n)
            for line, column in zip(lines, pairs.diagonal, strict=True):
                w.store(w.load(self._number(own, column)), self._at(line, row, w.lanes))
            for half, moving in HALVES:
                self._half(getattr(pairs, half), moving, row, lines)

    def _half(self, entries: Program, moving: str, row: str, lines: Sequence[str]) -> None:
        """Write the entries of a row of matrices that lie on one side of the diagonal."""
        own, fixed = self._row(row), {}
        # Values of the row itself, and inputs, are the same for all entries.
        for op, *leaf in entries.nodes:
            if op == 'input' and leaf[0] != moving:
                where, i = leaf
                shared = where not in (CARRIER, CARRIED)
                place = self._entry(f'%in.{where}', i) if shared else self._number(own, i)
                value = self.w.load(place)
                fixed[where, i] = value if self._entries == 1 else self._wide.spread(value)
        for other, end in self._related(row, moving, self._entries):
            there = self._row(other)

            def load(where: str, i: int, there: str = there) -> str:
                if where != moving:
                    return fixed[where, i]
                return self._wide.load(self._number(there, i))

            self._store_entries(results(self._wide, entries, load), lines, other, end)

    def _related(
        self, row: str, moving: str, by: int, sums: list[str] | None = None
    ) -> Iterator[tuple[str, str]]:
        """Write loops over the rows that carry a row, or that it carries: counter and end."""
        first = self._integer(f'{moving}.first', row)
        last = self._integer(f'{moving}.first', self.one.let(f'add i64 {row}, 1'))
        for run in counting(self._wide, first, last, 1, sums):
            place = self.one.let(f'mul i64 {run}, 2')
            begin = self._integer(f'{moving}.runs', place)
            end = self._integer(f'{moving}.runs', self.one.let(f'add i64 {place}, 1'))
            for other in counting(self._wide, begin, end, by, sums):
                yield other, end

    def _store_entries(
        self, values: Sequence[str], lines: Sequence[str], i: str, end: object
    ) -> None:
        """Write entries i, i + 1, ..., none from `end` on."""
        inside = within(self._wide, i, end) if self._entries > 1 else None
        for value, line in zip(values, lines, strict=True):
            _store(self._wide, value, self._at(line, i, self.w.lanes), inside)

    # -- equations --------------------------------------------------------------------------

    def _reserve_equations(self, equations: Equations) -> None:
        """Reserve memory for M, the matrices B, the unit matrix, -L and 1 / D."""
        names = (equations.inverse, *equations.solutions, UNIT, LESS_L)
        self._matrices = {name: self.reserved(self.n * self._length) for name in names}
        self._pivots = self.reserved(self.n)

    def _solve(self, equations: Equations) -> None:
        """Write X of M X = B, and M^-1. Columns are independent of each other."""
        one, n, lanes = self.one, self.n, self.w.lanes
        self._factorize(equations.inverse)
        sides = (*equations.solutions, UNIT)
        targets = [self.places[f'%out.{x}'] for x in (*equations.solutions, equations.inverse)]
        for i in counting(one, 0, n, self._columns):
            for row in counting(one, n - 1, -1, -1):
                # L^T Y = B:  Y_i = B_i - L_ki Y_k  for all k that i carries
                self._combine(row, CARRIED, sides, i)
            for row in counting(one, 0, n):
                # L X = D^-1 Y:  X_i = Y_i / D_i - L_ij X_j  for all j that carry i
                pivot = self._of_all(self._at(self._pivots, row, lanes))
                solved = self._combine(row, CARRIER, sides, i, pivot)
                lines = [self._line(target, row, n) for target in targets]
                for block, values in self._blocks(i, solved):
                    self._store_entries(values, lines, block, n)
        # M^-1 is symmetric to the last bit.
        for row in counting(one, 0, n):
            for other in counting(one, 0, row):
                value = self.w.load(self._at(self._line(targets[-1], row, n), other, lanes))
                self.w.store(value, self._at(self._line(targets[-1], other, n), row, lanes))

    def _factorize(self, name: str) -> None:
        """Write -L and 1 / D of M = L^T D L; D L takes the place of M. And the unit matrix."""
        w, wide, one, n = self.w, self._wide, self.one, self.n
        for row in counting(one, n - 1, -1, -1):
            own, less_l, unit = (self._matrix_row(x, row) for x in (name, LESS_L, UNIT))
            for i in counting(one, 0, n, self._columns):
                # (D L)_i = M_i - L_ki (D L)_k  for all k that i carries
                self._combine(row, CARRIED, [name], i)
            pivot = w.div(w.constant(1.0), w.load(self._at(own, row, w.lanes)))
            w.store(pivot, self._at(self._pivots, row, w.lanes))
            factor = pivot if self._entries == 1 else wide.spread(pivot)
            for i in counting(one, 0, n, self._entries):
                x = wide.neg(wide.mul(factor, wide.load(self._at(own, i, w.lanes))))
                wide.store(x, self._at(less_l, i, w.lanes))
                wide.store(wide.constant(0.0), self._at(unit, i, w.lanes))
            w.store(w.constant(1.0), self._at(unit, row, w.lanes))

    def _combine(
        self, row: str, moving: str, names: Sequence[str], i: str, factor: str = ''
    ) -> list[str]:
        """Multiply columns of a row by a factor and add multiples of related rows; return them."""
        wide = self._wide
        places = self._column_places(names, row, i)
        sums = [wide.load(place) for place in places]
        sums = [wide.mul(factor, x) for x in sums] if factor else sums
        for other, _ in self._related(row, moving, 1, sums):
            beyond, nearer = (row, other) if moving == CARRIER else (other, row)
            place = self._at(self._matrix_row(LESS_L, beyond), nearer, self.w.lanes)
            multiplier = self._of_all(place)
            for k, there in enumerate(self._column_places(names, other, i)):
                sums[k] = wide.fma(multiplier, wide.load(there), sums[k])
        for place, x in zip(places, sums, strict=True):
            wide.store(x, place)
        return sums

    def _column_places(self, names: Sequence[str], row: str, i: str) -> list[str]:
        """Return the addresses of columns from i on of a row of matrices, vector by vector."""
        first = [self._at(self._matrix_row(name, row), i, self.w.lanes) for name in names]
        steps = range(0, self._columns, self._entries)
        return [self.one.element(place, k * self.w.lanes) for k in steps for place in first]

    def _blocks(self, i: str, values: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
        """Yield the first column of each vector, and the vectors of all matrices."""
        count = len(values) * self._entries // self._columns
        for k in range(0, self._columns, self._entries):
            first = k // self._entries * count
            yield self.one.let(f'add i64 {i}, {k}'), list(values[first : first + count])

    def _of_all(self, place: str) -> str:
        """Return a value for all entries that are computed at once."""
        value = self.w.load(place)
        return value if self._entries == 1 else self._wide.spread(value)

    # -- addresses --------------------------------------------------------------------------

    def reserved(self, entries: int) -> str:
        """Return the address of unused memory for a number of values, in whole vectors."""
        begin, lanes = self.memory, self.w.lanes
        self.memory += -(-entries // lanes) * lanes * lanes
        return self.one.element(MEMORY, begin)

    def _row(self, row: str) -> str:
        """Return the address of a row's values."""
        return self._at(MEMORY, row, self._row_length)

    def _number(self, row: str, column: int) -> str:
        return self.one.element(row, column * self._column_length)

    def _entry(self, array: str, i: int | str) -> str:
        """Return the address of an entry of an input or output."""
        return self._at(self.places[array], i, self.w.lanes)

    def _line(self, array: str, i: str, length: int) -> str:
        """Return the address of a row of a matrix."""
        return self._at(array, i, length * self.w.lanes)

    def _matrix_row(self, name: str, row: str) -> str:
        """Return the address of a row of a matrix: of the equations, or of an output."""
        if name in self._matrices:
            return self._line(self._matrices[name], row, self._length)
        return self._line(self.places[f'%out.{name}'], row, self.n)

    def _at(self, array: str, i: int | str, length: int) -> str:
        """Return the address of part i of an array of parts."""
        return self.one.element(array, self.one.let(f'mul i64 {i}, {length}'))

    def _integer(self, array: str, i: str) -> str:
        """Return an entry of a constant."""
        return self.one.let(
            f'load i64, ptr {self.one.let(f"getelementptr i64, ptr @{array}, i64 {i}")}'
        )


def _store(w: Writer, value: str, place: str, inside: str | None) -> None:
    """Write a value, or those of its lanes for which `inside` holds."""
    if inside is None:
        w.store(value, place)
    else:
        w.store_where(inside, value, place)


def results(w: Writer, program: Program, load: Callable[[str, int], str]) -> list[str]:
    """Write a step or pair and return what it computes."""
    program = fused(program)
    arithmetic = Arithmetic(w, program, load)
    arithmetic.evaluate(range(len(program.nodes)))
    return [arithmetic.values[node] for node in program.results[0]]


def kernels(kind: str, program: LoopProgram, lanes: int) -> tuple[list[Writer], int]:
    """Return data and functions of a kind of kernel, and the doubles of memory it needs."""
    if kind == 'batch':
        loops = batch_kernel(program, lanes)
        return [_data(program), loops.w], loops.memory
    loops = sample_kernel(program, lanes)
    # The native call wrapper gives the same memory to the kernels of a sample and of a batch.
    memory = max(loops.memory, _batch_loops(program, lanes).memory)
    return [_data(program), loops.w, scan_kernel(program.name, _signature(program))], memory


def sample_kernel(program: LoopProgram, lanes: int) -> Loops:
    """Return the function of one sample, `lanes` entries of a matrix at a time."""
    w = begun('sample', program.name, _signature(program), 1)
    loops = Loops(program, w, lanes)
    loops.write()
    ended(w)
    return loops


def batch_kernel(program: LoopProgram, lanes: int) -> Loops:
    """Return the function of many samples, `lanes` at a time."""
    loops, strides = _batch_loops(program, lanes), row_strides(program.signature)
    w, signature = loops.w, program.signature
    for first in counting(w, '%begin', '%end', lanes):
        numbers = rows_in_lanes(w, first)
        rows = {
            array: [w.element(array, w.let(f'mul i64 {i}, {stride}')) for i in numbers]
            for array, stride in strides.items()
        }
        for name, size in signature.inputs:
            array = f'%in.{name}'
            _rows_to_vectors(w, rows[array], loops.places[array], size)
        loops.write()
        for (name, _), size in zip(signature.outputs, signature.output_sizes, strict=True):
            array = f'%out.{name}'
            _vectors_to_rows(w, loops.places[array], rows[array], size)
    ended(w)
    return loops


def _batch_loops(program: LoopProgram, lanes: int) -> Loops:
    """Return what writes the loops for many samples, with memory for their inputs and outputs."""
    signature = program.signature
    loops = Loops(program, begun('batch', program.name, _signature(program), lanes), 1)
    for name, size in signature.inputs:
        loops.places[f'%in.{name}'] = loops.reserved(size)
    for (name, _), size in zip(signature.outputs, signature.output_sizes, strict=True):
        loops.places[f'%out.{name}'] = loops.reserved(size)
    return loops


def _signature(program: LoopProgram) -> Signature:
    """Return the inputs and outputs of the functions."""
    inputs, outputs = program.signature.inputs, program.signature.outputs
    return Signature((*inputs, ('memory', 0)), outputs)


def _rows_to_vectors(w: Writer, rows: Sequence[str], place: str, size: int) -> None:
    """Write entries of rows as vectors."""
    for i in counting(w.with_lanes(1), 0, size, w.lanes):
        inside, block = within(w, i, size), w.element(place, w.let(f'mul i64 {i}, {w.lanes}'))
        blocks = [w.load_where(inside, w.element(row, i)) for row in rows]
        for lane, vector in enumerate(transpose(w, blocks)):
            w.store(vector, w.element(block, lane * w.lanes))


def _vectors_to_rows(w: Writer, place: str, rows: Sequence[str], size: int) -> None:
    """Write vectors as entries of rows."""
    for i in counting(w.with_lanes(1), 0, size, w.lanes):
        inside, block = within(w, i, size), w.element(place, w.let(f'mul i64 {i}, {w.lanes}'))
        vectors = [w.load(w.element(block, lane * w.lanes)) for lane in range(w.lanes)]
        for row, entries in zip(rows, transpose(w, vectors), strict=True):
            w.store_where(inside, entries, w.element(row, i))


def _data(program: LoopProgram) -> Writer:
    """Return the constants of the module."""
    w, rows = Writer(1), program.rows
    table = [w.constant(x) for column in program.table for x in column]
    table += ['0.0'] * LINE
    constants: list[tuple[str, str, Sequence[object]]] = [
        ('table', 'double', table),
        ('parent', 'i64', rows.parents),
        ('kind', 'i64', [*rows.kinds, *[-1] * LINE]),
    ]
    if program.pairs:
        for name, related in ((CARRIER, rows.carriers), (CARRIED, rows.carried)):
            runs = [rows.runs(related(row)) for row in range(len(rows))]
            ends = itertools.chain.from_iterable(itertools.chain.from_iterable(runs))
            first = [0, *itertools.accumulate(map(len, runs))]
            constants += [(f'{name}.first', 'i64', first), (f'{name}.runs', 'i64', list(ends))]
    for name, kind, values in constants:
        entries = ', '.join(f'{kind} {value}' for value in values)
        w.lines.append(f'@{name} = private constant [{len(values)} x {kind}] [{entries}]')
    return w
