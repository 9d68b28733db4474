# SPDX-License-Identifier: Apache-2.0
"""Loops over the rows of a tree: what is recorded, and that every way of running it agrees."""

import math
import threading

import numpy as np
import pytest
from swept_trees import OUTPUTS, Plain, Tree

from robot_dynamics.codegen.backends import machine_code
from robot_dynamics.codegen.calls import compile_program, kernels, recipe
from robot_dynamics.codegen.loops import LoopForm, Rows
from robot_dynamics.codegen.loops.loop_assembly import trace_loops
from robot_dynamics.codegen.loops.loop_program import PARENT, TABLE
from robot_dynamics.codegen.tracing import TraceError, trace


@pytest.fixture(params=[(0, 1, 0.0), (1, 2, 0.0), (2, 7, 0.5), (3, 8, 0.0), (4, 33, 0.3)])
def tree(request):
    return Tree.random(*request.param)


@pytest.fixture
def always_loops(monkeypatch):
    """Choose loops, however short."""
    monkeypatch.setattr(recipe, 'MOST_RECORDED', 1)


def assert_close(results, expected, tolerance=1e-14):
    for result, reference in zip(results, expected, strict=True):
        reference = np.array(reference, dtype=float)
        assert np.shape(result) == reference.shape
        scale = max(1.0, np.abs(reference).max())
        np.testing.assert_allclose(result, reference, rtol=0, atol=tolerance * scale)


# -- recording ----------------------------------------------------------------------------------


def test_a_step_is_recorded_once_whatever_the_number_of_rows():
    short, long = (Tree.random(3, n, 0.0).program() for n in (40, 400))
    assert len(short.loops) == len(long.loops) == 6
    for a, b in zip(short.loops, long.loops, strict=True):
        sizes = [sorted(len(step.program.nodes) for step in loop.steps) for loop in (a, b)]
        assert sizes[0] == sizes[1]
    assert len(short.pairs.below.nodes) == len(long.pairs.below.nodes)
    assert long.columns == short.columns


def traversals(program):
    """Return the loops that pass values from row to row."""
    return [loop for loop in program.loops if not loop.alone]


def test_independent_traversals_share_loops_of_alternating_direction():
    loops = traversals(Tree.random(4, 20, 0.3).program())
    assert [loop.inward for loop in loops] == [False, True, False]


def test_a_traversal_computes_only_what_it_passes_on_and_another_loop_reads_no_other_row():
    program = Tree.random(4, 20, 0.3).program()
    outward, inward, _ = traversals(program)
    # A state is a sine of its parent's; the sums need cosines of inputs alone.
    sines = ['sin' in step.program.operation_counts() for step in outward.steps]
    assert sines == [not program.rows.is_root(kind) for kind in range(len(sines))]
    assert not any('cos' in step.program.operation_counts() for step in inward.steps)
    for loop in program.loops:
        for step in loop.steps if loop.alone else ():
            reads = [node[1] for node in step.program.nodes if node[0] == 'input']
            assert PARENT not in [*reads, *(store.where for store in step.stores)]


def test_what_is_constant_along_the_tree_is_found():
    outward, _, _ = traversals(Tree.random(4, 20, 0.3).program())
    for step in outward.steps:
        leaves = [node for node in step.program.nodes if node[0] == 'input']
        # Of the state, `one` and `zero` are nowhere: one column of the parent is read.
        assert len([leaf for leaf in leaves if leaf[1] == PARENT]) <= 1


def test_a_constant_of_all_rows_of_a_kind_is_not_in_the_table():
    rows = Rows.of([-1, 0, 1, 2], ['a', 'b', 'b', 'b'])
    values = [5.0, 2.0, 2.0, 2.0]
    rolled = LoopForm(
        lambda way, x: [a * b for a, b in zip(way.table(values), x, strict=True)], rows, ('x',)
    )
    program = trace_loops(rolled, {'x': 4}, name='scaled')
    assert program.table == ()
    different = LoopForm(lambda way, x: way.table([1.0, 2.0, 3.0, 4.0]), rows, ('x',))
    program = trace_loops(different, {'x': 4}, name='copied')
    assert program.table == ((1.0, 2.0, 3.0, 4.0),)
    assert ('input', TABLE, 0) in program.loops[0].steps[1].program.nodes


def test_a_state_that_is_constant_at_first_and_then_is_not(always_loops):
    rows = Rows.of([-1, 0, 1, 2, 3], ['a'] * 5)

    def function(way, x):
        # 0, 0, x, x + x, ...: known to change only after the second row.
        states = way.outward([0.0, 0.0], lambda i, s: [s[0] + s[1], s[1] * 1.0 + x[i]])
        return [s[0] for s in states]

    program = compile_program(
        lambda x: function(Plain(rows.parents), x),
        {'x': 5},
        loops=LoopForm(function, rows, ('x',)),
    )
    expected = function(Plain(rows.parents), [1.0, 2.0, 3.0, 4.0, 5.0])
    np.testing.assert_allclose(program([1.0, 2.0, 3.0, 4.0, 5.0]), expected)


