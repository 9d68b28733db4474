# SPDX-License-Identifier: Apache-2.0
"""Calls: arguments, results and rejected calls, with the native and the portable wrapper."""

import copy
import inspect
import pickle
import sys
import threading
from typing import NamedTuple

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from robot_dynamics.codegen.calls import arguments, compile_program
from robot_dynamics.common.errors import ShapeError

EPS = np.finfo(float).eps


class Terms(NamedTuple):
    """Several outputs by name."""

    A: np.ndarray
    b: np.ndarray


def product(q, v):
    return [q[0] * v[0], q[1] * v[0], q[0] + q[1]]


def expected(q, v):
    q, v = np.broadcast_arrays(q, np.asarray(v)[..., :1])
    return np.stack([q[..., 0] * v[..., 0], q[..., 1] * v[..., 0], q[..., 0] + q[..., 1]], axis=-1)


@pytest.fixture
def compiled(wrapper):
    function = compile_program(product, {'q': 2, 'v': 1}, name='product')
    assert (function.wrapper, function.backend) == {
        'native': ('native', 'llvm'),
        'portable': ('portable', 'llvm'),
        'python': ('portable', 'python'),
    }[wrapper]
    # From its first batch on the native wrapper knows the kernel of many samples.
    function(np.ones((20, 2)), V)
    return function


@pytest.fixture
def terms(wrapper):
    function = compile_program(
        lambda q: ([[q[0], 2.0], [q[1], q[0] * q[1]]], [q[1]]),
        {'q': 2},
        name='terms',
        outputs=Terms._fields,
        result_type=Terms,
    )
    function(np.ones((20, 2)))
    return function


Q, V = np.array([1.5, -2.0]), np.array([3.0])

ARGUMENTS = [
    (Q, V),
    ([1.5, -2], (3,)),
    (Q.astype(np.float32), V),
    (np.array([1, -2]), np.array([3], np.uint8)),
    (np.array([1.5, 0.0, -2.0, 0.0])[::2], V),
    (np.array([-2.0, 1.5])[::-1], V),
    (Q.astype('>f8'), V),
    (Q.view(type('Subclass', (np.ndarray,), {})), V),
    (Q.astype(np.longdouble), V),
    (np.frombuffer(b'x' + Q.tobytes(), dtype=np.uint8)[1:].view(float), V),
    (np.ones((5, 2)), V),
    (Q, np.ones((5, 1))),
    (np.arange(10.0).reshape(5, 2), np.arange(5.0)[:, None]),
    (np.arange(24.0).reshape(3, 4, 2), np.arange(4.0)[:, None]),
    (np.arange(24.0).reshape(3, 4, 2), np.arange(3.0)[:, None, None]),
    (np.arange(24.0).reshape(2, 3, 4).T, V),
    (np.arange(30.0).reshape(5, 6)[::-1, 1:3], np.arange(30.0).reshape(5, 6)[:, 5:]),
    (np.arange(30.0).reshape(5, 6)[:, ::3], np.arange(30.0).reshape(5, 6)[:, 5:]),
    (np.ones((0, 2)), V),
    (np.ones((3, 0, 2)), np.ones((3, 1, 1))),
]


@pytest.mark.parametrize('arguments', ARGUMENTS, ids=range(len(ARGUMENTS)))
def test_any_array_like_broadcasts(compiled, arguments):
    kept = [np.array(argument) for argument in arguments]
    result = compiled(*arguments)
    wanted = expected(*map(np.asarray, kept))
    assert result.shape == wanted.shape
    np.testing.assert_allclose(result, wanted, rtol=4 * EPS)
    assert type(result) is np.ndarray
    assert result.dtype == np.float64
    assert result.flags.carray
    for argument, before in zip(arguments, kept, strict=True):
        assert np.array_equal(argument, before)

    out = np.full(wanted.shape, np.nan)
    assert compiled(*arguments, out=out) is out
    assert np.array_equal(out, result)


def test_results_are_new_each_time(compiled):
    assert not np.shares_memory(compiled(Q, V), compiled(Q, V))


def test_several_new_arrays_of_a_large_batch_are_parts_of_one(terms):
    q = np.arange(40_000.0).reshape(20_000, 2)
    A, b = terms(q)
    assert A.base is b.base is not None
    assert not np.shares_memory(A, b)
    np.testing.assert_array_equal(A[:, 1], np.stack([q[:, 1], q[:, 0] * q[:, 1]], axis=1))
    np.testing.assert_array_equal(b, q[:, 1:])


