# SPDX-License-Identifier: Apache-2.0
"""Iteration of a program whose outputs are its next inputs: simulation, filters.

The loop runs inside the kernel. `iterate` returns the trajectory of one sample, an array with a
row for each time: step i reads row i of the state and writes row i + 1. `advance` returns the
final state of any number of samples: as many of them as there are lanes pass through all steps
together, and threads share the samples.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.codegen.calls.arguments import (
    Array,
    all_as_vectors,
    as_rows,
    leading_shape,
    ordered,
)
from robot_dynamics.codegen.calls.kernels import Kernels
from robot_dynamics.codegen.tracing.program import Signature
from robot_dynamics.common.errors import ShapeError

# Steps of all samples together in one call of machine code, some milliseconds, because a call
# cannot be interrupted and needs memory for changing inputs; and the fewest steps of each sample.
AT_ONCE = 250_000
FEWEST = 100
# Steps of a single sample, whose trajectory should fit into the first-level cache.
AT_ONCE_ALONE = 1000


class Path:
    """Memory for the trajectory of one sample under constant inputs, and the loop that fills it.

    To prepare both takes as long as a hundred steps of an arm: a path is used again.
    """

    def __init__(self, kernels: Kernels, bound: Mapping[str, Array]):
        inputs = kernels.signature.inputs
        self._given = {name: bound.get(name, np.empty(size)) for name, size in inputs}
        self._paths = []
        rows = {name: as_rows(x, (AT_ONCE_ALONE,)) for name, x in self._given.items()}
        for name, shape in kernels.signature.outputs:
            path = np.empty((AT_ONCE_ALONE + 1, *shape))
            self._paths.append(path)
            self._given[name], rows[name] = path[0], path[:-1]
        self._fill = kernels.scanner(
            [rows[name] for name, _ in inputs], [path[1:] for path in self._paths]
        )

    def end(self, steps: int, values: Mapping[str, Array]) -> list[Array]:
        """Return the outputs (size) of the last step: vectors (size,) of what is not bound."""
        for name, vector in values.items():
            self._given[name][...] = vector
        while steps > AT_ONCE_ALONE:
            self._fill(AT_ONCE_ALONE)
            for path in self._paths:
                path[0] = path[AT_ONCE_ALONE]
            steps -= AT_ONCE_ALONE
        self._fill(steps)
        return [path[steps].copy() for path in self._paths]


@dataclass(frozen=True)
class Feedback:
    """A function whose outputs are fed back into the inputs of their names."""

    call: str  # its name, for error messages
    kernels: Kernels
    bound: Mapping[str, Array]
    free: Signature  # without the bound inputs

    def iterate(self, steps: int, values: Mapping[str, Any]) -> list[Array]:
        """Return one trajectory per output; see CompiledFunction.iterate."""
        shapes = dict(self.free.outputs)
        rows = {name: as_rows(vector, (steps,)) for name, vector in self.bound.items()}
        trajectories = {name: np.empty((steps, *shape)) for name, shape in shapes.items()}
        named = ordered(self.call, self.free, (), values)
        given = all_as_vectors(self.call, self.free.inputs, named)
        for (name, size), vectors in zip(self.free.inputs, given, strict=True):
            if name in shapes:
                self._require(f'output {name} has shape', shapes[name], [(size,)])
                self._require(f'{name} has shape', vectors.shape, [(size,)])
                trajectories[name] = np.empty((steps + 1, size))
                trajectories[name][0] = vectors
                rows[name] = trajectories[name][:-1]
            else:
                self._require(f'{name} has shape', vectors.shape, [(size,), (steps, size)])
                rows[name] = as_rows(vectors, (steps,))
        if steps:
            # The first row of what is fed back is given, not computed.
            buffers = [trajectories[name][-steps:].reshape(steps, -1) for name in shapes]
            inputs = [rows[name] for name, _ in self.kernels.signature.inputs]
            self.kernels.scan(inputs, buffers)
        return [trajectories[name] for name in shapes]

    def advance(
        self, steps: int, changing: Sequence[str], values: Mapping[str, Any]
    ) -> list[Array]:
        """Return the outputs (..., size) of the last step; see CompiledFunction.advance."""
        inputs, outputs = dict(self.free.inputs), dict(self.free.outputs)
        for name in changing:
            if name in outputs or name not in inputs:
                raise ShapeError(
                    f'{self.call}: {name!r} is no input that could change from step to step'
                )
        given, leading = self._by_step(steps, changing, values)
        state = {}
        for name, shape in outputs.items():
            self._require(f'output {name} has shape', shape, [(inputs.get(name, -1),)])
            start = np.broadcast_to(given[name][..., 0, :], (*leading, *shape))
            state[name] = np.array(start, order='C')
        given |= {name: vector[None, :] for name, vector in self.bound.items()}
        samples = math.prod(leading)
        stretch = AT_ONCE_ALONE if samples == 1 else max(FEWEST, AT_ONCE // max(samples, 1))
        if samples > 1 and not self.kernels.lanes:
            stretch = 1
        for begin in range(0, steps if samples else 0, stretch):
            count = min(stretch, steps - begin)
            now = {
                name: array[..., begin : begin + count, :] if name in changing else array
                for name, array in given.items()
            }
            now |= {name: array[..., None, :] for name, array in state.items()}
            if samples == 1:
                self._advance_one(count, now, state)
            elif count == 1:
                self._advance_once(leading, now, state)
            else:
                self._advance_many(leading, count, now, state)
        return list(state.values())

    def _by_step(
        self, steps: int, changing: Sequence[str], values: Mapping[str, Any]
    ) -> tuple[dict[str, Array], tuple[int, ...]]:
        """Return the inputs (..., steps or 1, size), and their leading axes broadcast."""
        given, vectors = {}, []
        named = ordered(self.call, self.free, (), values)
        arrays = all_as_vectors(self.call, self.free.inputs, named)
        for (name, size), array in zip(self.free.inputs, arrays, strict=True):
            if name in changing:
                self._require(f'the last axes of {name} are', array.shape[-2:], [(steps, size)])
            else:
                array = array[..., None, :]
            given[name] = array
            vectors.append(array.reshape(*array.shape[:-2], math.prod(array.shape[-2:])))
        return given, leading_shape(self.call, list(given), vectors)

    def _advance_one(
        self, steps: int, given: Mapping[str, Array], state: Mapping[str, Array]
    ) -> None:
        """Take the state (..., size) of one sample through steps, in place."""
        rows = {name: array.reshape(-1, array.shape[-1]) for name, array in given.items()}
        values = {name: array[0] if len(array) == 1 else array for name, array in rows.items()}
        free = {name: values[name] for name, _ in self.free.inputs}
        for array, trajectory in zip(state.values(), self.iterate(steps, free), strict=True):
            array[...] = trajectory[-1]

    def _advance_once(
        self, leading: tuple[int, ...], given: Mapping[str, Array], state: Mapping[str, Array]
    ) -> None:
        """Take the states (..., size) of many samples through a single step, in place."""
        inputs = self.kernels.signature.inputs
        rows = [as_rows(given[name][..., 0, :], leading) for name, _ in inputs]
        results: list[Array] = [np.empty(array.shape) for array in state.values()]
        self.kernels.run(rows, [result.reshape(-1, result.shape[-1]) for result in results])
        for array, result in zip(state.values(), results, strict=True):
            array[...] = result

    def _advance_many(
        self,
        leading: tuple[int, ...],
        steps: int,
        given: Mapping[str, Array],
        state: Mapping[str, Array],
    ) -> None:
        """Take the states (..., size) of many samples through steps, in place."""
        lanes = self.kernels.lanes
        columns = {name: as_columns(array, leading, lanes) for name, array in given.items()}
        inputs = [columns[name] for name, _ in self.kernels.signature.inputs]
        self.kernels.rollout(inputs, [columns[name] for name in state], steps)
        for name, array in state.items():
            rows = columns[name].transpose(0, 3, 1, 2).reshape(-1, array.shape[-1])
            array[...] = rows[: math.prod(leading)].reshape(array.shape)

    def _require(self, what: str, shape: tuple[int, ...], right: list[tuple[int, ...]]) -> None:
        if shape not in right:
            expected = ' or '.join(map(str, right))
            raise ShapeError(f'{self.call}: {what} {shape}, expected {expected}')


def as_columns(array: Array, leading: tuple[int, ...], lanes: int) -> Array:
    """Return (..., steps, size) as columns (blocks, steps, size, lanes), a copy.

    Without leading axes of its own, one block serves all samples. Unused lanes in the last block
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
