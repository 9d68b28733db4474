# SPDX-License-Identifier: Apache-2.0
"""The readable backend, against the same function run on floats."""

import numpy as np
import pytest

from robot_dynamics.codegen.backends.python import python_source
from robot_dynamics.codegen.calls.kernels import PythonKernels
from robot_dynamics.codegen.tracing.trace import trace

EPS = np.finfo(float).eps


def test_source_reads_like_formulas():
    program = trace(lambda q: [q[0] * q[1].sin() - (q[0] - (q[1] - 2.0)), 3.0], {'q': 2}, name='f')
    assert python_source(program) == (
        'def f(q):\n    q_0, q_1 = q\n    return [q_0 * sin(q_1) - (q_0 - (q_1 + -2.0)), 3.0]\n'
    )


def test_a_value_used_twice_has_a_name():
    source = python_source(trace(lambda q: [q[0].sin() + 1.0, q[0].sin() * 2.0], {'q': 1}))
    assert source.count('sin(') == 1


@pytest.mark.parametrize('seed', range(30))
def test_random_programs_agree_with_floats(seed, random_function):
    rng = np.random.default_rng(seed)
    sizes = {'a': 3, 'b': 1, 'c': 0}
    function = random_function(rng, outputs=5)
    kernels = PythonKernels(trace(function, sizes))
    a, b, c = rng.normal(size=(4, 3)), rng.normal(size=(4, 1)), np.empty((4, 0))
    batch, single = np.empty((4, 5)), np.empty((4, 5))
    kernels.run([a, b, c], [batch])
    for i in range(4):
        kernels.run([a[i : i + 1], b[i : i + 1], c[i : i + 1]], [single[i : i + 1]])
    expected = np.array([function(list(a[i]), list(b[i]), []) for i in range(4)], dtype=float)
    np.testing.assert_allclose(batch, expected, rtol=200 * EPS, atol=200 * EPS)
    np.testing.assert_allclose(single, expected, rtol=200 * EPS, atol=200 * EPS)


def test_several_outputs_and_several_shapes(pendulum):
    kernels = PythonKernels(trace(*pendulum))
    q, outputs = np.array([[0.3], [0.4]]), [np.empty((2, 1)), np.empty((2, 1)), np.empty((2, 4))]
    kernels.run([q, np.ones((2, 1)), np.ones((2, 1))], outputs)
    np.testing.assert_allclose(outputs[0], 9.81 * np.sin(q), rtol=4 * EPS)
    np.testing.assert_allclose(outputs[2][:, 0], np.sin(q[:, 0]), rtol=4 * EPS)


@pytest.mark.parametrize('samples', [1, 3])
def test_impossible_operations_give_nan_and_infinity_as_machine_code_does(samples):
    program = trace(lambda x: [x[0].sin(), 1.0 / x[1], x[2].sqrt(), x[1].sin() + 1.0], {'x': 3})
    output = np.empty((samples, 4))
    PythonKernels(program).run([np.array([[np.inf, 0.0, -1.0]] * samples)], [output])
    assert np.array_equal(output, [[np.nan, np.inf, np.nan, 1.0]] * samples, equal_nan=True)
