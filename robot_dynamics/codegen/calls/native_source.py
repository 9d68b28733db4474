# SPDX-License-Identifier: Apache-2.0
"""The native call wrapper in LLVM's language: from Python objects to a kernel and back.

C functions by CPython's calling convention METH_FASTCALL | METH_KEYWORDS. For NumPy arrays of
float64 given by position, and `out=`, they read the arrays' headers themselves, call the kernel
and return, in some twenty nanoseconds. `one_sample` takes a vector for every input. Calls that it
does not support are passed on to `small_batch`, which takes rows, and from there to the portable
wrapper.

Recycled results: `one_sample` references its last two results and returns one again, with new
values, once it is unreferenced elsewhere: its reference count is 1, and so are those of its parts.
A loop that drops each result before the second call after it therefore allocates no arrays. A
view, a memoryview or any other object that exposes the memory references the result. Results with
weak references, or whose shape, type or flags were changed, are not recycled. Free-threaded
builds, where reference counts cannot be trusted, use the portable wrapper, which does not recycle.

The text depends on nothing but the sizes.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from robot_dynamics.codegen.calls.native_writer import (
    ALIGNED,
    C_CONTIGUOUS,
    DIMENSIONS,
    NDIM,
    SLOTS,
    WRITEABLE,
    Shape,
    WrapperWriter,
)

READABLE = C_CONTIGUOUS | ALIGNED

# Entries of the largest recycled results. Allocating more takes little time by comparison.
LARGEST_RECYCLED = 4096

PARAMETERS = 'ptr %self, ptr %args, i64 %count, ptr %names'


def wrapper_source(inputs: Sequence[int | None], outputs: Sequence[tuple[int, ...]]) -> str:
    """Return the text of the wrapper for inputs of these sizes (None: bound) and these outputs."""
    functions = [OneSample(inputs, outputs)]
    if any(size is not None for size in inputs):
        functions.append(SmallBatch(inputs, outputs))
    following = [function.name for function in functions[1:]]
    for function, fallback in zip(functions, [*following, None], strict=True):
        function.write(fallback)
    return '\n'.join(line for function in functions for line in function.lines) + '\n'


class Given(NamedTuple):
    """Memory of an input: address, bytes, and the stride of its rows in doubles."""

    address: str
    length: int | str
    stride: int | str = 0


class OneSample(WrapperWriter):
    """Writes `one_sample`, which takes a vector for every input."""

    name = 'one_sample'

    def __init__(self, inputs: Sequence[int | None], outputs: Sequence[tuple[int, ...]]) -> None:
        super().__init__()
        self._inputs = inputs
        self._outputs = outputs

    def write(self, fallback: str | None) -> None:
        """Write the function; other calls go to `fallback`, or to the portable wrapper."""
        self.lines.append(f'define ptr @{self.name}({PARAMETERS}) nounwind {{')
        self.begin_block('start')
        self.load_table()
        sizes = [size for size in self._inputs if size is not None]
        self.require([self.let(f'icmp eq i64 %count, {len(sizes)}')])
        given = self.take([self.pointer('%args', i) for i in range(len(sizes))], sizes)
        shapes, free = self.shapes(), iter(given)
        sources = [
            Given(self.slot(len(SLOTS) + i), 0) if size is None else next(free)
            for i, size in enumerate(self._inputs)
        ]
        self.branch(self.let('icmp eq ptr %names, null'), 'new', 'named')

        self.begin_block('new')
        self.answer(sources, shapes)

        self.begin_block('named')
        self.require([self.has_length('%names', 1)])
        name = self.item('%names', 0)
        self.require([self.let(f'icmp eq ptr {name}, {self.slot("out")}')])
        out = self.pointer('%args', len(sizes))
        self.branch(self.let(f'icmp eq ptr {out}, {self.slot("none")}'), 'new', 'given')
        self.begin_block('given')
        self.compute(sources, self._targets(out, shapes, given))
        self.add_reference(out)
        self.ret(self.packed(out, len(shapes)))

        self.begin_block('otherwise')
        self.ret(self.pass_on(fallback))
        self.lines.append('}')

    def _targets(self, out: str, shapes: Sequence[Shape], given: Sequence[Given]) -> list[str]:
        """Require arrays to fill that overlap no other; return the addresses of their data."""
        targets = self.arrays(self.unpack(out, len(shapes)), shapes, READABLE | WRITEABLE)
        lengths = [self.bytes_of(shape) for shape in shapes]
        self.require_apart(
            list(zip(targets, lengths, strict=True)), [source[:2] for source in given]
        )
        return targets

    def pass_on(self, fallback: str | None) -> str:
        """Return the result of another function for the same call."""
        if fallback:
            return self.let(f'call ptr @{fallback}({PARAMETERS})')
        call = f'ptr {self.slot("portable")}, ptr %args, i64 %count, ptr %names'
        return self.call('ptr', 'PyObject_Vectorcall', call)

    # -- overridden for small batches ------------------------------------------------------

    def take(self, objects: Sequence[str], sizes: Sequence[int]) -> list[Given]:
        """Require a vector for every input."""
        addresses = self.arrays(objects, [(size,) for size in sizes], READABLE)
        return [
            Given(*place) for place in zip(addresses, (8 * size for size in sizes), strict=True)
        ]

    def shapes(self) -> list[Shape]:
        """Return the shapes of the results."""
        return list(self._outputs)

    def answer(self, sources: Sequence[Given], shapes: Sequence[Shape]) -> None:
        """Return a recycled or a new result."""
        if list(self._outputs) == [()]:
            result, targets = self.made_results(shapes)
            self.compute(sources, targets)
            # As in NumPy, a new array without axes is a number.
            return self.ret(self.call('ptr', 'PyArray_Return', f'ptr {result}'))
        if sum(map(math.prod, self._outputs)) > LARGEST_RECYCLED:
            return self.answer_with_new(sources, shapes)
        with self.failing_to('allocate'):
            place, result, targets = self.recycled_results(shapes)
        self.compute(sources, targets)
        self.add_reference(result)
        self.ret(result)
        self.begin_block('allocate')
        return self.answer_with_new(sources, shapes, place)

    def answer_with_new(
        self, sources: Sequence[Given], shapes: Sequence[Shape], place: str | None = None
    ) -> None:
        """Return a new result, and store it in this place for recycling, if there is one."""
        result, targets = self.made_results(shapes)
        self.compute(sources, targets)
        if place:
            self.store_for_recycling(result, place)
        self.ret(result)

    def compute(self, sources: Sequence[Given], targets: Sequence[str]) -> None:
        """Call the kernel."""
        addresses = [*(source.address for source in sources), *targets]
        self.call('void', 'kernel', ', '.join(f'ptr {address}' for address in addresses))


class SmallBatch(OneSample):
    """Writes `small_batch`, which takes rows for the inputs, or one vector for all rows."""

    name = 'small_batch'

    def answer(self, sources: Sequence[Given], shapes: Sequence[Shape]) -> None:
        """Return new results: their number may differ from one call to the next."""
        self.answer_with_new(sources, shapes)

    def take(self, objects: Sequence[str], sizes: Sequence[int]) -> list[Given]:
        """Require vectors, or rows of one number that is within the limit."""
        self.require(self.plain(objects, READABLE))
        axes = [self.read('i32', item, NDIM) for item in objects]
        several = [self.let(f'icmp eq i32 {count}, 2') for count in axes]
        self.require(
            [
                self.let(f'or i1 {many}, {self.let(f"icmp eq i32 {count}, 1")}')
                for many, count in zip(several, axes, strict=True)
            ]
        )
        lengths = [self.read('ptr', item, DIMENSIONS) for item in objects]
        first = [self.let(f'load i64, ptr {length}') for length in lengths]
        self._rows = '0'
        for many, count in zip(several, first, strict=True):
            self._rows = self.let(f'select i1 {many}, i64 {count}, i64 {self._rows}')
        checks = [
            self.let(f'icmp sgt i64 {self._rows}, 0'),
            self.let(
                f'icmp sle i64 {self._rows}, {self.read("i64", self.slot("batch kernel"), 8)}'
            ),
        ]
        given = []
        for item, size, many, length, count in zip(
            objects, sizes, several, lengths, first, strict=True
        ):
            # The last axis of either: entries.
            last = self.let(
                f'getelementptr i64, ptr {length}, i64 {self.let(f"zext i1 {many} to i64")}'
            )
            checks.append(self.let(f'icmp eq i64 {self.let(f"load i64, ptr {last}")}, {size}'))
            alike = self.let(f'select i1 {many}, i64 {self._rows}, i64 {size}')
            checks.append(self.let(f'icmp eq i64 {count}, {alike}'))
            stride = self.let(f'select i1 {many}, i64 {size}, i64 0')
            rows = self.let(f'select i1 {many}, i64 {self._rows}, i64 1')
            given.append(Given(self.data(item), self.let(f'mul i64 {rows}, {8 * size}'), stride))
        self.require(checks)
        return given

    def shapes(self) -> list[Shape]:
        """Return the shapes of the results."""
        return [(self._rows, *shape) for shape in self._outputs]

    def compute(self, sources: Sequence[Given], targets: Sequence[str]) -> None:
        """Call the kernel."""
        arguments = [f'ptr {place}, i64 {stride}' for place, _, stride in sources]
        arguments += [f'ptr {target}' for target in targets]
        kernels = self.slot('batch kernel')
        few = self.let(f'icmp sle i64 {self._rows}, {self.read("i64", kernels, 24)}')
        several, one_by_one = self.pointer(kernels, 0), self.pointer(kernels, 2)
        kernel = self.let(f'select i1 {few}, ptr {one_by_one}, ptr {several}')
        self.do(f'call void {kernel}({", ".join(arguments)}, i64 0, i64 {self._rows})')
