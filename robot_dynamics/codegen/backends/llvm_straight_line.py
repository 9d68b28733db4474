"""A program in LLVM's language: for one sample, and for many.

`name.sample` computes one sample. Its sines and cosines are computed together, in the lanes of one
vector: six joints cost little more than one. `name.batch` walks over rows of arrays, several
samples at a time, one in each lane; blocks of rows are turned into columns in registers and back.
`name.march` takes samples through many steps, in columns from the first step to the last. All do
the same operations in the same order with the same rounding, products and sums fused alike: a
sample has the same bits wherever it is computed, alone or in any batch.
"""

from collections.abc import Mapping, Sequence

from robot_dynamics.codegen.backends.lanes import apart
from robot_dynamics.codegen.backends.llvm_arithmetic import Arithmetic, elementary_groups
from robot_dynamics.codegen.backends.llvm_functions import (
    begun,
    ended,
    rows_in_lanes,
    steps_of_blocks,
)
from robot_dynamics.codegen.backends.llvm_writer import Writer, counting
from robot_dynamics.codegen.tracing.program import Program
from robot_dynamics.codegen.tracing.sums import fused, soonest_first


def module_source(kernels: Sequence[Writer]) -> str:
    """Return the text of a module of functions."""
    declarations = sorted(set().union(*(kernel.intrinsics for kernel in kernels)))
    return (
        '\n'.join([*declarations, *(line for kernel in kernels for line in ['', *kernel.lines])])
        + '\n'
    )


def sample_kernel(program: Program) -> Writer:
    """Return the function of one sample."""
    w = begun('sample', program.name, program.signature, 1)
    program = soonest_first(fused(program))
    arithmetic = Arithmetic(w, program, lambda name, i: w.load(w.element(f'%in.{name}', i)))
    for group in elementary_groups(program):
        arithmetic.evaluate_together(group)
    arithmetic.evaluate(range(len(program.nodes)))
    for (name, _), entries in zip(program.signature.outputs, program.results, strict=True):
        arithmetic.store(f'%out.{name}', entries)
    return ended(w)


def batch_kernel(program: Program, lanes: int) -> Writer:
    """Return the function of a batch, `lanes` samples at a time."""
    w = begun('batch', program.name, program.signature, lanes)
    program = apart(fused(program))
    results: dict[int, list[tuple[str, int]]] = {}
    for (name, _), entries in zip(program.signature.outputs, program.results, strict=True):
        for place, index in enumerate(entries):
            results.setdefault(index, []).append((name, place))
    names = [name for name, _ in program.signature.outputs]
    sizes = dict(zip(names, program.signature.output_sizes, strict=True))
    for first in counting(w, '%begin', '%end', lanes):
        columns = Columns(w, dict(program.signature.inputs), first)
        rows = Rows(w, sizes, columns.rows)
        arithmetic = Arithmetic(w, program, columns.load)
        for index in range(len(program.nodes)):
            arithmetic.evaluate([index])
            for name, place in results.get(index, ()):
                rows.keep(name, place, arithmetic.values[index])
        rows.turn()
    return ended(w)


def march_kernel(program: Program, lanes: int) -> Writer:
    """Return the function that takes blocks of samples through steps."""
    w = begun('march', program.name, program.signature, lanes)
    program = apart(fused(program))
    for columns in steps_of_blocks(w, program.signature):

        def place(array: str, i: int, columns: Mapping[str, str] = columns) -> str:
            return w.element(columns[array], i * lanes)

        arithmetic = Arithmetic(w, program, lambda name, i: w.load(place(f'%in.{name}', i)))
        arithmetic.evaluate(range(len(program.nodes)))
        for (name, _), entries in zip(program.signature.outputs, program.results, strict=True):
            for i, node in enumerate(entries):
                w.store(arithmetic.values[node], place(f'%out.{name}', i))
    return ended(w)


class Columns:
    """Rows in memory as columns in registers, one sample in each lane."""

    def __init__(self, w: Writer, sizes: Mapping[str, int], first: str) -> None:
        self.w = w
        self._sizes = sizes
        self.rows = rows_in_lanes(w, first)
        self._pointers: dict[str, list[str]] = {}
        self._squares: dict[tuple[str, int], list[str]] = {}

    def load(self, name: str, i: int) -> str:
        """Return entry i of the rows of an input."""
        w = self.w
        begin = i - i % w.lanes
        if name not in self._pointers:
            places = [w.let(f'mul i64 {row}, %in.{name}.stride') for row in self.rows]
            self._pointers[name] = [w.element(f'%in.{name}', place) for place in places]
        if (name, begin) not in self._squares:
            count = min(w.lanes, self._sizes[name] - begin)
            rows = [w.load(w.element(pointer, begin), count) for pointer in self._pointers[name]]
            self._squares[name, begin] = transpose(w, rows)
        return self._squares[name, begin][i - begin]


class Rows:
    """Columns in registers as rows in memory.

    Results are stored column by column, in the order of evaluation, and transposed in a loop once
    all of them are computed. The memory of the next rows is prefetched.
    """

    def __init__(self, w: Writer, sizes: Mapping[str, int], rows: Sequence[str]) -> None:
        self.w = w
        self._sizes = sizes
        self._numbers = rows
        # Whole squares of columns.
        self._kept = {name: w.allocate(max(size, w.lanes)) for name, size in sizes.items()}

    def keep(self, name: str, i: int, column: str) -> None:
        """Store entry i of the rows of an output."""
        self.w.store(column, self.w.element(self._kept[name], i * self.w.lanes))

    def turn(self) -> None:
        """Transpose the columns to rows, square by square."""
        w, lanes = self.w, self.w.lanes
        for name, size in self._sizes.items():
            places = [
                w.element(f'%out.{name}', w.let(f'mul i64 {number}, {size}'))
                for number in self._numbers
            ]
            for entry in counting(w, 0, size, lanes):
                # The last square ends with the row and may overlap the one before.
                i = w.let(f'call i64 @llvm.smin.i64(i64 {entry}, i64 {max(0, size - lanes)})')
                kept = w.element(self._kept[name], w.let(f'mul i64 {i}, {lanes}'))
                columns = [w.load(w.element(kept, lane * lanes)) for lane in range(lanes)]
                for place, row in zip(places, transpose(w, columns), strict=True):
                    w.store(row, w.element(place, i), min(size, lanes))
                    w.expect_store(w.element(w.element(place, i), lanes * size))


def transpose(w: Writer, rows: Sequence[str]) -> list[str]:
    """Return the columns of a square of values, exchanging ever larger blocks (Eklundh 1972)."""
    vectors, lanes, half = list(rows), w.lanes, 1
    while half < lanes:
        low = [lane if not lane & half else lane - half + lanes for lane in range(lanes)]
        high = [lane + half if not lane & half else lane + lanes for lane in range(lanes)]
        for i in range(lanes):
            if not i & half:
                a, b = vectors[i], vectors[i + half]
                vectors[i], vectors[i + half] = w.shuffle(a, b, low), w.shuffle(a, b, high)
        half *= 2
    return vectors
