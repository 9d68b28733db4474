# SPDX-License-Identifier: Apache-2.0
"""CUDA sources: compiled as C++ for the CPU and run there; compiled by NVRTC, without a device."""

import ctypes
import re

import numpy as np
import pytest
import tiers
from c_compilers import NATIVE, each_compiler, has_fma, load_c
from robots import load

from robot_dynamics import Dynamics, cli
from robot_dynamics.codegen.backends.c import output_names
from robot_dynamics.common.resources import share_file
from robot_dynamics.core.model.robots import planar_2r, random_tree
from robot_dynamics.export.c_header import TOLERANCES
from robot_dynamics.export.cuda_source import cuda_files
from robot_dynamics.export.functions import ExportError, cases, functions
from robot_dynamics.export.nvrtc import NvrtcMissing, compiled

CONTROL = ['inverse_dynamics', 'terms', 'forward_dynamics']

# What CUDA gives to a kernel, for the CPU; a test sets the indices.
HOST = """
#define __device__
#define __global__
#define __launch_bounds__(threads)
struct Index { unsigned x; };
extern "C" { Index blockIdx, threadIdx, blockDim; }
#include "arm.cu"
"""


def source(arm, names, scalar='double'):
    (text,) = cuda_files(arm, functions(arm, names), 'arm', scalar, version='0').values()
    return text


def check_on_cpu(arm, names, scalar, kind, folder):
    """Run the kernels thread by thread in blocks of three, and compare them with the library."""
    (folder / 'arm.cu').write_text(source(arm, names, scalar))
    (folder / 'arm.cpp').write_text(HOST)
    library = load_c(kind, folder / 'arm.cpp', folder / 'arm.so', '-O1', *NATIVE)
    index, thread, threads = (
        ctypes.c_uint.in_dll(library, name) for name in ('blockIdx', 'threadIdx', 'blockDim')
    )
    threads.value, dtype = 3, np.dtype({'double': 'f8', 'float': 'f4'}[scalar])
    for function in functions(arm, names):
        found = cases(arm, function, dtype)
        count = len(found)
        inputs = [np.array(x, dtype) for x in zip(*(case.inputs for case in found), strict=True)]
        expected = [np.array(x) for x in zip(*(case.outputs for case in found), strict=True)]
        # One row more, which no thread may write to.
        results = [np.full((count + 1, x.shape[1]), 7.0, dtype) for x in expected]
        assert len(results) == len(output_names(function.program.signature))
        kernel = library[f'arm_{function.program.name}_rows']
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*inputs, *results)]
        for index.value in range(2):
            for thread.value in range(3):
                kernel(*pointers, ctypes.c_longlong(count))
        for ours, theirs in zip(results, expected, strict=True):
            assert (ours[count:] == 7.0).all()
            error = np.abs(ours[:count] - theirs).max()
            machine_code = function.made.kernels.backend == 'llvm'
            exact = scalar == 'double' and machine_code and has_fma(kind)
            bound = 0.0 if exact else TOLERANCES[scalar]
            assert error <= bound * np.abs(theirs).max()


@each_compiler
@pytest.mark.parametrize('scalar', ['double', 'float'])
def test_on_the_cpu(tmp_path, kind, scalar):
    check_on_cpu(Dynamics(planar_2r(), backend='python'), CONTROL, scalar, kind, tmp_path)


@each_compiler
@pytest.mark.parametrize('robot', [*tiers.slow(['panda']), *tiers.soak(['kuka_iiwa'])])
def test_arms_on_the_cpu(tmp_path, kind, robot):
    names = [*CONTROL, 'forward_dynamics_derivatives', 'momentum_observer']
    check_on_cpu(Dynamics(load(robot)), names, 'double', kind, tmp_path)


@pytest.mark.slow
@each_compiler
def test_loops_on_the_cpu(tmp_path, kind):
    arm = Dynamics(random_tree(30, np.random.default_rng(1), branching=0.1))
    check_on_cpu(arm, ['coriolis_matrix'], 'double', kind, tmp_path)


@pytest.fixture
def nvrtc():
    """Return the compiler, where it is installed."""
    try:
        compiled('', 'empty.cu', 'sm_90')
    except NvrtcMissing:
        pytest.skip('needs NVRTC')
    return compiled


@pytest.mark.parametrize('scalar', ['double', 'float'])
def test_nvrtc_compiles_it(nvrtc, scalar):
    found = nvrtc(
        source(Dynamics(planar_2r(), backend='python'), CONTROL, scalar), 'arm.cu', 'sm_90'
    )
    assert list(found) == [f'arm_{name}_rows' for name in CONTROL]
    assert all(0 < x.registers < 64 and x.stack == x.spills == 0 for x in found.values()), found


@pytest.mark.slow
def test_nvrtc_compiles_arms_and_loops(nvrtc):
    arm = Dynamics(load('kuka_iiwa'), backend='python')
    names = ['inverse_dynamics', 'forward_dynamics', 'inverse_dynamics_derivatives']
    found = nvrtc(source(arm, names), 'arm.cu', 'sm_90')
    plain = [found[f'arm_{name}_rows'] for name in names[:2]]
    assert all(100 < x.registers < 150 and x.spills == 0 for x in plain), found
    # Its values exceed the registers.
    assert found['arm_inverse_dynamics_derivatives_rows'].spills > 0
    chain = Dynamics(random_tree(30, np.random.default_rng(1), branching=0.1), backend='python')
    text = source(chain, ['coriolis_matrix'])
    (loops,) = nvrtc(text, 'chain.cu', 'sm_90').values()
    # The values of the 30 rows, of 8 bytes, are indexed by loops: not in registers.
    (values,) = re.findall(r'double memory\[(\d+)\]\[30\];', text)
    assert loops.stack >= 8 * 30 * int(values)


def test_nvrtc_reports_errors(nvrtc):
    with pytest.raises(ExportError, match=r'bad.cu is not compiled for sm_90: bad.cu\(1\): error'):
        nvrtc('int f() { return x; }', 'bad.cu', 'sm_90')
    with pytest.raises(ExportError, match=r'bad.cu is not compiled for sm_1: .*error: inval'):
        nvrtc('', 'bad.cu', 'sm_1')


def test_command_line(tmp_path, capsys, monkeypatch):
    words = ['export', str(share_file('urdf/planar_2r.urdf')), '--language', 'cuda']
    words += ['--functions', 'gravity_torque', '--output', str(tmp_path)]
    assert cli.main([*words, '--self-test']) == 2
    assert '--self-test is not supported for --language cuda' in capsys.readouterr().err
    assert cli.main(words) == 0
    assert capsys.readouterr().out == f'{tmp_path / "planar_2r.cu"}\n'
    assert '__global__' in (tmp_path / 'planar_2r.cu').read_text()
    monkeypatch.setattr('importlib.util.find_spec', lambda name: None)
    monkeypatch.setattr('ctypes.util.find_library', lambda name: None)
    assert cli.main([*words, '--compile', 'sm_90']) == 2
    assert 'NVRTC is not installed: pip install nvidia-cuda' in capsys.readouterr().err


def test_registers_on_the_command_line(nvrtc, tmp_path, capsys):
    words = ['export', str(share_file('urdf/planar_2r.urdf')), '--language', 'cuda']
    words += ['--functions', 'gravity_torque', '--output', str(tmp_path), '--compile', 'sm_90']
    assert cli.main(words) == 0
    _, _, head, row = capsys.readouterr().out.splitlines()
    assert head.split('  ')[0] == 'kernel'
    assert row.split()[0] == 'planar_2r_gravity_torque_rows'
    assert row.split()[2:] == ['0', '0']
