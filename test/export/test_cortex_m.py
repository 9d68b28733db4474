# SPDX-License-Identifier: Apache-2.0
"""Exported functions on emulated microcontrollers: right numbers, and a fixed number of steps."""

import re
import shutil
import subprocess

import numpy as np
import pytest

from robot_dynamics import Dynamics
from robot_dynamics.core.model.robots import planar_2r
from robot_dynamics.export.c_header import c_files
from robot_dynamics.export.functions import functions

MACHINES = {
    'mps2-an386': ['-mcpu=cortex-m4', '-mfpu=fpv4-sp-d16'],
    'mps2-an500': ['-mcpu=cortex-m7', '-mfpu=fpv5-d16'],
}
NAMES = ['inverse_dynamics', 'mass_matrix', 'forward_dynamics']
MISSING = [tool for tool in ('arm-none-eabi-gcc', 'qemu-system-arm') if shutil.which(tool) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f'needs {" and ".join(MISSING)}')

LINKER = """\
MEMORY { CODE (rx) : ORIGIN = 0, LENGTH = 4M  RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 4M }
SECTIONS {
  .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) *(.ARM.ex*) } > CODE
  .data : { *(.data*) } > RAM
  .bss : { *(.bss*) *(COMMON) } > RAM
  end = ALIGN(8); stack_top = 0x20400000;
}
"""
START = """\
#include <stdint.h>
#include <stdlib.h>
extern uint32_t stack_top[];
void initialise_monitor_handles(void);
int main(void);
void _init(void) {}
void _fini(void) {}
void reset(void) {
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20; /* registers of floating point */
    __asm volatile("dsb\\n isb");
    initialise_monitor_handles();
    exit(main());
}
__attribute__((section(".vectors"), used)) const void *vectors[] = {stack_top, (void *)reset};
"""
# With -icount shift=0 an instruction takes 1 ns, and a tick of SysTick at 25 MHz has 40.
COUNT = """\
#include <stdio.h>
#include "arm.h"
#define TICKS ((volatile uint32_t *)0xE000E010u)
static float x[2][3][2] = {{{0, 0}, {0, 0}, {0, 0}}, {{1.5f, -2.5f}, {3, -0.1f}, {9, 2}}};
static float r[4];
#define COUNTED(name, call) \\
    for (int s = 0; s < 2; ++s) { \\
        const uint32_t begin = TICKS[2]; \\
        for (int i = 0; i < 1000; ++i) { call; __asm volatile("" : : : "memory"); } \\
        printf(name " %lu\\n", (unsigned long)((begin - TICKS[2]) * 40)); \\
    }
int main(void) {
    TICKS[1] = 0xFFFFFF;
    TICKS[2] = 0;
    TICKS[0] = 5;
    while (!TICKS[2]) {}
    COUNTED("inverse_dynamics", arm_inverse_dynamics(x[s][0], x[s][1], x[s][2], r))
    COUNTED("mass_matrix", arm_mass_matrix(x[s][0], r))
    COUNTED("forward_dynamics", arm_forward_dynamics(x[s][0], x[s][1], x[s][2], r))
    return 0;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize('machine', MACHINES)
def test_numbers_and_time_on_a_cortex_m(tmp_path, machine):
    arm = Dynamics(planar_2r())
    exported = functions(arm, NAMES)
    files = c_files(arm, exported, 'arm', 'float', version='0', self_test=True)
    files |= {'m.ld': LINKER, 'start.c': START, 'count.c': COUNT}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert run(tmp_path, machine, 'arm_self_test.c').endswith('PASSED\n')
    counted = re.findall(r'(\w+) (\d+)', run(tmp_path, machine, 'count.c'))
    assert [name for name, _ in counted] == [name for name in NAMES for _ in range(2)]
    at_rest, moving = np.array([int(count) for _, count in counted]).reshape(-1, 2).T
    assert np.all(at_rest > 1000 * 50)
    # No branch depends on a value: only the loop begins at other ticks.
    np.testing.assert_allclose(at_rest, moving, atol=2000)


def run(folder, machine, source):
    """Compile a program with the files of a folder, and return what it prints on a machine."""
    flags = ['-std=gnu99', '-O2', '-mthumb', '-mfloat-abi=hard', *MACHINES[machine]]
    link = [
        '--specs=rdimon.specs',
        '-nostartfiles',
        '-T',
        'm.ld',
        'start.c',
        source,
        '-o',
        'm.elf',
    ]
    compiler = ['arm-none-eabi-gcc', *flags, *link, '-lm']
    subprocess.run(compiler, cwd=folder, check=True, capture_output=True)
    emulator = ['qemu-system-arm', '-M', machine, '-nographic', '-icount', 'shift=0']
    semihosting = ['-semihosting-config', 'enable=on,target=native', '-kernel', 'm.elf']
    command = [*emulator, *semihosting]
    return subprocess.run(
        command, cwd=folder, check=True, capture_output=True, text=True, timeout=60
    ).stdout
