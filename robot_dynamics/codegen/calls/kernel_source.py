"""What writes the functions of each kind of kernel.

Only a program that has to be compiled needs this: what finds its machine code in the cache never
imports it.
"""

from collections.abc import Callable

from robot_dynamics.codegen.backends import llvm_functions
from robot_dynamics.codegen.backends import llvm_loop_functions as rolled_llvm
from robot_dynamics.codegen.backends import llvm_straight_line as llvm_source
from robot_dynamics.codegen.backends.llvm_writer import Writer
from robot_dynamics.codegen.loops.program import RolledProgram
from robot_dynamics.codegen.tracing.program import Program

# The functions in the module of each kernel, by the program and the number of lanes.
WRITERS: dict[str, Callable[[Program, int], list[Writer]]] = {
    'sample': lambda program, _: [
        llvm_source.sample_kernel(program),
        llvm_functions.scan_kernel(program.name, program.signature),
    ],
    'batch': lambda program, lanes: [llvm_source.batch_kernel(program, lanes)],
    'march': lambda program, lanes: [llvm_source.march_kernel(program, lanes)],
}


def module_source(
    kind: str, program: Program | RolledProgram, lanes: int
) -> tuple[str, int | None]:
    """Return the text of the module of a kernel, and the doubles of memory that its loops need.

    Args:
        kind: `sample`, whose module has `scan`, too; `batch` or `march`.
        program: what it computes.
        lanes: how many samples go side by side where there are many.
    """
    memory = None
    if isinstance(program, RolledProgram):
        functions, memory = rolled_llvm.kernels(kind, program, lanes)
    else:
        functions = WRITERS[kind](program, lanes)
    return llvm_source.module_source(functions), memory
