"""A compiler of scalar programs: it records what a Python function computes and makes that fast.

    >>> from robot_dynamics.codegen.tracing import trace
    >>> from robot_dynamics.codegen.backends.python import python_source
    >>> def function(q):
    ...     return [q[0] * q[1].cos(), 2.0 * (q[0] + 1.5 + 1.5)]
    >>> print(python_source(trace(function, {'q': 2}, name='function')))
    def function(q):
        q_0, q_1 = q
        return [q_0 * cos(q_1), (q_0 + 3.0) * 2.0]
    <BLANKLINE>

It knows nothing of robots, nor of arrays: how programs are called is the matter of `compiled`, and
what grows too long for a straight line of `rolled`. In the order in which a function passes
through it:

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
`machine_code`      that language to machine code, through llvmlite
`object_file`       machine code to memory, without llvmlite where it can be
`cache`             machine code on disk, checked before it is used
==================  ==============================================================================
"""

from robot_dynamics.codegen.tracing.graph import TraceError as TraceError
from robot_dynamics.codegen.tracing.program import Program as Program
from robot_dynamics.codegen.tracing.trace import Scalar as Scalar
from robot_dynamics.codegen.tracing.trace import trace as trace
