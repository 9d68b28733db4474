"""A compiler of scalar programs: it records what a Python function computes and makes that fast.

    >>> import numpy as np
    >>> from robot_dynamics.compiler import compile_program
    >>> def polar(q, gain):
    ...     return [gain[0] * q[0] * q[1].cos(), gain[0] * q[0] * q[1].sin()]
    >>> point = compile_program(polar, {'q': 2, 'gain': 1}).bind(gain=[2.0])
    >>> point(np.array([1.0, 0.0]))
    array([2., 0.])

It knows nothing of robots. In the order in which a function passes through it:

==================  ==============================================================================
`trace`             run it on recording scalars,
`graph`             whose operations are shared and folded,
`program`           and what is recorded: a folded, straight-line `Program`
`python_source`     program to Python: the fallback, and the form to read
`interpreter`       a program too large to compile, evaluated as it stands
`llvm_writer`       LLVM's assembly language, an instruction a line
`elementary`        sine, cosine and hyperbolic tangent in that language, with a stated error
`sums`              sums of products as chains of fused multiply-adds
`lanes`             vectors in a program, and how to do without
`arithmetic`        the nodes of a program, in that language
`llvm_functions`    what is around them: parameters, and loops over samples and steps
`llvm_source`       program to that language: for one sample, rows of arrays, many steps
`rolled.program`    what grows too long for a straight line: loops over the rows of a tree,
`rolled.trace`      the same functions, recorded for each kind of rows,
`rolled.assembly`   and put into loops;
`rolled.python`     these in Python,
`rolled.loops`      in LLVM's language, for one sample and for many,
`rolled.llvm`       as functions of the same form as those of straight lines
`machine_code`      that language to machine code, through llvmlite
`object_file`       machine code to memory, without llvmlite where it can be
`cache`             machine code on disk, checked before it is used
`kernels`           all of these for one program, each made when it is needed
`threads`           large batches over several cores
`arguments`         any array-like in, checked and broadcast, to rows
`entry`             what users call, from arrays to kernels and back
`iterate`           a program applied again and again: simulation
`entry_source`      the commonest call in machine code,
`native_entry`      and whether this interpreter allows it
`compiled`          the door: all of the above put together
==================  ==============================================================================
"""

from robot_dynamics.compiler.compiled import CompiledFunction as CompiledFunction
from robot_dynamics.compiler.compiled import compile_program as compile_program
from robot_dynamics.compiler.graph import TraceError as TraceError
from robot_dynamics.compiler.program import Program as Program
from robot_dynamics.compiler.rolled.program import Coordinates as Coordinates
from robot_dynamics.compiler.rolled.program import Rolled as Rolled
from robot_dynamics.compiler.rolled.program import Rows as Rows
from robot_dynamics.compiler.trace import Scalar as Scalar
from robot_dynamics.compiler.trace import trace as trace
