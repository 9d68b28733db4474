# SPDX-License-Identifier: Apache-2.0
"""Programs without machine code: as readable Python source, or interpreted node by node.

The source of a program is one function of the input vectors. An operation used once
is written where it is used, so the lines look like formulas; an operation used more often gets a
name. The program of `lambda q: [q[0] * q[0].sin() + 2.0]` reads

    def program(q):
        (q_0,) = q
        return [q_0 * sin(q_0) + 2.0]

`sin`, `cos`, `minimum`, ... are those of floats or of `numpy`: given one array per entry, the
same text computes a whole batch.

Programs of loops are interpreted, and so are programs too large to compile: compiling them takes
minutes, and their code needs so much stack that it may overflow.
"""

from __future__ import annotations

import operator
import types
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from robot_dynamics.codegen.backends.scalarize import scalarize
from robot_dynamics.codegen.loops.loop_program import (
    CARRIED,
    CARRIER,
    OWN,
    PARENT,
    ROW,
    TABLE,
    Equations,
    LoopProgram,
    Pairs,
    RowStep,
)
from robot_dynamics.codegen.tracing.program import BINARY_OPERATIONS, Node, Program, operands

SYMBOLS = dict(zip(BINARY_OPERATIONS, '+-*/', strict=True))
FUNCTIONS = ('sin', 'cos', 'sqrt', 'tanh', 'fabs')

# Longest expression that is written in place; a longer one gets a name.
LONGEST_INLINE = 60

# Minimum and maximum of floats; not a number if one of them is not, as NumPy's.
EXTREMA: dict[str, Callable[[float, float], float]] = {
    'minimum': lambda a, b: a if a < b or a != a else b,
    'maximum': lambda a, b: a if a > b or a != a else b,
}

# A function of input vectors, made with the sin, cos, ... of `math` or `numpy`.
Function = Callable[[types.ModuleType], Callable[..., Any]]

# How tightly an expression binds: sums, products, signs, atoms.
SUM, PRODUCT, SIGN, ATOM = range(4)


def python_source(program: Program) -> str:
    """Return the source of a function `name(input, ...) -> [entries of the first output], ...`."""
    lines = [f'def {program.name}({", ".join(name for name, _ in program.signature.inputs)}):']
    for name, size in program.signature.inputs:
        if size:
            entries = ', '.join(f'{name}_{i}' for i in range(size))
            lines.append(f'    ({entries},) = {name}' if size == 1 else f'    {entries} = {name}')
    assignments, outputs = statements(program)
    lines += [f'    {line}' for line in assignments]
    returned = ['[' + ', '.join(entries) + ']' for entries in outputs]
    lines.append('    return ' + ', '.join(returned))
    return '\n'.join(lines) + '\n'


def statements(program: Program) -> tuple[list[str], list[list[str]]]:
    """Return the assignments of a program, and per output the expressions of its entries.

    Entry i of an input is named input_i.
    """
    uses = Counter(i for node in program.nodes for i in operands(node))
    uses.update(i for entries in program.results for i in entries)
    lines: list[str] = []
    texts: list[tuple[str, int]] = []  # of each node: how to write it, how tightly it binds
    for index, node in enumerate(program.nodes):
        text, binding = _expression(node, texts)
        if binding < ATOM and (uses[index] > 1 or len(text) > LONGEST_INLINE):
            lines.append(f't{index} = {text}')
            text, binding = f't{index}', ATOM
        texts.append((text, binding))
    return lines, [[texts[i][0] for i in entries] for entries in program.results]


def _expression(node: Node, texts: Sequence[tuple[str, int]]) -> tuple[str, int]:
    """Return the text of a node and how tightly it binds."""

    def operand(i: int, tightness: int) -> str:
        text, binding = texts[i]
        return text if binding >= tightness else f'({text})'

    op = node[0]
    if op == 'input':
        return f'{node[1]}_{node[2]}', ATOM
    if op == 'constant':
        return repr(node[1]), ATOM if node[1] >= 0 else SIGN
    if op in FUNCTIONS:
        # Not an atom: a call used twice is computed once.
        return f'{op}({texts[node[1]][0]})', SIGN
    if op in EXTREMA:
        return f'{op}({texts[node[1]][0]}, {texts[node[2]][0]})', SIGN
    if op == 'neg':
        return f'-{operand(node[1], SIGN + 1)}', SIGN
    level = SUM if op in ('add', 'sub') else PRODUCT
    # The right operand is bracketed at equal level: a - (b - c), and a + (b + c) to keep the order
    # of evaluation.
    return f'{operand(node[1], level)} {SYMBOLS[op]} {operand(node[2], level + 1)}', level


def functions_of(module: types.ModuleType) -> dict[str, Callable[..., Any]]:
    """Return the functions that programs call, of floats for `math`, of arrays for `numpy`."""
    extrema = {name: getattr(module, name, EXTREMA[name]) for name in EXTREMA}
    return {name: getattr(module, name) for name in FUNCTIONS} | extrema


def python_function(program: Program) -> Function:
    """Return the function of a program's source."""
    code = compile(python_source(program), f'<{program.name}>', 'exec')

    def with_functions(functions: types.ModuleType) -> Callable[..., Any]:
        namespace = functions_of(functions)
        exec(code, namespace)
        return namespace[program.name]

    return with_functions


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
    scalars = scalarize(program)
    names = [name for name, _ in program.signature.inputs]

    def with_functions(functions: types.ModuleType) -> Callable[..., Any]:
        def run(*inputs: Sequence[Any]) -> Any:
            vectors = dict(zip(names, inputs, strict=True))
            results = _evaluated(scalars, lambda name, i: vectors[name][i], functions)
            return results if len(results) > 1 else results[0]

        return run

    return with_functions


