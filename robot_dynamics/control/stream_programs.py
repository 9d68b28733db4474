# SPDX-License-Identifier: Apache-2.0
"""Arithmetic of the path of a stream, `core.algorithms.stream_polyline`, in machine code.

A message of a stream takes some hundred operations of NumPy otherwise, 0.2 ms.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.codegen.calls import compile_program
from robot_dynamics.common.spatial import Array
from robot_dynamics.control.trajectory import Reference
from robot_dynamics.core.algorithms import stream_polyline as polyline
from robot_dynamics.core.algorithms.stream_polyline import Segment, Slopes, StreamLimits
from robot_dynamics.core.programs import make_all_kernels, version_of


class StreamPrograms(NamedTuple):
    """Functions of arrays for n joints: those of `stream_polyline`, each input an array."""

    next_slopes: Callable[..., Slopes]  # the last two inputs: limits (4 n), segment (4)
    corner_after: Callable[..., Array]
    counted_from: Callable[..., Array]
    mean_of_mean: Callable[..., Reference]


@functools.cache
def stream_programs(n: int) -> StreamPrograms:
    """Return the programs for n joints, compiled."""

    def slopes(p: Any, goal: Any, rate: Any, least: Any, largest: Any, *more: Any) -> Any:
        *limits, segment = more
        return polyline.next_slopes(
            p, goal, rate, least, largest, StreamLimits(*limits), Segment(*segment)
        )

    def after(corner: Any, slope: Any, d: Any) -> Any:
        return polyline.corner_after(corner, slope, d[0])

    def counted(corner: Any, first: Any, past: Any) -> Any:
        return polyline.counted_from(corner, first, past[0])

    def mean(corners: Any, origin: Any, after: Any, window: Any) -> Any:
        return polyline.mean_of_mean(corners, origin, after, window[0])

    # Several corners are counted at once.
    positions = 'p', 'goal', 'rate', 'least', 'largest', *StreamLimits._fields
    return StreamPrograms(
        _compiled(slopes, dict.fromkeys(positions, n) | {'segment': 4}, Slopes),
        _compiled(after, {'corner': 4 * n, 'slope': n, 'd': 1}),
        _compiled(counted, {'corner': 4 * n, 'first': 4 * n, 'past': 1}, batches=True),
        _compiled(mean, {'corners': 12 * n, 'origin': n, 'after': 3, 'window': 1}, Reference),
    )


def _compiled(
    function: Callable[..., Any],
    inputs: Mapping[str, int],
    result: Any = None,
    *,
    batches: bool = False,
) -> Callable[..., Any]:
    """Return a function of arrays, compiled.

    Args:
        function: of scalars.
        inputs: name and size of each input.
        result: NamedTuple of several outputs; None for one.
        batches: whether it is called with many samples.
    """
    name = function.__name__
    outputs = {} if result is None else {'outputs': result._fields, 'result_type': result._make}
    made = compile_program(
        function,
        inputs,
        name=f'stream_{name}',
        key=f'stream {name} {dict(inputs)} {version_of(__name__)}',
        **outputs,
    )
    made(*map(np.ones, inputs.values()))
    if batches:
        make_all_kernels(made)
    return made.call
