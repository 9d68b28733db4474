# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's runtime compiler, NVRTC: kernels compiled without a device, and what they occupy.

The library comes with the wheel nvidia-cuda-nvrtc-cu12 (extra `[cuda]`) or with the CUDA toolkit.

Source: NVRTC 12.9, user guide, sections 3 and 4.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib.util
import re
from pathlib import Path
from typing import NamedTuple

from robot_dynamics.common.errors import RobotDynamicsError
from robot_dynamics.common.extras import install_line
from robot_dynamics.export.functions import ExportError


class NvrtcMissing(RobotDynamicsError, ImportError):  # noqa: N818  (names the condition)
    """NVRTC is not installed."""


class Occupied(NamedTuple):
    """What a thread of a kernel occupies."""

    registers: int  # 32 bits each, of 255
    stack: int  # bytes of local memory
    spills: int  # bytes that are stored for want of registers


def compiled(source: str, file: str, architecture: str) -> dict[str, Occupied]:
    """Compile a source file for CUDA and return what its kernels occupy, by their names.

    Args:
        source: the text of the file.
        file: its name, for messages.
        architecture: of the device, such as 'sm_90'.

    Raises:
        ExportError: it is not compiled, with the compiler's message.
        NvrtcMissing: NVRTC is not installed.
    """
    _, text = built(source, file, architecture)
    found = sorted(REPORT.findall(text), key=lambda row: source.index(row[0]))
    return {
        name: Occupied(int(registers), int(stack), int(stored))
        for name, stack, stored, registers in found
    }


def built(source: str, file: str, architecture: str) -> tuple[bytes, str]:
    """Compile a source file for CUDA and return what a device loads, and the assembler's report.

    Arguments and errors are those of `compiled`.
    """
    nvrtc, program, size = _library(), ctypes.c_void_p(), ctypes.c_size_t()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), file.encode(), 0, None, None)
    options = [f'--gpu-architecture={architecture}', '--fmad=false', '--ptxas-options=-v']
    given = (ctypes.c_char_p * len(options))(*map(str.encode, options))
    failed = nvrtc.nvrtcCompileProgram(program, len(options), given)
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    code = ctypes.create_string_buffer(0)
    if not failed:
        nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
        code = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetCUBIN(program, code)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    text = log.value.decode(errors='replace')
    if failed:
        reason = next((line for line in text.splitlines() if 'error' in line), text)
        raise ExportError(f'{file} is not compiled for {architecture}: {reason}')
    return code.raw, text


# What the assembler reports of a kernel.
REPORT = re.compile(
    r"entry function '(\w+)'.*\n.*\n.* (\d+) bytes stack frame, (\d+) bytes spill stores.*\n"
    r'.*Used (\d+) registers'
)


def _library() -> ctypes.CDLL:
    spec = importlib.util.find_spec('nvidia')
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    files = [str(x) for folder in folders for x in Path(folder).glob('*/lib/libnvrtc.so.*')]
    found = ctypes.util.find_library('nvrtc')
    for file in [*sorted(files, key=len), *([found] if found else [])]:
        return ctypes.CDLL(file)
    raise NvrtcMissing(f'NVRTC is not installed: {install_line("cuda")}')
