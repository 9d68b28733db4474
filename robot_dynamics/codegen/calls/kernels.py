"""A program as machine code: looked up, or made when it is first needed.

The kernel of one sample is loaded at once, that of many samples at the first batch. Both come from
the cache where they can; then the function that the program was recorded from is not even run.
"""

import ctypes
import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from robot_dynamics.codegen.backends import cache, machine_code
from robot_dynamics.codegen.backends.machine_code import LoadedCode
from robot_dynamics.codegen.calls import native_source as entry_source
from robot_dynamics.codegen.calls import native_wrapper as native_entry
from robot_dynamics.codegen.calls import threads
from robot_dynamics.codegen.calls.arguments import Array
from robot_dynamics.codegen.calls.call_wrapper import Block, Entry, Kernels
from robot_dynamics.codegen.calls.recipe import Recipe, operations
from robot_dynamics.codegen.loops.program import RolledProgram
from robot_dynamics.codegen.tracing.program import Signature

# A program of more operations takes rows one by one, in the calling thread: it keeps most of its
# values on the stack, and those of eight lanes, in a thread's small stack, might not fit.
LARGEST_IN_LANES = 20_000

# Loops with more results take rows one by one: several large matrices side by side leave the
# processor's fast memory.
LARGEST_SIDE_BY_SIDE = 6000

# Doubles in a line of that memory.
LINE = 8

# Results of one call that the entry in machine code makes of many samples, some ten microseconds'
# work: meanwhile no other thread runs, and parts of one block come back faster (see `entry`).
MOST_AT_ONCE = 50_000


