import sys

import pytest

from benchmarks import starting
from benchmarks.memory import peak_mib


def test_fresh_processes_come_to_a_result(chain):
    start = starting.measure(chain, repeats=1)
    assert set(start.ms) == {starting.OURS, starting.IMPORTS, starting.PINOCCHIO}
    assert set(start.peak_mib) == {*start.ms, starting.INTERPRETER}


@pytest.mark.skipif(not sys.platform.startswith('linux'), reason='Linux tells')
def test_peak_memory_sees_what_was_freed():
    before = peak_mib()
    block = bytearray(64 << 20)
    block[::4096] = b'x' * len(block[::4096])
    del block
    assert peak_mib() > before + 32
