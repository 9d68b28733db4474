"""A program as machine code: looked up, or made when it is first needed.

The kernel of one sample is loaded at once, that of many samples at the first batch. Both come from
the cache where they can; then the function that the program was recorded from is not even run.
"""

import ctypes
import functools
import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from robot_dynamics.compiler import (
    cache,
    entry_source,
    llvm_source,
    machine_code,
    native_entry,
    threads,
)
from robot_dynamics.compiler.arguments import Array
from robot_dynamics.compiler.entry import Entry
from robot_dynamics.compiler.interpreter import check_size
from robot_dynamics.compiler.llvm_writer import Writer
from robot_dynamics.compiler.machine_code import LoadedCode
from robot_dynamics.compiler.trace import Program, Signature, trace


@dataclass(frozen=True)
class Recipe:
    """What a program is made from."""

    function: Callable[..., Any]
    inputs: Mapping[str, int]
    name: str
    outputs: Sequence[str] | None
    key: str | None

    @functools.cached_property
    def program(self) -> Program:
        """The program, recorded when it is first asked for."""
        return trace(self.function, self.inputs, name=self.name, outputs=self.outputs)

    @functools.cached_property
    def identity(self) -> str:
        """A text that differs where programs differ."""
        if self.key is None:
            return self.program.digest()
        return repr((self.key, self.name, tuple(self.inputs.items()), self.outputs))


# The functions in the module of each kernel.
WRITERS: dict[str, Callable[[Program], list[Writer]]] = {
    'sample': lambda program: [llvm_source.sample_kernel(program)],
    'batch': lambda program: [llvm_source.batch_kernel(program, machine_code.lanes())],
    'scan': lambda program: [llvm_source.sample_kernel(program), llvm_source.scan_kernel(program)],
}


# A program of more operations takes rows one by one, in the calling thread: it keeps most of its
# values on the stack, and those of eight lanes, in a thread's small stack, might not fit.
LARGEST_IN_LANES = 20_000


class MachineKernels:
    """Runs a program's machine code on rows of arrays."""

    backend = 'llvm'

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._lock = threading.Lock()
        self._loaded: dict[str, tuple[LoadedCode, Callable[..., None]]] = {}
        signature, self._operations, self.code = self._load('sample')
        inputs, outputs = signature
        self.signature = Signature(
            tuple((name, size) for name, size in inputs),
            tuple((name, tuple(shape)) for name, shape in outputs),
        )
        self.sample_address = self.code.address(f'{recipe.name}.sample')
        self._sample = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(inputs) + len(outputs)))(
            self.sample_address
        )

    def _load(self, kind: str) -> tuple[Any, int, LoadedCode]:
        """Return the signature, the number of operations, and the loaded code of a kernel."""

        def make() -> tuple[Any, bytes]:
            program = self._recipe.program
            check_size(program)
            operations = sum(program.operation_counts().values())
            signature = (program.signature.inputs, program.signature.outputs)
            source = llvm_source.module_source(WRITERS[kind](program))
            return (signature, operations), machine_code.compile_module(source)

        text = f'{kind} kernel\n{self._recipe.identity}\n{machine_code.processor()}'
        (signature, operations), code = cache.kept(text, make)
        return signature, operations, LoadedCode(code)

    def _on_rows(self, kind: str) -> Callable[..., None]:
        """Return the kernel `batch` or `scan`, loaded when it is first asked for."""
        # Once: code that another thread runs must not be replaced.
        with self._lock:
            if kind not in self._loaded:
                *_, code = self._load(kind)
                inputs = [ctypes.c_void_p, ctypes.c_int64] * len(self.signature.inputs)
                outputs = [ctypes.c_void_p] * len(self.signature.outputs)
                prototype = ctypes.CFUNCTYPE(None, *inputs, *outputs, *[ctypes.c_int64] * 2)
                self._loaded[kind] = code, prototype(code.address(f'{self._recipe.name}.{kind}'))
        return self._loaded[kind][1]

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Fill outputs (N, size), C-contiguous, from inputs (N, size) with adjacent entries."""
        samples = outputs[0].shape[0]
        if samples == 1:
            self._sample(*(array.ctypes.data for array in (*inputs, *outputs)))
            return
        if self._operations > LARGEST_IN_LANES:
            return self.scan(inputs, outputs)
        addresses, batch = _row_addresses(inputs, outputs), self._on_rows('batch')
        threads.in_parts(
            lambda begin, end: batch(*addresses, begin, end), samples, self._operations
        )

    def scan(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Do the same row after row: rows of outputs may be later rows of inputs."""
        steps = outputs[0].shape[0]
        self._on_rows('scan')(*_row_addresses(inputs, outputs), 0, steps)

    def precompile(self) -> None:
        """Make the kernels of many samples now, not when they are first asked for."""
        if self._operations <= LARGEST_IN_LANES:
            self._on_rows('batch')
        self._on_rows('scan')


def _row_addresses(inputs: Sequence[Array], outputs: Sequence[Array]) -> list[int]:
    """Return where rows begin, and for inputs how many doubles they are apart."""
    starts = [(array.ctypes.data, array.strides[0] // array.itemsize) for array in inputs]
    return [*itertools.chain(*starts), *(array.ctypes.data for array in outputs)]


def make_entry(
    kernels: MachineKernels,
    bound: Mapping[str, Array],
    portable: Entry,
    pack: type[tuple[Any, ...]],
    documentation: str,
) -> Entry:
    """Return the entry in machine code in front of a portable one."""
    sizes = tuple(None if name in bound else size for name, size in kernels.signature.inputs)
    return native_entry.native_entry(
        _entry_code(sizes, tuple(shape for _, shape in kernels.signature.outputs)),
        kernel=kernels.sample_address,
        owner=kernels.code,
        portable=portable,
        pack=pack,
        bound=[bound.get(name) for name, _ in kernels.signature.inputs],
        name=portable.__name__,
        arguments=[name for name, _ in kernels.signature.inputs if name not in bound],
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
