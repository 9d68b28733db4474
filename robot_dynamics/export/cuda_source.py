# SPDX-License-Identifier: Apache-2.0
"""Functions of a robot as device functions of CUDA, with a kernel each for batches of states.

    files = cuda_files(arm, functions(arm, ['inverse_dynamics']), 'panda', version='0.1.0')

A thread computes one state. Arrays are those of the library, one state after the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.codegen.backends.cuda import MOST_THREADS, DeviceDialect
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.export.c_header import about, check_identifier, definition, facts
from robot_dynamics.export.functions import Function, plain


def cuda_files(
    arm: Dynamics, exported: Sequence[Function], name: str, scalar: str = 'double', *, version: str
) -> dict[str, str]:
    """Return the text of a source file for CUDA, by file name.

    Args:
        arm: the robot.
        exported: its functions.
        name: of the file; begins the names of its functions and kernels.
        scalar: 'double' or 'float'.
        version: of this package.

    Raises:
        ExportError: the name is no identifier, or a function is not for float.
    """
    check_identifier(name)
    dialect = DeviceDialect(name, scalar)
    text = f"""\
/* Dynamics of {plain(arm.model.name)} for CUDA, written by robot_dynamics {version}.

   Each device function computes one state, the kernel after it one per thread, of `count` rows of
   arrays. A row has n entries, of (n, n) matrices n * n, row by row. Blocks have at most
   {MOST_THREADS} threads. Arguments must not overlap. Units are SI; six-vectors have the angular
   part first. Friction is not included.

{facts(arm, dialect)}
*/
{dialect.beginning()}"""
    for function in exported:
        program = function.program
        text += f'\n/* {about(function)} */\n{definition(function, dialect)}\n\n'
        text += f'{dialect.kernel(program.name, program.signature)}\n'
    return {f'{name}.cu': f'{text}\n{dialect.end()}\n'}
