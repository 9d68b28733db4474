# SPDX-License-Identifier: Apache-2.0
"""LLVM's language to machine code for this processor, and that to addresses of functions.

llvmlite, which contains LLVM, is optional: `why_not()` returns what is missing. Machine code is a
plain object file, so that it can be cached on disk and loaded again without compiling.
"""

import contextlib
import functools
import os
import platform
import sys
import threading
from typing import Any

import numpy as np

OLDEST_LLVMLITE = (0, 45)  # the first whose LLVM knows `splat`

# With these, vectors of eight doubles are as fast as those of four.
WIDE_REGISTERS = '+avx512f,'

# Beyond this many instructions compile without optimisation, five to ten times faster, for code
# half as fast.
MANY_INSTRUCTIONS = 12_000

# All threads share LLVM's context.
ONE_AT_A_TIME = threading.RLock()


class _ForkPause:
    """Locks that a fork acquires, because in the child no other thread would release them.

    They are those of a compilation and of llvmlite, which each of its calls acquires, also the
    release of an arm in another thread.
    """

    def __init__(self) -> None:
        self.llvmlite: Any = contextlib.nullcontext()  # set under ONE_AT_A_TIME

    def begin(self) -> None:
        ONE_AT_A_TIME.acquire()
        self.llvmlite.__enter__()

    def end(self) -> None:
        self.llvmlite.__exit__(None, None, None)
        ONE_AT_A_TIME.release()


_FORK = _ForkPause()
if hasattr(os, 'register_at_fork'):
    os.register_at_fork(before=_FORK.begin, after_in_parent=_FORK.end, after_in_child=_FORK.end)


@functools.cache
def why_not() -> str | None:
    """Return why there is no machine code here, None if there is."""
    try:
        import llvmlite
    except ImportError as error:
        return f'llvmlite cannot be imported ({error})'
    version = tuple(int(part) for part in llvmlite.__version__.split('.')[:2])
    if version < OLDEST_LLVMLITE:
        return (
            f'llvmlite is {llvmlite.__version__}, older than {".".join(map(str, OLDEST_LLVMLITE))}'
        )
    return None


@functools.cache
def _llvm() -> Any:
    """Return llvmlite's binding, initialised."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    with ONE_AT_A_TIME:
        _FORK.llvmlite = getattr(binding.ffi.lib, '_lock', _FORK.llvmlite)
    return binding


def _target_machine(optimisation: int = 2) -> Any:
    target = _llvm().Target.from_default_triple()
    return target.create_target_machine(
        cpu=_llvm().get_host_cpu_name(),
        features=_llvm().get_host_cpu_features().flatten(),
        opt=optimisation,
        reloc='pic',
        codemodel='default',
        jit=True,
    )


@functools.cache
def processor() -> str:
    """Return what machine code depends on: LLVM's version, and the processor and its features."""
    import llvmlite

    # The same processor may run 32-bit and emulated processes.
    parts = (
        f'llvmlite {llvmlite.__version__}',
        platform.machine(),
        f'{sys.maxsize:x}',
        _llvm().get_process_triple(),
        _llvm().get_host_cpu_name(),
        _llvm().get_host_cpu_features().flatten(),
    )
    return ', '.join(parts)


def lanes() -> int:
    """Return how many doubles to compute at a time."""
    return 8 if WIDE_REGISTERS in processor() else 4


def compile_module(source: str) -> bytes:
    """Return the object file of a module."""
    optimisation = 2 if source.count('\n') < MANY_INSTRUCTIONS else 0
    with ONE_AT_A_TIME:
        module = _llvm().parse_assembly(source)
        module.verify()
        code: bytes = _target_machine(optimisation).emit_object(module)
    return code


class LoadedCode:
    """Machine code in executable memory, which is released with this object."""

    def __init__(self, code: bytes) -> None:
        llvm = _llvm()
        with ONE_AT_A_TIME:
            # LLVM compiles an empty module, and its object cache returns this code as the result.
            # The engine owns its target machine. With llvmlite's memory manager (use_lmm) code and
            # constants share one block: 32-bit offsets between two distant blocks overflow, and
            # LLVM then aborts the process.
            engine = llvm.create_mcjit_compiler(
                llvm.parse_assembly(''), _target_machine(), use_lmm=True
            )
            engine.set_object_cache(getbuffer_func=lambda _: code)
            engine.finalize_object()
        # Inside an array the engine is invisible to the garbage collector, which could otherwise
        # close it before the finalizers of other objects call the code.
        self._engine = np.array(engine, dtype=object)

    def address(self, function: str) -> int:
        """Return the address of a function."""
        address: int = self._engine.item().get_function_address(function)
        return address
