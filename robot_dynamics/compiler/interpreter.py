"""A program without any code of its own: evaluated node by node, from the list it was recorded in.

The way of last resort, for programs too large to compile: machine code would take minutes, and
keeps so many values on the stack that it could run out of it.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.compiler.entry import Kernels
from robot_dynamics.compiler.rolled.program import RolledProgram
from robot_dynamics.compiler.trace import Program

# Operations of the largest program that is compiled: 3 MB of stack, some ten seconds.
LARGEST = 400_000

FUNCTIONS: dict[str, Callable[..., Any]] = {
    'add': operator.add,
    'sub': operator.sub,
    'mul': operator.mul,
    'div': operator.truediv,
    'neg': operator.neg,
    **{name: getattr(np, name) for name in ('sqrt', 'sin', 'cos', 'tanh')},
}


class InterpretedKernels(Kernels):
    """Evaluates a program for all rows at once."""

    backend = 'python'

    def __init__(self, program: Program) -> None:
        self.signature = program.signature
        self._program = program

    def run(
        self, inputs: Sequence[NDArray[np.float64]], outputs: Sequence[NDArray[np.float64]]
    ) -> None:
        """Fill outputs (N, size) from inputs (N, size)."""
        columns = dict(zip((name for name, _ in self.signature.inputs), inputs, strict=True))
        values: list[Any] = []
        with np.errstate(all='ignore'):
            for operation, *arguments in self._program.nodes:
                if operation == 'input':
                    name, i = arguments
                    values.append(columns[name][:, i])
                elif operation == 'constant':
                    values.append(np.float64(arguments[0]))
                else:
                    values.append(FUNCTIONS[operation](*(values[i] for i in arguments)))
        for output, entries in zip(outputs, self._program.results, strict=True):
            for i, entry in enumerate(entries):
                output[:, i] = values[entry]


class TooLarge(Exception):  # noqa: N818  (never leaves this package)
    """A program is better read than compiled."""

    def __init__(self, program: Program) -> None:
        super().__init__(program.name)
        self.program = program


def check_size(program: Program | RolledProgram) -> None:
    """Raise TooLarge for a program that should not be compiled."""
    if isinstance(program, Program) and sum(program.operation_counts().values()) > LARGEST:
        raise TooLarge(program)
