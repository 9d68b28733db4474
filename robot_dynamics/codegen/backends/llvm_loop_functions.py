"""A program of loops in LLVM's language: the functions around the loops over rows.

`name.sample`, `name.batch`, `name.scan` and `name.march` are called as those of `llvm_source`, and
as there, a sample's bits are the same in all of them. They have one input more, the last: the
memory that rows keep their numbers in. Whoever calls a kernel lends it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from robot_dynamics.codegen.backends.llvm_functions import (
    begun,
    ended,
    row_strides,
    rows_in_lanes,
    scan_kernel,
    steps_of_blocks,
)
from robot_dynamics.codegen.backends.llvm_loops import Loops
from robot_dynamics.codegen.backends.llvm_straight_line import transpose
from robot_dynamics.codegen.backends.llvm_writer import Writer, counting, within
from robot_dynamics.codegen.loops.program import CARRIED, CARRIER, RolledProgram
from robot_dynamics.codegen.tracing.program import Signature


def kernels(kind: str, program: RolledProgram, lanes: int) -> tuple[list[Writer], int]:
    """Return data and functions of a kind of kernel, and how many doubles of memory it needs."""
    write = {'sample': sample_kernel, 'batch': batch_kernel, 'march': march_kernel}[kind]
    loops = write(program, lanes)
    scan = [scan_kernel(program.name, _signature(program))] if kind == 'sample' else []
    return [_data(program), loops.w, *scan], loops.memory


def sample_kernel(program: RolledProgram, lanes: int) -> Loops:
    """Return the function of one sample, `lanes` entries of a matrix at a time."""
    w = begun('sample', program.name, _signature(program), 1)
    loops = Loops(program, w, lanes)
    loops.write()
    ended(w)
    return loops


def batch_kernel(program: RolledProgram, lanes: int) -> Loops:
    """Return the function of many samples, `lanes` at a time."""
    w = begun('batch', program.name, _signature(program), lanes)
    loops, strides = Loops(program, w, 1), row_strides(program.signature)
    for first in counting(w, '%begin', '%end', lanes):
        numbers = rows_in_lanes(w, first)
        rows = {
            array: [w.element(array, w.let(f'mul i64 {i}, {stride}')) for i in numbers]
            for array, stride in strides.items()
        }
        for name, size in program.signature.inputs:
            array = f'%in.{name}'
            loops.places[array] = loops.reserved(size)
            _turn_in(w, rows[array], loops.places[array], size)
        results = _reserve_results(loops)
        loops.write()
        for array, (place, size) in results.items():
            _turn_back(w, place, rows[array], size)
    ended(w)
    return loops


def march_kernel(program: RolledProgram, lanes: int) -> Loops:
    """Return the function of many steps of many samples, `lanes` at a time."""
    w = begun('march', program.name, _signature(program), lanes)
    loops = Loops(program, w, 1)
    for columns in steps_of_blocks(w, _signature(program)):
        loops.places |= columns
        # Outputs come last, as they may be where inputs are.
        results = _reserve_results(loops)
        loops.write()
        for array, (place, size) in results.items():
            for i in counting(w.with_lanes(1), 0, size):
                entry = w.let(f'mul i64 {i}, {lanes}')
                value = w.load(w.element(place, entry))
                w.store(value, w.element(columns[array], entry))
    ended(w)
    return loops


def _signature(program: RolledProgram) -> Signature:
    """Return what the functions take and give."""
    inputs, outputs = program.signature.inputs, program.signature.outputs
    return Signature((*inputs, ('memory', 0)), outputs)


def _reserve_results(loops: Loops) -> dict[str, tuple[str, int]]:
    """Have results computed in memory; return where, and their sizes."""
    signature, results = loops.program.signature, {}
    for (name, _), size in zip(signature.outputs, signature.output_sizes, strict=True):
        place = loops.places[f'%out.{name}'] = loops.reserved(size)
        results[f'%out.{name}'] = place, size
    return results


def _turn_in(w: Writer, rows: Sequence[str], place: str, size: int) -> None:
    """Write entries of rows as vectors."""
    for i in counting(w.with_lanes(1), 0, size, w.lanes):
        inside, block = within(w, i, size), w.element(place, w.let(f'mul i64 {i}, {w.lanes}'))
        blocks = [w.load_where(inside, w.element(row, i)) for row in rows]
        for lane, vector in enumerate(transpose(w, blocks)):
            w.store(vector, w.element(block, lane * w.lanes))


def _turn_back(w: Writer, place: str, rows: Sequence[str], size: int) -> None:
    """Write vectors as entries of rows."""
    for i in counting(w.with_lanes(1), 0, size, w.lanes):
        inside, block = within(w, i, size), w.element(place, w.let(f'mul i64 {i}, {w.lanes}'))
        vectors = [w.load(w.element(block, lane * w.lanes)) for lane in range(w.lanes)]
        for row, entries in zip(rows, transpose(w, vectors), strict=True):
            w.store_where(inside, entries, w.element(row, i))


def _data(program: RolledProgram) -> Writer:
    """Return the constants of the module."""
    w, rows = Writer(1), program.rows
    table = [w.constant(x) for column in program.table for x in column]
    constants: list[tuple[str, str, Sequence[object]]] = [
        ('table', 'double', table),
        ('parent', 'i64', rows.parents),
        ('kind', 'i8', rows.kinds),
    ]
    if program.pairs:
        for name, related in ((CARRIER, rows.carriers), (CARRIED, rows.carried)):
            runs = [rows.runs(related(row)) for row in range(len(rows))]
            ends = itertools.chain.from_iterable(itertools.chain.from_iterable(runs))
            first = [0, *itertools.accumulate(map(len, runs))]
            constants += [(f'{name}.first', 'i64', first), (f'{name}.runs', 'i64', list(ends))]
    if program.coordinates:
        row, coordinate, weight = zip(*program.coordinates.terms, strict=True)
        constants += [('term.row', 'i64', row), ('term.coordinate', 'i64', coordinate)]
        constants.append(('term.weight', 'double', [w.constant(x) for x in weight]))
    for name, kind, values in constants:
        entries = ', '.join(f'{kind} {value}' for value in values)
        w.lines.append(f'@{name} = private constant [{len(values)} x {kind}] [{entries}]')
    return w
