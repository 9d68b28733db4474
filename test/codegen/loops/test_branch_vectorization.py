# SPDX-License-Identifier: Apache-2.0
"""Branch vectorization: lanes of vectors, instructions saved, and results of every lane."""

import itertools
from collections import Counter

import numpy as np
import pytest
from swept_trees import VECTORS, Plain, Tree

from robot_dynamics.codegen.backends.python import interpreted
from robot_dynamics.codegen.backends.scalarize import scalarize
from robot_dynamics.codegen.calls import compile_program, recipe
from robot_dynamics.codegen.calls.kernels import PythonKernels
from robot_dynamics.codegen.loops import LoopForm
from robot_dynamics.codegen.loops.branch_vectorization import (
    NotVectorizable,
    lane_groups,
    trace_branches,
)
from robot_dynamics.codegen.tracing.program import NO_OPERATIONS

EPS = np.finfo(float).eps


def on_legs(legs, joints, seed=0, steep=False):
    """Return a tree of a trunk and equal legs."""
    parents = [-1]
    for _ in range(legs):
        parents += [0, *range(len(parents), len(parents) + joints - 1)]
    return Tree(parents, [steep] * len(parents), seed)


def recorded(tree, **options):
    rolled = LoopForm(tree.vectors, tree.rows, ('x',))
    return trace_branches(rolled, tree.inputs, name=tree.name, outputs=VECTORS, **options)


def straight(tree):
    return lambda x, scale: tree.vectors(Plain(tree.parents), x, scale)


def operations(program):
    return sum(node[0] not in NO_OPERATIONS for node in program.nodes)


def misplaced(program):
    """Return how many entries of vectors come from another lane of another vector."""
    return sum(
        program.nodes[i][0] == 'lane' and program.nodes[i][2] != k
        for node in program.nodes
        if node[0] == 'pack'
        for k, i in enumerate(node[1:], 9 - len(node))
    )


TREES = [
    Tree.random(0, 1, 0.0),
    Tree.random(1, 9, 0.0),
    Tree.random(2, 12, 0.4),
    Tree.random(3, 33, 0.3),
    Tree.random(4, 40, 0.9),
    on_legs(4, 3),
    on_legs(19, 2, steep=True),
]


@pytest.mark.parametrize('tree', TREES, ids=lambda tree: f'{tree.name}_{len(tree.parents)}')
def test_every_lane_computes_what_the_function_does(tree):
    x, scale = tree.arguments()
    expected = straight(tree)(list(x), list(scale))
    program = recorded(tree)
    for run in (PythonKernels(scalarize(program)), PythonKernels(program, interpreted)):
        outputs = [np.empty((1, size)) for size in program.signature.output_sizes]
        run.run([x[None], scale[None]], outputs)
        for output, wanted in zip(outputs, expected, strict=True):
            np.testing.assert_allclose(output[0], np.array(wanted, float), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize('tree', TREES[3:], ids=lambda tree: f'{tree.name}_{len(tree.parents)}')
def test_a_sample_has_the_same_bits_alone_and_in_any_batch(machine, monkeypatch, tree):
    monkeypatch.setattr(recipe, 'WORTH_VECTORS', 0.0)
    program = compile_program(
        straight(tree),
        tree.inputs,
        name=f'{tree.name}_{len(tree.parents)}',
        outputs=VECTORS,
        loops=LoopForm(tree.vectors, tree.rows, ('x',)),
    )
    assert any(node[0] == 'pack' for node in program.kernels.recipe.program.nodes)
    x, scale = tree.arguments(21)
    alone = [program(*each) for each in zip(x, scale, strict=True)]
    expected = [straight(tree)(*each) for each in zip(x, scale, strict=True)]
    for k, batch in enumerate(program(x, scale)):
        np.testing.assert_array_equal(batch, np.stack([result[k] for result in alone]))
        wanted = np.array([result[k] for result in expected], float)
        np.testing.assert_allclose(batch, wanted, rtol=1e-13, atol=1e-14)


def test_equal_legs_cost_little_more_than_one():
    one, four = recorded(on_legs(1, 5)), recorded(on_legs(4, 5))
    count = Counter(node[0] for node in one.nodes), Counter(node[0] for node in four.nodes)
    assert count[0]['sin'] == count[1]['sin'] == 6  # of what goes from row to row
    # Those of inputs are computed together for all groups.
    assert (count[0]['cos'], count[1]['cos']) == (5, 20)
    # All else, but for the sum over the legs in the trunk.
    assert operations(four) - 20 <= operations(one) - 5 + 3 * 3


def test_a_branch_of_any_length_keeps_its_lane():
    parents, lengths = [-1], [2, 5, 1, 4, 5, 3]
    for length in lengths:
        parents += [0, *range(len(parents), len(parents) + length - 1)]
    tree = Tree(parents, [False] * len(parents))
    groups = lane_groups(tree.rows)
    assert [len(group) for group in groups] == [1, 6, 5, 4, 3, 2]
    for before, group in itertools.pairwise(groups[1:]):
        assert [parents[row] for row in group] == before[-len(group) :]
    assert misplaced(recorded(tree)) == 0


def test_rows_of_different_kinds_or_depths_are_in_different_groups():
    tree = Tree.random(5, 60, 0.6)
    groups = lane_groups(tree.rows)
    assert sorted(row for group in groups for row in group) == list(range(60))
    assert max(map(len, groups)) <= 8
    depth = [len(tree.rows.carriers(row)) for row in range(60)]
    for group in groups:
        assert len({(depth[row], tree.rows.kinds[row]) for row in group}) == 1
    assert [depth[group[0]] for group in groups] == sorted(depth[group[0]] for group in groups)


def test_matrices_and_single_numbers_are_not_recorded():
    tree = on_legs(4, 3)
    for function in (tree.rolled.function, lambda way, x, scale: scale[0]):
        with pytest.raises(NotVectorizable):
            trace_branches(LoopForm(function, tree.rows, ('x',)), tree.inputs, name='matrices')


def form(tree, vectors=True, function=None):
    """Return whether the chosen program has vectorized branches."""
    function = function or tree.vectors
    chosen = recipe.Recipe(
        lambda x, scale: function(Plain(tree.parents), x, scale),
        tree.inputs,
        'chosen',
        None,
        None,
        LoopForm(function, tree.rows, ('x',)),
        vectors,
    )
    return any(node[0] == 'pack' for node in chosen.program.nodes)


def test_branch_vectorization_is_chosen_where_it_shortens_a_program(machine):
    assert form(on_legs(4, 6))
    assert not form(on_legs(4, 6), vectors=False)
    assert not form(on_legs(1, 20))
    # One pair of short fingers at the end of an arm is not worth it.
    hand = Tree([*range(-1, 6), 6, 6], [False] * 9)
    assert not form(hand)
    # Of matrices there is no other straight line.
    tree = on_legs(4, 6)
    assert not form(tree, function=tree.matrices)
