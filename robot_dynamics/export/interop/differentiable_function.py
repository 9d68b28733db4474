# SPDX-License-Identifier: Apache-2.0
"""A function of vectors with its partial derivatives, made from compiled programs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robot_dynamics.codegen.calls import CompiledFunction
from robot_dynamics.codegen.calls.arguments import as_vectors
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.algorithms.payload import carrier_moments, with_payload
from robot_dynamics.core.dynamics import Dynamics

Programs = Sequence[CompiledFunction]


@dataclass(frozen=True)
class Differentiable:
    """A function of vectors, and its partial derivatives.

    Attributes:
        name: for messages.
        inputs: names and sizes of the arguments.
        shapes: of the results; their entries, row by row, are one vector here.
        value: takes float64 arrays (..., size of the input) whose leading axes broadcast, and
            returns (..., size), `out` where it is given.
        jacobian: takes the value, then the same; returns (..., size, entries of all inputs).
        derivative: the entries of the Jacobian, row by row, where they have derivatives too.
        collected: makes several results of a tuple.
        derivative_of: the function whose derivative this is, if it is called as such.
    """

    name: str
    inputs: Mapping[str, int]
    shapes: tuple[tuple[int, ...], ...]
    value: Callable[..., Array]
    jacobian: Callable[..., Array]
    derivative: Differentiable | None = None
    collected: Callable[..., Any] = tuple
    derivative_of: str = ''

    @property
    def sizes(self) -> list[int]:
        """Entries of each result."""
        return list(map(math.prod, self.shapes))

    @property
    def size(self) -> int:
        """Entries of all results."""
        return sum(self.sizes)

    @property
    def without_second(self) -> str:
        """The message of an error where second derivatives of this function are missing."""
        call = f'{self.derivative_of or self.name}({", ".join(self.inputs)})'
        order = 'third' if self.derivative_of else 'second'
        return (
            f'{call} has no {order} derivatives: for a cost of squared residuals use the '
            'Gauss-Newton Hessian J^T J, J being the Jacobian of the residuals; for other costs a '
            'method that needs gradients alone, such as L-BFGS'
        )


def differentiable(
    arm: Dynamics,
    name: str,
    inputs: Sequence[str],
    programs: Callable[[Dynamics], Programs],
    partials: Callable[..., Sequence[Array]],
    payload: str | None = None,
    by_payload: Callable[..., Array] | None = None,
) -> Differentiable:
    """Return a function of vectors (n), or of these and a payload.

    Args:
        arm: the robot.
        name: of the function.
        inputs: names of its arguments.
        programs: returns for a robot the program of the value, and those that `partials` uses.
        partials: takes the latter, the value, the arguments and, of a robot with a payload, the
            moments of its carrier; returns the derivatives by each argument, (..., size, n).
        payload: a link, or None.
        by_payload: takes the derivatives by the other arguments, the value, the regressor of the
            payload and the other arguments; returns the derivatives (..., size, 10). None if the
            value is linear in the payload.
    """
    sizes = dict.fromkeys(inputs, arm.model.n)
    if payload is None:
        plain, *others = programs(arm)

        def jacobian(result: Array, *arguments: Array, out: Array | None = None) -> Array:
            return np.concatenate(partials(others, result, *arguments), axis=-1, out=out)

        return Differentiable(name, sizes, _shapes(plain), _flat(plain), jacobian)

    carried = arm.with_payload(payload, 0.0)
    variation = carried.programs.variation
    assert variation is not None  # the payload's
    key = variation.carrier(payload)
    own, unit = _moments(carried, payload)
    plain, *others = (program.unbind(key) for program in programs(carried))
    result = _flat(plain)
    linear = result
    if by_payload is not None:
        linear = carried.program('inverse_dynamics').unbind(key).call

    def value(*arguments: Array, out: Array | None = None) -> Array:
        pi = as_vectors(name, 'payload', arguments[-1], 10)
        return result(*arguments[:-1], own + pi @ unit, out=out)

    def regressor(*arguments: Array) -> Array:
        # Columns by unit parameters.
        rows = linear(*each(*arguments), np.array([*unit, 0.0 * own]))
        return np.swapaxes(rows[..., :-1, :] - rows[..., -1:, :], -1, -2)

    def loaded_jacobian(found: Array, *arguments: Array, out: Array | None = None) -> Array:
        *given, pi = arguments
        J = np.concatenate(partials(others, found, *given, own + pi @ unit), axis=-1)
        column = by_payload(J, found, regressor, *given) if by_payload else regressor(*given)
        return np.concatenate([J, np.broadcast_to(column, (*J.shape[:-1], 10))], axis=-1, out=out)

    return Differentiable(name, {**sizes, 'payload': 10}, _shapes(plain), value, loaded_jacobian)


def with_derivative(of: Differentiable, second: Callable[..., Array]) -> Differentiable:
    """Return a function with second derivatives: the Jacobian of its Jacobian in one vector."""

    def slopes(*arguments: Array, out: Array | None = None) -> Array:
        J = of.jacobian(of.value(*arguments), *arguments)
        return filled(J.reshape(*J.shape[:-2], math.prod(J.shape[-2:])), out)

    shape = (of.size * sum(of.inputs.values()),)
    name = f'the derivative of {of.name}'
    derivative = Differentiable(name, of.inputs, (shape,), slopes, second, derivative_of=of.name)
    return replace(of, derivative=derivative)


def filled(found: Array, out: Array | None) -> Array:
    """Return an array, in `out` where it is given."""
    if out is None:
        return found
    out[...] = found
    return out


def each(*vectors: Array) -> list[Array]:
    """Return vectors with an axis for several directions."""
    return [v[..., None, :] for v in vectors]


def _shapes(program: CompiledFunction) -> tuple[tuple[int, ...], ...]:
    return tuple(shape for _, shape in program.signature.outputs)


def _flat(program: CompiledFunction) -> Callable[..., Array]:
    """Return the call of a program, the entries of its outputs in one vector."""
    shapes = _shapes(program)
    if len(shapes) == 1 and len(shapes[0]) == 1:
        return program.call

    def flat(*arguments: Array, out: Array | None = None) -> Array:
        results = program.call(*arguments)
        parts = results if len(shapes) > 1 else (results,)
        rows = [
            np.reshape(x, (*np.shape(x)[: np.ndim(x) - len(shape)], math.prod(shape)))
            for x, shape in zip(parts, shapes, strict=True)
        ]
        return filled(rows[0], out) if len(rows) == 1 else np.concatenate(rows, axis=-1, out=out)

    return flat


def _moments(arm: Dynamics, link: str) -> tuple[Array, Array]:
    """Return the moments (10) of the body of a link, and what unit payloads add, rows (10, 10)."""
    own = np.array(carrier_moments(arm.tree, link))
    loaded = [carrier_moments(with_payload(arm.tree, link, e), link) for e in np.eye(10).tolist()]
    return own, np.array(loaded) - own
