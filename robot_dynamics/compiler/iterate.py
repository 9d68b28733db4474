"""A program applied again and again, each result the next argument: simulation, filters.

The loop runs inside the kernel. `iterate` keeps what happened to one sample: a trajectory is an
array whose rows follow each other in time, where step i reads row i of the state and writes row
i + 1. `advance` keeps the end alone, of any number of samples: several go side by side through all
steps before the next ones do, and threads share them.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from robot_dynamics.compiler.arguments import Array, as_rows, as_vectors, leading_shape, ordered
from robot_dynamics.compiler.entry import Kernels
from robot_dynamics.compiler.trace import Signature
from robot_dynamics.errors import ShapeError

# A call into machine code cannot be interrupted, and needs memory for inputs that change: it is of
# so many steps of all samples together, some milliseconds, but of a hundred each at least.
AT_ONCE = 250_000
FEWEST = 100
# One sample alone leaves its trajectory behind, which should not leave the fastest memory.
AT_ONCE_ALONE = 1000


def iterate(
    call: str,
    kernels: Kernels,
    bound: Mapping[str, Array],
    free: Signature,
    steps: int,
    values: Mapping[str, Any],
) -> list[Array]:
    """Return one trajectory per output; see CompiledFunction.iterate."""
    shapes = dict(free.outputs)
    rows = {name: as_rows(vector, (steps,)) for name, vector in bound.items()}
    trajectories = {name: np.empty((steps, *shape)) for name, shape in shapes.items()}
    given = ordered(call, free, (), values)
    for (name, size), value in zip(free.inputs, given, strict=True):
        vectors = as_vectors(call, name, value, size)
        if name in shapes:
            _require(call, f'output {name} has shape', shapes[name], [(size,)])
            _require(call, f'{name} has shape', vectors.shape, [(size,)])
            trajectories[name] = np.empty((steps + 1, size))
            trajectories[name][0] = vectors
            rows[name] = trajectories[name][:-1]
        else:
            _require(call, f'{name} has shape', vectors.shape, [(size,), (steps, size)])
            rows[name] = as_rows(vectors, (steps,))
    if steps:
        # The first row of what is fed back is given, not computed.
        buffers = [trajectories[name][-steps:].reshape(steps, -1) for name in shapes]
        kernels.scan([rows[name] for name, _ in kernels.signature.inputs], buffers)
    return [trajectories[name] for name in shapes]


def advance(
    call: str,
    kernels: Kernels,
    bound: Mapping[str, Array],
    free: Signature,
    steps: int,
    changing: Sequence[str],
    values: Mapping[str, Any],
) -> list[Array]:
    """Return the outputs (..., size) of the last step; see CompiledFunction.advance."""
    outputs = dict(free.outputs)
    for name in changing:
        if name in outputs or name not in dict(free.inputs):
            raise ShapeError(f'{call}: {name!r} is no input that could change from step to step')
    given, leading = _by_step(call, free, steps, changing, values)
    state = {}
    for name, shape in outputs.items():
        _require(call, f'output {name} has shape', shape, [(dict(free.inputs).get(name, -1),)])
        start = np.broadcast_to(given[name][..., 0, :], (*leading, *shape))
        state[name] = np.array(start, order='C')
    given |= {name: vector[None, :] for name, vector in bound.items()}
    samples = math.prod(leading)
    stretch = AT_ONCE_ALONE if samples == 1 else max(FEWEST, AT_ONCE // max(samples, 1))
    for begin in range(0, steps if samples else 0, stretch):
        count = min(stretch, steps - begin)
        now = {
            name: array[..., begin : begin + count, :] if name in changing else array
            for name, array in given.items()
        }
        now |= {name: array[..., None, :] for name, array in state.items()}
        if samples == 1:
            _advance_one(call, kernels, free, count, now, state)
        elif count == 1:
            _advance_once(kernels, leading, now, state)
        else:
            _advance_many(kernels, leading, count, now, state)
    return list(state.values())


def _by_step(
    call: str, free: Signature, steps: int, changing: Sequence[str], values: Mapping[str, Any]
) -> tuple[dict[str, Array], tuple[int, ...]]:
    """Return the inputs (..., steps or 1, size), and their leading axes broadcast."""
    given, vectors = {}, []
    for (name, size), value in zip(free.inputs, ordered(call, free, (), values), strict=True):
        array = as_vectors(call, name, value, size)
        if name in changing:
            _require(call, f'the last axes of {name} are', array.shape[-2:], [(steps, size)])
        else:
            array = array[..., None, :]
        given[name] = array
        vectors.append(array.reshape(*array.shape[:-2], math.prod(array.shape[-2:])))
    return given, leading_shape(call, list(given), vectors)


def _advance_one(
    call: str,
    kernels: Kernels,
    free: Signature,
    steps: int,
    given: Mapping[str, Array],
    state: Mapping[str, Array],
) -> None:
    """Take the state (..., size) of one sample through steps, in place."""
    rows = {name: array.reshape(-1, array.shape[-1]) for name, array in given.items()}
    values = {name: array[0] if len(array) == 1 else array for name, array in rows.items()}
    bound = {name: values.pop(name) for name in given if name not in dict(free.inputs)}
    trajectories = iterate(call, kernels, bound, free, steps, values)
    for array, trajectory in zip(state.values(), trajectories, strict=True):
        array[...] = trajectory[-1]


def _advance_once(
    kernels: Kernels,
    leading: tuple[int, ...],
    given: Mapping[str, Array],
    state: Mapping[str, Array],
) -> None:
    """Take the states (..., size) of many samples through a single step, in place."""
    rows = [as_rows(given[name][..., 0, :], leading) for name, _ in kernels.signature.inputs]
    results: list[Array] = [np.empty(array.shape) for array in state.values()]
    kernels.run(rows, [result.reshape(-1, result.shape[-1]) for result in results])
    for array, result in zip(state.values(), results, strict=True):
        array[...] = result


def _advance_many(
    kernels: Kernels,
    leading: tuple[int, ...],
    steps: int,
    given: Mapping[str, Array],
    state: Mapping[str, Array],
) -> None:
    """Take the states (..., size) of many samples through steps, in place."""
    columns = {name: as_columns(array, leading, kernels.lanes) for name, array in given.items()}
    kernels.march(
        [columns[name] for name, _ in kernels.signature.inputs],
        [columns[name] for name in state],
        steps,
    )
    for name, array in state.items():
        rows = columns[name].transpose(0, 3, 1, 2).reshape(-1, array.shape[-1])
        array[...] = rows[: math.prod(leading)].reshape(array.shape)


def as_columns(array: Array, leading: tuple[int, ...], lanes: int) -> Array:
    """Return (..., steps, size) as columns (blocks, steps, size, lanes), a copy.

    Without leading axes of its own, one block serves all samples. Lanes to spare in the last block
    repeat the last sample.
    """
    samples = math.prod(leading) if array.ndim > 2 else 1
    rows = np.broadcast_to(array, (*leading, *array.shape[-2:]) if array.ndim > 2 else array.shape)
    blocks = -(-samples // lanes)
    padded = np.empty((blocks * lanes, *array.shape[-2:]))
    padded[:samples] = rows.reshape(samples, *array.shape[-2:])
    padded[samples:] = padded[samples - 1]
    blocked = padded.reshape(blocks, lanes, *array.shape[-2:])
    return np.ascontiguousarray(blocked.transpose(0, 2, 3, 1))


def _require(call: str, what: str, shape: tuple[int, ...], right: list[tuple[int, ...]]) -> None:
    if shape not in right:
        raise ShapeError(f'{call}: {what} {shape}, expected {" or ".join(map(str, right))}')
