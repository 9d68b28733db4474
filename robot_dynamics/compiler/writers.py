"""What writes the functions of each kind of kernel.

Only a program that has to be compiled needs this: what finds its machine code in the cache never
imports it.
"""

from collections.abc import Callable

from robot_dynamics.compiler import llvm_source, machine_code, march_source
from robot_dynamics.compiler.llvm_writer import Writer
from robot_dynamics.compiler.rolled import llvm as rolled_llvm
from robot_dynamics.compiler.rolled.program import RolledProgram
from robot_dynamics.compiler.trace import Program

# The functions in the module of each kernel, by the program and the number of lanes.
WRITERS: dict[str, Callable[[Program, int], list[Writer]]] = {
    'sample': lambda program, _: [llvm_source.sample_kernel(program)],
    'batch': lambda program, lanes: [llvm_source.batch_kernel(program, lanes)],
    'scan': lambda program, _: [
        llvm_source.sample_kernel(program),
        llvm_source.scan_kernel(program),
    ],
    'march': lambda program, lanes: [march_source.march_kernel(program, lanes)],
}
ROLLED_WRITERS: dict[str, Callable[[RolledProgram, int], list[Writer]]] = {
    'sample': rolled_llvm.sample_kernels,
    'batch': rolled_llvm.batch_kernels,
    'scan': rolled_llvm.scan_kernels,
    'march': rolled_llvm.march_kernels,
}


def module_source(kind: str, program: Program | RolledProgram, lanes: int) -> str:
    """Return the text of the module of a kernel, `lanes` samples at a time where it has many."""
    if isinstance(program, RolledProgram):
        functions = ROLLED_WRITERS[kind](program, machine_code.lanes())
    else:
        functions = WRITERS[kind](program, lanes)
    return llvm_source.module_source(functions)
