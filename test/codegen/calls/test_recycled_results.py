# SPDX-License-Identifier: Apache-2.0
"""The native call wrapper recycles a result once it is unreferenced, and never before."""

import gc
import sys
import threading
import tracemalloc
import weakref
from typing import NamedTuple

import numpy as np
import pytest

from robot_dynamics.codegen.calls import compile_program, native_wrapper
from robot_dynamics.codegen.calls.native_source import LARGEST_RECYCLED
from robot_dynamics.codegen.calls.native_writer import LARGEST_SHARED, MEMORY_SIZE

pytestmark = pytest.mark.usefixtures('machine', 'native')

N = 3


class Powers(NamedTuple):
    cube: np.ndarray
    outer: np.ndarray


@pytest.fixture
def cube():
    return compile_program(lambda x: [a * a * a for a in x], {'x': N}, name='cube').call


@pytest.fixture
def powers():
    return compile_program(
        lambda x: ([a * a * a for a in x], [[a * b for b in x] for a in x]),
        {'x': N},
        name='powers',
        outputs=Powers._fields,
        result_type=Powers,
    ).call


def place(array):
    return array.ctypes.data


def test_a_dropped_result_is_recycled(cube, powers):
    x = np.arange(1.0, N + 1)
    for call, part in [(cube, lambda result: result), (powers, lambda result: result.outer)]:
        seen = {place(part(call(x))) for _ in range(10)}
        assert len(seen) == 2
        result = call(x)
        others = []
        for _ in range(10):
            result = call(x)
            others.append(place(part(result)))
        assert others[::2] == others[:1] * 5
        assert others[1::2] == others[1:2] * 5
        assert others[0] != others[1]


def test_referenced_results_never_change(powers):
    """Results, their parts and views of them are held for a while, in any order."""
    rng = np.random.default_rng(0)
    hold = [
        lambda r: (r, lambda h, x: (h.cube == x**3).all() and (h.outer == np.outer(x, x)).all()),
        lambda r: (r.cube, lambda h, x: (h == x**3).all()),
        lambda r: (r.outer.T[1:], lambda h, x: (h == np.outer(x, x).T[1:]).all()),
        lambda r: (r.cube.reshape(1, N, 1), lambda h, x: (h[0, :, 0] == x**3).all()),
        lambda r: (memoryview(r.cube), lambda h, x: h.tolist() == (x**3).tolist()),
        lambda r: (np.frombuffer(r.outer), lambda h, x: (h == np.outer(x, x).ravel()).all()),
        lambda r: (r.outer.flat, lambda h, x: (h[:] == np.outer(x, x).ravel()).all()),
        lambda r: (iter(r), lambda h, x: (next(h) == x**3).all()),
        lambda r: (r.cube.ctypes, lambda h, x: h._arr.tolist() == (x**3).tolist()),
    ]
    held = []
    for _ in range(3000):
        # Powers of small integers are exact.
        x = rng.integers(-9, 9, N).astype(float)
        result = powers(x)
        assert (result.cube == x**3).all()
        assert (result.outer == np.outer(x, x)).all()
        if rng.random() < 0.5:
            held.append((*hold[rng.integers(len(hold))](result), x))
        del result
        while held and rng.random() < 0.55:
            shown, still, of = held.pop(rng.integers(len(held)))
            assert still(shown, of)
    assert all(still(shown, x) for shown, still, x in held)


def read_only(array):
    array.flags.writeable = False


def flat_shape(array):
    array.shape = (array.size, 1)


def integers(array):
    array.dtype = np.int64


def other_strides(array):
    array.strides = (0,) * array.ndim


@pytest.mark.filterwarnings('ignore::DeprecationWarning')
@pytest.mark.parametrize('change', [read_only, flat_shape, integers, other_strides])
def test_a_changed_result_is_not_recycled(cube, powers, change):
    x = np.array([1.0, 2.0, 3.0])
    for _ in range(4):
        change(cube(x))
        change(powers(x).cube)
        change(powers(x).outer)
    for _ in range(4):
        for array, wanted in [
            (cube(x), x**3),
            (powers(x).cube, x**3),
            (powers(x).outer, np.outer(x, x)),
        ]:
            assert array.dtype == np.float64
            assert array.shape == wanted.shape
            assert array.flags.c_contiguous
            assert array.flags.writeable
            assert np.array_equal(array, wanted)
            del array


