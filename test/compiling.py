# SPDX-License-Identifier: Apache-2.0
"""Functions to compile, a cache and call wrappers, shared by the tests of `codegen`."""

import numpy as np
import pytest

from robot_dynamics.codegen.backends import machine_code
from robot_dynamics.codegen.calls import native_wrapper
from robot_dynamics.common.scalars import maximum, minimum

WRAPPERS = ('native', 'portable', 'python')


@pytest.fixture(autouse=True)
def cache_directory(tmp_path_factory, monkeypatch):
    """Keep machine code of tests in one temporary directory, shared by the tests of a run."""
    directory = tmp_path_factory.getbasetemp() / 'compiled'
    monkeypatch.setenv('ROBOT_DYNAMICS_CACHE_DIR', str(directory))
    return directory


@pytest.fixture
def machine():
    """Skip a test of machine code where none can be made."""
    if machine_code.why_not():
        pytest.skip(machine_code.why_not())


@pytest.fixture(params=WRAPPERS)
def wrapper(request, monkeypatch):
    """Select each call wrapper."""
    reason = None if request.param == 'python' else machine_code.why_not()
    if request.param == 'native':
        reason = reason or native_wrapper.why_not()
    if reason:
        pytest.skip(reason)
    monkeypatch.setenv('ROBOT_DYNAMICS_WRAPPER', request.param)
    return request.param


PENDULUM_INPUTS = {'q': 1, 'qd': 1, 'length': 1}


def _pendulum(q, qd, length):
    """Torque, energy and rotation of a pendulum: three outputs, one of them a number."""
    s, c = np.sin(q[0]), np.cos(q[0])
    kinetic = 0.5 * (length[0] * qd[0]) ** 2
    return [9.81 * length[0] * s], kinetic - 9.81 * length[0] * c, [[s, c], [-c, s]]


@pytest.fixture
def pendulum():
    """Return a function and the sizes of its inputs."""
    return _pendulum, PENDULUM_INPUTS


def _random_function(rng, outputs, operations=60):
    """Return a function of any vectors that computes `outputs` results by random operations.

    Values stay bounded, so no result overflows: every product is scaled, every divisor is at least
        one.
    """
    steps = [
        (rng.integers(11), *rng.integers(1 << 30, size=2), rng.uniform(-2, 2))
        for _ in range(operations)
    ]
    chosen = rng.integers(1 << 30, size=outputs)

    def function(*vectors):
        values = [entry for vector in vectors for entry in vector] or [0.5]
        for kind, i, j, constant in steps:
            a, b = values[i % len(values)], values[j % len(values)]
            values.append(
                [
                    lambda a, b, c: 0.5 * (a + b),
                    lambda a, b, c: 0.5 * (a - b),
                    lambda a, b, c: np.tanh(a) * b,
                    lambda a, b, c: np.sin(c + a),
                    lambda a, b, c: np.cos(a) * b,
                    lambda a, b, c: a / (1.0 + b * b),
                    lambda a, b, c: np.sqrt(c * c + a * a),
                    lambda a, b, c: -(c * a),
                    lambda a, b, c: abs(a) - c,
                    lambda a, b, c: minimum(a, c * b),
                    lambda a, b, c: maximum(a, b),
                ][kind](a, b, constant)
            )
        return [values[len(values) - 1 - i % (len(values) // 2 + 1)] for i in chosen]

    return function


@pytest.fixture
def random_function():
    """Return the maker of random functions: (rng, outputs, operations)."""
    return _random_function
