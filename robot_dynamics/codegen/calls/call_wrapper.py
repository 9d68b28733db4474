# SPDX-License-Identifier: Apache-2.0
"""Portable call wrapper: `function(q, qd, ..., out=None)`, from any arrays to kernels and back.

It checks and converts all arguments in Python, then runs the kernels on rows; float64 vectors of
the right sizes take a shorter path. Where the interpreter supports it, `native_wrapper` handles
contiguous float64 vectors and small batches in machine code first and falls back to this wrapper.
Results are the same, bit by bit.
"""

import functools
import inspect
import itertools
import math
import pickle
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from types import SimpleNamespace
from typing import Any

import numpy as np

from robot_dynamics.codegen.calls.arguments import (
    Array,
    all_as_vectors,
    as_outputs,
    as_rows,
    checked_output,
    leading_shape,
    ordered,
)
from robot_dynamics.codegen.calls.kernels import Block, Kernels
from robot_dynamics.codegen.tracing.program import Signature

Wrapper = Callable[..., Any]

FLOAT64 = np.dtype(np.float64)


class Origin:
    """Owner of a call wrapper, which is its attribute of the same name.

    Attributes:
        unpickle_by: function that makes the compiled function, and its arguments, for pickling.
    """

    unpickle_by: tuple[Callable[..., Any], tuple[Any, ...]] | None = None

    def required(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Return `unpickle_by`. Raises PicklingError if it is None."""
        if self.unpickle_by is None:
            raise pickle.PicklingError(
                'a compiled function cannot be pickled alone; pickle what it is compiled from'
            )
        return self.unpickle_by

    def __reduce_ex__(self, _: Any) -> Any:
        return _owner, self.required()


def _owner(make: Callable[..., Any], arguments: tuple[Any, ...]) -> SimpleNamespace:
    call = make(*arguments).call
    return SimpleNamespace(**{call.__name__: call})


class PortableFunction:
    """A portable call wrapper, pickled as an attribute of its origin."""

    def __init__(self, call: Wrapper) -> None:
        functools.update_wrapper(self, call)
        self._call = call
        self.__self__ = Origin()

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Compute."""
        return self._call(*args, **named)

    def __reduce__(self) -> Any:
        return getattr, (self.__self__, self._call.__name__)

    def __copy__(self) -> 'PortableFunction':
        return self

    def __deepcopy__(self, _: Any) -> 'PortableFunction':
        return self


def portable_call(
    name: str,
    kernels: Kernels,
    bound: dict[str, Array],
    result_type: type[tuple[Any, ...]],
    documentation: str,
) -> Wrapper:
    """Return the call wrapper.

    Args:
        name: of the function, for its error messages.
        kernels: the program.
        bound: inputs that the caller does not pass, and their values.
        result_type: class of the result of several outputs, `tuple` or a NamedTuple.
        documentation: of the function.
    """
    free = tuple((key, size) for key, size in kernels.signature.inputs if key not in bound)
    single = single_sample(kernels, bound, result_type)
    batch = any_arrays(name, Signature(free, kernels.signature.outputs), kernels, bound)

    def call(*args: Any, out: Any = None, **named: Any) -> Any:
        if single and out is None and not named:
            result = single(args)
            if result is not None:
                return result
        results = batch(args, named, out)
        if len(results) == 1:
            return results[0]
        # A named tuple given as `out` is returned itself.
        return (
            out
            if type(out) not in (type(None), tuple, list)
            else tuple.__new__(result_type, results)
        )

    call.__name__ = call.__qualname__ = name
    call.__doc__ = documentation
    parameters = [Parameter(key, Parameter.POSITIONAL_OR_KEYWORD) for key, _ in free]
    out = Parameter('out', Parameter.KEYWORD_ONLY, default=None)
    call.__signature__ = inspect.Signature([*parameters, out])  # type: ignore[attr-defined]
    return call


def any_arrays(
    name: str, free: Signature, kernels: Kernels, bound: dict[str, Array]
) -> Callable[[Sequence[Any], Mapping[str, Any], Any], list[Any]]:
    """Return a function of positional and named arguments and `out`: it checks and converts them.

    Args:
        name: of the function, for its error messages.
        free: the signature of the function.
        kernels: the program.
        bound: its other inputs.
    """
    names = [key for key, _ in free.inputs]
    order = [key for key, _ in kernels.signature.inputs]

    def call(args: Sequence[Any], named: Mapping[str, Any], out: Any) -> list[Any]:
        targets = None if out is None else as_outputs(name, free, out)
        given = all_as_vectors(name, free.inputs, ordered(name, free, args, named))
        leading = leading_shape(name, names, given)
        inputs = dict(zip(names, given, strict=True)) | bound
        outputs = _outputs(name, free, leading, targets, given)
        _fill(outputs, kernels, [inputs[key] for key in order], leading)
        # As in NumPy, a new array without axes is a number.
        return targets or [array if array.ndim else array[()] for array in outputs]

    return call


def _fill(
    outputs: Sequence[Array], kernels: Kernels, inputs: Sequence[Array], leading: tuple[int, ...]
) -> None:
    """Compute outputs (*leading, ...) of inputs (..., size), which broadcast."""
    rows = [as_rows(array, leading) for array in inputs]
    # Kernels write rows; an output with gaps between its entries is filled through a copy.
    buffers = [array if array.flags.carray else np.empty(array.shape) for array in outputs]
    sample_count = math.prod(leading)
    if sample_count:
        shapes = [(sample_count, size) for size in kernels.signature.output_sizes]
        kernels.run(
            rows,
            [buffer.reshape(shape) for buffer, shape in zip(buffers, shapes, strict=True)],
        )
    for array, buffer in zip(outputs, buffers, strict=True):
        if buffer is not array:
            array[...] = buffer


def single_sample(
    kernels: Kernels, bound: Mapping[str, Array], result_type: type[tuple[Any, ...]]
) -> Callable[[Sequence[Any]], Any] | None:
    """Return a function of float64 vectors of the right sizes; of other arguments it returns None.

    Arguments are copied to memory whose addresses are known: asking NumPy for those of the
    arguments takes longer than a kernel. Threads never share a block.
    """
    if not kernels.has_blocks:
        return None
    spare: list[Block] = []
    inputs = kernels.signature.inputs
    free = [i for i, (key, _) in enumerate(inputs) if key not in bound]
    shapes = [(inputs[i][1],) for i in free]
    several = len(kernels.signature.outputs) > 1

    def new_block() -> Block:
        made = kernels.block()
        for (key, _), memory in zip(inputs, made.inputs, strict=True):
            if key in bound:
                memory[:] = bound[key]
        return made

    def call(vectors: Sequence[Any]) -> Any:
        if len(vectors) != len(shapes):
            return None
        for array, shape in zip(vectors, shapes, strict=True):
            if type(array) is not np.ndarray or array.dtype is not FLOAT64 or array.shape != shape:
                return None
        try:
            used = spare.pop()
        except IndexError:
            used = new_block()
        for i, vector in zip(free, vectors, strict=True):
            used.inputs[i][:] = vector
        used.compute()
        # As in NumPy, a new array without axes is a number.
        results = [array.copy() if array.ndim else array[()] for array in used.outputs]
        spare.append(used)
        return tuple.__new__(result_type, results) if several else results[0]

    return call


def choosing_call(
    portable: Wrapper, keyword: str, choices: Mapping[str, Callable[[], Wrapper]]
) -> Wrapper:
    """Return a call wrapper with one more keyword, which selects the program that is called.

    Args:
        portable: the call wrapper of the first choice, which is the default.
        keyword: the name of the argument.
        choices: by value of the argument, a function that returns the function to call.
    """
    default = next(iter(choices))

    def call(*args: Any, **named: Any) -> Any:
        if keyword not in named:
            return portable(*args, **named)
        choice = named.pop(keyword)
        if not isinstance(choice, str) or choice not in choices:
            raise ValueError(
                f'{portable.__name__}: {keyword} is {choice!r}; it must be one of '
                f'{", ".join(choices)}'
            )
        return choices[choice]()(*args, **named)

    functools.update_wrapper(call, portable)
    signature = inspect.signature(portable)
    parameters = [*signature.parameters.values()]
    parameters.append(Parameter(keyword, Parameter.KEYWORD_ONLY, default=default))
    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return call


def _outputs(
    name: str,
    signature: Signature,
    leading: tuple[int, ...],
    out: Sequence[Any] | None,
    inputs: list[Array],
) -> list[Array]:
    """Return new arrays, or the memory of the caller's own after a check."""
    shapes = [(key, (*leading, *shape)) for key, shape in signature.outputs]
    if out is None:
        if len(shapes) == 1:
            return [np.empty(shapes[0][1])]
        # Parts of one array: the memory of several large arrays is returned to the system after
        # each call and mapped again page by page in the next; that of one array is reused.
        sizes = [math.prod(shape) for _, shape in shapes]
        whole, ends = np.empty(sum(sizes)), itertools.accumulate(sizes)
        return [
            whole[end - size : end].reshape(shape)
            for end, size, (_, shape) in zip(ends, sizes, shapes, strict=True)
        ]
    arrays: list[Array] = []
    for (key, shape), array in zip(shapes, out, strict=True):
        arrays.append(checked_output(name, key, array, shape, [*inputs, *arrays]))
    return arrays
