"""Compiled programs as functions of arrays: any array-like in, batches, threads, new results.

    >>> import numpy as np
    >>> from robot_dynamics.codegen.calls import compile_program
    >>> def polar(q, gain):
    ...     return [gain[0] * q[0] * q[1].cos(), gain[0] * q[0] * q[1].sin()]
    >>> point = compile_program(polar, {'q': 2, 'gain': 1}).bind(gain=[2.0])
    >>> point(np.array([1.0, 0.0]))
    array([2., 0.])

What it calls comes from `compiler`, as straight lines, or from `rolled`, as loops.

==================  ==============================================================================
`function`          the door: all of the below put together
`recipe`            what a program is made from, and which form it takes
`kernels`           the machine code of a program, for one sample, many, and many steps, each made
                    when it is needed,
`writers`           from the texts of straight lines or loops
`python_kernels`    the same without machine code
`threads`           large batches over several cores
`arguments`         any array-like in, checked and broadcast, to rows
`entry`             what users call, from arrays to kernels and back
`iterate`           a program applied again and again: simulation
`entry_writer`      checks of Python objects in LLVM's language,
`wrapper_source`      of which the commonest calls are made, in machine code,
`native_entry`      and whether this interpreter allows it
==================  ==============================================================================
"""

from robot_dynamics.codegen.calls.function import CompiledFunction as CompiledFunction
from robot_dynamics.codegen.calls.function import CompilerMissing as CompilerMissing
from robot_dynamics.codegen.calls.function import compile_program as compile_program