def test_operations_are_counted_as_often_as_they_run():
    tree = Tree.random(4, 33, 0.3)
    counts = tree.program().operation_counts()
    straight = trace(tree.straight, tree.inputs, name='straight').operation_counts()
    for function in ('sin', 'cos', 'div'):
        assert counts[function] == straight[function]
    # Eight entries of a row of a matrix at once.
    assert tree.program().operation_counts(8)['div'] < counts['div'] / 3


@pytest.mark.parametrize('name', ['memory', 'own', 'parent', 'table'])
def test_names_of_the_inputs_of_loops_are_rejected(name):
    rows = Rows.of([-1, 0], ['a', 'a'])
    with pytest.raises(TraceError, match=name):
        trace_loops(LoopForm(lambda way, x: x, rows, (name,)), {name: 2}, name='copy')


def test_results_that_are_not_scalars_are_rejected():
    rows = Rows.of([-1, 0], ['a', 'a'])
    with pytest.raises(TraceError, match='neither scalar nor real number'):
        trace_loops(LoopForm(lambda way, x: ['a', 'b'], rows, ('x',)), {'x': 2}, name='text')


def test_equal_programs_have_equal_digests():
    a, b, c = Tree.random(3, 8, 0.0), Tree.random(3, 8, 0.0), Tree.random(5, 8, 0.0)
    assert a.program().digest() == b.program().digest() != c.program().digest()


# -- running ------------------------------------------------------------------------------------


@pytest.mark.parametrize('backend', ['auto', 'python'])
def test_loops_agree_with_the_straight_line(always_loops, tree, backend):
    program = compile_program(
        tree.straight,
        tree.inputs,
        name=tree.name,
        outputs=OUTPUTS,
        loops=tree.rolled,
        backend=backend,
    )
    x, scale = tree.arguments(21)
    batch = program(x, scale)
    for i in (0, 7, 8, 20):
        expected = tree.straight(x[i], scale[i])
        assert_close(program(x[i], scale[i]), expected)
        assert_close([result[i] for result in batch], expected)


@pytest.mark.parametrize('samples', [2, 7, 8, 9, 40])
@pytest.mark.parametrize('largest', [0, 10**6])
def test_a_sample_has_the_same_bits_alone_and_in_any_batch(
    machine, always_loops, monkeypatch, tree, samples, largest
):
    monkeypatch.setattr(kernels, 'LARGEST_BATCHED', largest)
    program = compile_program(
        tree.straight,
        tree.inputs,
        name=f'{tree.name}_{largest}',
        outputs=OUTPUTS,
        loops=tree.rolled,
    )
    x, scale = tree.arguments(samples)
    alone = [program(*each) for each in zip(x, scale, strict=True)]
    for k, batch in enumerate(program(x, scale)):
        np.testing.assert_array_equal(batch, np.stack([result[k] for result in alone]))


def test_small_batches_run_in_lanes_once_their_kernel_is_loaded(machine, always_loops):
    tree = Tree.random(3, 8, 0.0)
    program = compile_program(
        tree.straight, tree.inputs, name='small', outputs=OUTPUTS, loops=tree.rolled
    )
    program(*tree.arguments(machine_code.lanes()))
    code, _, memory = program.kernels.loaded['batch']
    address, most, _, few = program.kernels.small_batch
    assert address == code.address('small.batch')
    assert most > few
    # Which the call wrapper gives to both kernels.
    assert program.kernels.memory >= memory


def test_threads_that_use_the_same_kernel_have_memory_of_their_own(machine, always_loops):
    tree = Tree.random(4, 33, 0.3)
    program = compile_program(
        tree.straight, tree.inputs, name=tree.name, outputs=OUTPUTS, loops=tree.rolled
    )
    x, scale = tree.arguments(300)
    expected = program(x, scale)
    wrong = []

    def work():
        for _ in range(10):
            results = program(x, scale)
            if not all(map(np.array_equal, results, expected)):
                wrong.append(results)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# Rows that neither carry nor are carried by each other: entries between them are zero. In the
# first, every parent is the row before or the row before that.
UNRELATED = {
    'ladder': [-1, 0, 0, 2, 2, 4, 4, 6, 6, 8, 8],
    'one more on the base': [-1, -1],
    'last on the row before its neighbour': [-1, 0, 1, 2, 3, 4, 5, 6, 7, 7],
    'star': [-1, 0, 0, 0, 0],
    'line': [-1, 0, 1, 2, 3, 4, 5, 6, 7, 8],
}


