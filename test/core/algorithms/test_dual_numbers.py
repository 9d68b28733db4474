# SPDX-License-Identifier: Apache-2.0
"""Dual numbers: against complex steps, and at kinks."""

import numpy as np
import pytest

from robot_dynamics.codegen.calls import compile_program
from robot_dynamics.common.scalars import maximum, minimum, sincos, tanh
from robot_dynamics.core.algorithms.dual_numbers import Dual, duals, total_slopes

STEP = 1e-30


def formula(x, y):
    """Every operation, with numbers on both sides."""
    s, c = sincos(x)
    a = 2.0 * x - y + 1.5 - (0.5 - x) + (1.0 + y) * 3.0
    b = s * y / (2.0 + c) - tanh(y) ** 2 + 1.0 / x - y / 4.0
    return -a * b + (x * x + y**3) ** 0.5 + x**-1


@pytest.mark.parametrize('direction', [(1.0, 0.0), (0.0, 1.0), (0.3, -2.0)])
def test_slope_is_the_complex_step_derivative(direction):
    point = np.array([0.7, 1.3])
    expected = formula(*(point + 1j * STEP * np.array(direction))).imag / STEP
    found = formula(*duals(point.tolist(), direction))
    assert found.value == pytest.approx(formula(*point.tolist()), rel=1e-15)
    assert found.slope == pytest.approx(expected, rel=1e-14)


def test_compiles():
    slope = compile_program(
        lambda x, dx: total_slopes([formula(*duals(x, dx))]),
        {'x': 2, 'dx': 2},
        name='slope',
        key='test of dual_numbers',
    )
    found = slope([0.7, 1.3], [[1.0, 0.0], [0.3, -2.0]])
    expected = [formula(*duals([0.7, 1.3], dx)).slope for dx in ([1.0, 0.0], [0.3, -2.0])]
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-14)


@pytest.mark.parametrize(('x', 'slope'), [(-2.0, -3.0), (2.0, 3.0), (0.0, 0.0)])
def test_slopes_at_and_beside_a_kink(x, slope):
    z = Dual(x, 3.0)
    assert abs(z).slope == slope
    assert maximum(z, 0.0).slope == 1.5 + slope / 2
    assert minimum(0.0, z).slope == 1.5 - slope / 2
    assert maximum(z, Dual(0.0, 1.0)).slope == pytest.approx(2.0 + slope / 3)


def test_the_root_of_zero_without_slope_has_none():
    assert (Dual(0.0, 0.0) ** 0.5).slope == 0.0
