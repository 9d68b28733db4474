# SPDX-License-Identifier: Apache-2.0
"""Formulas of the laws on floats, arrays and in programs, against definitions to many digits."""

import numpy as np
import pytest
from compiling import *  # noqa: F403  (fixtures)

from robot_dynamics.codegen.calls import compile_program
from robot_dynamics.core.friction.coulomb import COULOMB_SPEED, joint_friction, sliding_direction
from robot_dynamics.core.friction.laws import (
    PRESLIDING,
    STRIBECK_SPEED,
    level_factor,
    moved_direction,
    sliding_level,
)

mpmath = pytest.importorskip('mpmath')

EPS = np.finfo(float).eps


def level(x):
    b, c, k, s, qd, tau = x
    terms = {'viscous': b, 'coulomb': c, 'load': k, 'stribeck': s}
    return sliding_level(terms, qd, tau)


def exact_level(b, c, k, s, qd, tau):
    return c + k * abs(tau) + s * mpmath.exp(-((qd / mpmath.mpf(STRIBECK_SPEED)) ** 2))


def exact_direction(z, dq):
    sign = mpmath.sign(dq)
    return sign + (z - sign) * mpmath.exp(-abs(dq) / mpmath.mpf(PRESLIDING))


# Function of a vector of scalars, its definition, and the scale of each of the scalars.
FORMULAS = {
    'viscous and dry friction': (
        lambda x: joint_friction(*x),
        lambda b, c, v: b * v + c * mpmath.tanh(v / mpmath.mpf(COULOMB_SPEED)),
        (1.0, 1.0, 0.03),
    ),
    'sliding direction': (
        lambda x: sliding_direction(x[0]),
        lambda v: mpmath.tanh(v / mpmath.mpf(COULOMB_SPEED)),
        (0.02,),
    ),
    'level': (level, exact_level, (1.0, 1.0, 1.0, 1.0, 0.2, 1.0)),
    'direction with memory': (lambda x: moved_direction(*x), exact_direction, (0.5, 1e-3)),
}


@pytest.fixture(params=FORMULAS)
def formula(request):
    function, exact, scale = FORMULAS[request.param]
    x = np.random.default_rng(0).uniform(-1, 1, (60, len(scale))) * scale
    x[0] = 0.0
    x[1, -1] = 0.0
    with mpmath.workdps(40):
        expected = np.array([float(exact(*map(mpmath.mpf, row))) for row in x.tolist()])
    return function, x, expected


def close(result, expected):
    # The argument of tanh has an error of EPS, which its slope, here at most 1, does not enlarge.
    np.testing.assert_allclose(result, expected, rtol=8 * EPS, atol=8 * EPS)


def test_a_law_of_floats_and_of_arrays_is_its_definition(formula):
    function, x, expected = formula
    close([function(row) for row in x.tolist()], expected)
    close(function(list(x.T)), expected)


@pytest.mark.parametrize('backend', ['llvm', 'python'])
def test_a_law_of_programs_is_its_definition(machine, formula, backend):
    function, x, expected = formula
    program = compile_program(lambda x: [function(x)], {'x': x.shape[1]}, backend=backend)
    close(program(x)[:, 0], expected)
    close([program(row)[0] for row in x], expected)


def test_the_mirrored_motion_has_the_mirrored_friction():
    rng = np.random.default_rng(1)
    b, c, z, v, dq = rng.uniform(-1, 1, (5, 200)) * [[1], [1], [1], [0.03], [1e-3]]
    np.testing.assert_array_equal(joint_friction(b, c, -v), -joint_friction(b, c, v))
    np.testing.assert_array_equal(moved_direction(-z, -dq), -moved_direction(z, dq))


@pytest.mark.parametrize('term', ['coulomb', 'load', 'stribeck'])
def test_factors_of_the_level_are_not_negative_and_even_in_the_velocity(term):
    qd = np.concatenate([[0.0], np.logspace(-100, 100, 401)])
    factor = level_factor(term, qd, 2.0) * np.ones_like(qd)
    assert (factor >= 0).all()
    np.testing.assert_array_equal(factor, level_factor(term, -qd, -2.0) * np.ones_like(qd))
