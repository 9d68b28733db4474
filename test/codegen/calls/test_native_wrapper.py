# SPDX-License-Identifier: Apache-2.0
"""The native call wrapper: when it is used, and that it leaks nothing."""

import copy
import ctypes
import gc
import sys
import sysconfig
from typing import NamedTuple

import numpy as np
import pytest

from robot_dynamics.codegen.backends import machine_code
from robot_dynamics.codegen.calls import compile_program, kernels, native_wrapper, threads
from robot_dynamics.codegen.calls.function import CompilerMissing
from robot_dynamics.codegen.calls.native_source import wrapper_source
from robot_dynamics.codegen.calls.native_writer import SLOTS
from robot_dynamics.codegen.calls.threads import VariableError
from robot_dynamics.common.errors import ShapeError

pytestmark = pytest.mark.usefixtures('machine')


@pytest.fixture
def objecting(monkeypatch):
    """Let why_not() think again, now and after the test."""
    monkeypatch.delenv('ROBOT_DYNAMICS_WRAPPER', raising=False)
    native_wrapper.why_not.cache_clear()
    yield monkeypatch
    monkeypatch.undo()
    native_wrapper.why_not.cache_clear()


def test_supported_interpreters():
    regular = (
        sys.implementation.name == 'cpython'
        and (3, 10) <= sys.version_info[:2] <= (3, 14)
        and sys.maxsize > 2**32
        and not sysconfig.get_config_var('Py_GIL_DISABLED')
        and not hasattr(sys, 'gettotalrefcount')
    )
    assert (native_wrapper.why_not() is None) == regular


@pytest.mark.parametrize(
    ('place', 'value', 'reason'),
    [
        ('REFERENCES', 4, 'number of references'),
        ('WEAK_REFERENCES', 56, 'weak references'),
        ('TYPE', 16, 'type of an array'),
        ('DATA', 32, 'data of an array'),
        ('NDIM', 28, 'number of axes'),
        ('DTYPE', 48, 'dtype of an array'),
        ('BASE', 40, 'base of an array'),
        ('FLAGS', 68, 'of an array'),
        ('TUPLE_SIZE', 24, 'items of a tuple'),
        ('TUPLE_ITEMS', 16, 'items of a tuple'),
        ('PYTHON_VERSIONS', ((3, 1), (3, 2)), 'not one of those'),
        ('NUMPY_VERSIONS', ((0, 1), (0, 2)), 'not one of those'),
        ('POINTER_SIZE', 4, '64-bit'),
    ],
)
def test_an_unexpected_layout_selects_the_portable_wrapper(objecting, place, value, reason):
    objecting.setattr(native_wrapper, place, value)
    assert reason in native_wrapper.why_not()
    compiled = compile_program(lambda x: [x[0] * 2.0], {'x': 1})
    assert compiled.wrapper == 'portable'
    assert compiled([2.0]).tolist() == [4.0]
    objecting.setenv('ROBOT_DYNAMICS_WRAPPER', 'native')
    with pytest.raises(CompilerMissing, match='requires the native call wrapper'):
        compile_program(lambda x: [x[0] * 2.0], {'x': 1})


def test_unknown_choice_is_rejected(monkeypatch):
    monkeypatch.setenv('ROBOT_DYNAMICS_WRAPPER', 'fastest')
    with pytest.raises(VariableError, match='expected one of auto, native, portable, python'):
        compile_program(lambda x: [x[0]], {'x': 1})


def test_source_depends_on_sizes_alone():
    source = wrapper_source((3, None), ((3,), (3, 3)))
    assert source == wrapper_source((3, None), ((3,), (3, 3)))
    assert source != wrapper_source((3, 3), ((3,), (3, 3)))
    machine_code.compile_module(source)
    assert len(set(SLOTS)) == len(SLOTS)


@pytest.mark.parametrize('several', [False, True])
def test_references_balance(native, several):
    def function(q, v):
        return ([q[0]], [[v[1], 1.0]]) if several else [q[0] * v[1]]

    compiled = compile_program(function, {'q': 1, 'v': 2})
    q, v = np.ones(1), np.ones(2)
    result = compiled.call(q, v)
    out = tuple(map(np.empty_like, result)) if several else np.empty(1)
    rows = np.ones((3, 1))
    results = compiled.call(rows, v)
    outs = tuple(map(np.empty_like, results)) if several else np.empty_like(results)
    watched = [q, v, rows, out, outs, *(out if several else []), *(outs if several else [])]
    watched += [compiled.call, native_wrapper.OUT, np.ndarray]
    # What other tests have left behind holds references too.
    gc.collect()
    before = [sys.getrefcount(item) for item in watched]
    for _ in range(1000):
        compiled.call(q, v)
        compiled.call(q, v, out=out)
        compiled.call(q, [1.0, 2.0])
        compiled.call(rows, v)
        compiled.call(rows, v, out=outs)
        with pytest.raises(Exception, match='q has shape'):
            compiled.call(v, v)
    gc.collect()
    after = [sys.getrefcount(item) for item in watched]
    assert max(abs(a - b) for a, b in zip(after, before, strict=True)) < 100
    # The native holds its last two results, and no other.
    results = [compiled.call(q, v) for _ in range(4)]
    results.append(object())
    *others, alone = [sys.getrefcount(results[k]) for k in range(5)]
    assert [count - alone for count in others] == [0, 0, 1, 1]


