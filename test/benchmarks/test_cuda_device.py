# SPDX-License-Identifier: Apache-2.0
"""The comparison on a device: with kernels on the CPU in its place, and without a device."""

import ctypes

import pytest
from c_compilers import FOUND, NATIVE, load_c, needs_compiler

from benchmarks import cuda_device
from benchmarks.robots import find
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.export.nvrtc import NvrtcMissing, built

HOST = """
#define __device__
#define __global__
#define __launch_bounds__(threads)
static struct { unsigned x; } blockIdx, threadIdx, blockDim;
#include "arm.cu"
"""
LOOP = """
extern "C" void %(kernel)s_all(const double *a, const double *b, const double *c, double *out,
                               long long count) {
    blockDim.x = 1;
    for (blockIdx.x = 0; blockIdx.x < count; ++blockIdx.x) %(kernel)s(a, b, c, out, count);
}
"""


class OnCpu:
    """Kernels of a source, run on the CPU."""

    def __init__(self, source, folder, factor=1.0):
        (folder / 'arm.cu').write_text(source)
        loops = [LOOP % {'kernel': f'arm_{name}_rows'} for name in cuda_device.NAMES]
        (folder / 'arm.cpp').write_text(HOST + ''.join(loops))
        self.library = load_c(FOUND[0], folder / 'arm.cpp', folder / 'arm.so', '-O1', *NATIVE)
        self.factor = factor

    def run(self, kernel, inputs, outputs):
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*inputs, *outputs)]
        self.library[f'{kernel}_all'](*pointers, ctypes.c_longlong(len(outputs[0])))
        for array in outputs:
            array *= self.factor
        return 0.5


@needs_compiler
@pytest.mark.parametrize('factor', [1.0, 1.001])
def test_results_are_compared_with_those_of_the_library(tmp_path, factor):
    source = cuda_device.source(Dynamics(find('chain2').model), 'double')
    found = cuda_device.measured(OnCpu(source, tmp_path, factor), 'chain2', 'double', 5)
    assert [row.function for row in found] == list(cuda_device.NAMES)
    assert all(row.rate == 10.0 for row in found)
    assert all((row.error <= row.tolerance) == (factor == 1.0) for row in found)
    text = cuda_device.shown(found, {('chain2', 'inverse_dynamics'): 2e9})
    assert text.count('DISAGREES') == (0 if factor == 1.0 else 2)


def test_without_a_device_it_says_so(monkeypatch, capsys):
    def missing(name):
        raise OSError(f'{name}: cannot open shared object file')

    monkeypatch.setattr(ctypes, 'CDLL', missing)
    assert cuda_device.main(['--robots', 'chain2']) == 2
    assert capsys.readouterr().err.startswith('not measured: no CUDA device: libcuda.so.1: cannot')


def test_an_error_of_the_driver_is_named(monkeypatch, capsys):
    class Driver:
        def __getitem__(self, name):
            return lambda *_: 100

        def cuGetErrorString(self, code, text):
            ctypes.cast(text, ctypes.POINTER(ctypes.c_char_p))[0] = b'no device'

    monkeypatch.setattr(ctypes, 'CDLL', lambda name: Driver())
    assert cuda_device.main(['--robots', 'chain2']) == 2
    assert 'not measured: CUDA device: cuInit: no device' in capsys.readouterr().err


def test_it_builds_without_a_device(capsys):
    try:
        code, _ = built('', 'empty.cu', 'sm_90')
    except NvrtcMissing:
        pytest.skip('needs NVRTC')
    assert code.startswith(b'\x7fELF')
    assert cuda_device.main(['--robots', 'chain2', '--build-only', 'sm_90']) == 0
    assert 'chain2, float: ' in capsys.readouterr().out


@pytest.mark.parametrize('rows', ['0', '-3', 'many'])
def test_bad_numbers_of_states_are_rejected(rows, capsys):
    with pytest.raises(SystemExit):
        cuda_device.main(['--rows', rows])
    assert '--rows' in capsys.readouterr().err
