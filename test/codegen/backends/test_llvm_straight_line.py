# SPDX-License-Identifier: Apache-2.0
"""The two kernels: right, and equal to the last bit."""

import ctypes
import itertools

import numpy as np
import pytest

from robot_dynamics.codegen.backends.llvm_straight_line import (
    batch_kernel,
    elementary_groups,
    module_source,
    sample_kernel,
)
from robot_dynamics.codegen.backends.machine_code import LoadedCode, compile_module
from robot_dynamics.codegen.calls import compile_program
from robot_dynamics.codegen.tracing import trace
from robot_dynamics.codegen.tracing.sums import soonest_first

EPS = np.finfo(float).eps


def columns(rng, sizes, samples):
    return [rng.normal(size=(samples, size)) for size in sizes.values()]


@pytest.mark.usefixtures('machine')
@pytest.mark.parametrize('seed', range(25))
def test_random_programs_agree_with_floats_and_bit_by_bit(seed, random_function):
    rng = np.random.default_rng(seed)
    sizes = {'a': int(rng.integers(1, 20)), 'b': int(rng.integers(0, 3)), 'c': 1}
    function = random_function(rng, outputs=int(rng.integers(1, 20)))
    compiled = compile_program(function, sizes, backend='llvm')
    a, b, c = columns(rng, sizes, samples=19)
    batch = compiled(a, b, c)
    alone = np.array([compiled(*rows) for rows in zip(a, b, c, strict=True)])
    floats = [function(*(list(row) for row in rows)) for rows in zip(a, b, c, strict=True)]
    assert np.array_equal(batch, alone)
    np.testing.assert_allclose(batch, np.array(floats, float), rtol=300 * EPS, atol=300 * EPS)


@pytest.mark.usefixtures('machine')
@pytest.mark.parametrize('samples', [*range(1, 18), 100])
def test_any_number_of_samples(samples):
    compiled = compile_program(
        lambda x, y: [x[8] + y[0], x[0] * y[1], x[1].sin()], {'x': 9, 'y': 2}, backend='llvm'
    )
    rng = np.random.default_rng(samples)
    x, y = rng.normal(size=(samples, 9)), rng.normal(size=(samples, 2))
    # Memory after the last row must stay as it is.
    guarded = np.full((samples + 1, 3), 7.0)
    compiled(x, y, out=guarded[:samples])
    expected = np.stack([x[:, 8] + y[:, 0], x[:, 0] * y[:, 1], np.sin(x[:, 1])], axis=1)
    np.testing.assert_allclose(guarded[:samples], expected, rtol=4 * EPS, atol=EPS)
    assert (guarded[samples] == 7.0).all()


@pytest.mark.usefixtures('machine')
@pytest.mark.parametrize('lanes', [2, 4, 8])
def test_every_width_compiles(lanes, pendulum):
    program = trace(*pendulum)
    assert compile_module(module_source([batch_kernel(program, lanes)]))


@pytest.mark.usefixtures('machine')
@pytest.mark.parametrize('lanes', [2, 4, 8])
def test_rows_of_any_number_begin_anywhere(lanes):
    """Memory around the rows stays as it is."""
    sizes, guard = (1, 3, 19), 8
    program = trace(
        lambda x: tuple([x[i % 2] * (i + 1.5) for i in range(size)] for size in sizes),
        {'x': 2},
        name='several',
    )
    code = LoadedCode(compile_module(module_source([batch_kernel(program, lanes)])))
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    parameters = [pointer, number, *[pointer] * len(sizes), number, number]
    batch = ctypes.CFUNCTYPE(None, *parameters)(code.address('several.batch'))
    x = np.random.default_rng(0).normal(size=(20, 2))
    # Of 64 bytes, a line of memory, all eight doubles.
    for end, shift in itertools.product(range(1, 21), range(8)):
        begin = end // 3
        given = [np.full(shift + len(x) * size + guard, 7.0) for size in sizes]
        expected = [array.copy() for array in given]
        starts = [array[shift:].ctypes.data for array in given]
        batch(x.ctypes.data, 2, *starts, begin, end)
        for array, size in zip(expected, sizes, strict=True):
            rows = [[row[i % 2] * (i + 1.5) for i in range(size)] for row in x[begin:end]]
            array[shift + begin * size : shift + end * size] = np.ravel(rows)
        for array, wanted in zip(given, expected, strict=True):
            np.testing.assert_array_equal(array, wanted)