def test_named_arguments(compiled):
    wanted = compiled(Q, V)
    assert np.array_equal(compiled(Q, v=V), wanted)
    assert np.array_equal(compiled(v=V, q=Q), wanted)
    out = np.empty(3)
    assert compiled(v=V, q=Q, out=out) is out
    assert np.array_equal(compiled(Q, V, out=None), wanted)


def test_out_may_be_strided(compiled):
    table = np.zeros((4, 9))
    q = np.arange(8.0).reshape(4, 2)
    out = compiled(q, V, out=table[:, ::3])
    assert out.base is table
    assert np.array_equal(table[:, ::3], compiled(q, V))
    assert np.count_nonzero(np.delete(table, [0, 3, 6], axis=1)) == 0


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ((np.ones(3), V), r'product: q has shape \(3,\), expected \(..., 2\)'),
        ((np.ones((2, 3)), V), r'q has shape \(2, 3\)'),
        ((1.0, V), r'q has shape \(\)'),
        ((Q, np.ones((2, 2))), r'v has shape \(2, 2\), expected \(..., 1\)'),
        ((Q, None), 'v is NoneType'),
        ((Q, 'text'), 'v is str'),
        ((Q * 1j, V), 'dtype complex128, expected real numbers'),
        ((Q.astype(object), V), 'dtype object'),
        ((Q.astype(bool), V), 'dtype bool'),
        (([[1.0], [1.0, 2.0]], V), 'q cannot become an array'),
        ((np.ones((2, 2)), np.ones((3, 1))), r'do not broadcast: q \(2, 2\), v \(3, 1\)'),
    ],
)
def test_wrong_arrays_are_rejected_by_name(compiled, arguments, message):
    with pytest.raises(ShapeError, match=message):
        compiled(*arguments)


@pytest.mark.parametrize(
    ('arguments', 'named', 'message'),
    [
        ((), {}, 'misses q, v'),
        ((Q,), {}, 'misses v'),
        ((Q, V, np.empty(3)), {}, '3 positional'),
        ((Q, V), {'w': V}, "unknown argument 'w'"),
        ((Q, V), {'q': Q}, "second argument 'q'"),
    ],
)
def test_wrong_calls_are_type_errors(compiled, arguments, named, message):
    with pytest.raises(TypeError, match=message):
        compiled(*arguments, **named)


def read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    'out',
    [
        np.zeros(2),
        np.zeros((1, 3)),
        np.zeros(3, np.float32),
        np.zeros(3, '>f8'),
        np.zeros(3, complex),
        read_only(np.zeros(3)),
        [0.0, 0.0, 0.0],
        (np.zeros(3),),
        3,
    ],
    ids=str,
)
def test_out_that_cannot_be_filled_is_rejected(compiled, out):
    with pytest.raises(ShapeError, match='product: out for out'):
        compiled(Q, V, out=out)


def test_out_that_overlaps_an_argument_is_rejected(compiled):
    memory = np.arange(8.0)
    before = memory.copy()
    for q, v, out in [
        (memory[:2], V, memory[:3]),
        (memory[2:4], V, memory[:3]),
        (Q, memory[2:3], memory[:3]),
        (memory[0:6:2].reshape(-1)[:2], V, memory[1:4]),
    ]:
        with pytest.raises(ShapeError, match='shares memory'):
            compiled(q, v, out=out)
    assert np.array_equal(memory, before)
    # Neighbours do not overlap, nor do columns of one table.
    assert np.array_equal(compiled(memory[:2], memory[2:3], out=memory[3:6]), [0.0, 2.0, 1.0])
    table = np.arange(18.0).reshape(3, 6)
    compiled(table[:, :2], table[:, 2:3], out=table[:, 3:])


def test_out_whose_overlap_is_too_hard_to_decide_is_rejected(compiled, monkeypatch):
    memory = np.zeros(600)
    q = as_strided(memory, (3, 3, 2), (296, 368, 144))
    out = memory[1:514:19].reshape(3, 3, 3)
    assert np.shares_memory(memory, out)
    assert np.may_share_memory(q, out)
    assert not np.shares_memory(q, out)
    assert compiled(q, V, out=out) is out
    monkeypatch.setattr(arguments, 'OVERLAP_EFFORT', 1)
    with pytest.raises(ShapeError, match='shares memory'):
        compiled(q, V, out=out)