@pytest.mark.parametrize('size', [1, N, LARGEST_SHARED, LARGEST_SHARED + 1])
def test_kept_results_have_memory_of_their_own(size):
    """More of them than one piece of shared memory holds."""
    call = compile_program(lambda x: [x[0] + k for k in range(size)], {'x': 1}).call
    results = [call(np.array([float(k)])) for k in range(2 * MEMORY_SIZE // size + 3)]
    places = np.sort([place(result) for result in results])
    assert np.diff(places).min() >= 8 * size
    assert all(
        np.array_equal(result, k + np.arange(float(size))) for k, result in enumerate(results)
    )


def test_a_view_refers_to_the_result(cube):
    result = cube(np.ones(N))
    assert isinstance(result.base, native_wrapper.ResultMemory)
    assert result[1:].base is result
    assert result.view(np.recarray).base is result


def test_shared_memory_goes_with_the_last_result():
    call = compile_program(lambda x: [x[0]] * N, {'x': 1}).call
    results = [call(np.ones(1)) for _ in range(MEMORY_SIZE)]
    memory = weakref.ref(results[0].base)
    last = [result for result in results if result.base is memory()][-1]
    del results
    assert memory() is not None
    del last
    assert memory() is None


def test_results_cannot_be_resized(cube):
    result = cube(np.ones(N))
    with pytest.raises(ValueError, match='does not own its data'):
        result.resize((2,), refcheck=False)


def test_a_result_with_weak_references_is_not_recycled(cube):
    x = np.ones(N)
    died = []
    result = cube(x)
    watching = weakref.ref(result, died.append)
    del result
    # Its turn would be next but one.
    cube(x)
    assert watching() is not None
    cube(x)
    assert died == [watching]


def test_the_callback_of_a_weak_reference_may_call_again(cube):
    x = np.array([1.0, 2.0, 3.0])
    answers = []
    result = cube(x)
    watching = weakref.ref(result, lambda _: answers.append(cube(2.0 * x)))
    del result
    others = [cube(x) for _ in range(4)]
    assert watching() is None
    assert np.array_equal(answers, [8.0 * x**3])
    assert all(np.array_equal(other, x**3) for other in others)


def test_results_never_are_arguments(cube):
    x = np.array([0.5, 1.0, 2.0])
    assert np.array_equal(cube(cube(cube(x))), x**27)
    result = x
    for _ in range(3):
        result = cube(result)
    assert np.array_equal(result, x**27)
    result = cube(x)
    assert not np.shares_memory(result, cube(result))


def test_results_without_axes_are_numbers():
    twice = compile_program(lambda x: 2.0 * x[0], {'x': 1}).call
    results = [twice(np.array([float(k)])) for k in range(5)]
    assert results == [0.0, 2.0, 4.0, 6.0, 8.0]
    assert {type(result) for result in results} == {np.float64}


@pytest.mark.soak
@pytest.mark.parametrize('more', [0, 1])
def test_large_results_are_not_kept(more):
    size = LARGEST_RECYCLED + more
    call = compile_program(lambda x: [x[0]] * size, {'x': 1}).call
    x = np.ones(1)
    call(x)
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(5):
            call(x)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (after - before >= 8 * size) == (more == 0)


@pytest.mark.slow
def test_recycled_results_are_released_with_the_function():
    class Alone(NamedTuple):
        a: np.ndarray
        b: np.ndarray

    call = compile_program(
        lambda x: (x, x), {'x': 1}, outputs=Alone._fields, result_type=Alone, name='alone'
    ).call
    gc.collect()
    before = sys.getrefcount(Alone)
    for _ in range(10):
        call(np.ones(1))
    assert sys.getrefcount(Alone) == before + 2
    del call
    gc.collect()
    assert sys.getrefcount(Alone) < before


def test_threads_have_results_of_their_own(powers):
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        held = []
        for _ in range(2000):
            x = rng.integers(-9, 9, N).astype(float)
            held.append((x, powers(x)))
            if len(held) > 3:
                x, result = held.pop(rng.integers(3))
                if not np.array_equal(result.cube, x**3):
                    wrong.append((x, result))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert wrong == []
