# SPDX-License-Identifier: Apache-2.0
"""Straight-line programs: recorded from functions of scalars, and transformed.

    >>> from robot_dynamics.codegen.tracing import trace
    >>> from robot_dynamics.codegen.backends.python import python_source
    >>> def function(q):
    ...     return [q[0] * q[1].cos(), 2.0 * (q[0] + 1.5 + 1.5)]
    >>> print(python_source(trace(function, {'q': 2}, name='function')))
    def function(q):
        q_0, q_1 = q
        return [q_0 * cos(q_1), (q_0 + 3.0) * 2.0]
    <BLANKLINE>

==================  ==============================================================================
`trace`             runs a function on recording scalars
`graph`             shares and folds their operations
`program`           the result: a straight-line `Program`
`sums`              sums of products as chains of fused multiply-adds
==================  ==============================================================================
"""

from robot_dynamics.codegen.tracing.graph import TraceError as TraceError
from robot_dynamics.codegen.tracing.program import Program as Program
from robot_dynamics.codegen.tracing.trace import Scalar as Scalar
from robot_dynamics.codegen.tracing.trace import trace as trace
