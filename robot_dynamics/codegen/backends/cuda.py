# SPDX-License-Identifier: Apache-2.0
"""Programs as device functions of CUDA C++, and kernels for batches of states.

The functions are those of the C backend. A device has fused multiply-add, so that operations and
angles are those of the machine code; with `--fmad=false` the compiler fuses nothing by itself.

NVRTC compiles the source as it is: it has no system headers. So does a compiler of C++ for the
CPU, with `__device__`, `__global__`, `__launch_bounds__` and the indices of threads defined.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from robot_dynamics.codegen.backends.c import Dialect, output_names
from robot_dynamics.codegen.tracing.program import Signature

# Threads of a block; a thread then has up to 255 registers, as many as it can have at all.
MOST_THREADS = 256


@dataclass(frozen=True)
class DeviceDialect(Dialect):
    """How the functions of one file for CUDA are written; the prefix is that of its kernels."""

    inline: ClassVar[str] = 'static inline __device__'

    @property
    @override
    def head(self) -> str:
        return HEAD

    @property
    @override
    def limits(self) -> tuple[float, float]:
        angle, _ = super().limits
        return angle, angle

    def kernel(self, name: str, signature: Signature) -> str:
        """Return the kernel that calls a function for each row of arrays (count, size)."""
        sizes = dict(zip(output_names(signature), signature.output_sizes, strict=True))
        rows = [(f'const {self.scalar}', key, size) for key, size in signature.inputs]
        rows += [(self.scalar, key, size) for key, size in sizes.items()]
        own = [f'{kind} *{self.macro("RESTRICT")} {key}' for kind, key, _ in rows]
        passed = ', '.join(f'{key} + {size} * row' for _, key, size in rows)
        return f"""\
extern "C" __global__ void __launch_bounds__({MOST_THREADS}) {self.prefix}_{name}_rows(
    {(',' + chr(10) + '    ').join([*own, 'long long count'])}) {{
    const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row < count) {self.prefix}_{name}({passed});
}}"""


HEAD = """\
#if defined(__CUDACC_RTC__)
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#else
#include <math.h>
#include <stdint.h>
#include <string.h>
#endif

#define @P@_FUSED 1
#define @P@_FMA(a, b, c) fma@f@(a, b, c)
"""