@pytest.mark.usefixtures('machine')
def test_shifted_inputs_and_zeros_agree_alone_and_in_a_batch():
    def function(q):
        return [q[0].sin(), (q[1] + 0.5).sin(), q[2].sin(), (q[2] * 2.0).cos(), q[1].cos().sin()]

    compiled = compile_program(function, {'q': 3}, backend='llvm')
    q = np.array([[-0.0, 0.3, -0.0], [0.0, -0.5, 1e-320], [np.nan, np.inf, 3.0]])
    alone = np.array([compiled(row) for row in q])
    assert np.array_equal(compiled(q).view(np.uint64), alone.view(np.uint64))


@pytest.mark.usefixtures('machine')
@pytest.mark.parametrize('count', [2, 3, 7, 8, 9, 17])
@pytest.mark.parametrize('shifted', [0, 1, 2, None])
@pytest.mark.parametrize('first', [0, 1])
def test_neighbouring_angles_are_loaded_together_with_their_offsets(count, shifted, first):
    """Offsets of the last angles, or of all, as those of a robot's joints."""
    shifted = count if shifted is None else min(shifted, count)
    offsets = np.zeros(first + count)
    offsets[first + count - shifted :] = np.linspace(-0.7, 0.9, shifted)

    def function(q):
        angles = [x + c if c else x for x, c in zip(q, offsets, strict=True)][first:]
        return [x.sin() for x in angles], [x.cos() for x in angles]

    program = trace(function, {'q': first + count}, name=f'angles_{count}_{shifted}_{first}')
    # No angle is put into its lane alone.
    assert 'insertelement' not in module_source([sample_kernel(soonest_first(program))])
    q = np.random.default_rng(count).uniform(-3, 3, first + count)
    sines, cosines = compile_program(function, {'q': first + count}, backend='llvm')(q)
    np.testing.assert_allclose(sines, np.sin(q + offsets)[first:], rtol=0, atol=4e-16)
    np.testing.assert_allclose(cosines, np.cos(q + offsets)[first:], rtol=0, atol=4e-16)


@pytest.mark.usefixtures('machine')
@pytest.mark.parametrize('mask', range(16))
def test_any_angles_may_have_offsets(mask):
    offsets = [0.3 * (k + 1) if mask >> k & 1 else 0.0 for k in range(4)]
    compiled = compile_program(
        lambda q: [(x + c if c else x).sin() for x, c in zip(q, offsets, strict=True)],
        {'q': 4},
        backend='llvm',
    )
    q = np.random.default_rng(mask).uniform(-3, 3, 4)
    expected = np.sin(q + offsets)
    np.testing.assert_allclose(compiled(q), expected, rtol=0, atol=4e-16)
    np.testing.assert_allclose(compiled([q] * 20), [expected] * 20, rtol=0, atol=4e-16)


def test_a_sum_of_products_is_a_chain_of_multiply_adds():
    program = trace(lambda x: [(x[0] * x[1] + x[2] * x[3]) - x[4]], {'x': 5})
    source = module_source([sample_kernel(program)])
    assert source.count('call double @llvm.fma') == 2
    assert 'fmul' not in source
    assert 'fadd' not in source


def test_elementary_functions_are_grouped_by_depth():
    program = trace(lambda x: [x[0].sin() + x[1].cos(), (x[0].sin() * 2.0).sin()], {'x': 2})
    groups = elementary_groups(program)
    assert [len(group) for group in groups] == [2, 1]
    source = module_source([sample_kernel(program)])
    assert '<2 x double>' in source