@pytest.mark.parametrize('backend', ['auto', 'python'])
@pytest.mark.parametrize('parents', UNRELATED.values(), ids=UNRELATED)
@pytest.mark.parametrize('largest', [0, 10**6])
def test_every_entry_of_given_memory_is_written_and_nothing_beyond(
    always_loops, monkeypatch, parents, backend, largest
):
    monkeypatch.setattr(kernels, 'LARGEST_BATCHED', largest)
    tree = Tree(parents, [False, True] * (len(parents) // 2) + [True] * (len(parents) % 2))
    program = compile_program(
        tree.straight,
        tree.inputs,
        name=f'written_{len(parents)}_{largest}',
        outputs=OUTPUTS,
        loops=tree.rolled,
        backend=backend,
    )
    assert program.kernels.memory is not None if backend == 'auto' else True
    x, scale = tree.arguments(19)
    expected = [tree.straight(*each) for each in zip(x, scale, strict=True)]
    for given in (0, slice(0, 3), slice(None)):
        leading = np.shape(x[given])[:-1]
        shapes = [(*leading, *shape) for _, shape in program.signature.outputs]
        rooms = [np.full(math.prod(shape) + 8, np.nan) for shape in shapes]
        out = tuple(room[:-8].reshape(shape) for room, shape in zip(rooms, shapes, strict=True))
        program(x[given], scale[given], out=out)
        assert np.isnan([room[-8:] for room in rooms]).all()
        wanted = [expected[0]] if given == 0 else expected[given]
        for k, result in enumerate(out):
            stacked = np.array([each[k] for each in wanted], float).reshape(result.shape)
            np.testing.assert_allclose(result, stacked, rtol=1e-13, atol=1e-13)


def test_loop_memory_is_aligned_zero_and_not_shared():
    [first], [second] = kernels.loop_memory(100), kernels.loop_memory(100)
    for memory in (first, second):
        assert memory.shape == (1, 100)
        assert memory.ctypes.data % 64 == 0
        assert not memory.any()
    assert not np.shares_memory(first, second)
    assert kernels.loop_memory(None) == []


def test_outputs_can_be_fed_back(always_loops):
    rows = Rows.of([-1, 0, 1, 1], ['a'] * 4)

    def function(way, q, qd):
        carried = way.inward(
            [[u.cos() if hasattr(u, 'cos') else np.cos(u)] for u in q], lambda _, load: load
        )
        new = [v - 0.1 * c[0] for v, c in zip(qd, carried, strict=True)]
        return [u + 0.1 * v for u, v in zip(q, new, strict=True)], new

    def straight(q, qd):
        return function(Plain(rows.parents), q, qd)

    program = compile_program(
        straight,
        {'q': 4, 'qd': 4},
        name='fed_back',
        outputs=('q', 'qd'),
        loops=LoopForm(function, rows, ('q', 'qd')),
    )
    q, qd = np.random.default_rng(0).normal(size=(2, 11, 4))
    ends = []
    for i in range(11):
        path = program.iterate(10, q=q[i], qd=qd[i])
        state = q[i], qd[i]
        for _ in range(10):
            state = straight(*state)
        assert_close([path[0][-1], path[1][-1]], state)
        ends.append((path[0][-1], path[1][-1]))
    together = program.advance(10, q=q, qd=qd)
    if program.backend == 'llvm':
        for k in range(2):
            np.testing.assert_array_equal(together[k], np.stack([end[k] for end in ends]))


@pytest.mark.parametrize('backend', ['auto', 'python'])
def test_sums_over_a_batch_change_neither_inputs_nor_other_outputs(always_loops, backend):
    rows = Rows.of([-1, 0, 1, 2], ['a'] * 4)

    def function(way, x):
        sums = way.inward([[u] for u in x], lambda _, load: load)
        return [total[0] for total in sums], x

    program = compile_program(
        lambda x: function(Plain(rows.parents), x),
        {'x': 4},
        name='summed',
        loops=LoopForm(function, rows, ('x',)),
        backend=backend,
    )
    x = np.random.default_rng(0).normal(size=(3, 4))
    given = x.copy()
    sums, same = program(x)
    np.testing.assert_array_equal(x, given)
    np.testing.assert_array_equal(same, given)
    np.testing.assert_allclose(sums, np.cumsum(given[:, ::-1], axis=1)[:, ::-1])


def test_the_cache_holds_loops_and_nothing_is_recorded_again(machine, always_loops):
    tree = Tree.random(6, 12, 0.2)

    def make(function, rolled):
        return compile_program(
            function, tree.inputs, name='kept', key='kept loops', outputs=OUTPUTS, loops=rolled
        )

    def never(*_):
        raise AssertionError('recorded again')

    arguments = tree.arguments(9)
    expected = make(tree.straight, tree.rolled)(*arguments)
    again = make(never, LoopForm(never, tree.rows, ('x',)))
    for result, reference in zip(again(*arguments), expected, strict=True):
        np.testing.assert_array_equal(result, reference)


# -- which form ---------------------------------------------------------------------------------


def form(tree, **options):
    chosen = recipe.Recipe(tree.straight, tree.inputs, 'any', OUTPUTS, None, tree.rolled)
    return type(chosen.program).__name__


def test_loops_are_chosen_where_they_take_fewer_operations(machine):
    assert form(Tree.random(3, 8, 0.0)) == 'Program'
    assert form(Tree.random(3, 100, 0.0)) == 'LoopProgram'


def test_a_very_long_program_becomes_loops_in_any_case(monkeypatch):
    monkeypatch.setattr(recipe, 'LONGEST_UNROLLED', 10)
    assert form(Tree.random(3, 8, 0.0)) == 'LoopProgram'
