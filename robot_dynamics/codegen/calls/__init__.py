# SPDX-License-Identifier: Apache-2.0
"""Compiled programs as functions of arrays, with broadcasting, batches, threads and iteration.

    >>> import numpy as np
    >>> from robot_dynamics.codegen.calls import compile_program
    >>> def polar(q, gain):
    ...     return [gain[0] * q[0] * q[1].cos(), gain[0] * q[0] * q[1].sin()]
    >>> point = compile_program(polar, {'q': 2, 'gain': 1}).bind(gain=[2.0])
    >>> point(np.array([1.0, 0.0]))
    array([2., 0.])

==================  ==============================================================================
`function`          `compile_program` and the `CompiledFunction` it returns
`recipe`            what a program is made from, and which form it takes
`kernels`           programs that run on rows of arrays
`threads`           large batches over several cores
`arguments`         checks, conversion and broadcasting of arguments
`call_wrapper`      the portable call wrapper, in Python
`native_wrapper`    the call wrapper in machine code, and whether the interpreter supports it
`native_source`     its functions in LLVM's language
`native_writer`     checks of Python objects, and new and recycled results, in that language
`iteration`         a program applied repeatedly: simulation
==================  ==============================================================================
"""

from robot_dynamics.codegen.calls.function import CompiledFunction as CompiledFunction
from robot_dynamics.codegen.calls.function import CompilerMissing as CompilerMissing
from robot_dynamics.codegen.calls.function import compile_program as compile_program
