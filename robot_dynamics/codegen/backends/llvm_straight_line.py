# SPDX-License-Identifier: Apache-2.0
"""Straight-line programs in LLVM's language, for one sample, a batch, and rollouts.

    void name.sample(const double *input..., double *output...)
    void name.batch(const double *input, int64 stride, ..., double *output...,
                    int64 begin, int64 end)
    void name.scan(the same)
    void name.rollout(double *input, int64 per_block, int64 per_step, ..., (outputs likewise) ...,
                      int64 begin, int64 end, int64 steps)

`sample` computes its sines and cosines together, in the lanes of vectors: six joints cost
little more than one. `batch` and `scan` read row i of an input at `input + i stride` and write row
i of an output of m entries at `output + i m`, for begin <= i < end. `batch` has a sample in each
lane of its vectors and transposes blocks of rows in registers; its outputs must not overlap
inputs. `scan` computes row after row, and outputs may be later inputs.

`rollout` takes blocks, as many samples as there are lanes, through steps; the outputs of a step
are the inputs of the next. Arrays hold columns: at a step, entry i of a block is at
`array + block per_block + step per_step + i lanes`. So a step needs no transposing, and the state
of a block stays in cache from its first step to its last. Inputs and outputs may be the same
memory: a step reads everything before it writes.

All functions do the same operations in the same order with the same rounding, products and sums
fused alike: a sample has the same bits alone and in any batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from robot_dynamics.codegen.backends.llvm_arithmetic import Arithmetic, elementary_groups
from robot_dynamics.codegen.backends.llvm_writer import Writer, counting
from robot_dynamics.codegen.backends.scalarize import scalarize
from robot_dynamics.codegen.tracing.program import Program, Signature
from robot_dynamics.codegen.tracing.sums import fused, soonest_first


def begun(kind: str, program: str, signature: Signature, lanes: int) -> Writer:
    """Return a writer that has begun a function of a program."""
    w = Writer(lanes)
    own = '' if kind in ('scan', 'rollout') else 'noalias '
    arrays = row_strides(signature)
    if kind == 'sample':
        parameters = [f'ptr {own}{array}' for array in arrays]
    elif kind == 'rollout':
        parameters = [f'ptr {array}, i64 {array}.block, i64 {array}.step' for array in arrays]
        parameters += ['i64 %begin', 'i64 %end', 'i64 %steps']
    else:
        parameters = [
            f'ptr {own}{array}' if isinstance(stride, int) else f'ptr {own}{array}, i64 {stride}'
            for array, stride in arrays.items()
        ]
        parameters += ['i64 %begin', 'i64 %end']
    w.lines.append(f'define void @{program}.{kind}({", ".join(parameters)}) nounwind {{')
    w.begin_block('start')
    return w


def ended(w: Writer) -> Writer:
    """Return the writer, with the function's end written."""
    w.lines += ['  ret void', '}']
    return w


def row_strides(signature: Signature) -> dict[str, int | str]:
    """Return all arrays with the strides of their rows, in doubles."""
    inputs = [f'%in.{name}' for name, _ in signature.inputs]
    outputs = [f'%out.{name}' for name, _ in signature.outputs]
    given = {array: f'{array}.stride' for array in inputs}
    return given | dict(zip(outputs, signature.output_sizes, strict=True))


def rows_in_lanes(w: Writer, first: str) -> list[str]:
    """Return the number of a row for each lane of a batch, from the first on.

    Past the end, lanes repeat the last row and write the same values there again.
    """
    w.intrinsics.add('declare i64 @llvm.smin.i64(i64, i64)')
    last = w.let('sub i64 %end, 1')
    ahead = [w.let(f'add i64 {first}, {lane}') for lane in range(w.lanes)]
    return [w.let(f'call i64 @llvm.smin.i64(i64 {row}, i64 {last})') for row in ahead]


def scan_kernel(program: str, signature: Signature) -> Writer:
    """Return the function that calls `sample` for one row after the other."""
    w = begun('scan', program, signature, 1)
    for row in counting(w, '%begin', '%end'):
        places = [
            (array, w.let(f'mul i64 {row}, {stride}'))
            for array, stride in row_strides(signature).items()
        ]
        rows = ', '.join(f'ptr {w.element(array, place)}' for array, place in places)
        w.do(f'call void @{program}.sample({rows})')
    return ended(w)


def steps_of_blocks(w: Writer, signature: Signature) -> Iterator[dict[str, str]]:
    """Write the loops of a rollout and yield the addresses of the columns of each array, once."""
    for block in counting(w, '%begin', '%end'):
        of_block = {}
        for array in row_strides(signature):
            of_block[array] = w.element(array, w.let(f'mul i64 {block}, {array}.block'))
        for step in counting(w, 0, '%steps'):
            yield {
                array: w.element(place, w.let(f'mul i64 {step}, {array}.step'))
                for array, place in of_block.items()
            }


def module_source(kernels: Sequence[Writer]) -> str:
    """Return the text of a module of functions."""
    declarations = sorted(set().union(*(kernel.intrinsics for kernel in kernels)))
    return (
        '\n'.join([*declarations, *(line for kernel in kernels for line in ['', *kernel.lines])])
        + '\n'
    )


def kernels(kind: str, program: Program, lanes: int) -> list[Writer]:
    """Return the functions in the module of a kind of kernel: `sample` has `scan`, too."""
    if kind == 'sample':
        return [sample_kernel(program), scan_kernel(program.name, program.signature)]
    return [batch_kernel(program, lanes) if kind == 'batch' else rollout_kernel(program, lanes)]


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
    program = scalarize(fused(program))
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
                rows.store(name, place, arithmetic.values[index])
        rows.transpose()
    return ended(w)


def rollout_kernel(program: Program, lanes: int) -> Writer:
    """Return the function that takes blocks of samples through steps."""
    w = begun('rollout', program.name, program.signature, lanes)
    program = scalarize(fused(program))
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
        self._columns = {name: w.allocate(max(size, w.lanes)) for name, size in sizes.items()}

    def store(self, name: str, i: int, column: str) -> None:
        """Store entry i of the rows of an output."""
        self.w.store(column, self.w.element(self._columns[name], i * self.w.lanes))

    def transpose(self) -> None:
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
                square = w.element(self._columns[name], w.let(f'mul i64 {i}, {lanes}'))
                columns = [w.load(w.element(square, lane * lanes)) for lane in range(lanes)]
                for place, row in zip(places, transpose(w, columns), strict=True):
                    w.store(row, w.element(place, i), min(size, lanes))
                    w.prefetch(w.element(w.element(place, i), lanes * size))


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
