# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import starting

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_new_processes_compute_a_result(chain):
    start = starting.measure(chain, repeats=1)
    assert set(start.ms) == {starting.OURS, starting.IMPORTS, starting.PINOCCHIO}
    assert set(start.peak_mib) == {*start.ms, starting.INTERPRETER}


@pytest.mark.skipif(not sys.platform.startswith('linux'), reason='Linux tells')
def test_peak_memory_includes_freed_memory():
    # In a fresh process: what other tests have freed may be more.
    script = """
from benchmarks.memory import peak_mib
before = peak_mib()
block = bytearray(64 << 20)
block[::4096] = b'x' * len(block[::4096])
del block
print(before, peak_mib())
"""
    command = [sys.executable, '-c', script]
    told = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True)
    before, after = map(float, told.stdout.split())
    assert after > before + 32
