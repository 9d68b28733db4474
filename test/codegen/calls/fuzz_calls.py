# SPDX-License-Identifier: Apache-2.0
"""Call compiled functions with everything wrong, many times: the process of test_fuzz.py.

Every call must give the right result, or raise ShapeError or TypeError, and leave alone all
memory but `out`.
"""

import gc
import os
import random
import sys
import threading

import numpy as np

from robot_dynamics.codegen.calls import compile_program, threads
from robot_dynamics.common.errors import ShapeError

SIZES = {'a': 3, 'b': 1, 'c': 9}


def function(a, b, c):
    """Mix all inputs, so that a wrong byte anywhere shows."""
    total = sum((x * (1.0 + k) for k, x in enumerate([*a, *b, *c])), 0.0 * a[0])
    return [total, total * b[0], a[1] * c[8], total.tanh(), *c]


def reference(a, b, c):
    leading = np.broadcast_shapes(a.shape[:-1], b.shape[:-1], c.shape[:-1])
    a, b, c = (np.broadcast_to(x, (*leading, x.shape[-1])) for x in (a, b, c))
    total = np.concatenate([a, b, c], axis=-1) @ np.arange(1.0, 14.0)
    columns = [total, total * b[..., 0], a[..., 1] * c[..., 8], np.tanh(total)]
    return np.concatenate([np.stack(columns, axis=-1), c], axis=-1)


class Subclass(np.ndarray):
    """An ndarray that is not exactly one."""


def array(rng, size):
    """Return an array-like that is often right and often not."""
    size = size if rng.random() < 0.9 else rng.randrange(12)
    shape = (*rng.choice([(), (), (), (1,), (2,), (7,), (8,), (9,), (4, 2), (0,), (257,)]), size)
    value = np.random.default_rng(rng.randrange(1 << 32)).normal(size=shape)
    kind = rng.randrange(16)
    if kind == 0:
        return value.tolist()
    if kind == 1:
        return value.astype(rng.choice(['f4', '>f8', 'i8', 'u1', 'g', 'c16', 'O', '?', 'U8']))
    if kind == 2:
        return value.view(Subclass)
    if kind == 3:
        return np.repeat(value, 2, axis=-1)[..., ::2]
    if kind == 4:
        return value[..., ::-1]
    if kind == 5:
        return np.asfortranarray(value)
    if kind == 6:
        value.flags.writeable = False
    if kind == 7:
        return np.frombuffer(b'#' + value.tobytes(), np.uint8)[1:].view(float).reshape(shape)
    if kind == 8:
        return rng.choice(
            [None, 'text', b'bytes', 1.5, object(), {}, [[1.0], [1.0, 2.0]], 10**400]
        )
    if kind == 9:
        return np.broadcast_to(value, (3, *shape))
    return value


def target(rng, inputs):
    """Return an `out`, or None."""
    kind = rng.randrange(12)
    arrays = [x for x in inputs if isinstance(x, np.ndarray)]
    leading = np.broadcast_shapes(*(x.shape[:-1] for x in arrays if x.ndim)) if arrays else ()
    if kind < 5:
        return None
    if kind < 8:
        return np.empty((*leading, 13))
    if kind == 8 and arrays:
        return rng.choice(arrays)
    if kind == 9:
        return np.empty((*leading, 26))[..., ::2]
    if kind == 10:
        return rng.choice(
            [3, 'out', [1.0] * 13, np.empty(12), np.empty(13, 'f4'), (np.empty(13),)]
        )
    locked = np.empty((*leading, 13))
    locked.flags.writeable = False
    return locked


def one_call(rng, call):
    inputs = [array(rng, size) for size in SIZES.values()]
    try:
        out = target(rng, inputs)
    except ValueError:
        out = None
    before = [np.array(x) if isinstance(x, np.ndarray) else None for x in inputs]
    named = {} if out is None else {'out': out}
    positional = inputs[: rng.choice([3, 3, 3, 3, 2, 0])]
    if rng.random() < 0.8:
        named |= dict(zip(list(SIZES)[len(positional) :], inputs[len(positional) :], strict=True))
    if rng.random() < 0.02:
        named['nonsense'] = 1
    try:
        result = call(*positional, **named)
    except (ShapeError, TypeError):
        result = None
    else:
        expected = reference(*(np.asarray(x, dtype=float) for x in inputs))
        np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-9)
        assert out is None or result is out
    for x, kept in zip(inputs, before, strict=True):
        if isinstance(x, np.ndarray) and not (result is out and out is not None and x is out):
            assert x.dtype.kind == 'O' or np.array_equal(x, kept, equal_nan=x.dtype.kind in 'fc')
    return result is not None


def main(seed, calls):
    """Fuzz both call wrappers, in several threads at once and across a fork."""
    threads.SMALLEST_PART = 500
    compiled = compile_program(function, SIZES, name='mixed')
    numbers = []

    def run(number):
        rng = random.Random(seed + number)
        numbers.append(sum(one_call(rng, compiled.call) for _ in range(calls)))

    run(0)
    callers = [threading.Thread(target=run, args=(k,)) for k in (1, 2)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    if hasattr(os, 'fork'):
        child = os.fork()
        if child == 0:
            run(3)
            os._exit(0 if len(numbers) == 4 else 1)
        assert os.waitpid(child, 0)[1] == 0
    gc.collect()
    # Some calls were right, some wrong, in every thread.
    assert len(numbers) == 3
    assert all(0 < number < calls for number in numbers)


if __name__ == '__main__':
    main(int(sys.argv[1]), int(sys.argv[2]))
