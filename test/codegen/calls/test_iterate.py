# SPDX-License-Identifier: Apache-2.0
"""Loops inside the kernel, against the same loop written out."""

import numpy as np
import pytest

from robot_dynamics.codegen.calls import compile_program
from robot_dynamics.common.errors import ShapeError


def step(x, v, force, dt):
    """One semi-implicit step of a pendulum with friction; its energy is not fed back."""
    v_next = v[0] + dt[0] * (force[0] - 9.81 * x[0].sin() - 0.1 * v[0].tanh())
    return [x[0] + dt[0] * v_next], [v_next], 0.5 * v[0] * v[0] - 9.81 * x[0].cos()


@pytest.fixture
def pendulum_step(wrapper):
    inputs = {'x': 1, 'v': 1, 'force': 1, 'dt': 1}
    compiled = compile_program(step, inputs, name='step', outputs=('x', 'v', 'energy'))
    return compiled.bind(dt=[1e-3])


@pytest.mark.parametrize('steps', [0, 1, 2, 300])
def test_a_loop_equals_its_steps(pendulum_step, steps):
    force = np.random.default_rng(0).normal(size=(steps, 1))
    x, v, energy = pendulum_step.iterate(steps, x=[0.5], v=[0.0], force=force)
    assert (x.shape, v.shape, energy.shape) == ((steps + 1, 1), (steps + 1, 1), (steps,))
    assert (x[0], v[0]) == (0.5, 0.0)
    for i in range(steps):
        after = pendulum_step(x[i], v[i], force[i])
        assert (after[0], after[1], after[2]) == (x[i + 1], v[i + 1], energy[i])


def test_one_vector_serves_every_step(pendulum_step):
    constant = pendulum_step.iterate(50, x=[0.5], v=[0.0], force=[2.0])
    repeated = pendulum_step.iterate(50, x=[0.5], v=[0.0], force=np.full((50, 1), 2.0))
    assert all(np.array_equal(a, b) for a, b in zip(constant, repeated, strict=True))


def test_a_single_output(wrapper):
    halve = compile_program(lambda x: [0.5 * x[0], 0.5 * x[1]], {'x': 2}, outputs=('x',))
    assert halve.iterate(2, x=[8, 4]).tolist() == [[8.0, 4.0], [4.0, 2.0], [2.0, 1.0]]


def test_wrong_arguments_are_rejected(pendulum_step):
    good = {'x': [0.5], 'v': [0.0], 'force': [0.0]}
    for name, value, message in [
        ('x', np.ones((3, 1)), r'x has shape \(3, 1\), expected \(1,\)'),
        ('force', np.ones((4, 1)), r'expected \(1,\) or \(5, 1\)'),
        ('force', np.ones(2), r'expected \(..., 1\)'),
    ]:
        with pytest.raises(ShapeError, match=message):
            pendulum_step.iterate(5, **{**good, name: value})
    with pytest.raises(TypeError, match='misses force'):
        pendulum_step.iterate(5, x=[0.5], v=[0.0])
    matrix = compile_program(lambda x: [[x[0]]], {'x': 1}, outputs=('x',))
    with pytest.raises(ShapeError, match=r'output x has shape \(1, 1\), expected \(1,\)'):
        matrix.iterate(5, x=[1.0])
