"""A program applied again and again, each result the next argument: simulation, filters.

The loop runs inside the kernel. A trajectory is an array whose rows follow each other in time:
step i reads row i of the state and writes row i + 1 of the same array.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from robot_dynamics.compiler.arguments import Array, as_rows, as_vectors, ordered
from robot_dynamics.compiler.entry import Kernels
from robot_dynamics.compiler.trace import Signature
from robot_dynamics.errors import ShapeError


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


def _require(call: str, what: str, shape: tuple[int, ...], right: list[tuple[int, ...]]) -> None:
    if shape not in right:
        raise ShapeError(f'{call}: {what} {shape}, expected {" or ".join(map(str, right))}')