@pytest.mark.parametrize(
    'strides', [(0, 8), (24, 0), (8, 8), (8, 16), (-16, 8), (-8, -8), (24, 4)], ids=str
)
def test_out_that_overlaps_itself_is_rejected(compiled, strides):
    memory = np.zeros(40)
    out = as_strided(memory[20:], (5, 3), strides)
    with pytest.raises(ShapeError, match='entries share memory'):
        compiled(np.ones((5, 2)), V, out=out)
    assert not memory.any()


@pytest.mark.parametrize('turn', [(0, 1), (1, 0)])
@pytest.mark.parametrize('steps', [(1, 1), (2, 3), (-1, 1), (-3, -2)])
def test_out_may_be_any_view(compiled, steps, turn):
    table = np.zeros((15, 15))
    q = np.arange(10.0).reshape(5, 2)
    view = table[:: steps[0], :: steps[1]].transpose(turn)[:5, :3]
    assert compiled(q, V, out=view) is view
    assert np.array_equal(view, compiled(q, V))
    assert np.count_nonzero(table) == np.count_nonzero(view)


def test_a_subclass_that_gives_another_shape_is_taken_by_its_memory(compiled):
    class Larger(np.ndarray):
        shape = (3,)
        flags = np.empty(3).flags

        def reshape(self, shape):
            return np.lib.stride_tricks.as_strided(self, shape)

    memory = np.zeros(3)
    with pytest.raises(ShapeError, match=r'out for out has shape \(1,\)'):
        compiled(Q, V, out=memory[:1].view(Larger))
    assert not memory.any()
    out = np.zeros(3).view(Larger)
    assert compiled(Q, V, out=out) is out
    assert np.array_equal(out.tolist(), compiled(Q, V))


def test_objects_that_imitate_arrays_are_rejected(compiled):
    class Pretender:
        __class__ = np.ndarray

        def __array__(self, *_, **__):
            pytest.fail('code of an argument that is no array')

    with pytest.raises(ShapeError, match='out for out is Pretender'):
        compiled(Q, V, out=Pretender())


@pytest.mark.parametrize('shape', [(0,), (1,), (40, 1), (1, 80)])
def test_an_argument_that_resizes_another_is_rejected(compiled, shape):
    class Resizing:
        def __array__(self, *_, **__):
            other.resize(shape, refcheck=False)
            return np.ones((40, 1))

    other = np.ones((40, 2))
    with pytest.raises(ShapeError):
        compiled(other, Resizing())
    out = other = np.ones((40, 3))
    with pytest.raises(ShapeError):
        compiled(np.ones((40, 2)), Resizing(), out=out)


def test_a_list_that_resizes_an_argument_when_it_is_read_is_rejected(terms):
    class Resizing(list):
        def __iter__(self):
            q.resize((40, 1), refcheck=False)
            return super().__iter__()

    q = np.ones((40, 2))
    with pytest.raises(ShapeError, match='q has shape'):
        terms(q, out=Resizing([np.empty((40, 2, 2)), np.empty((40, 1))]))


def test_more_axes_than_arrays_have_are_rejected(compiled):
    q, v = np.ones((1,) * 30 + (2,)), np.ones((2, 1))
    assert compiled(q, v).shape == (1,) * 29 + (2, 3)
    with pytest.raises(ShapeError, match='q has 31 leading axes, expected at most 30'):
        compiled(q[None], v)


