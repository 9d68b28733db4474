# SPDX-License-Identifier: Apache-2.0
"""Vectors in programs: as right as scalars, in one register or lane by lane."""

import numpy as np
import pytest

from robot_dynamics.codegen.backends.llvm_straight_line import (
    batch_kernel,
    module_source,
    sample_kernel,
)
from robot_dynamics.codegen.backends.scalarize import scalarize
from robot_dynamics.codegen.calls import compile_program
from robot_dynamics.codegen.tracing import trace
from robot_dynamics.codegen.tracing.program import operands
from robot_dynamics.codegen.tracing.sums import fused
from robot_dynamics.core.algorithms.vectors import map_traced

EPS = np.finfo(float).eps


def turned(vector, c, s):
    x, y = vector
    return [c * x - s * y, s * x + c * y]


def walk(x):
    """Three vectors that set out one after the other and turn together."""
    seen, here = [], []
    for i in range(3):
        here = map_traced(lambda v: turned(v, x[6], x[7]), [[x[2 * i], x[2 * i + 1]], *here])
        seen += here
    return seen


def walk_with_zeros(x):
    here = map_traced(lambda v: turned(v, x[6], x[7]), [[x[0], 0.0], [0.0, x[1]], [x[2], -x[3]]])
    return map_traced(lambda v: turned(v, x[4], x[5]), here)


def operations(program):
    return {op for op, *_ in program.nodes}


def test_vectors_are_recorded_where_the_same_is_done_with_several():
    assert 'pack' not in operations(trace(walk, {'x': 8}))
    program = trace(walk, {'x': 8}, vectors=True)
    assert 'pack' in operations(program)
    # The first vector turns alone, then two, then three.
    assert sum(program.operation_counts().values()) == 6 * (1 + 2 + 3)
    # No more than three turns are written down.
    assert sum(op in ('add', 'sub') for op, *_ in program.nodes) == 2 * 3


def test_values_in_their_lanes_are_not_packed_again():
    program = trace(walk, {'x': 8}, vectors=True)
    packed = [node for node in program.nodes if node[0] == 'pack']
    # Two coordinates, of two vectors and then of three.
    assert sorted(len(node) - 1 for node in packed) == [2, 2, 3, 3]
    *_, last = packed
    assert [program.nodes[i][0] for i in last[1:]] == ['input', 'lane', 'lane']


def test_more_items_than_lanes_are_taken_in_turns():
    program = trace(lambda x: map_traced(lambda a: a * x[0], x[1:]), {'x': 12}, vectors=True)
    assert sum(op == 'mul' for op, *_ in program.nodes) == 2


def test_equal_items_stay_a_scalar():
    program = trace(lambda x: map_traced(lambda a: a * x[1], [x[0]] * 3), {'x': 2}, vectors=True)
    assert [op for op, *_ in program.nodes] == ['input', 'input', 'mul']


def test_a_scalarized_program_has_no_vectors_and_no_unused_nodes():
    def function(x):
        return map_traced(lambda v: turned(v, x[6], x[7]), [[x[0], x[1]], [x[2], x[3]]])[1][0]

    alone = scalarize(fused(trace(function, {'x': 8}, vectors=True)))
    assert sorted(op for op, *_ in alone.nodes) == ['fma', *['input'] * 4, 'mul', 'neg']


def test_scalarizing_drops_operations_on_zeros():
    program = scalarize(fused(trace(walk_with_zeros, {'x': 6 + 2}, vectors=True)))
    # Two of the first products of each turn are those with a zero.
    multiplied = sum(op in ('mul', 'fma') for op, *_ in program.nodes)
    assert multiplied == 2 + 2 + 4 + 3 * 4
    used = {program.nodes[i] for node in program.nodes for i in operands(node)}
    assert ('constant', 0.0) not in used


@pytest.mark.usefixtures('machine')
@pytest.mark.parametrize('function', [walk, walk_with_zeros])
def test_a_sample_has_the_same_bits_in_vectors_and_in_lanes(function):
    compiled = compile_program(function, {'x': 8}, backend='llvm')
    x = np.random.default_rng(0).uniform(-1, 1, (20, 8))
    alone = np.array([compiled(row) for row in x])
    np.testing.assert_array_equal(compiled(x), alone)
    expected = [function(list(row)) for row in x]
    np.testing.assert_allclose(alone, expected, rtol=4 * EPS, atol=4 * EPS)


def test_results_in_neighbouring_lanes_are_stored_together():
    program = trace(walk, {'x': 8}, vectors=True)
    sample = module_source([sample_kernel(program)])
    assert '<8 x double>' in sample
    assert 'extractelement' in sample

    def row(x):
        return map_traced(lambda a: a * x[0], list(x[1:4]))

    sample = module_source([sample_kernel(trace(row, {'x': 4}, vectors=True))])
    assert 'masked.store' in sample
    assert 'store double' not in sample
    batch = module_source([batch_kernel(trace(row, {'x': 4}, vectors=True), 4)])
    assert '<8 x double>' not in batch


@pytest.mark.usefixtures('machine')
def test_elementary_functions_of_vectors():
    def function(x):
        return map_traced(lambda a: [a.sin() if hasattr(a, 'sin') else np.sin(a)], list(x))

    compiled = compile_program(function, {'x': 5}, backend='llvm')
    x = np.linspace(-3.0, 3.0, 5)
    np.testing.assert_allclose(compiled(x)[:, 0], np.sin(x), rtol=0, atol=3e-16)


@pytest.mark.usefixtures('machine')
def test_numbers_in_a_row_are_stored_together():
    def function(x):
        return [x[0], *[0.0] * 11, x[1], 0.0, 2.5, 2.5, x[0] * x[1]]

    assert module_source([sample_kernel(trace(function, {'x': 2}))]).count('store double') == 4
    compiled = compile_program(function, {'x': 2}, backend='llvm')
    guarded = np.full(19, 7.0)
    compiled(np.array([3.0, -4.0]), out=guarded[1:18])
    np.testing.assert_array_equal(guarded, [7.0, *function([3.0, -4.0]), 7.0])
