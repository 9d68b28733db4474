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

import functools
from collections.abc import Callable, Iterable, Sequence

from robot_dynamics.compiler.elementary import sincos, tanh
from robot_dynamics.compiler.llvm_writer import Writer
from robot_dynamics.compiler.sums import Term, chains
from robot_dynamics.compiler.trace import Node, Program, operands

# Elementary functions, and what writes them: several arguments at once in the kernel of one
# sample.
ELEMENTARY: dict[tuple[str, ...], Callable[[Writer, str], tuple[str, ...]]] = {
    ('sin', 'cos'): sincos,
    ('tanh',): tanh,
}
WIDEST = 8

# Operations in one block of instructions: without end, compiling takes time quadratic in it.
BLOCK = 1000


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

    arithmetic = Arithmetic(w, program, lambda name, i: w.load(w.element(f'%in.{name}', i)))
    for group in elementary_groups(program):
        arithmetic.evaluate_together(group)
    arithmetic.evaluate(range(len(program.nodes)))
    for (name, _), entries in zip(program.signature.outputs, program.results, strict=True):
        for i, node in enumerate(entries):
            w.store(arithmetic.values[node], w.element(f'%out.{name}', i))
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
    arithmetic = Arithmetic(w, program, columns.load)
    finished = finished_blocks(program, lanes)
    for index in range(len(program.nodes)):
        arithmetic.evaluate([index])
        for output, begin in finished.get(index, ()):
            name, entries = program.signature.outputs[output][0], program.results[output]
            block = [arithmetic.values[i] for i in entries[begin : begin + lanes]]
            columns.store(name, len(entries), begin, block)
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


class Arithmetic:
    """Writes each node once, sums as chains of fused multiply-adds."""

    def __init__(self, w: Writer, program: Program, load: Callable[[str, int], str]) -> None:
        self.w = w
        self.nodes = program.nodes
        self.values: dict[int, str] = {}
        self._load = load
        self._chains, self._merged = chains(program)
        self._elementary: dict[tuple[str, int], str] = {}
        self._count = 0

    def evaluate(self, indices: Iterable[int]) -> None:
        """Write nodes, given in order of evaluation."""
        for index in indices:
            if index not in self.values and index not in self._merged:
                self.values[index] = self._write(index, self.nodes[index])
                self._count += 1
                if self._count % BLOCK == 0:
                    self.w.do(f'br label %part{self._count}')
                    self.w.begin_block(f'part{self._count}')

    def _write(self, index: int, node: Node) -> str:
        op = node[0]
        if op == 'input':
            return self._load(node[1], node[2])
        if op == 'constant':
            return self.w.constant(node[1])
        if index in self._chains:
            return functools.reduce(self._plus, self._chains[index], '')
        for functions, write in ELEMENTARY.items():
            if op in functions:
                if (op, node[1]) not in self._elementary:
                    self._remember(functions, node[1], write(self.w, self.values[node[1]]))
                return self._elementary[op, node[1]]
        value: str = getattr(self.w, op)(*(self.values[i] for i in node[1:]))
        return value

    def _remember(self, functions: Sequence[str], argument: int, results: Sequence[str]) -> None:
        self._elementary.update(
            ((f, argument), result) for f, result in zip(functions, results, strict=True)
        )

    def _plus(self, total: str, term: Term) -> str:
        """Write total + term; without a total, the term."""
        w = self.w
        if term.product:
            a, b = (self.values[i] for i in self.nodes[term.node][1:])
            a = a if term.positive else w.neg(a)
            return w.fma(a, b, total) if total else w.mul(a, b)
        value = self.values[term.node]
        if not total:
            return value if term.positive else w.neg(value)
        return w.add(total, value) if term.positive else w.sub(total, value)

    def evaluate_together(self, group: Sequence[int]) -> None:
        """Write elementary functions of several arguments in the lanes of vectors."""
        self.evaluate(needed(self.nodes, [self.nodes[i][1] for i in group]))
        for functions, write in ELEMENTARY.items():
            arguments = sorted({self.nodes[i][1] for i in group if self.nodes[i][0] in functions})
            if len(arguments) < 2:
                continue
            for begin in range(0, len(arguments), WIDEST):
                chunk = arguments[begin : begin + WIDEST]
                wide = self.w.with_lanes(max(2, 1 << (len(chunk) - 1).bit_length()))
                results = [
                    self._spread(wide, vector) for vector in write(wide, self._gather(wide, chunk))
                ]
                for lane, argument in enumerate(chunk):
                    self._remember(
                        functions, argument, [self._pick(result, lane) for result in results]
                    )

    def _gather(self, wide: Writer, arguments: Sequence[int]) -> str:
        """Return a vector of values: one load if they are neighbouring inputs plus constants."""
        terms = [shifted_input(self.nodes, i) for i in arguments]
        if all(terms):
            names, places, shifts = zip(*terms, strict=True)
            if len(set(names)) == 1 and places == tuple(range(places[0], places[0] + len(places))):
                vector = wide.load(self.w.element(f'%in.{names[0]}', places[0]), len(places))
                # Adding -0.0 changes nothing, not even the sign of a zero.
                padded = [*shifts, *([-0.0] * (wide.lanes - len(shifts)))]
                return wide.add(vector, wide.constants(padded)) if any(shifts) else vector
        vector = 'zeroinitializer'
        for lane, argument in enumerate(arguments):
            element = f'double {self.values[argument]}, i32 {lane}'
            vector = self.w.let(f'insertelement {wide.type} {vector}, {element}')
        return vector

    def _spread(self, wide: Writer, vector: str) -> str:
        """Return the address of a vector in memory: reading lanes there beats extracting."""
        pointer = wide.allocate()
        wide.store(vector, pointer)
        return pointer

    def _pick(self, pointer: str, lane: int) -> str:
        return self.w.load(self.w.element(pointer, lane))