def test_a_callable_outlives_everything_it_was_made_from(native):
    compiled = compile_program(lambda q, k: [k[0] * q[0].sin()], {'q': 1, 'k': 1}).bind(k=[2.0])
    call = compiled.call
    del compiled
    gc.collect()
    assert call(np.array([0.5])).tolist() == [2.0 * np.sin(0.5)]
    assert call(np.array([[0.5], [0.5]])).shape == (2, 1)
    assert copy.deepcopy(call) is call


def test_many_programs_can_be_made_and_deleted(native):
    for k in range(60):
        compiled = compile_program(lambda x, k=k: [x[0] + float(k)], {'x': 1})
        assert compiled.call(np.zeros(1))[0] == k
        assert compiled.call(np.zeros((2, 1)))[1, 0] == k


def test_table_cannot_be_written(native):
    table = compile_program(lambda x: [x[0]], {'x': 1}).call.__self__
    with pytest.raises(ValueError, match='read-only'):
        table[0] = 0


def frames(function, *args, **named):
    """Return what a call gives, and how many functions in Python it takes."""
    called = []
    sys.setprofile(lambda frame, event, _: event == 'call' and called.append(frame.f_code.co_name))
    try:
        result = function(*args, **named)
    finally:
        sys.setprofile(None)
    return result, called


def line(a, b):
    return [a[0] * b[0] + a[1], a[0] - b[0], a[1].sin()], [[a[0], 1.0], [b[0], 2.0]]


@pytest.fixture
def lines(native):
    """Return the same function with both entries, having seen a batch."""
    both = []
    for choice in ('native', 'portable'):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv('ROBOT_DYNAMICS_WRAPPER', choice)
            both.append(compile_program(line, {'a': 2, 'b': 1}, name='line').call)
        both[-1](np.ones((20, 2)), np.ones((20, 1)))
    return both


@pytest.mark.parametrize('rows', [1, 2, 7, 8, 9, 16, 100])
@pytest.mark.parametrize('vector', [None, 'a', 'b'])
def test_small_batches_run_in_machine_code(lines, rows, vector):
    native, portable = lines
    rng = np.random.default_rng(rows)
    given = {
        name: rng.normal(size=(size,) if name == vector else (rows, size))
        for name, size in (('a', 2), ('b', 1))
    }
    wanted = portable(*given.values())
    found, called = frames(native, *given.values())
    assert called == []
    out = tuple(np.full_like(part, np.nan) for part in wanted)
    filled, called = frames(native, *given.values(), out=out)
    assert called == []
    for results in (found, filled):
        for result, expected in zip(results, wanted, strict=True):
            assert result.shape == expected.shape
            assert np.array_equal(result, expected)
    assert all(a is b for a, b in zip(filled, out, strict=True))


def test_out_none_runs_in_machine_code(lines):
    native, portable = lines
    arguments = np.array([1.0, 2.0]), np.array([3.0])
    found, called = frames(native, *arguments, out=None)
    assert called == []
    assert all(map(np.array_equal, found, portable(*arguments)))
    with pytest.raises(TypeError, match='unknown'):
        native(*arguments, put=None)


def test_other_batches_use_the_portable_wrapper(lines):
    native, portable = lines
    a, b = np.random.default_rng(0).normal(size=(6, 2)), np.ones((6, 1))
    for given in [
        (a[:0], b[:0]),
        (a[::2], b[::2]),
        (a.astype(np.float32), b),
        (a.reshape(2, 3, 2), b.reshape(2, 3, 1)),
        (a[:3], b[:1]),
        (np.asfortranarray(a), b),
    ]:
        found, called = frames(native, *given)
        assert called != []
        for result, expected in zip(found, portable(*given), strict=True):
            assert np.array_equal(result, expected)
    for given, message in [
        ((a, b[:4]), 'do not broadcast'),
        ((b, b), 'a has shape'),
        ((a, a), 'b has shape'),
        ((a[:, :1], b), 'a has shape'),
        ((a, np.ones(2)), 'b has shape'),
        ((a.reshape(6, 1, 2), np.ones((4, 1))[:, :0]), 'b has shape'),
    ]:
        with pytest.raises(ShapeError, match=message):
            native(*given)


