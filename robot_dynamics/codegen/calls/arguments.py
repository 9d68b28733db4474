# SPDX-License-Identifier: Apache-2.0
"""Checks and conversion of arguments: any array-like becomes rows for a kernel, or an error.

Every argument is `(..., size)`; leading axes broadcast as NumPy's do. A kernel reads each input as
rows `(N, size)` of float64 with adjacent entries. Rows may have any stride, also 0 (one row for
all samples) or negative, so slices of a larger table and shared vectors are not copied.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.codegen.tracing.program import Signature
from robot_dynamics.common.errors import ShapeError

Array = NDArray[np.float64]

# Beyond this effort the exact test for overlap ends, and the arrays count as overlapping. Some
# types of NumPy know no such effort: Any.
OVERLAP_EFFORT: Any = 10_000

# NumPy 1 has arrays of at most 32 axes, of which a result may need two.
MOST_LEADING_AXES = 30


def ordered(
    call: str, signature: Signature, positional: Sequence[Any], named: Mapping[str, Any]
) -> list[Any]:
    """Return the arguments in the order of the signature, as Python itself would bind them."""
    names = [name for name, _ in signature.inputs]
    usage = f'{call}({", ".join(names)}, *, out=None)'
    if len(positional) > len(names):
        raise TypeError(f'{usage} got {len(positional)} positional arguments')
    values = dict(zip(names, positional, strict=False))
    for name, value in named.items():
        if name not in names or name in values:
            raise TypeError(
                f'{usage} got {"a second" if name in values else "an unknown"} argument {name!r}'
            )
        values[name] = value
    missing = [name for name in names if name not in values]
    if missing:
        raise TypeError(f'{usage} misses {", ".join(missing)}')
    return [values[name] for name in names]


def all_as_vectors(
    call: str, inputs: Sequence[tuple[str, int]], values: Sequence[Any]
) -> list[Array]:
    """Return values as float64 of shape (..., size), given the names and sizes of the inputs.

    Raises:
        ShapeError: as `as_vectors`.
    """
    # Conversion can run code of the value's class, which may resize another array: shapes are
    # read after all values are converted.
    arrays = [
        _as_numbers(call, name, value, size)
        for (name, size), value in zip(inputs, values, strict=True)
    ]
    return [
        _checked_size(call, name, array, size)
        for (name, size), array in zip(inputs, arrays, strict=True)
    ]


def as_vectors(call: str, name: str, value: Any, size: int) -> Array:
    """Return a value as float64 of shape (..., size).

    Raises:
        ShapeError: the value is ragged, not made of real numbers, or its last axis has another
            length, or it has more axes than any result could have.
    """
    return _checked_size(call, name, _as_numbers(call, name, value, size), size)


def _as_numbers(call: str, name: str, value: Any, size: int) -> Array:
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise ShapeError(f'{call}: {name} cannot become an array: {error}') from error
    if array.dtype.kind not in 'fiu':
        raise ShapeError(
            f'{call}: {name} is {type(value).__name__} of dtype {array.dtype}, '
            f'expected real numbers (..., {size})'
        )
    return array.astype(np.float64, copy=False)


def _checked_size(call: str, name: str, array: Array, size: int) -> Array:
    if array.ndim == 0 or array.shape[-1] != size:
        raise ShapeError(f'{call}: {name} has shape {array.shape}, expected (..., {size})')
    if array.ndim - 1 > MOST_LEADING_AXES:
        raise ShapeError(
            f'{call}: {name} has {array.ndim - 1} leading axes, '
            f'expected at most {MOST_LEADING_AXES}'
        )
    return array


def leading_shape(call: str, names: Sequence[str], arrays: Sequence[Array]) -> tuple[int, ...]:
    """Return the broadcast shape of all axes but the last. Raises ShapeError."""
    shapes = {array.shape[:-1] for array in arrays}
    if len(shapes) == 1:
        return shapes.pop()
    try:
        return np.broadcast_shapes(*(array.shape[:-1] for array in arrays))
    except ValueError as error:
        given = ', '.join(
            f'{name} {array.shape}' for name, array in zip(names, arrays, strict=True)
        )
        raise ShapeError(f'{call}: the leading axes do not broadcast: {given}') from error


def as_rows(array: Array, leading: tuple[int, ...]) -> Array:
    """Return (..., size) as rows (N, size) with adjacent entries; a view if possible."""
    size = array.shape[-1]
    shape = (math.prod(leading), size)
    if array.ndim == 1 and array.flags.carray:
        # As np.broadcast_to has it, in a tenth of its time.
        return np.ndarray(shape, np.float64, array, strides=(0, array.itemsize))
    if array.shape[:-1] != leading:
        array = np.broadcast_to(array, shape if array.ndim == 1 else (*leading, size))
    rows = array.reshape(shape)
    adjacent = size < 2 or rows.strides[1] == rows.itemsize
    return rows if adjacent and rows.flags.aligned else np.array(rows, order='C', copy=True)


def as_outputs(call: str, signature: Signature, out: Any) -> list[Any]:
    """Return `out` as one array per output."""
    if len(signature.outputs) == 1:
        return [out]
    arrays = list(out) if isinstance(out, (tuple, list)) else []
    if len(arrays) != len(signature.outputs):
        names = ', '.join(name for name, _ in signature.outputs)
        raise ShapeError(
            f'{call}: out is {type(out).__name__}, '
            f'expected a tuple of {len(signature.outputs)}: {names}'
        )
    return arrays


def checked_output(
    call: str, name: str, given: Any, shape: tuple[int, ...], others: Sequence[Array]
) -> Array:
    """Return the memory of an output array, after a check that it can be filled.

    Raises:
        ShapeError: not a writeable native float64 array of this shape, or overlapping.
    """
    if not issubclass(type(given), np.ndarray):
        raise ShapeError(
            f'{call}: out for {name} is {type(given).__name__}, '
            f'expected a float64 array of shape {shape}'
        )
    # The shape that a subclass reports may differ from that of its memory.
    out: Array = np.asarray(given)
    if out.shape != shape or out.dtype != np.float64 or not out.dtype.isnative:
        raise ShapeError(
            f'{call}: out for {name} has shape {out.shape} and dtype {out.dtype}, '
            f'expected {shape} and float64'
        )
    if not out.flags.writeable:
        raise ShapeError(f'{call}: out for {name} is read-only')
    if any(_overlap(out, other) for other in others):
        raise ShapeError(
            f'{call}: out for {name} shares memory with another argument, '
            f'expected memory of its own'
        )
    if not out.flags.c_contiguous and _overlaps_itself(out):
        raise ShapeError(
            f'{call}: out for {name} has strides {out.strides}, with which entries share memory, '
            f'expected memory for each'
        )
    return out


def _overlaps_itself(array: Array) -> bool:
    """Return whether entries may share memory: a stride within the extent of shorter strides."""
    if not array.size:
        return False
    within = array.itemsize
    axes = zip(array.strides, array.shape, strict=True)
    for stride, length in sorted((abs(stride), length) for stride, length in axes if length > 1):
        if stride < within:
            return True
        within += stride * (length - 1)
    return False


def _overlap(a: Array, b: Array) -> bool:
    if not np.may_share_memory(a, b):
        return False
    try:
        return np.shares_memory(a, b, max_work=OVERLAP_EFFORT)
    except np.exceptions.TooHardError:
        return True