class Columns:
    """Blocks of rows in memory as columns in registers, one sample in each lane."""

    def __init__(self, w: Writer, rows: Sequence[str], sizes: dict[str, int]) -> None:
        self.w = w
        self._rows = rows
        self._sizes = sizes
        self._row_pointers: dict[str, list[str]] = {}
        self._blocks: dict[tuple[str, int], list[str]] = {}

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

    def store(self, name: str, size: int, begin: int, values: Sequence[str]) -> None:
        """Write entries begin, begin + 1, ... of the rows of an output."""
        lanes = self.w.lanes
        padded = [*values, *(['zeroinitializer'] * (lanes - len(values)))]
        rows = transpose(self.w, padded)
        for pointer, row in zip(self._pointers(f'out.{name}', size), rows, strict=True):
            self.w.store(row, self.w.element(pointer, begin), len(values))


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


def elementary_groups(program: Program) -> list[list[int]]:
    """Return the elementary functions in groups: those of a group do not depend on each other."""
    names = [name for functions in ELEMENTARY for name in functions]
    depth: list[int] = []
    groups: dict[int, list[int]] = {}
    for index, node in enumerate(program.nodes):
        depth.append(max((depth[i] for i in operands(node)), default=0))
        if node[0] in names:
            depth[index] += 1
            groups.setdefault(depth[index], []).append(index)
    return [groups[level] for level in sorted(groups)]


def needed(nodes: Sequence[Node], roots: Iterable[int]) -> list[int]:
    """Return the nodes that the roots are computed from, and the roots, in order of evaluation."""
    found: set[int] = set()
    waiting = list(roots)
    while waiting:
        index = waiting.pop()
        if index not in found:
            found.add(index)
            waiting.extend(operands(nodes[index]))
    return sorted(found)


def shifted_input(nodes: Sequence[Node], index: int) -> tuple[str, int, float] | None:
    """Return (name, place, constant) if a node is an input, or an input plus a constant."""
    node, shift = nodes[index], -0.0
    if node[0] == 'add' and nodes[node[2]][0] == 'constant':
        node, shift = nodes[node[1]], nodes[node[2]][1]
    return (node[1], node[2], shift) if node[0] == 'input' else None


def finished_blocks(program: Program, lanes: int) -> dict[int, list[tuple[int, int]]]:
    """Return, for each node, the blocks of results (output, first entry) that it completes."""
    finished: dict[int, list[tuple[int, int]]] = {}
    for output, entries in enumerate(program.results):
        for begin in range(0, len(entries), lanes):
            last = max(entries[begin : begin + lanes])
            finished.setdefault(last, []).append((output, begin))
    return finished
