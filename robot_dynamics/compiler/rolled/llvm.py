"""A program of loops in LLVM's language: functions that lend memory to the loops over rows.

`name.sample`, `name.batch`, `name.scan` and `name.march` are called as those of `llvm_source` and
`march_source` are, and as there, a sample's bits are the same in all of them.

The memory that rows keep their numbers in is the module's own, or from the heap while another
thread uses that. If the heap has none left, results are not a number.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator, Sequence

from robot_dynamics.compiler.llvm_writer import Writer
from robot_dynamics.compiler.rolled.loops import Memory, counting
from robot_dynamics.compiler.rolled.program import CARRIED, CARRIER, RolledProgram
from robot_dynamics.compiler.rolled.samples import Columns, ManySamples, OneSample

# Samples with more results are computed one by one: several large matrices side by side leave the
# processor's fast memory.
LARGEST_SIDE_BY_SIDE = 6000


def sample_kernels(program: RolledProgram, lanes: int) -> list[Writer]:
    """Return data and the function of one sample, `lanes` entries of a matrix at a time."""
    w, memory, arrays = Writer(1), Memory.of_columns(program), _arrays(program)
    with (
        _function(w, program, 'sample', [f'ptr noalias {array}' for array in arrays]),
        _lent_memory(w, memory, lambda: _nothing(w, program, '0', '1')),
    ):
        OneSample(program, w, memory, {array: array for array in arrays}, lanes).write()
    return [_data(program), w]


def scan_kernels(program: RolledProgram, lanes: int, kind: str = 'scan') -> list[Writer]:
    """Return data and the function that computes samples one after the other."""
    w, memory = Writer(1), Memory.of_columns(program)
    with (
        _function(w, program, kind, _row_parameters(program)),
        _lent_memory(w, memory, lambda: _nothing(w, program, '%begin', '%end')),
        counting(w, '%begin', '%end') as i,
    ):
        places = {
            array: w.element(array, w.let(f'mul i64 {i}, {stride}'))
            for array, stride in _strides(program).items()
        }
        OneSample(program, w, memory, places, lanes).write()
    return [_data(program), w]


def batch_kernels(program: RolledProgram, lanes: int) -> list[Writer]:
    """Return data and the function of many samples, `lanes` at a time if they are small."""
    if sum(program.signature.output_sizes) > LARGEST_SIDE_BY_SIDE:
        return scan_kernels(program, lanes, 'batch')
    w, memory = Writer(lanes), Memory.of_vectors(program, lanes)
    w.intrinsics.add('declare i64 @llvm.smin.i64(i64, i64)')
    with (
        _function(w, program, 'batch', _row_parameters(program)),
        _lent_memory(w, memory, lambda: _nothing(w, program, '%begin', '%end')),
        counting(w, '%begin', '%end', lanes) as first,
    ):
        # Past the end, lanes repeat the last row and write the same there again.
        last = w.let('sub i64 %end, 1')
        ahead = [w.let(f'add i64 {first}, {lane}') for lane in range(lanes)]
        own = [w.let(f'call i64 @llvm.smin.i64(i64 {row}, i64 {last})') for row in ahead]
        rows = {
            array: [w.element(array, w.let(f'mul i64 {row}, {stride}')) for row in own]
            for array, stride in _strides(program).items()
        }
        ManySamples(program, w, memory, {}, rows).write()
    return [_data(program), w]


def march_kernels(program: RolledProgram, lanes: int) -> list[Writer]:
    """Return data and the function of many steps of many samples, `lanes` at a time."""
    w, memory, arrays = Writer(lanes), Memory.of_vectors(program, lanes), _arrays(program)
    parameters = [f'ptr {array}, i64 {array}.block, i64 {array}.step' for array in arrays]
    parameters += ['i64 %begin', 'i64 %end', 'i64 %steps']

    def block_of(array: str, block: str) -> str:
        return w.element(array, w.let(f'mul i64 {block}, {array}.block'))

    def lost() -> None:
        with counting(w, '%begin', '%end') as block:
            for name, _ in program.signature.outputs:
                doubles = lanes * program.size(name)
                _not_a_number(w, block_of(f'%out.{name}', block), '0', str(doubles))

    with (
        _function(w, program, 'march', parameters),
        _lent_memory(w, memory, lost),
        counting(w, '%begin', '%end') as block,
        counting(w, 0, '%steps') as step,
    ):
        places = {
            array: w.element(block_of(array, block), w.let(f'mul i64 {step}, {array}.step'))
            for array in arrays
        }
        Columns(program, w, memory, places).write()
    return [_data(program), w]


# -- parameters ---------------------------------------------------------------------------------


def _arrays(program: RolledProgram) -> list[str]:
    """Return the names of inputs and outputs."""
    inputs = [f'%in.{name}' for name, _ in program.signature.inputs]
    return inputs + [f'%out.{name}' for name, _ in program.signature.outputs]


def _strides(program: RolledProgram) -> dict[str, object]:
    """Return how many doubles the rows of inputs and outputs are apart."""
    inputs = {f'%in.{name}': f'%stride.{name}' for name, _ in program.signature.inputs}
    return inputs | {f'%out.{name}': program.size(name) for name, _ in program.signature.outputs}


def _row_parameters(program: RolledProgram) -> list[str]:
    parameters = [
        f'ptr {array}, i64 {stride}' if isinstance(stride, str) else f'ptr {array}'
        for array, stride in _strides(program).items()
    ]
    return [*parameters, 'i64 %begin', 'i64 %end']


@contextlib.contextmanager
def _function(
    w: Writer, program: RolledProgram, kind: str, parameters: Sequence[str]
) -> Iterator[None]:
    """Write a function around what is written inside."""
    w.lines.append(f'define void @{program.name}.{kind}({", ".join(parameters)}) nounwind {{')
    w.begin_block('start')
    yield
    w.lines.append('}')


# -- data and memory ----------------------------------------------------------------------------


def _data(program: RolledProgram) -> Writer:
    """Return the constants of the module."""
    w, rows = Writer(1), program.rows
    _constant(w, 'table', 'double', [w.constant(x) for column in program.table for x in column])
    _constant(w, 'parent', 'i64', rows.parents)
    _constant(w, 'kind', 'i8', rows.kinds)
    if program.pairs:
        for name, related in ((CARRIER, rows.carriers), (CARRIED, rows.carried)):
            runs = [rows.runs(related(row)) for row in range(len(rows))]
            _constant(w, f'{name}.first', 'i64', [0, *itertools.accumulate(map(len, runs))])
            ends = itertools.chain.from_iterable(itertools.chain.from_iterable(runs))
            _constant(w, f'{name}.runs', 'i64', list(ends))
    if program.coordinates:
        row, coordinate, weight = zip(*program.coordinates.terms, strict=True)
        _constant(w, 'term.row', 'i64', row)
        _constant(w, 'term.coordinate', 'i64', coordinate)
        _constant(w, 'term.weight', 'double', [w.constant(x) for x in weight])
    return w


def _constant(w: Writer, name: str, kind: str, values: Sequence[object]) -> None:
    entries = ', '.join(f'{kind} {value}' for value in values)
    w.lines.append(f'@{name} = private constant [{len(values)} x {kind}] [{entries}]')


@contextlib.contextmanager
def _lent_memory(w: Writer, memory: Memory, lost: Callable[[], None]) -> Iterator[None]:
    """Write what lends %memory to what is written inside; `lost` writes what is done without."""
    w.intrinsics |= {'declare ptr @malloc(i64)', 'declare void @free(ptr)'}
    w.do('%exchange = cmpxchg ptr @taken, i32 0, i32 1 acquire monotonic')
    w.do('%free = extractvalue { i32, i1 } %exchange, 1')
    w.do('br i1 %free, label %work, label %heap')
    w.begin_block('heap')
    allocation = len(w.lines)
    w.do('%borrowed = call ptr @malloc(i64 SIZE)')
    w.do('%nothing = icmp eq ptr %borrowed, null')
    w.do('br i1 %nothing, label %fail, label %work')
    w.begin_block('work')
    w.do('%memory = phi ptr [ @memory, %start ], [ %borrowed, %heap ]')
    yield
    w.do('br i1 %free, label %leave, label %release')
    w.begin_block('leave')
    w.lines += ['  store atomic i32 0, ptr @taken release, align 4', '  ret void']
    w.begin_block('release')
    w.lines += ['  call void @free(ptr %memory)', '  ret void']
    w.begin_block('fail')
    lost()
    w.lines.append('  ret void')
    # Only now is known how much is used.
    w.lines[allocation] = w.lines[allocation].replace('SIZE', str(8 * memory.size))
    # A declaration of the module may stand anywhere between functions.
    w.intrinsics |= {
        '@taken = internal global i32 0',
        f'@memory = internal global [{memory.size} x double] zeroinitializer, align 64',
    }


def _nothing(w: Writer, program: RolledProgram, begin: str, end: str) -> None:
    """Write not a number for samples of all outputs."""
    for name, _ in program.signature.outputs:
        limits = [w.let(f'mul i64 {sample}, {program.size(name)}') for sample in (begin, end)]
        _not_a_number(w, f'%out.{name}', limits[0], limits[1])


def _not_a_number(w: Writer, array: str, begin: str, end: str) -> None:
    one = w.with_lanes(1)
    with counting(w, begin, end) as i:
        one.store(one.constant(math.nan), one.element(array, i))
