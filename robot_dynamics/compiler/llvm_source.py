"""A program in LLVM's language: for one sample, for many, and for one step after the other.

`name.sample` computes one sample. Its sines and cosines are computed together, in the lanes of one
vector: six joints cost little more than one. `name.batch` walks over rows of arrays, several
samples at a time, one in each lane; blocks of rows are turned into columns in registers and back.
Both do the same operations in the same order with the same rounding, products and sums fused
alike: a sample has the same bits wherever it is computed, alone or in any batch. `name.scan`
computes row after row, for loops whose outputs are the next inputs.

    void name.sample(const double *input..., double *output...)
    void name.batch(const double *input, int64 stride, ..., double *output...,
                    int64 begin, int64 end)
    void name.scan(the same)

The last two read row i of an input at `input + i stride` and write row i of an output of m entries
at `output + i m`, for begin <= i < end, begin < end. Outputs of a batch must not overlap inputs.
"""

from collections.abc import Sequence

from robot_dynamics.compiler.arithmetic import Arithmetic, elementary_groups
from robot_dynamics.compiler.lanes import apart
from robot_dynamics.compiler.llvm_writer import Writer
from robot_dynamics.compiler.sums import fused, soonest_first
from robot_dynamics.compiler.trace import Program


def module_source(kernels: Sequence[Writer]) -> str:
    """Return the text of a module of functions."""
    declarations = sorted(set().union(*(kernel.intrinsics for kernel in kernels)))
    return (
        '\n'.join([*declarations, *(line for kernel in kernels for line in ['', *kernel.lines])])
        + '\n'
    )


def sample_kernel(program: Program) -> Writer:
    """Return the function of one sample."""
    w = Writer(1)
    pointers = [f'ptr noalias %in.{name}' for name, _ in program.signature.inputs]
    pointers += [f'ptr noalias %out.{name}' for name, _ in program.signature.outputs]
    w.lines.append(f'define void @{program.name}.sample({", ".join(pointers)}) nounwind {{')
    w.begin_block('start')

    program = soonest_first(fused(program))
    arithmetic = Arithmetic(w, program, lambda name, i: w.load(w.element(f'%in.{name}', i)))
    for group in elementary_groups(program):
        arithmetic.evaluate_together(group)
    arithmetic.evaluate(range(len(program.nodes)))
    for (name, _), entries in zip(program.signature.outputs, program.results, strict=True):
        arithmetic.store(f'%out.{name}', entries)
    w.lines += ['  ret void', '}']
    return w


def batch_kernel(program: Program, lanes: int) -> Writer:
    """Return the function of many samples, `lanes` at a time."""
    w = Writer(lanes)
    parameters = [
        f'ptr noalias %in.{name}, i64 %stride.{name}' for name, _ in program.signature.inputs
    ]
    parameters += [f'ptr noalias %out.{name}' for name, _ in program.signature.outputs]
    parameters += ['i64 %begin', 'i64 %end']
    w.lines += [
        f'define void @{program.name}.batch({", ".join(parameters)}) nounwind {{',
        'start:',
        '  %last = sub i64 %end, 1',
        '  br label %loop',
        'loop:',
        '  %first = phi i64 [ %begin, %start ], [ %next, %again ]',
    ]
    # Past the end, lanes repeat the last row and write the same there again: any number of rows
    # will do.
    w.intrinsics.add('declare i64 @llvm.smin.i64(i64, i64)')
    ahead = [w.let(f'add i64 %first, {lane}') for lane in range(lanes)]
    rows = [w.let(f'call i64 @llvm.smin.i64(i64 {row}, i64 %last)') for row in ahead]

    columns = Columns(w, rows, dict(program.signature.inputs))
    program = apart(fused(program))
    arithmetic = Arithmetic(w, program, columns.load)
    outputs = [name for name, _ in program.signature.outputs]
    finished: dict[int, list[tuple[str, int]]] = {}
    for name, entries in zip(outputs, program.results, strict=True):
        columns.expect(name, len(entries))
        for place, index in enumerate(entries):
            finished.setdefault(index, []).append((name, place))
    for index in range(len(program.nodes)):
        arithmetic.evaluate([index])
        for name, place in finished.get(index, ()):
            columns.keep(name, place, arithmetic.values[index])
    for name in outputs:
        columns.store(name)
    w.lines += [
        '  br label %again',
        'again:',
        f'  %next = add i64 %first, {lanes}',
        '  %more = icmp slt i64 %next, %end',
        '  br i1 %more, label %loop, label %done',
        'done:',
        '  ret void',
        '}',
    ]
    return w


