"""A program run in Python, on floats or on the columns of a batch, where there is no compiler."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from robot_dynamics.codegen.backends.python import Function, python_function
from robot_dynamics.codegen.calls.arguments import Array
from robot_dynamics.codegen.calls.call_wrapper import Kernels


class PythonKernels(Kernels):
    """Runs a program in Python on rows of arrays.

    Args:
        program: what is run.
        function: what makes a function of it.
    """

    backend = 'python'

    def __init__(
        self, program: Any, function: Callable[[Any], Function] = python_function
    ) -> None:
        self.signature = program.signature
        make = function(program)
        self._on_floats, self._on_arrays = make(math), make(np)

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Fill outputs (N, size) from inputs (N, size)."""
        if outputs[0].shape[0] == 1:
            results = self._single([array[0].tolist() for array in inputs])
        else:
            results = self._batch([list(array.T) for array in inputs])
        for output, entries in zip(outputs, results, strict=True):
            for i, entry in enumerate(entries):
                output[:, i] = entry

    def _single(self, inputs: list[list[float]]) -> Sequence[Any]:
        try:
            return self._several(self._on_floats(*inputs))
        except (ValueError, ArithmeticError):
            # sin(inf), 1/0, sqrt(-1): floats raise, arrays give the not-a-number that kernels
            # give.
            return self._batch([[np.array([entry]) for entry in vector] for vector in inputs])

    def _batch(self, inputs: list[list[Array]]) -> Sequence[Any]:
        with np.errstate(all='ignore'):
            return self._several(self._on_arrays(*inputs))

    def _several(self, returned: Any) -> Sequence[Any]:
        return returned if len(self.signature.outputs) > 1 else (returned,)
