# SPDX-License-Identifier: Apache-2.0
"""Compiled functions of arrays, made from functions of scalars.

A `CompiledFunction` is called like any function. Its attribute `call` is the callable without the
overhead of this object.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from robot_dynamics.codegen.backends import machine_code
from robot_dynamics.codegen.backends.python import (
    TooLarge,
    interpreted,
    interpreted_loops,
    python_function,
)
from robot_dynamics.codegen.calls import native_wrapper
from robot_dynamics.codegen.calls.arguments import Array, as_vectors
from robot_dynamics.codegen.calls.call_wrapper import (
    Origin,
    PortableFunction,
    Wrapper,
    choosing_call,
    portable_call,
)
from robot_dynamics.codegen.calls.iteration import Feedback, Path
from robot_dynamics.codegen.calls.kernels import Kernels, MachineKernels, PythonKernels
from robot_dynamics.codegen.calls.recipe import Recipe
from robot_dynamics.codegen.calls.threads import VariableError
from robot_dynamics.codegen.loops.loop_program import LoopForm, LoopProgram
from robot_dynamics.codegen.tracing.program import Signature
from robot_dynamics.common.errors import RobotDynamicsError, ShapeError

BACKENDS = ('auto', 'llvm', 'python')

# Selects the call wrapper: in machine code, in Python, or Python without machine code.
WRAPPER_VARIABLE = 'ROBOT_DYNAMICS_WRAPPER'
WRAPPERS = ('auto', 'native', 'portable', 'python')


class CompilerMissing(RobotDynamicsError, RuntimeError):  # noqa: N818  (as in "no compiler here")
    """Machine code is required, but cannot be generated."""


def compile_program(
    function: Callable[..., Any],
    inputs: Mapping[str, int],
    *,
    name: str = 'program',
    key: str | None = None,
    outputs: Sequence[str] | None = None,
    result_type: type[tuple[Any, ...]] | Callable[..., Any] = tuple,
    backend: str = 'auto',
    documentation: str = '',
    loops: LoopForm | None = None,
) -> 'CompiledFunction':
    """Return a fast function of arrays that computes what `function` computes on scalars.

    Args:
        function: takes one list of scalars per input and returns nested lists of scalars, or a
            tuple of these for several outputs (see `trace`). It is run only if the cache does not
            contain its program.
        inputs: name and size of each input vector.
        name: of the function, in its documentation and error messages.
        key: names the computation in the cache on disk: it must change whenever the result of
            `function` would. Without it, `function` is run to see what it computes.
        outputs: names of the outputs.
        result_type: class of several outputs: `tuple`, or a NamedTuple (or its `_make`).
        backend: 'llvm' for machine code, 'python' for none, 'auto' for machine code if llvmlite is
            there. A program of more than `python.LARGEST` operations is never compiled.
        documentation: of the function.
        loops: how the same is recorded as loops, for when it has many operations.

    Raises:
        TraceError: `function` cannot be recorded.
        CompilerMissing: `backend` is 'llvm' and llvmlite is missing or too old.
    """
    if backend not in BACKENDS:
        raise ValueError(f'backend {backend!r}, expected one of {", ".join(BACKENDS)}')
    recipe = Recipe(function, inputs, name, outputs, key, loops)
    kernels = _kernels(recipe, backend)
    # The class of a method `_make`: it is filled without the help of Python code.
    result_class: Any = getattr(result_type, '__self__', result_type)
    return CompiledFunction(name, kernels, {}, result_class, documentation)


def _kernels(recipe: Recipe, backend: str) -> Kernels:
    """Return kernels of machine code, of Python source, or that interpret the program."""
    try:
        if _use_llvm(backend):
            return MachineKernels(replace(recipe, vectors=True))
        program = recipe.program
        is_loops = isinstance(program, LoopProgram)
        return PythonKernels(program, interpreted_loops if is_loops else python_function)
    except TooLarge as large:
        return PythonKernels(large.program, interpreted)


def _use_llvm(backend: str) -> bool:
    """Tell whether to make machine code."""
    if backend == 'python' or (backend == 'auto' and os.environ.get(WRAPPER_VARIABLE) == 'python'):
        return False
    reason = machine_code.why_not()
    if reason and backend == 'llvm':
        raise CompilerMissing(f'no machine code can be made here: {reason}')
    return reason is None


def _use_native(kernels: MachineKernels) -> bool:
    """Tell whether to use the native call wrapper."""
    choice = os.environ.get(WRAPPER_VARIABLE, 'auto')
    if choice not in WRAPPERS:
        raise VariableError(
            f'{WRAPPER_VARIABLE} is {choice!r}, expected one of {", ".join(WRAPPERS)}'
        )
    reason = native_wrapper.why_not()
    if reason and choice == 'native':
        raise CompilerMissing(f'{WRAPPER_VARIABLE} requires the native call wrapper: {reason}')
    if reason or choice not in ('auto', 'native'):
        return False
    # Several outputs of which one is a number are left to the portable wrapper.
    shapes = [shape for _, shape in kernels.signature.outputs]
    return len(shapes) == 1 or () not in shapes


class CompiledFunction:
    """A function of arrays `(..., size)`, its last axes fixed, its leading axes broadcast.

    Attributes:
        call: the bare callable, without the overhead of this object; same arguments.
        name, signature: what it is called, what it takes and gives. Bound inputs are not part of
            the signature.
        backend: 'llvm' or 'python'.
        wrapper: 'native' or 'portable', the call wrapper.
        kernels: the compiled or evaluated program.
    """

    def __init__(
        self,
        name: str,
        kernels: Kernels,
        bound: Mapping[str, Array],
        result_type: type[tuple[Any, ...]],
        documentation: str,
        choice: tuple[str, Mapping[str, Callable[[], Wrapper]]] | None = None,
    ) -> None:
        self.name = name
        self.backend = kernels.backend
        free = tuple((key, size) for key, size in kernels.signature.inputs if key not in bound)
        self.signature = Signature(free, kernels.signature.outputs)
        portable = portable_call(name, kernels, dict(bound), result_type, documentation)
        if choice is not None:
            portable = choosing_call(portable, *choice)
        if isinstance(kernels, MachineKernels) and _use_native(kernels):
            self.call: Wrapper = native_wrapper.make_native_call(
                kernels, bound, portable, result_type, documentation
            )
            self.wrapper = 'native'
        else:
            self.call = PortableFunction(portable)
            self.wrapper = 'portable'
        self.kernels = kernels
        self._bound = dict(bound)
        self._result_type = result_type
        self._documentation = documentation
        self._paths: list[Path] = []

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Compute. Positional or named inputs `(..., size)`; `out=` takes the arrays to fill."""
        return self.call(*args, **named)

    def bind(self, **values: Any) -> 'CompiledFunction':
        """Return this function with some inputs fixed to copies; nothing is compiled again.

        Raises:
            ShapeError: a value is not a vector of the input's size, or no input has that name.
        """
        sizes = dict(self.kernels.signature.inputs)
        bound = dict(self._bound)
        for key, value in values.items():
            if key not in sizes:
                raise ShapeError(
                    f'{self.name}: no input {key!r} to bind, the inputs are {", ".join(sizes)}'
                )
            vector = as_vectors(self.name, key, value, sizes[key])
            if vector.ndim != 1:
                raise ShapeError(
                    f'{self.name}: {key} has shape {vector.shape}, '
                    f'expected ({sizes[key]},) to bind it'
                )
            bound[key] = np.array(vector)
        return CompiledFunction(
            self.name, self.kernels, bound, self._result_type, self._documentation
        )

    def unbind(self, name: str) -> 'CompiledFunction':
        """Return this function with a bound input given at every call again.

        Raises:
            KeyError: no input of that name is bound.
        """
        bound = dict(self._bound)
        del bound[name]
        return CompiledFunction(
            self.name, self.kernels, bound, self._result_type, self._documentation
        )

    def unpickle_by(self, make: Callable[..., Any], *arguments: Any) -> None:
        """Let the function and its `call` be pickled: `make(*arguments)` returns this function."""
        self._origin.unpickle_by = make, arguments

    @property
    def _origin(self) -> Origin:
        origin: Origin = self.call.__self__  # type: ignore[attr-defined]
        return origin

    def __reduce__(self) -> Any:
        return self._origin.required()

    def __copy__(self) -> 'CompiledFunction':
        return self

    def __deepcopy__(self, _: Any) -> 'CompiledFunction':
        return self

    def choosing(
        self, keyword: str, choices: Mapping[str, Callable[[], Wrapper]]
    ) -> 'CompiledFunction':
        """Return this function with one more keyword, which selects the program that is called.

        Calls without the keyword take the same time as before.

        Args:
            keyword: the name of the argument.
            choices: by value, a function that returns the callable. The first one is the default;
                its callable computes what this function computes.
        """
        choice = keyword, choices
        documentation = self._documentation
        made = CompiledFunction(
            self.name, self.kernels, self._bound, self._result_type, documentation, choice
        )
        made._origin.unpickle_by = self._origin.unpickle_by
        return made

    def precompile(self) -> None:
        """Compile, and cache on disk, what is otherwise compiled at the first batch or loop."""
        if isinstance(self.kernels, MachineKernels):
            self.kernels.precompile()

    def iterate(self, steps: int, **values: Any) -> Any:
        """Apply the function again and again, each output fed back into the input of its name.

        Args:
            steps: how often.
            values: the inputs by name. One that is fed back starts as the vector (size,) given;
                any other is a vector used at every step, or (steps, size), a row for each.

        Returns:
            The trajectory of each output: (steps + 1, size) of one that is fed back, what was
            given included; (steps, *shape) of any other.

        Raises:
            ShapeError: an input has another shape, or an output that of no vector to feed back.
        """
        return self._packed(self._feedback().iterate(steps, values))

    def end(self, steps: int, **values: Array) -> Any:
        """Return what `advance` returns for one sample, in less time and without its checks.

        Args:
            steps: how often.
            values: all inputs by name, float64 vectors (size,). Each output is fed back into the
                input of its name.
        """
        try:
            path = self._paths.pop()  # no other thread uses it now
        except IndexError:
            path = Path(self.kernels, self._bound)
        results = path.end(steps, values)
        self._paths.append(path)
        return self._packed(results)

    def advance(self, steps: int, *, changing: Sequence[str] = (), **values: Any) -> Any:
        """Apply the function again and again to any number of samples, and return the end.

        Samples are computed in lanes and by several threads; each has the bits that it has alone.

        Args:
            steps: how often.
            changing: names of inputs that are given anew for every step: (..., steps, size).
            values: the inputs by name, (..., size). Each output is fed back into its input.

        Returns:
            The outputs (..., size) of the last step; what was given if there is none.

        Raises:
            ShapeError: an input has another shape, or an output that of no input of its name.
        """
        return self._packed(self._feedback().advance(steps, changing, values))

    def _feedback(self) -> Feedback:
        return Feedback(self.name, self.kernels, self._bound, self.signature)

    def _packed(self, results: list[Array]) -> Any:
        return results[0] if len(results) == 1 else tuple.__new__(self._result_type, results)

    def __repr__(self) -> str:
        inputs = ', '.join(f'{key} ({size},)' for key, size in self.signature.inputs)
        outputs = ', '.join(f'{key} {shape}' for key, shape in self.signature.outputs)
        return f'<{self.name}({inputs}) -> {outputs}; {self.backend}, {self.wrapper} wrapper>'
