"""Programs without machine code: as readable Python source, or interpreted node by node.

The source of a straight-line program is one function of the input vectors. An operation used once
is written where it is used, so the lines look like formulas; an operation used more often gets a
name. The program of `lambda q: [q[0] * q[0].sin() + 2.0]` reads

    def program(q):
        (q_0,) = q
        return [q_0 * sin(q_0) + 2.0]

`sin`, `cos`, `sqrt` and `tanh` come from `math` for floats, from `numpy` for arrays: given one
array per entry, the same text computes a whole batch.

In the source of a loop program, `memory[column][row]` holds the values of the rows; `own_3` is
column 3 of the row itself, `parent_3` of its parent.

Programs too large to compile are interpreted: compiling them takes minutes, and their code needs
so much stack that it may overflow.
"""

from __future__ import annotations

import operator
import types
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from robot_dynamics.codegen.backends.scalarize import scalarize
from robot_dynamics.codegen.loops.program import (
    CARRIED,
    CARRIER,
    OWN,
    PARENT,
    TABLE,
    Coordinates,
    Loop,
    LoopProgram,
    Pairs,
    Step,
    Store,
)
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


# Where the entry of an input is found.
PLACES = {
    TABLE: 'table[{}][row]',
    OWN: 'memory[{}][row]',
    PARENT: 'memory[{}][parent[row]]',
    CARRIER: 'memory[{}][carrier]',
    CARRIED: 'memory[{}][carried]',
}


def loop_function(program: LoopProgram) -> Function:
    """Return the function of a program's source."""
    return defined(program.name, loop_source(program))


def loop_source(program: LoopProgram) -> str:
    """Return the source of a function `name(input, ...) -> [entries of the first output], ...`."""
    rows = program.rows
    n = len(rows)
    outputs = program.signature.outputs
    body = [f'memory = [[0.0] * {n} for _ in range({program.columns})]']
    body += [f'{name}_out = [0.0] * {n ** len(shape)}' for name, shape in outputs]
    if program.coordinates:
        for name in program.vectors:
            body.append(f'{name} = [{_sum(f"{name}[i]")} for terms in spread]')
    for loop in program.loops:
        body += _loop(loop, n)
    if program.pairs:
        body += _pairs(program.pairs, n)
    if program.coordinates:
        body += _gathered(outputs, n)
    body.append(f'return {", ".join(f"{name}_out" for name, _ in outputs)}')
    data: dict[str, object] = {'parent': rows.parents, 'kind': rows.kinds, 'table': program.table}
    if program.pairs:
        data['carriers'] = tuple(tuple(rows.carriers(row)) for row in range(n))
    if program.coordinates:
        data |= _terms(program.coordinates, n)
    lines = [f'{name} = {value}' for name, value in data.items()]
    arguments = ', '.join(name for name, _ in program.signature.inputs)
    lines += ['', f'def {program.name}({arguments}):']
    return '\n'.join([*lines, *(f'    {line}' for line in body)]) + '\n'


def _loop(loop: Loop, n: int) -> Iterator[str]:
    yield f'for row in {"reversed(" * loop.inward}range({n}){")" * loop.inward}:'
    word = 'if'
    for kind, step in enumerate(loop.steps):
        if step.stores:
            yield f'    {word} kind[row] == {kind}:'
            yield from (f'        {line}' for line in _step(step))
            word = 'elif'


def _step(step: Step) -> Iterator[str]:
    assignments, [results] = statements(step.program)
    yield from _loads(step.program)
    yield from assignments
    for store, result in zip(step.stores, results, strict=True):
        target = _target(store)
        # Not by +=, which would change an array wherever else it is kept.
        value = f'{target} + ({result})' if store.where == PARENT else result
        yield f'{target} = {value}'


def _target(store: Store) -> str:
    if store.where in PLACES:
        return PLACES[store.where].format(store.column)
    return f'{store.where}_out[row]'


def _loads(program: Program) -> Iterator[str]:
    for node in program.nodes:
        if node[0] == 'input':
            _, name, i = node
            place = PLACES[name].format(i) if name in PLACES else f'{name}[{i}]'
            yield f'{name}_{i} = {place}'


def _pairs(pairs: Pairs, n: int) -> Iterator[str]:
    yield f'for carried in range({n}):'
    for name, column in zip(pairs.outputs, pairs.diagonal, strict=True):
        yield f'    {name}_out[carried * {n + 1}] = memory[{column}][carried]'
    yield '    for carrier in carriers[carried]:'
    halves = (
        (pairs.below, f'[carried * {n} + carrier]'),
        (pairs.above, f'[carrier * {n} + carried]'),
    )
    for program, entry in halves:
        assignments, [results] = statements(program)
        yield from (f'        {line}' for line in [*_loads(program), *assignments])
        for name, result in zip(pairs.outputs, results, strict=True):
            yield f'        {name}_out{entry} = {result}'


def _terms(coordinates: Coordinates, n: int) -> dict[str, object]:
    """Return the terms of each row, and of each coordinate, as (place, weight)."""
    spread: list[list[object]] = [[] for _ in range(n)]
    gathered: list[list[object]] = [[] for _ in range(coordinates.number)]
    for row, i, weight in coordinates.terms:
        spread[row].append((i, weight))
        gathered[i].append((row, weight))
    return {'spread': spread, 'gathered': gathered}


def _gathered(outputs: Sequence[tuple[str, tuple[int, ...]]], n: int) -> Iterator[str]:
    """Yield what turns entries of rows into those of coordinates."""
    for name, shape in outputs:
        out = f'{name}_out'
        if len(shape) == 1:
            yield f'{out} = [{_sum(f"{out}[i]")} for terms in gathered]'
            continue
        yield f'half = [[{_sum(f"{out}[i * {n} + k]")} for k in range({n})] for terms in gathered]'
        yield f'{out} = [{_sum("line[i]")} for line in half for terms in gathered]'


def _sum(entry: str) -> str:
    return f'sum(weight * {entry} for i, weight in terms)'


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