def interpreted_loops(program: LoopProgram) -> Function:
    """Return a function that evaluates a program of loops node by node, row by row."""

    def with_functions(functions: types.ModuleType) -> Callable[..., Any]:
        def run(*inputs: Sequence[Any]) -> Any:
            results = _LoopRun(program, inputs, functions).results()
            return results if len(results) > 1 else results[0]

        return run

    return with_functions


class _LoopRun:
    """One run of a program of loops: the values of the rows, and the outputs."""

    def __init__(
        self, program: LoopProgram, inputs: Sequence[Sequence[Any]], functions: types.ModuleType
    ) -> None:
        self._program, self._functions, n = program, functions, len(program.rows)
        names = [name for name, _ in program.signature.inputs]
        self._inputs = dict(zip(names, inputs, strict=True))
        self._memory: list[list[Any]] = [[0.0] * n for _ in range(program.columns)]
        self._outputs: dict[str, list[Any]] = {
            name: [0.0] * n ** len(shape) for name, shape in program.signature.outputs
        }

    def results(self) -> list[list[Any]]:
        """Return the entries of the outputs."""
        n = len(self._program.rows)
        for loop in self._program.loops:
            for row in reversed(range(n)) if loop.inward else range(n):
                self._step(loop.steps[self._program.rows.kinds[row]], row)
        if self._program.pairs:
            for row in range(n):
                self._matrix_row(self._program.pairs, row)
        if self._program.equations:
            self._solve(self._program.equations)
        return [*self._outputs.values()]

    def _step(self, step: RowStep, row: int) -> None:
        for store, value in zip(step.stores, self._values(step.program, row), strict=True):
            if store.where == OWN:
                self._memory[store.column][row] = value
            elif store.where == PARENT:
                # Not by +=, which would change an array wherever else it is stored.
                column, parent = self._memory[store.column], self._program.rows.parents[row]
                column[parent] = column[parent] + value
            else:
                self._outputs[store.where][row] = value

    def _matrix_row(self, pairs: Pairs, row: int) -> None:
        """Fill a row up to the diagonal, and the column above it."""
        n, outputs = len(self._program.rows), [self._outputs[name] for name in pairs.outputs]
        for output, column in zip(outputs, pairs.diagonal, strict=True):
            output[row * n + row] = self._memory[column][row]
        for carrier in self._program.rows.carriers(row):
            halves = (pairs.below, row * n + carrier), (pairs.above, carrier * n + row)
            for part, place in halves:
                for output, value in zip(outputs, self._values(part, row, carrier), strict=True):
                    output[place] = value

    def _solve(self, equations: Equations) -> None:
        """Replace M by its inverse, and every B by X of M X = B, as `llvm_loops` does."""
        rows, n = self._program.rows, len(self._program.rows)
        M, *sides = (
            [output[k * n : k * n + n] for k in range(n)]
            for output in map(self._outputs.__getitem__, (equations.inverse, *equations.solutions))
        )
        sides.append([[float(i == j) for j in range(n)] for i in range(n)])
        pivots: list[Any] = [1.0] * n
        for i in reversed(range(n)):
            for A in (M, *sides):
                for k in rows.carried(i):
                    factor = -(pivots[k] * M[k][i])
                    A[i] = [x + factor * y for x, y in zip(A[i], A[k], strict=True)]
            pivots[i] = 1.0 / M[i][i]
        for i in range(n):
            for X in sides:
                X[i] = [pivots[i] * x for x in X[i]]
                for j in rows.carriers(i):
                    factor = -(pivots[i] * M[i][j])
                    X[i] = [x + factor * y for x, y in zip(X[i], X[j], strict=True)]
        for i, row in enumerate(sides[-1]):
            row[i + 1 :] = [sides[-1][j][i] for j in range(i + 1, n)]
        for name, X in zip((*equations.solutions, equations.inverse), sides, strict=True):
            self._outputs[name] = [x for row in X for x in row]

    def _values(self, part: Program, row: int, carrier: int = -1) -> list[Any]:
        """Return what a step, or a pair, computes at a row."""
        parent = self._program.rows.parents[row]
        rows = {OWN: row, PARENT: parent, CARRIED: row, CARRIER: carrier}

        def load(where: str, i: Any) -> Any:
            if where == TABLE:
                return self._program.table[i][row]
            if where in rows:
                return self._memory[i][rows[where]]
            return self._inputs[where][row if i == ROW else i]

        return _evaluated(part, load, self._functions)[0]


def _evaluated(
    program: Program, load: Callable[[str, Any], Any], functions: types.ModuleType
) -> list[list[Any]]:
    """Return the entries of the outputs of a program without vectors."""
    operations = OPERATIONS | functions_of(functions)
    values = list[Any]()
    for operation, *arguments in program.nodes:
        if operation == 'input':
            values.append(load(*arguments))
        elif operation == 'constant':
            values.append(arguments[0])
        else:
            values.append(operations[operation](*(values[i] for i in arguments)))
    return [[values[i] for i in entries] for entries in program.results]


class TooLarge(Exception):  # noqa: N818  (never leaves this package)
    """A program is better read than compiled."""

    def __init__(self, program: Program) -> None:
        super().__init__(program.name)
        self.program = program


def check_size(program: Program) -> None:
    """Raise TooLarge for a program that should not be compiled."""
    if sum(program.operation_counts().values()) > LARGEST:
        raise TooLarge(program)
