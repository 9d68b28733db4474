# SPDX-License-Identifier: Apache-2.0
"""Sine, cosine and hyperbolic tangent in machine code, against exact arithmetic."""

import decimal
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from robot_dynamics.codegen.backends.llvm_elementary import LARGEST_ANGLE
from robot_dynamics.codegen.calls import compile_program

# pi to 80 decimals.
PI = Fraction('3.14159265358979323846264338327950288419716939937510582097494459230781640628620899')
SINCOS_BOUND = 2.5e-16
TANH_BOUND = 1e-15

pytestmark = pytest.mark.usefixtures('machine')


def exact_sincos(x):
    """Return sine and cosine in multiples of 2**-200, by Taylor's series after exact reduction."""
    one = 1 << 200
    quadrant = round(Fraction(x) / (PI / 2))
    r = int((Fraction(x) - quadrant * PI / 2) * one)
    terms, term = [one], one
    for k in range(1, 60):
        term = term * r // one // k
        terms.append(term)
    s = sum(term if k % 4 == 1 else -term for k, term in enumerate(terms) if k % 2)
    c = sum(term if k % 4 == 0 else -term for k, term in enumerate(terms) if k % 2 == 0)
    return [(s, c), (c, -s), (-s, -c), (-c, s)][quadrant % 4]


def sincos_error(x, s, c):
    return max(
        abs(Fraction(value) - Fraction(exact, 1 << 200))
        for value, exact in zip((s, c), exact_sincos(x), strict=True)
    )


def angles(rng):
    """Angles of every size up to the limit, and the doubles nearest to multiples of pi/2."""
    sizes = 10.0 ** rng.uniform(-12, math.log10(LARGEST_ANGLE), 1500)
    uniform = rng.uniform(-1e9, 1e9, 1500)
    small = rng.uniform(-10.0, 10.0, 2000)
    multiples = np.round(10.0 ** rng.uniform(0, 11, 500)) * (math.pi / 2)
    edges = [0.0, 5e-324, math.pi / 4, np.nextafter(math.pi / 4, 1), 1e9, LARGEST_ANGLE]
    values = np.concatenate([sizes, uniform, small, multiples, edges])
    return values * rng.choice([-1.0, 1.0], values.size)


@pytest.fixture(params=['one', 'several', 'batch'])
def sincos(request):
    """Compute sine and cosine alone, in the lanes of one sample, and in the lanes of a batch."""
    size = 1 if request.param == 'one' else 5
    function = compile_program(
        lambda x: ([a.sin() for a in x], [a.cos() for a in x]), {'x': size}, backend='llvm'
    )
    if request.param == 'batch':
        return lambda x: tuple(part.ravel() for part in function(x.reshape(-1, size)))
    return lambda x: tuple(
        np.concatenate(parts) for parts in zip(*map(function, x.reshape(-1, size)), strict=True)
    )


def test_sine_and_cosine_keep_their_bound(sincos):
    x = angles(np.random.default_rng(1))
    x = x[: x.size - x.size % 5]
    worst = max(map(sincos_error, x.tolist(), *(part.tolist() for part in sincos(x))))
    assert worst <= SINCOS_BOUND


def test_sine_and_cosine_of_special_arguments(sincos):
    beyond = np.nextafter(LARGEST_ANGLE, np.inf)
    x = np.array([np.inf, -np.inf, np.nan, beyond, -1e300])
    s, c = sincos(x)
    assert np.isnan(s).all()
    assert np.isnan(c).all()
    s, c = sincos(np.array([0.0, -0.0, 1e-310, -1e-310, 0.0]))
    assert s.tolist() == [0.0, -0.0, 1e-310, -1e-310, 0.0]
    assert (c == 1.0).all()


def test_tanh_keeps_its_bound_and_limits():
    rng = np.random.default_rng(2)
    tanh = compile_program(lambda x: [x[0].tanh()], {'x': 1}, backend='llvm')
    x = np.concatenate([10.0 ** rng.uniform(-300, 1.5, 2000), rng.uniform(0, 23, 2000)])
    x *= rng.choice([-1.0, 1.0], x.size)
    decimal.getcontext().prec = 60

    def error(value, result):
        e = decimal.Decimal(2 * abs(value)).exp()
        exact = (e - 1) / (e + 1) if abs(value) > 1e-15 else decimal.Decimal(abs(value))
        return abs(decimal.Decimal(abs(result)) / exact - 1)

    batch = tanh(x[:, None])[:, 0]
    assert max(itertools.starmap(error, zip(x.tolist(), batch.tolist(), strict=True))) < TANH_BOUND
    assert np.array_equal(np.sign(batch), np.sign(x))
    special = tanh(np.array([[np.inf], [-np.inf], [np.nan], [0.0], [-0.0], [1e308]]))[:, 0]
    assert np.array_equal(special, [1.0, -1.0, np.nan, 0.0, 0.0, 1.0], equal_nan=True)
    assert np.signbit(special).tolist()[3:5] == [False, True]
