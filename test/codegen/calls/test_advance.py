# SPDX-License-Identifier: Apache-2.0
"""Many samples through many steps inside the kernel, against the same steps called one by one."""

import numpy as np
import pytest

from robot_dynamics.codegen.calls import compile_program, kernels, threads
from robot_dynamics.codegen.calls import iteration as iterate
from robot_dynamics.common.errors import ShapeError

STEPS = 12


def step(x, v, force, dt):
    """One semi-implicit step of two pendulums, one of which drives the other."""
    a = [f - 9.81 * p.sin() - 0.1 * s.tanh() for f, p, s in zip(force, x, v, strict=True)]
    v = [v[0] + dt[0] * a[0], v[1] + dt[0] * (a[1] + x[0] * v[0])]
    return [p + dt[0] * s for p, s in zip(x, v, strict=True)], v


def compiled(name='step'):
    inputs = {'x': 2, 'v': 2, 'force': 2, 'dt': 1}
    return compile_program(step, inputs, name=name, outputs=('x', 'v')).bind(dt=[1e-2])


@pytest.fixture
def pendulums(wrapper):
    return compiled()


def samples(*leading):
    return np.random.default_rng(0).normal(size=(3, *leading, 2))


def stepped(program, x, v, force, steps=STEPS):
    """Return the state after steps of which each is a call."""
    for _ in range(steps):
        x, v = program(x, v, force)
    return x, v


def assert_equal_bits(results, expected):
    for result, reference in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, reference)


@pytest.mark.parametrize('leading', [(), (1,), (2,), (7,), (8,), (9,), (3, 11), (0,), (2, 0)])
def test_the_end_is_that_of_single_steps(pendulums, leading):
    x, v, force = samples(*leading)
    before = x.copy(), v.copy()
    results = pendulums.advance(STEPS, x=x, v=v, force=force)
    assert [result.shape for result in results] == [x.shape, v.shape]
    assert_equal_bits(results, stepped(pendulums, x, v, force))
    assert_equal_bits((x, v), before)


def test_each_sample_has_the_bits_it_has_alone(machine):
    x, v, force = samples(19)
    together = compiled().advance(STEPS, x=x, v=v, force=force)
    alone = [compiled().advance(STEPS, x=x[i], v=v[i], force=force[i]) for i in range(len(x))]
    assert_equal_bits(together, map(np.array, zip(*alone, strict=True)))
    path = compiled().iterate(STEPS, x=x[3], v=v[3], force=force[3])
    assert_equal_bits(alone[3], [rows[-1] for rows in path])


@pytest.mark.parametrize('steps', [1, STEPS])
def test_leading_axes_broadcast(pendulums, steps):
    x, v, force = samples(3, 4)
    for given in ((x, v[0], force[0, 0]), (x[0, 0], v[:, :1], force), (x[0, 0], v[0, 0], force)):
        results = pendulums.advance(steps, **dict(zip(('x', 'v', 'force'), given, strict=True)))
        full = [np.array(np.broadcast_to(array, (3, 4, 2)), order='C') for array in given]
        assert_equal_bits(results, stepped(pendulums, *full, steps))


@pytest.mark.parametrize('leading', [(), (5,)])
@pytest.mark.parametrize('own', [False, True])
@pytest.mark.parametrize('at_once', [1, 10**6])
def test_an_input_may_change_with_time(pendulums, monkeypatch, leading, own, at_once):
    monkeypatch.setattr(iterate, 'AT_ONCE', at_once)
    monkeypatch.setattr(iterate, 'FEWEST', 5)
    monkeypatch.setattr(iterate, 'AT_ONCE_ALONE', at_once)
    x, v, _ = samples(*leading)
    force = np.random.default_rng(1).normal(size=(*(leading if own else ()), STEPS, 2))
    results = pendulums.advance(STEPS, changing=['force'], x=x, v=v, force=force)
    for k in range(STEPS):
        x, v = pendulums(x, v, force[..., k, :])
    assert_equal_bits(results, (x, v))


def test_any_number_of_threads_gives_the_same_bits(machine, monkeypatch):
    x, v, force = samples(100)
    monkeypatch.setattr(threads, 'SMALLEST_PART', 1)
    results = []
    for count in '1', '2', '3', '50':
        monkeypatch.setenv('ROBOT_DYNAMICS_THREADS', count)
        results.append(compiled().advance(STEPS, x=x, v=v, force=force))
    for other in results[1:]:
        assert_equal_bits(other, results[0])


def test_a_large_program_has_the_same_bits_without_lanes(machine, monkeypatch):
    x, v, force = samples(9)
    expected = compiled().advance(STEPS, x=x, v=v, force=force)
    monkeypatch.setattr(kernels, 'LARGEST_IN_LANES', 3)
    large = compiled('large')
    assert_equal_bits(large.advance(STEPS, x=x, v=v, force=force), expected)


def test_a_step_reads_all_before_it_writes(wrapper):
    turn = compile_program(
        lambda x, y: ([y[0], x[0]], [x[1], y[1]]), {'x': 2, 'y': 2}, outputs=('x', 'y')
    )
    x, y = np.arange(24.0).reshape(2, 6, 2)
    assert_equal_bits(turn.advance(1, x=x, y=y), turn(x, y))
    assert_equal_bits(turn.advance(2, x=x, y=y), turn(*turn(x, y)))


def test_no_step_returns_copies(pendulums):
    x, v, force = samples(3)
    results = pendulums.advance(0, x=x, v=v, force=force)
    assert_equal_bits(results, (x, v))
    assert not np.shares_memory(results[0], x)


def test_a_single_output(wrapper):
    halve = compile_program(lambda x: [0.5 * x[0]], {'x': 1}, outputs=('x',))
    assert halve.advance(3, x=[[8], [16]]).tolist() == [[1.0], [2.0]]


def test_wrong_arguments_are_rejected(pendulums):
    x, v, force = samples(3)
    with pytest.raises(ShapeError, match=r'the leading axes do not broadcast: x \(3, 2\)'):
        pendulums.advance(4, x=x, v=v[:2], force=force)
    with pytest.raises(ShapeError, match=r'last axes of force are \(3, 2\), expected \(4, 2\)'):
        pendulums.advance(4, changing=['force'], x=x, v=v, force=force)
    with pytest.raises(ShapeError, match=r'expected \(..., 2\)'):
        pendulums.advance(4, x=x[:, :1], v=v, force=force)
    for name in 'x', 'mass':
        with pytest.raises(ShapeError, match=f'{name!r} is no input that could change'):
            pendulums.advance(4, changing=[name], x=x, v=v, force=force)
    with pytest.raises(TypeError, match='misses force'):
        pendulums.advance(4, x=x, v=v)
    other = compile_program(lambda x: [x[0]], {'x': 1}, outputs=('y',))
    with pytest.raises(ShapeError, match=r'output y has shape \(1,\)'):
        other.advance(4, x=[1.0])
