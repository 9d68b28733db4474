# SPDX-License-Identifier: Apache-2.0
"""Programs that are too large to compile: evaluated all the same, with the same results."""

import numpy as np
import pytest

from robot_dynamics.codegen.backends import python
from robot_dynamics.codegen.calls import compile_program, kernels
from robot_dynamics.core.algorithms.vectors import map_traced


def motion(q, qd):
    """Return a vector and a matrix with every operation in them."""
    c, s = q[0].cos(), q[1].sin()
    x = (c * qd[0] - s / (2.0 + qd[1] * qd[1])).tanh()
    return [x.minimum(c), -abs(s)], [[(1.0 + c * c).sqrt(), 3.0], [q[1].maximum(x), 0.0 * c]]


def compiled(name='motion', **options):
    return compile_program(motion, {'q': 2, 'qd': 2}, name=name, outputs=('x', 'A'), **options)


@pytest.fixture
def arguments():
    return np.random.default_rng(0).normal(size=(2, 5, 2))


@pytest.mark.parametrize('backend', ['auto', 'python'])
def test_a_program_over_the_limit_is_interpreted_and_agrees(monkeypatch, arguments, backend):
    expected = compiled()(*arguments)
    monkeypatch.setattr(python, 'LARGEST', 3)
    # Of another name, so that the cache has no machine code of it.
    program = compiled(backend=backend, name='large')
    assert program.backend == 'python'
    for result, reference in zip(program(*arguments), expected, strict=True):
        np.testing.assert_allclose(result, reference, rtol=1e-14, atol=1e-15)
    for result, reference in zip(program(*arguments[:, 0]), expected, strict=True):
        np.testing.assert_allclose(result, reference[0], rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize('backend', ['auto', 'python'])
def test_vectors_of_a_large_program_are_scalarized(monkeypatch, backend):
    monkeypatch.setattr(python, 'LARGEST', 3)

    def function(x):
        pairs = [[x[0], x[1]], [x[1], 0.5], [x[2], x[0]]]
        return map_traced(lambda pair: pair[0] * pair[1] + x[2], pairs)

    program = compile_program(function, {'x': 3}, name='apart', backend=backend)
    x = np.random.default_rng(0).normal(size=(4, 3))
    np.testing.assert_allclose(program(x), [function(row.tolist()) for row in x], rtol=1e-15)


def test_nan_propagates(monkeypatch):
    monkeypatch.setattr(python, 'LARGEST', 3)
    x, _ = compiled(name='not_a_number')([np.inf, 0.0], [1.0, 1.0])
    assert np.isnan(x[0])


def test_a_state_can_be_fed_back(monkeypatch):
    def step(q, qd):
        return [q[0] + 0.1 * qd[0]], [qd[0] - 0.1 * q[0].sin()]

    expected = compile_program(step, {'q': 1, 'qd': 1}, outputs=('q', 'qd')).iterate(
        20, q=[0.3], qd=[0.0]
    )
    monkeypatch.setattr(python, 'LARGEST', 1)
    large = compile_program(step, {'q': 1, 'qd': 1}, name='large_step', outputs=('q', 'qd'))
    assert large.backend == 'python'
    result = large.iterate(20, q=[0.3], qd=[0.0])
    np.testing.assert_allclose(result, expected, rtol=1e-13)


def test_batches_of_a_large_program_take_rows_one_by_one(monkeypatch, arguments):
    expected = compiled()(*arguments)
    monkeypatch.setattr(kernels, 'LARGEST_IN_LANES', 3)
    for result, reference in zip(compiled()(*arguments), expected, strict=True):
        np.testing.assert_array_equal(result, reference)