def scan_kernel(program: Program) -> Writer:
    """Return the function that computes rows one after the other: outputs may be later inputs."""
    w = Writer(1)
    names = [name for name, _ in program.signature.inputs]
    outputs = [name for name, _ in program.signature.outputs]
    parameters = [f'ptr %in.{name}, i64 %stride.{name}' for name in names]
    parameters += [*(f'ptr %out.{name}' for name in outputs), 'i64 %begin', 'i64 %end']
    w.lines += [
        f'define void @{program.name}.scan({", ".join(parameters)}) nounwind {{',
        'start:',
        '  br label %loop',
        'loop:',
        '  %row = phi i64 [ %begin, %start ], [ %next, %loop ]',
    ]
    strides = [(f'%in.{name}', f'%stride.{name}') for name in names]
    sizes = zip(outputs, program.signature.output_sizes, strict=True)
    strides += [(f'%out.{name}', str(size)) for name, size in sizes]
    places = [(array, w.let(f'mul i64 %row, {stride}')) for array, stride in strides]
    rows = ', '.join(f'ptr {w.element(array, place)}' for array, place in places)
    w.do(f'call void @{program.name}.sample({rows})')
    w.lines += [
        '  %next = add i64 %row, 1',
        '  %more = icmp slt i64 %next, %end',
        '  br i1 %more, label %loop, label %done',
        'done:',
        '  ret void',
        '}',
    ]
    return w


class Columns:
    """Rows in memory as columns in registers, one sample in each lane.

    What is computed is kept column by column, since it comes in no order of its own, and becomes
    rows in a loop when all is there. Waiting for memory would take longer than computing: the rows
    of the next samples are sent for in advance.
    """

    def __init__(self, w: Writer, rows: Sequence[str], sizes: dict[str, int]) -> None:
        self.w = w
        self._rows = rows
        self._sizes = sizes
        self._row_pointers: dict[str, list[str]] = {}
        self._blocks: dict[tuple[str, int], list[str]] = {}
        self._kept: dict[str, str] = {}

    def _pointers(self, array: str, stride: str | int) -> list[str]:
        """Return the address of each lane's row."""
        if array not in self._row_pointers:
            places = [self.w.let(f'mul i64 {row}, {stride}') for row in self._rows]
            self._row_pointers[array] = [self.w.element(f'%{array}', place) for place in places]
        return self._row_pointers[array]

    def load(self, name: str, i: int) -> str:
        """Return entry i of the rows of an input."""
        lanes = self.w.lanes
        begin = i - i % lanes
        if (name, begin) not in self._blocks:
            count = min(lanes, self._sizes[name] - begin)
            pointers = self._pointers(f'in.{name}', f'%stride.{name}')
            rows = [self.w.load(self.w.element(pointer, begin), count) for pointer in pointers]
            self._blocks[name, begin] = transpose(self.w, rows)
        return self._blocks[name, begin][i - begin]

    def expect(self, name: str, size: int) -> None:
        """Make room for the columns of an output, full blocks of them."""
        self._sizes[name] = size
        self._kept[name] = self.w.allocate(max(size, self.w.lanes))

    def keep(self, name: str, i: int, column: str) -> None:
        """Take entry i of the rows of an output."""
        self.w.store(column, self.w.element(self._kept[name], i * self.w.lanes))

    def store(self, name: str) -> None:
        """Write the rows of an output, a block of entries after the other."""
        w, lanes, size = self.w, self.w.lanes, self._sizes[name]
        pointers = self._pointers(f'out.{name}', size)
        w.lines += [
            f'  br label %before.{name}',
            f'before.{name}:',
            f'  br label %rows.{name}',
            f'rows.{name}:',
            f'  %entry.{name} = phi i64 [ 0, %before.{name} ], [ %next.{name}, %rows.{name} ]',
        ]
        # The last block ends with the row: it may write again what the one before has written.
        begin = w.let(f'call i64 @llvm.smin.i64(i64 %entry.{name}, i64 {max(0, size - lanes)})')
        kept = w.element(self._kept[name], w.let(f'mul i64 {begin}, {lanes}'))
        columns = [w.load(w.element(kept, lane * lanes)) for lane in range(lanes)]
        for pointer, row in zip(pointers, transpose(w, columns), strict=True):
            place = w.element(pointer, begin)
            w.store(row, place, min(size, lanes))
            w.expect_store(w.element(place, lanes * size))
        w.lines += [
            f'  %next.{name} = add i64 %entry.{name}, {lanes}',
            f'  %more.{name} = icmp slt i64 %next.{name}, {size}',
            f'  br i1 %more.{name}, label %rows.{name}, label %after.{name}',
            f'after.{name}:',
        ]


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
