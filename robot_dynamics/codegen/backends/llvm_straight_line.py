"""A program in LLVM's language: for one sample, and for many.

`name.sample` computes one sample. Its sines and cosines are computed together, in the lanes of one
vector: six joints cost little more than one. `name.batch` walks over rows of arrays, several
samples at a time, one in each lane; blocks of rows are turned into columns in registers and back.
`name.march` takes samples through many steps, in columns from the first step to the last. All do
the same operations in the same order with the same rounding, products and sums fused alike: a
sample has the same bits wherever it is computed, alone or in any batch.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from robot_dynamics.codegen.backends.lanes import apart
from robot_dynamics.codegen.backends.llvm_arithmetic import Arithmetic, elementary_groups
from robot_dynamics.codegen.backends.llvm_functions import (
    begun,
    ended,
    rows_in_lanes,
    steps_of_blocks,
)
from robot_dynamics.codegen.backends.llvm_writer import Writer, counting, within
from robot_dynamics.codegen.tracing.program import Program, operands
from robot_dynamics.codegen.tracing.sums import fused, soonest_first

# Bytes of results beyond which they go past the caches, as those would not hold them. Measured
# where cores have 1 MB of their own and share 32 with others: with 4 MB, whoever reads the results
# next waits longer than was saved; with 10 MB a tenth of the time is saved, with 16 MB a quarter.
LARGE = 8 << 20

# Results of a sample for which that is done: those of eight wait in the fastest cache.
MOST_WAITING = 256

# Lines of memory that are written in a row: more would wait for each other.
LINES = 16


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
    """Return the function of many samples, `lanes` at a time."""
    w = begun('batch', program.name, program.signature, lanes)
    program = apart(fused(program))
    names = [name for name, _ in program.signature.outputs]
    outputs = dict(zip(names, program.signature.output_sizes, strict=True))
    large, end = None, '%end'
    if sum(outputs.values()) <= MOST_WAITING:
        doubles = w.let(f'mul i64 {w.let("sub i64 %end, %begin")}, {sum(outputs.values())}')
        large = w.let(f'icmp sgt i64 {doubles}, {LARGE // 8}')
        # Large results are written one round later.
        end = w.let(f'add i64 %end, {w.let(f"select i1 {large}, i64 {lanes}, i64 0")}')
    for first in counting(w, '%begin', end, lanes):
        columns = Columns(w, dict(program.signature.inputs), first)
        rows = Rows(w, outputs, columns.rows, first, large)
        _compute(program, columns, rows)
        rows.turn()
    # What went past the caches must be there for other threads, too.
    w.do('fence seq_cst')
    return ended(w)


def _compute(program: Program, columns: 'Columns', rows: 'Rows') -> None:
    """Write the arithmetic of a round, and between it the rows that wait."""
    finished: dict[int, list[tuple[str, int]]] = {}
    for (name, _), entries in zip(program.signature.outputs, program.results, strict=True):
        for place, index in enumerate(entries):
            finished.setdefault(index, []).append((name, place))
    nodes = program.nodes
    signs = [i for i, (op, *of) in enumerate(nodes) if op == 'neg' and nodes[of[0]][0] != 'neg']
    arithmetic = Arithmetic(rows.w, program, columns.load)
    for index, pieces in enumerate(rows.pieces(len(nodes))):
        arithmetic.evaluate([*operands(nodes[index]), index])
        for name, place in finished.get(index, ()):
            rows.keep(name, place, arithmetic.values[index])
        for piece in pieces:
            rows.write(*piece)
        if pieces:
            # Signs cost nothing in the block that uses them, and are written again there.
            for i in signs:
                arithmetic.values.pop(i, None)


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


class Block(NamedTuple):
    """Rows in memory, counted in doubles from the first; whole lines are from head to tail."""

    place: str
    head: str
    tail: str
    end: str


class Rows:
    """Columns in registers as rows in memory.

    What is computed is kept column by column, since it comes in no order of its own, and becomes
    rows in a loop when all is there. Memory for the next rows is sent for in advance.

    Large results go past the caches, line by line. Rows wait for the next round, which writes some
    lines now and then between its arithmetic: all at once, they would wait for memory.
    """

    def __init__(
        self,
        w: Writer,
        sizes: Mapping[str, int],
        rows: Sequence[str],
        first: str,
        large: str | None,
    ) -> None:
        self.w = w
        self._sizes = sizes
        self._numbers = rows
        self._large = large
        # Whole squares of columns. Of rows, the last line may be read beyond their end.
        self._kept = {name: w.allocate(max(size, w.lanes)) for name, size in sizes.items()}
        self._waiting = {name: w.allocate(size + 1) for name, size in sizes.items() if large}
        self._blocks = {name: self._block(name, first) for name in self._waiting}

    def _block(self, name: str, first: str) -> Block:
        """Return where rows go that wait since the last round."""
        w, size = self.w, self._sizes[name]
        later = w.let(f'and i1 {self._large}, {w.let(f"icmp sgt i64 {first}, %begin")}')
        before = w.let(f'sub i64 {first}, {w.lanes}')
        begin = w.let(f'select i1 {later}, i64 {before}, i64 %begin')
        left = w.let(f'sub i64 %end, {begin}')
        count = w.let(f'call i64 @llvm.smin.i64(i64 {left}, i64 {w.lanes})')
        end = w.let(f'mul i64 {w.let(f"select i1 {later}, i64 {count}, i64 0")}, {size}')
        place = w.element(f'%out.{name}', w.let(f'mul i64 {begin}, {size}'))
        number = w.let(f'lshr i64 {w.let(f"ptrtoint ptr {place} to i64")}, 3')
        missing = w.let(f'and i64 {w.let(f"sub i64 0, {number}")}, {w.lanes - 1}')
        head = w.let(f'call i64 @llvm.smin.i64(i64 {missing}, i64 {end})')
        whole = w.let(f'and i64 {w.let(f"sub i64 {end}, {head}")}, {-w.lanes}')
        return Block(place, head, w.let(f'add i64 {head}, {whole}'), end)

    def keep(self, name: str, i: int, column: str) -> None:
        """Take entry i of the rows of an output."""
        self.w.store(column, self.w.element(self._kept[name], i * self.w.lanes))

    def turn(self) -> None:
        """Make rows of the columns, a square after the other."""
        w, lanes = self.w, self.w.lanes
        for name, size in self._sizes.items():
            places = []
            for lane, number in enumerate(self._numbers):
                place = w.element(f'%out.{name}', w.let(f'mul i64 {number}, {size}'))
                if name in self._waiting:
                    later = w.element(self._waiting[name], lane * size)
                    place = w.let(f'select i1 {self._large}, ptr {later}, ptr {place}')
                places.append(place)
            for entry in counting(w, 0, size, lanes):
                # The last one ends with the row: it may repeat some of the one before.
                i = w.let(f'call i64 @llvm.smin.i64(i64 {entry}, i64 {max(0, size - lanes)})')
                kept = w.element(self._kept[name], w.let(f'mul i64 {i}, {lanes}'))
                columns = [w.load(w.element(kept, lane * lanes)) for lane in range(lanes)]
                for place, row in zip(places, transpose(w, columns), strict=True):
                    w.store(row, w.element(place, i), min(size, lanes))
                    w.expect_store(w.element(w.element(place, i), lanes * size))

    def pieces(self, times: int) -> list[list[tuple[str, int, int]]]:
        """Return what to write at each of so many times: from line to line of an output."""
        pieces = [
            (name, begin, min(begin + LINES, self._sizes[name]))
            for name in self._waiting
            for begin in range(0, self._sizes[name], LINES)
        ]
        cuts = [len(pieces) * time // max(1, times) for time in range(times + 1)]
        return [pieces[begin:end] for begin, end in itertools.pairwise(cuts)]

    def write(self, name: str, begin: int, end: int) -> None:
        """Write some lines of the rows that wait."""
        w, waiting, block = self.w, self._waiting[name], self._blocks[name]
        if begin == 0:
            # First, the ends of lines that other rows share.
            for i, until in (('0', block.head), (block.tail, block.end)):
                some = w.load(w.element(waiting, i))
                w.store_where(within(w, i, until), some, w.element(block.place, i))
        low, high = (w.let(f'add i64 {block.head}, {line * w.lanes}') for line in (begin, end))
        stop = w.let(f'call i64 @llvm.smin.i64(i64 {high}, i64 {block.tail})')
        for i in counting(w, low, stop, w.lanes):
            w.stream(w.load(w.element(waiting, i)), w.element(block.place, i))


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
