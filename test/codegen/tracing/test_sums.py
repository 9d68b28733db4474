# SPDX-License-Identifier: Apache-2.0
"""What becomes of sums: which terms, in which order, and what is computed in them."""

import numpy as np
import pytest

from robot_dynamics.codegen.calls import compile_program
from robot_dynamics.codegen.tracing import trace
from robot_dynamics.codegen.tracing.program import operands
from robot_dynamics.codegen.tracing.sums import fused, soonest_first

EPS = np.finfo(float).eps


def instructions(function, size):
    """Return the instructions of a function of x, in order: what is not input or constant."""
    program = fused(trace(function, {'x': size}))
    return [node for node in program.nodes if node[0] not in ('input', 'constant')]


def operations(function, size):
    return [op for op, *_ in instructions(function, size)]


def test_a_sum_used_once_is_merged_with_its_sign():
    # x0 - (x1 - x2) = x0 + x2 - x1
    assert sorted(operations(lambda x: [x[0] - (x[1] - x[2])], 3)) == ['add', 'sub']


def test_a_sum_used_twice_is_not_merged():
    assert operations(lambda x: [x[2] - (x[0] + x[1]), x[3] * (x[0] + x[1])], 4) == [
        'add',
        'sub',
        'mul',
    ]


def test_the_first_term_is_a_number_added():
    program = fused(trace(lambda x: [x[0] * x[1] - x[2] + x[3]], {'x': 4}))
    first, second = (node for node in program.nodes if node[0] != 'input')
    assert first[0] == 'fma'
    assert program.nodes[first[3]] == ('input', 'x', 3)
    assert second[0] == 'sub'


def test_a_product_is_computed_in_the_only_sum_that_uses_it():
    assert operations(lambda x: [x[0] * x[1] + x[2]], 3) == ['fma']
    assert operations(lambda x: [x[0] * x[1] + x[2], x[0] * x[1] - x[3]], 4) == [
        'mul',
        'add',
        'sub',
    ]


def test_the_latest_term_is_added_last():
    def function(x):
        late = x[0] * x[0] * x[0] * x[0]
        return [late * x[1] + x[2] * x[3] + x[4], late]

    *_, before, last = instructions(function, 5)
    assert (before[0], last[0]) == ('fma', 'fma')
    program = fused(trace(function, {'x': 5}))
    assert {program.nodes[i] for i in before[1:]} == {('input', 'x', i) for i in (2, 3, 4)}


def test_a_vector_takes_no_scalar_products_into_its_sums():
    def function(x):
        both = x[0].pack(x[:2])
        total = both * x[2] + x[3] * x[4]
        return [total.lane(6), total.lane(7)]

    program = fused(trace(function, {'x': 5}, vectors=True))
    found = [op for op, *_ in program.nodes if op not in ('input', 'lane')]
    assert sorted(found) == ['fma', 'mul', 'pack']


@pytest.mark.usefixtures('machine')
@pytest.mark.parametrize('seed', range(20))
def test_sums_of_random_terms(seed):
    rng = np.random.default_rng(seed)

    def function(x, minus=-1.0):
        terms = list(x)
        choices = np.random.default_rng(seed).integers((4, 26, 26), size=(60, 3))
        for choice, i, j in choices:
            a, b = terms[i % len(terms)], terms[j % len(terms)]
            new = (a + b, a + minus * b, x[i % 6] * x[j % 6], minus * a)[choice]
            terms.append(new)
        return terms[-20:]

    compiled = compile_program(function, {'x': 6}, backend='llvm')
    x = rng.uniform(-1, 1, size=6)
    # Rounding errors are small beside the sums of sizes.
    sizes = np.array(function(list(np.abs(x)), minus=1.0))
    assert (np.abs(compiled(x) - np.array(function(list(x)))) <= 60 * EPS * sizes).all()


def test_operations_are_ordered_by_readiness():
    program = trace(lambda x: [x[0].sin() * x[1], x[1] * x[2] + x[0]], {'x': 3})
    ordered = soonest_first(fused(program))
    operations = [op for op, *_ in ordered.nodes if op != 'input']
    assert operations == ['sin', 'fma', 'mul']
    # The same instructions, each after what it is made from.
    assert sorted(operations) == sorted(op for op, *_ in fused(program).nodes if op != 'input')
    for index, node in enumerate(ordered.nodes):
        assert all(i < index for i in operands(node))