class MachineKernels(Kernels):
    """Runs a program's machine code on rows of arrays."""

    backend = 'llvm'
    has_blocks = True

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._loaded: dict[str, tuple[LoadedCode, Callable[..., None], int | None]] = {}
        (inputs, outputs), self._operations, self.memory, self.code = self._load('sample')
        self._rolled = self.memory is not None
        self.lanes = _lanes(0 if self._rolled else self._operations)
        self.signature = Signature(
            tuple((name, size) for name, size in inputs),
            tuple((name, tuple(shape)) for name, shape in outputs),
        )
        # What the entry in machine code takes rows by, and how many at once: one by one, if there
        # are fewer than lanes, until the kernel of many samples is there.
        most = self.lanes - 1 if self.lanes > 1 else self._most_at_once()
        self.many = np.array([self.code.address(f'{recipe.name}.scan'), most], np.int64)
        self.sample_address = self.code.address(f'{recipe.name}.sample')
        arrays = len(inputs) + self._rolled + len(outputs)
        self._sample = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arrays)(self.sample_address)

    def _load(self, kind: str) -> tuple[Any, int, int | None, LoadedCode]:
        """Return signature, number of operations, memory for loops, and code of a kernel."""

        def make() -> tuple[Any, bytes]:
            # What is found in the cache starts faster without.
            from robot_dynamics.codegen.calls import kernel_source as writers

            program = self._recipe.program
            count = operations(program)
            signature = (program.signature.inputs, program.signature.outputs)
            rolled = isinstance(program, RolledProgram)
            source, memory = writers.module_source(kind, program, _lanes(0 if rolled else count))
            return (signature, count, memory), machine_code.compile_module(source)

        with machine_code.ONE_AT_A_TIME:
            text = f'{kind} kernel\n{self._recipe.identity}\n{machine_code.processor()}'
            about, code = cache.kept(text, make)
            return *about, LoadedCode(code)

    def _on_many(self, kind: str) -> tuple[Callable[..., None], int | None]:
        """Return the kernel `batch`, `scan` or `march`, and its memory, when first asked for."""
        if kind not in self._loaded:
            # Once: code that another thread runs must not be replaced.
            with machine_code.ONE_AT_A_TIME:
                if kind not in self._loaded:
                    self._loaded[kind] = self._made_for_many(kind)
        return self._loaded[kind][1:]

    def _made_for_many(self, kind: str) -> tuple[LoadedCode, Callable[..., None], int | None]:
        memory, code = self.memory, self.code
        if kind != 'scan':
            *_, memory, code = self._load(kind)
        pointer, count = ctypes.c_void_p, ctypes.c_int64
        inputs = len(self.signature.inputs) + self._rolled
        outputs = len(self.signature.outputs)
        parameters = [pointer, count] * inputs + [pointer] * outputs + [count] * 2
        if kind == 'march':
            parameters = [pointer, count, count] * (inputs + outputs) + [count] * 3
        prototype = ctypes.CFUNCTYPE(None, *parameters)
        address = code.address(f'{self._recipe.name}.{kind}')
        loaded = code, prototype(address), memory
        if kind == 'batch' and not self._rolled:
            self.many[:] = address, self._most_at_once()
        return loaded

    def _most_at_once(self) -> int:
        """Return how many samples the entry in machine code may take: one thread's work."""
        results = max(1, sum(self.signature.output_sizes))
        return min(MOST_AT_ONCE // results, threads.SMALLEST_PART // max(1, self._operations))

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Fill outputs (N, size), C-contiguous, from inputs (N, size) with adjacent entries."""
        samples = outputs[0].shape[0]
        if samples == 1:
            given = [*inputs, *lent(self.memory), *outputs]
            self._sample(*(array.ctypes.data for array in given))
        elif self._operations > LARGEST_IN_LANES and not self._rolled:
            self.scan(inputs, outputs)
        else:
            kernel, memory = self._on_many(self._kind_of_batch())

            def work(begin: int, end: int) -> None:
                given = [*inputs, *lent(memory)]
                kernel(*_row_addresses(given, outputs), begin, end)

            threads.in_parts(work, samples, self._operations)

    def block(self) -> Block:
        """Return new memory for one sample."""
        inputs = [np.zeros(size) for _, size in self.signature.inputs]
        outputs = [np.zeros(shape) for _, shape in self.signature.outputs]
        room = lent(self.memory)
        addresses = [array.ctypes.data for array in (*inputs, *room, *outputs)]
        return Block(inputs, outputs, functools.partial(self._sample, *addresses), room)

    def _kind_of_batch(self) -> str:
        large = self._rolled and sum(self.signature.output_sizes) > LARGEST_SIDE_BY_SIDE
        return 'scan' if large else 'batch'

    def scan(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Do the same row after row: rows of outputs may be later rows of inputs."""
        kernel, memory = self._on_many('scan')
        given = [*inputs, *lent(memory)]
        kernel(*_row_addresses(given, outputs), 0, outputs[0].shape[0])

    def march(self, inputs: Sequence[Array], outputs: Sequence[Array], steps: int) -> None:
        """Take columns (blocks, steps, size, lanes) through steps: outputs may be inputs."""
        kernel, memory = self._on_many('march')

        def work(begin: int, end: int) -> None:
            arrays = [*inputs, *lent(memory), *outputs]
            kernel(*_column_addresses(arrays), begin, end, steps)

        threads.in_parts(work, outputs[0].shape[0], self._operations * self.lanes * steps)

    def precompile(self) -> None:
        """Make the kernels of many samples now, not when they are first asked for."""
        if self._rolled or self._operations <= LARGEST_IN_LANES:
            self._on_many(self._kind_of_batch())
        self._on_many('march')


def lent(doubles: int | None) -> list[Array]:
    """Return memory for loops, one array if there are any: it serves a single call at a time."""
    if doubles is None:
        return []
    # Vectors read, and compute, beyond the last row: what is there should be a plain number.
    room = np.zeros(doubles + LINE)
    begin = -(room.ctypes.data // room.itemsize) % LINE
    # Along axes of length one, steps are of no length: all rows and columns share the memory.
    return [room[begin : begin + doubles][None, None]]


def _row_addresses(inputs: Sequence[Array], outputs: Sequence[Array]) -> list[int]:
    """Return where rows begin, and for inputs how many doubles they are apart."""
    starts = [(array.ctypes.data, array.strides[0] // array.itemsize) for array in inputs]
    return [*itertools.chain(*starts), *(array.ctypes.data for array in outputs)]


def _column_addresses(arrays: Sequence[Array]) -> list[int]:
    """Return where columns begin, and how many doubles blocks and steps are apart."""
    places = []
    for array in arrays:
        apart = zip(array.shape[:2], array.strides[:2], strict=True)
        # One is for all.
        places += [array.ctypes.data, *(stride // 8 if many > 1 else 0 for many, stride in apart)]
    return places


def _lanes(operations: int) -> int:
    return machine_code.lanes() if operations <= LARGEST_IN_LANES else 1


def make_entry(
    kernels: MachineKernels,
    bound: Mapping[str, Array],
    portable: Entry,
    pack: type[tuple[Any, ...]],
    documentation: str,
) -> Entry:
    """Return the entry in machine code in front of a portable one."""
    # Entries are called one at a time, under Python's global lock: they share memory for loops.
    memory = lent(kernels.memory)
    sizes = [None if name in bound else size for name, size in kernels.signature.inputs]
    sizes += [None] * len(memory)
    return native_entry.native_entry(
        _entry_code(tuple(sizes), tuple(shape for _, shape in kernels.signature.outputs)),
        kernel=kernels.sample_address,
        many=kernels.many,
        owner=kernels.code,
        portable=portable,
        pack=pack,
        bound=[*(bound.get(name) for name, _ in kernels.signature.inputs), *memory],
        documentation=documentation,
    )


@functools.cache
def _entry_code(sizes: tuple[int | None, ...], shapes: tuple[tuple[int, ...], ...]) -> LoadedCode:
    """Return the entry for these sizes and shapes: programs of the same form share it."""
    source = entry_source.entry_source(sizes, shapes)
    _, code = cache.kept(
        f'entry\n{source}\n{machine_code.processor()}',
        lambda: (None, machine_code.compile_module(source)),
    )
    return LoadedCode(code)
