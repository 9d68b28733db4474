# SPDX-License-Identifier: Apache-2.0
"""Kernels: programs that run on rows of arrays, in machine code or in Python.

Machine code comes from the cache where it can; then the function that the program was recorded
from is not run. The kernel of one sample is loaded at once, that of a batch at the first batch.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.codegen.backends import cache, machine_code
from robot_dynamics.codegen.backends.machine_code import LoadedCode
from robot_dynamics.codegen.backends.python import Function, python_function
from robot_dynamics.codegen.calls import threads
from robot_dynamics.codegen.calls.arguments import Array
from robot_dynamics.codegen.calls.recipe import Recipe, operations
from robot_dynamics.codegen.loops.loop_program import LoopProgram
from robot_dynamics.codegen.tracing.program import Program, Signature

# A program of more operations takes rows one by one, in the calling thread: most of its values are
# on the stack, and those of eight lanes might exceed the small stack of another thread.
LARGEST_IN_LANES = 20_000

# Loops with more memory, in doubles, take the rows of a batch one by one: it exceeds the caches.
LARGEST_BATCHED = 65_536

# Samples that take less time one by one than in the lanes of the batch kernel, idle ones included:
# of straight lines, and of loops.
FEW, FEW_IN_LOOPS = 2, 3

# Doubles in a cache line.
LINE = 8

# Results of a small batch, which the native call wrapper computes: some ten microseconds' work,
# during which no other Python thread runs.
MOST_AT_ONCE = 50_000


class Block(NamedTuple):
    """Memory for the arguments and results of one sample, and the call that computes there."""

    inputs: list[Array]
    outputs: list[Array]
    compute: Callable[[], None]
    room: list[Array]  # memory of loops


class Kernels(ABC):
    """A program ready to run on rows of arrays."""

    backend: str
    signature: Signature
    has_blocks: bool = False
    lanes: int = 0  # samples that machine code takes through `rollout` at once; 0: none

    @property
    @abstractmethod
    def program(self) -> Program | LoopProgram:
        """The program, as it was recorded."""

    @abstractmethod
    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Fill outputs (N, size), C-contiguous, from inputs (N, size) with adjacent entries."""

    def block(self) -> Block:
        """Return new memory for one sample, if `has_blocks`."""
        raise NotImplementedError

    def scan(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Run row after row: rows of outputs may be later rows of inputs."""
        for i in range(outputs[0].shape[0]):
            row = slice(i, i + 1)
            self.run([array[row] for array in inputs], [array[row] for array in outputs])

    def scanner(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> Callable[[int], None]:
        """Return `scan` of the first rows of these arrays, whose number it takes."""
        return lambda count: self.scan(
            [array[:count] for array in inputs], [array[:count] for array in outputs]
        )

    def rollout(self, inputs: Sequence[Array], outputs: Sequence[Array], steps: int) -> None:
        """Take columns (blocks, steps, size, lanes) through steps: outputs may be inputs.

        An array with one block, or one step, gives or takes the same at all of them. Here all
        samples of a block take one step after the other.
        """
        for block in range(outputs[0].shape[0]):
            for step in range(steps):
                given = [np.ascontiguousarray(_at(x, block, step).T) for x in inputs]
                results = [np.empty(x.shape[:1:-1]) for x in outputs]
                self.run(given, results)
                for x, result in zip(outputs, results, strict=True):
                    _at(x, block, step)[...] = result.T


class MachineKernels(Kernels):
    """Runs a program's machine code on rows of arrays.

    Attributes:
        recipe: what is compiled.
        loaded: by kind, the kernels for many rows that have been loaded so far.
    """

    backend = 'llvm'
    has_blocks = True

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.loaded: dict[str, tuple[LoadedCode, Callable[..., None], int | None]] = {}
        (inputs, outputs), self._operations, self.memory, self.code = self._load('sample')
        self._loops = self.memory is not None
        self.lanes = 0 if self._loops else _lanes(self._operations)
        self.signature = Signature(
            tuple((name, size) for name, size in inputs),
            tuple((name, tuple(shape)) for name, shape in outputs),
        )
        # The kernel of small batches, the most rows that it takes, the kernel of few rows, and how
        # many these are.
        # Until the batch kernel is loaded, `scan` computes batches of fewer rows than lanes.
        in_lanes = self._kind_of_batch() == 'batch' if self._loops else self.lanes > 1
        most = machine_code.lanes() - 1 if in_lanes else self._most_at_once()
        scan = self.code.address(f'{recipe.name}.scan')
        self._few = FEW_IN_LOOPS if self._loops else FEW
        self.small_batch = np.array([scan, most, scan, self._few], np.int64)
        self.sample_address = self.code.address(f'{recipe.name}.sample')
        arrays = len(inputs) + self._loops + len(outputs)
        self._sample = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arrays)(self.sample_address)

    @property
    def program(self) -> Program | LoopProgram:
        """The program; recorded now if its machine code came from the cache."""
        return self.recipe.program

    def _load(self, kind: str) -> tuple[Any, int, int | None, LoadedCode]:
        """Return signature, number of operations, memory for loops, and code of a kernel."""

        def make() -> tuple[Any, bytes]:
            program = self.recipe.program
            count = operations(program)
            signature = (program.signature.inputs, program.signature.outputs)
            is_loops = isinstance(program, LoopProgram)
            source, memory = module_source(kind, program, _lanes(0 if is_loops else count))
            return (signature, count, memory), machine_code.compile_module(source)

        with machine_code.ONE_AT_A_TIME:
            key = f'{kind} kernel\n{self.recipe.identity}\n{machine_code.processor()}'
            about, code = cache.kept(key, make)
            return *about, LoadedCode(code)

    def _on_many(self, kind: str) -> tuple[Callable[..., None], int | None]:
        """Return the kernel `batch`, `scan` or `rollout`, and its memory, when first asked for."""
        if kind not in self.loaded:
            # Once: code that another thread runs must not be replaced.
            with machine_code.ONE_AT_A_TIME:
                if kind not in self.loaded:
                    self.loaded[kind] = self._made_for_many(kind)
        return self.loaded[kind][1:]

    def _made_for_many(self, kind: str) -> tuple[LoadedCode, Callable[..., None], int | None]:
        memory, code = self.memory, self.code
        if kind != 'scan':
            *_, memory, code = self._load(kind)
        pointer, count = ctypes.c_void_p, ctypes.c_int64
        inputs = len(self.signature.inputs) + self._loops
        outputs = len(self.signature.outputs)
        parameters = [pointer, count] * inputs + [pointer] * outputs + [count] * 2
        if kind == 'rollout':
            parameters = [pointer, count, count] * (inputs + outputs) + [count] * 3
        prototype = ctypes.CFUNCTYPE(None, *parameters)
        address = code.address(f'{self.recipe.name}.{kind}')
        loaded = code, prototype(address), memory
        if kind == 'batch':
            self.small_batch[:2] = address, self._most_at_once()
        return loaded

    def _most_at_once(self) -> int:
        """Return the largest number of samples of a small batch: one thread's work."""
        results = max(1, sum(self.signature.output_sizes))
        return min(MOST_AT_ONCE // results, threads.SMALLEST_PART // max(1, self._operations))

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Fill outputs (N, size), C-contiguous, from inputs (N, size) with adjacent entries."""
        samples = outputs[0].shape[0]
        if samples == 1:
            given = [*inputs, *loop_memory(self.memory), *outputs]
            self._sample(*(array.ctypes.data for array in given))
        elif samples <= self._few or (self._operations > LARGEST_IN_LANES and not self._loops):
            self.scan(inputs, outputs)
        else:
            kernel, memory = self._on_many(self._kind_of_batch())

            def work(begin: int, end: int) -> None:
                given = [*inputs, *loop_memory(memory)]
                kernel(*_row_addresses(given, outputs), begin, end)

            threads.in_parts(work, samples, self._operations)

    def block(self) -> Block:
        """Return new memory for one sample."""
        inputs = [np.zeros(size) for _, size in self.signature.inputs]
        outputs = [np.zeros(shape) for _, shape in self.signature.outputs]
        room = loop_memory(self.memory)
        addresses = [array.ctypes.data for array in (*inputs, *room, *outputs)]
        return Block(inputs, outputs, functools.partial(self._sample, *addresses), room)

    def _kind_of_batch(self) -> str:
        return 'scan' if (self.memory or 0) > LARGEST_BATCHED else 'batch'

    def scan(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Run row after row: rows of outputs may be later rows of inputs."""
        self.scanner(inputs, outputs)(outputs[0].shape[0])

    def scanner(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> Callable[[int], None]:
        """Return `scan` of the first rows of these arrays, whose number it takes."""
        kernel, memory = self._on_many('scan')
        arrays = [*inputs, *loop_memory(memory)], outputs
        addresses = _row_addresses(*arrays)

        def scan(count: int, _: object = arrays) -> None:  # keeps the arrays
            kernel(*addresses, 0, count)

        return scan

    def rollout(self, inputs: Sequence[Array], outputs: Sequence[Array], steps: int) -> None:
        """Take columns (blocks, steps, size, lanes) through steps: outputs may be inputs."""
        kernel, _ = self._on_many('rollout')

        def work(begin: int, end: int) -> None:
            kernel(*_column_addresses([*inputs, *outputs]), begin, end, steps)

        threads.in_parts(work, outputs[0].shape[0], self._operations * self.lanes * steps)

    def precompile(self) -> None:
        """Make the kernels of many samples now, not when they are first asked for."""
        if self._loops or self._operations <= LARGEST_IN_LANES:
            self._on_many(self._kind_of_batch())
        if not self._loops:
            self._on_many('rollout')


def loop_memory(doubles: int | None) -> list[Array]:
    """Return memory for the loops of one call at a time, an empty list without loops."""
    if doubles is None:
        return []
    # Vectors extend beyond the last row, where the memory must contain numbers, too.
    room = np.zeros(doubles + LINE)
    begin = -(room.ctypes.data // room.itemsize) % LINE
    # All rows share the memory: the stride of an axis of length one is 0.
    return [room[begin : begin + doubles][None]]


def _row_addresses(inputs: Sequence[Array], outputs: Sequence[Array]) -> list[int]:
    """Return the addresses of the rows, and the strides of those of inputs, in doubles."""
    starts = [(array.ctypes.data, array.strides[0] // array.itemsize) for array in inputs]
    return [*itertools.chain(*starts), *(array.ctypes.data for array in outputs)]


def _at(columns: Array, block: int, step: int) -> Array:
    """Return the columns (size, lanes) of a block at a step."""
    blocks, steps = columns.shape[:2]
    return np.asarray(columns[block if blocks > 1 else 0, step if steps > 1 else 0])


def _column_addresses(arrays: Sequence[Array]) -> list[int]:
    """Return the addresses of columns, and the strides of blocks and steps, in doubles."""
    places = []
    for array in arrays:
        axes = zip(array.shape[:2], array.strides[:2], strict=True)
        # A single block or step serves all.
        places += [array.ctypes.data, *(stride // 8 if many > 1 else 0 for many, stride in axes)]
    return places


def _lanes(operations: int) -> int:
    return machine_code.lanes() if operations <= LARGEST_IN_LANES else 1


def module_source(kind: str, program: Program | LoopProgram, lanes: int) -> tuple[str, int | None]:
    """Return the text of the module of a kernel, and the doubles of memory that its loops need.

    Args:
        kind: `sample`, whose module has `scan`, too; `batch` or `rollout`.
        program: what it computes.
        lanes: how many samples of a batch are computed at once.
    """
    # A program whose machine code is in the cache does not need these.
    from robot_dynamics.codegen.backends import llvm_loops, llvm_straight_line

    if isinstance(program, LoopProgram):
        functions, memory = llvm_loops.kernels(kind, program, lanes)
        return llvm_straight_line.module_source(functions), memory
    return llvm_straight_line.module_source(llvm_straight_line.kernels(kind, program, lanes)), None


class PythonKernels(Kernels):
    """Runs a program in Python on rows of arrays.

    Args:
        program: what is run.
        function: what makes a function of it.
    """

    backend = 'python'

    def __init__(
        self,
        program: Program | LoopProgram,
        function: Callable[[Any], Function] = python_function,
    ) -> None:
        self.signature = program.signature
        self._program = program
        make = function(program)
        self._on_floats, self._on_arrays = make(math), make(np)

    @property
    def program(self) -> Program | LoopProgram:
        """The program."""
        return self._program

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Fill outputs (N, size) from inputs (N, size)."""
        if outputs[0].shape[0] == 1:
            results = self._single([array[0].tolist() for array in inputs])
        else:
            results = self._batch([list(array.T) for array in inputs])
        for output, entries in zip(outputs, results, strict=True):
            for i, entry in enumerate(entries):
                output[:, i] = entry

    def _single(self, inputs: list[list[float]]) -> Sequence[Any]:
        try:
            return self._several(self._on_floats(*inputs))
        except (ValueError, ArithmeticError):
            # sin(inf), 1/0, sqrt(-1): floats raise, arrays give the not-a-number that kernels
            # give.
            return self._batch([[np.array([entry]) for entry in vector] for vector in inputs])

    def _batch(self, inputs: list[list[Array]]) -> Sequence[Any]:
        with np.errstate(all='ignore'):
            return self._several(self._on_arrays(*inputs))

    def _several(self, returned: Any) -> Sequence[Any]:
        return returned if len(self.signature.outputs) > 1 else (returned,)
