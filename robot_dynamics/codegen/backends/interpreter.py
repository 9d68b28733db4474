"""A program without any code of its own: evaluated node by node, from the list it was recorded in.

The way of last resort, for programs too large to compile: machine code would take minutes, and
keeps so many values on the stack that it could run out of it.
"""

import operator
import types
from collections.abc import Callable, Sequence
from typing import Any

from robot_dynamics.codegen.backends.lanes import apart
from robot_dynamics.codegen.backends.python import FUNCTIONS, Function
from robot_dynamics.codegen.tracing.program import Program

# Operations of the largest program that is compiled: 3 MB of stack, some ten seconds.
LARGEST = 400_000

OPERATIONS: dict[str, Callable[..., Any]] = {
    'add': operator.add,
    'sub': operator.sub,
    'mul': operator.mul,
    'div': operator.truediv,
    'neg': operator.neg,
}


def interpreted(program: Program) -> Function:
    """Return a function that evaluates a program node by node."""
    scalars = apart(program)
    names = [name for name, _ in program.signature.inputs]

    def with_functions(functions: types.ModuleType) -> Callable[..., Any]:
        operations = OPERATIONS | {name: getattr(functions, name) for name in FUNCTIONS}

        def run(*inputs: Sequence[Any]) -> Any:
            vectors, values = dict(zip(names, inputs, strict=True)), list[Any]()
            for operation, *arguments in scalars.nodes:
                if operation == 'input':
                    name, i = arguments
                    values.append(vectors[name][i])
                elif operation == 'constant':
                    values.append(arguments[0])
                else:
                    values.append(operations[operation](*(values[i] for i in arguments)))
            results = [[values[i] for i in entries] for entries in scalars.results]
            return results if len(results) > 1 else results[0]

        return run

    return with_functions


class TooLarge(Exception):  # noqa: N818  (never leaves this package)
    """A program is better read than compiled."""

    def __init__(self, program: Program) -> None:
        super().__init__(program.name)
        self.program = program


def check_size(program: Program) -> None:
    """Raise TooLarge for a program that should not be compiled."""
    if sum(program.operation_counts().values()) > LARGEST:
        raise TooLarge(program)
