"""A program of loops as Python source: to read, and to run where there is no compiler.

`memory[column][row]` is what rows keep; `own_3` is column 3 of the row itself, `parent_3` of its
parent. Given one array per entry of the inputs, the text computes a whole batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from robot_dynamics.codegen.backends.python import Function, defined, statements
from robot_dynamics.codegen.loops.program import (
    CARRIED,
    CARRIER,
    OWN,
    PARENT,
    TABLE,
    Coordinates,
    Loop,
    Pairs,
    RolledProgram,
    Step,
    Store,
)
from robot_dynamics.codegen.tracing.program import Program

# Where the entry of an input is found.
PLACES = {
    TABLE: 'table[{}][row]',
    OWN: 'memory[{}][row]',
    PARENT: 'memory[{}][parent[row]]',
    CARRIER: 'memory[{}][carrier]',
    CARRIED: 'memory[{}][carried]',
}


def rolled_function(program: RolledProgram) -> Function:
    """Return the function of a program's source."""
    return defined(program.name, rolled_source(program))


def rolled_source(program: RolledProgram) -> str:
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
