"""LLVM's language to machine code for this processor, and that to addresses of functions.

llvmlite, which carries LLVM, is optional: `why_not()` says what is missing. Machine code is a
plain object file, so that it can be kept on disk; to load one takes no compiling, and mostly not
even LLVM.
"""

import functools
import os
import platform
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.codegen.backends import cache, object_file

OLDEST_LLVMLITE = (0, 45)  # the first whose LLVM knows `splat`

# With these, vectors of eight doubles are as fast as those of four.
WIDE_REGISTERS = '+avx512f,'

# Beyond this many instructions compile without optimisation, five to ten times faster, for code
# half as fast.
MANY_INSTRUCTIONS = 12_000

# What Linux says of the processor: its family, model and features.
PROCESSOR = Path('/sys/devices/system/cpu/modalias')

# LLVM keeps what it parses in one place for all threads. A fork waits for the thread that
# compiles: no thread of the child would release the lock, nor complete what LLVM has begun.
ONE_AT_A_TIME = threading.RLock()
if hasattr(os, 'register_at_fork'):
    os.register_at_fork(
        before=ONE_AT_A_TIME.acquire,
        after_in_parent=ONE_AT_A_TIME.release,
        after_in_child=ONE_AT_A_TIME.release,
    )


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
    """Return what machine code depends on: LLVM, and the processor's name and features."""
    import llvmlite

    # Processes of other sorts, 32 bits or emulated, may run on the same processor.
    version = f'llvmlite {llvmlite.__version__}, {platform.machine()}, {sys.maxsize:x}'

    def told() -> tuple[str, bytes]:
        name, features = _llvm().get_host_cpu_name(), _llvm().get_host_cpu_features().flatten()
        return f'{version}, {_llvm().get_process_triple()}, {name}, {features}', b''

    # LLVM's answer is kept under what Linux says: it takes less time to ask.
    try:
        text: str = cache.kept(f'{version}\n{PROCESSOR.read_text()}', told)[0]
    except OSError:
        text = told()[0]
    return text


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
    """Machine code in executable memory; it goes when this object goes."""

    def __init__(self, code: bytes) -> None:
        self._image = object_file.load(code)
        if self._image:
            return
        llvm = _llvm()
        with ONE_AT_A_TIME:
            # An empty module whose compilation is answered with the code at hand. The engine owns
            # its target machine.
            engine = llvm.create_mcjit_compiler(llvm.parse_assembly(''), _target_machine())
            engine.set_object_cache(getbuffer_func=lambda _: code)
            engine.finalize_object()
        # In an array the garbage collector does not see it: in what it deletes, an engine would
        # close itself before another object's last word, which may be a call.
        self._engine = np.array(engine, dtype=object)

    def address(self, function: str) -> int:
        """Return the address of a function."""
        if self._image:
            return self._image.functions[function]
        address: int = self._engine.item().get_function_address(function)
        return address
