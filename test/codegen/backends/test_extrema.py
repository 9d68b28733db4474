# SPDX-License-Identifier: Apache-2.0
"""Absolute values, minima and maxima: alone, in batches, in the lanes of vectors, as floats."""

import numpy as np
import pytest

from robot_dynamics.codegen.calls import compile_program
from robot_dynamics.common.scalars import maximum, minimum
from robot_dynamics.core.algorithms.vectors import map_traced

NUMBERS = np.array([0.0, 1.0, -1.0, 5e-324, -1e308, np.inf, -np.inf, np.nan])


def function(x):
    return [abs(x[0]), minimum(x[0], x[1]), maximum(x[0], x[1]), minimum(2.0, x[1])]


@pytest.mark.parametrize('backend', ['llvm', 'python'])
def test_special_values_agree_with_numpy(machine, backend):
    compiled = compile_program(function, {'x': 2}, backend=backend)
    pairs = np.array([(a, b) for a in NUMBERS for b in NUMBERS])
    expected = np.stack(function(pairs.T), axis=1)
    np.testing.assert_array_equal(compiled(pairs), expected)
    np.testing.assert_array_equal([compiled(pair) for pair in pairs], expected)


def test_lanes_of_vectors_agree_with_scalars(machine):
    def several(x):
        return map_traced(lambda pair: maximum(abs(pair[0]), pair[1]), [x[:2], x[1:3], x[2:]])

    compiled = compile_program(several, {'x': 4}, backend='llvm')
    x = np.random.default_rng(0).choice(NUMBERS, size=(500, 4))
    expected = np.maximum(abs(x[:, :3]), x[:, 1:])
    np.testing.assert_array_equal(compiled(x), expected)
    np.testing.assert_array_equal([compiled(row) for row in x], expected)
