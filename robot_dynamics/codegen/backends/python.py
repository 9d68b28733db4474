"""A program as Python source: readable, and it runs where there is no compiler.

The text is one function of the input vectors. An operation used once is written where it is used,
so the lines look like formulas; an operation used more often gets a name. The program of
`lambda q: [q[0] * q[0].sin() + 2.0]` reads

    def program(q):
        (q_0,) = q
        return [q_0 * sin(q_0) + 2.0]

`sin`, `cos`, `sqrt` and `tanh` come from `math` for floats, from `numpy` for arrays: given one
array per entry, the same text computes a whole batch.
"""

import types
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from robot_dynamics.codegen.tracing.program import BINARY_OPERATIONS, Node, Program, operands

SYMBOLS = dict(zip(BINARY_OPERATIONS, '+-*/', strict=True))
FUNCTIONS = ('sin', 'cos', 'sqrt', 'tanh')

# Longest expression that is written in place; a longer one gets a name.
LONGEST_INLINE = 60

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
    if op == 'neg':
        return f'-{operand(node[1], SIGN + 1)}', SIGN
    level = SUM if op in ('add', 'sub') else PRODUCT
    # The right operand is bracketed at equal level: a - (b - c), and a + (b + c) to keep the order
    # of evaluation.
    return f'{operand(node[1], level)} {SYMBOLS[op]} {operand(node[2], level + 1)}', level


def python_function(program: Program) -> Function:
    """Return the function of a program's source."""
    return defined(program.name, python_source(program))


def defined(name: str, source: str) -> Function:
    """Return a function that a source defines."""
    code = compile(source, f'<{name}>', 'exec')

    def with_functions(functions: types.ModuleType) -> Callable[..., Any]:
        namespace: dict[str, Any] = {key: getattr(functions, key) for key in FUNCTIONS}
        exec(code, namespace)
        return namespace[name]  # type: ignore[no-any-return]

    return with_functions