def test_out_of_a_batch_must_not_overlap(lines):
    native, _ = lines
    memory = np.zeros((9, 3))
    a, b = np.ones((4, 2)), memory.reshape(-1)[:4].reshape(4, 1)
    places = np.empty((4, 2, 2))
    for out in [
        (memory[:4], places),
        (memory.reshape(-1)[3:15].reshape(4, 3), places),  # meets the last row of b alone
        (memory[1:5], memory.reshape(-1)[3:19].reshape(4, 2, 2)),
        (memory[4:8], np.empty((3, 2, 2))),
        (np.empty((4, 3), np.float32), places),
    ]:
        with pytest.raises(ShapeError, match='line: out for'):
            native(a, b, out=out)
    assert not memory.any()
    # Neighbours do not overlap: the input ends where the output begins.
    out = memory.reshape(-1)[4:16].reshape(4, 3), places
    filled, called = frames(native, a, b, out=out)
    assert called == []
    assert filled[0][:, 1].tolist() == [1.0] * 4
    # So does one vector for all rows.
    out = memory.reshape(-1)[1:13].reshape(4, 3), places
    assert frames(native, a, memory.reshape(-1)[:1], out=out)[1] == []
    assert not memory.reshape(-1)[16:].any()


def test_fewer_rows_than_lanes_need_no_batch_kernel(native):
    compiled = compile_program(line, {'a': 2, 'b': 1}, name='few_lines')
    few = machine_code.lanes() - 1
    a, b = np.random.default_rng(1).normal(size=(few + 1, 2)), np.ones(1)
    found, called = frames(compiled.call, a[:few], b)
    assert called == []
    assert compiled.kernels.loaded == {}
    single = [compiled(row, b) for row in a[:few]]
    for k, result in enumerate(found):
        assert np.array_equal(result, [parts[k] for parts in single])
    assert frames(compiled.call, a, b)[1] != []
    assert frames(compiled.call, a, b)[1] == []


def test_one_and_two_rows_are_computed_one_by_one_after_a_larger_batch(native):
    compiled = compile_program(line, {'a': 2, 'b': 1}, name='two_lines')
    a, b = np.random.default_rng(2).normal(size=(3, 2)), np.ones(1)
    compiled.precompile()
    seen = []
    places = ctypes.c_void_p, ctypes.c_int64
    batch = ctypes.CFUNCTYPE(None, *places * 2, *places[:1] * 2, *places[1:] * 2)(
        lambda *arguments: seen.append(arguments[-1])
    )
    compiled.kernels.small_batch[0] = ctypes.cast(batch, ctypes.c_void_p).value
    for rows in (1, 2, 3):
        found = compiled.call(a[:rows], b)
        if rows < 3:
            singles = [compiled.call(row, b) for row in a[:rows]]
            for k, result in enumerate(found):
                assert np.array_equal(result, [parts[k] for parts in singles])
    assert seen == [3]


def test_large_batches_leave_machine_code_for_threads(monkeypatch, native):
    monkeypatch.setattr(kernels, 'MOST_AT_ONCE', 60)
    compiled = compile_program(line, {'a': 2, 'b': 1}, name='short_line')
    compiled(np.ones((20, 2)), np.ones(1))
    assert frames(compiled.call, np.ones((8, 2)), np.ones(1))[1] == []
    assert frames(compiled.call, np.ones((9, 2)), np.ones(1))[1] != []
    monkeypatch.setattr(threads, 'SMALLEST_PART', 12)
    compiled = compile_program(line, {'a': 2, 'b': 1}, name='short_line')
    compiled(np.ones((20, 2)), np.ones(1))
    # Four operations a sample.
    assert frames(compiled.call, np.ones((3, 2)), np.ones(1))[1] == []
    assert frames(compiled.call, np.ones((4, 2)), np.ones(1))[1] != []


class Pair(NamedTuple):
    thrice: np.ndarray
    twice: np.ndarray


@pytest.mark.usefixtures('native')
def test_several_results_are_a_named_tuple():
    compiled = compile_program(
        lambda x: ([3.0 * x[0]], [2.0 * x[0]]),
        {'x': 1},
        outputs=Pair._fields,
        result_type=Pair,
    )
    x = np.array([0.5])
    gc.collect()
    before = sys.getrefcount(Pair)
    results = [compiled(x) for _ in range(100)]
    assert sys.getrefcount(Pair) == before + 100
    assert all(type(result) is Pair and gc.is_tracked(result) for result in results)
    assert results[7].thrice[0] == 1.5
    assert results[8] == ([1.5], [1.0])
    with pytest.raises(TypeError):
        hash(results[9])
    # The last two are kept to be returned again.
    del results
    assert sys.getrefcount(Pair) == before + 2
    del compiled
    gc.collect()
    assert sys.getrefcount(Pair) < before
