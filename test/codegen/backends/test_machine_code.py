# SPDX-License-Identifier: Apache-2.0
"""Machine code in memory."""

import os
import subprocess
import sys

import pytest

# Reserves address space until new memory lies at its lower end, then frees small holes 4 GiB
# above: what fits into a hole is then far from what does not.
LOADS_IN_SCATTERED_MEMORY = """
import ctypes
import mmap

import numpy as np

import robot_dynamics as rd
from robot_dynamics.codegen.backends import machine_code

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
MAP_NORESERVE = 0x4000


def reserve(size):
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE
    return libc.mmap(None, size, 0, flags, -1, 0)


codes = []
load = machine_code.LoadedCode.__init__


def load_and_keep(self, code):
    codes.append(code)
    load(self, code)


machine_code.LoadedCode.__init__ = load_and_keep
arm = rd.Dynamics(rd.load_urdf('panda'))
states = np.ones((3, 7))
expected = arm.inverse_dynamics(*states)
arm.simulate(*states, steps=2, time_step=1e-3)
machine_code.LoadedCode.__init__ = load

for exponent in range(30, 11, -2):
    for _ in range(40):
        reserve(1 << exponent)
with_holes = reserve(1 << 26)
reserve(1 << 32)
loaded = []
for k in range(300):
    libc.munmap(with_holes + (k << 17), 4096 * (1 + k % 16))
    loaded += [machine_code.LoadedCode(code) for code in codes]

again = rd.Dynamics(rd.load_urdf('panda'))
np.testing.assert_array_equal(again.inverse_dynamics(*states), expected)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != 'linux', reason='reserves memory by the calls of Linux')
def test_code_is_loaded_wherever_memory_is_free():
    """The offset from code to its constants overflowed where they were 2 GiB apart."""
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)}
    command = [sys.executable, '-c', LOADS_IN_SCATTERED_MEMORY]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