def test_several_outputs(terms):
    q = np.array([3.0, 4.0])
    result = terms(q)
    assert type(result) is Terms
    assert result.A.tolist() == [[3.0, 2.0], [4.0, 12.0]]
    assert result.b.tolist() == [4.0]
    out = tuple(np.empty_like(part) for part in result)
    again = terms(q, out=out)
    assert type(again) is Terms
    assert terms(q, out=again) is again
    assert all(a is b for a, b in zip(again, out, strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(again, result, strict=True))
    assert terms(q, out=list(out)).A is out[0]
    batch = terms(np.tile(q, (5, 1)))
    assert [part.shape for part in batch] == [(5, 2, 2), (5, 1)]
    assert np.array_equal(batch.A[3], result.A)


def test_out_of_several_outputs_is_checked(terms):
    q, A, b = np.array([3.0, 4.0]), np.empty((2, 2)), np.empty(1)
    for out in [
        A,
        (A,),
        (A, b, b),
        (A, A),
        (A[0], b),
        (A, A[0, :1]),
        (A, q[:1]),
        'ab',
        None.__class__,
    ]:
        with pytest.raises(ShapeError, match='terms: out'):
            terms(q, out=out)


def test_a_number_comes_out_as_a_number(wrapper):
    square = compile_program(lambda q: q[0] * q[0], {'q': 1})
    assert square(np.array([3.0])) == 9.0
    assert isinstance(square(np.array([3.0])), np.float64)
    assert square(np.ones((4, 1))).shape == (4,)
    out = np.empty(())
    assert square(np.array([3.0]), out=out) is out
    assert out == 9.0


def test_several_outputs_with_a_number_among_them(wrapper, pendulum):
    compiled = compile_program(*pendulum).bind(length=[2.0])
    tau, energy, R = compiled(np.array([np.pi / 2]), np.array([1.0]))
    np.testing.assert_allclose(tau, [19.62])
    np.testing.assert_allclose(energy, 2.0)
    assert R.shape == (2, 2)


def test_inputs_and_outputs_may_be_empty(wrapper):
    nothing = compile_program(lambda q: [], {'q': 0})
    assert nothing(np.empty(0)).shape == (0,)
    assert nothing(np.empty((3, 0)), out=np.empty((3, 0))).shape == (3, 0)
    constant = compile_program(lambda: [[1.0, 2.0]], {})
    assert constant().tolist() == [[1.0, 2.0]]


def test_bound_inputs_are_copied_and_changed_without_compiling(wrapper):
    compiled = compile_program(product, {'q': 2, 'v': 1}, name='product')
    gain = np.array([2.0])
    twice, thrice = compiled.bind(v=gain), compiled.bind(v=[3])
    gain[0] = 100.0
    assert twice(Q).tolist() == [3.0, -4.0, -0.5]
    assert thrice(Q).tolist() == [4.5, -6.0, -0.5]
    assert thrice(np.array([Q, Q])).shape == (2, 3)
    assert twice.bind(q=Q)().tolist() == [3.0, -4.0, -0.5]
    assert twice.signature.inputs == (('q', 2),)
    assert twice(Q, out=np.empty(3)).tolist() == [3.0, -4.0, -0.5]
    with pytest.raises(ShapeError, match='no input'):
        compiled.bind(w=1)
    with pytest.raises(ShapeError, match='to bind it'):
        compiled.bind(v=np.ones((2, 1)))
    with pytest.raises(TypeError, match='unknown'):
        twice(Q, v=V)


def test_callables_document_themselves(wrapper):
    compiled = compile_program(
        product, {'q': 2, 'v': 1}, name='product', documentation='Multiply.'
    ).bind(v=[1.0])
    assert compiled.call.__name__ == 'product'
    assert compiled.call.__doc__ == 'Multiply.'
    assert str(inspect.signature(compiled.call)) == '(q, *, out=None)'
    assert 'product(q (2,)) -> out (3,)' in repr(compiled)


def test_a_function_without_an_origin_is_copied_and_not_pickled(compiled):
    for one in (compiled, compiled.call):
        for twin in (copy.copy(one), copy.deepcopy([one])[0]):
            assert np.array_equal(twin(Q, V), compiled(Q, V))
        with pytest.raises(pickle.PicklingError, match='pickle what it is compiled from'):
            pickle.dumps(one)


def test_all_wrappers_agree_bit_by_bit(machine, monkeypatch, random_function):
    function = random_function(np.random.default_rng(5), outputs=9)
    rows = np.random.default_rng(6).normal(size=(20, 4))
    results = []
    for wrapper in ('native', 'portable'):
        monkeypatch.setenv('ROBOT_DYNAMICS_WRAPPER', wrapper)
        compiled = compile_program(function, {'x': 4})
        results += [compiled(rows), compiled(rows), [compiled(row) for row in rows]]
    assert all(np.array_equal(result, results[0]) for result in results)


def test_threads_of_the_portable_wrapper_have_memory_of_their_own(machine, monkeypatch):
    monkeypatch.setenv('ROBOT_DYNAMICS_WRAPPER', 'portable')
    compiled = compile_program(product, {'q': 2, 'v': 1}, name='product').bind(v=[2.0])
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(2000):
            q = rng.integers(-9, 9, 2).astype(float)
            result = compiled(q)
            if result.tolist() != [2 * q[0], 2 * q[1], q[0] + q[1]]:
                wrong.append(q)

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
