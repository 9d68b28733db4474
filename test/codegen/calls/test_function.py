# SPDX-License-Identifier: Apache-2.0
"""The door: backends, and what happens without a compiler."""

import doctest
import os
import subprocess
import sys

import numpy as np
import pytest

import robot_dynamics.codegen.calls
import robot_dynamics.codegen.tracing
from robot_dynamics.codegen.backends import machine_code
from robot_dynamics.codegen.calls import compile_program
from robot_dynamics.codegen.calls.function import CompilerMissing


@pytest.mark.parametrize('package', [robot_dynamics.codegen.tracing, robot_dynamics.codegen.calls])
def test_documentation_runs(package):
    result = doctest.testmod(package)
    assert result == doctest.TestResults(failed=0, attempted=package.__doc__.count('>>> '))
    assert '>>> ' in package.__doc__


def test_backends(monkeypatch):
    monkeypatch.delenv('ROBOT_DYNAMICS_WRAPPER', raising=False)

    def backend(choice):
        return compile_program(lambda x: [x[0]], {'x': 1}, backend=choice).backend

    assert backend('python') == 'python'
    if machine_code.why_not() is None:
        assert backend('llvm') == backend('auto') == 'llvm'
    monkeypatch.setenv('ROBOT_DYNAMICS_WRAPPER', 'python')
    assert backend('auto') == 'python'
    with pytest.raises(ValueError, match="backend 'fast', expected one of auto, llvm, python"):
        backend('fast')


@pytest.mark.usefixtures('machine')
def test_precompiling_leaves_nothing_to_record():
    runs = []

    def function(x):
        runs.append(1)
        return [x[0] * 7.0]

    compile_program(function, {'x': 1}, key='precompiled', backend='llvm').precompile()
    compiled = compile_program(function, {'x': 1}, key='precompiled', outputs=None, backend='llvm')
    assert compiled([[1.0], [2.0]]).tolist() == [[7.0], [14.0]]
    assert runs == [1]
    compile_program(function, {'x': 1}, backend='python').precompile()


def test_programs_may_have_names_of_c_functions():
    for name in ('malloc', 'tanhf', 'memcpy', 'fma'):
        assert compile_program(lambda x: [x[0] + 1.0], {'x': 1}, name=name)([1.0]) == [2.0]


WITHOUT_LLVMLITE = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] == 'llvmlite':
            raise ImportError('no module named llvmlite')
sys.meta_path.insert(0, Blocker())
import numpy as np
from robot_dynamics.codegen.calls import compile_program
f = compile_program(lambda x: [x[0].sin() * x[1]], {'x': 2}, key='k')
assert f.backend == 'python' and f.wrapper == 'portable'
assert f([0.5, 2.0]) == [2.0 * np.sin(0.5)]
assert f(np.ones((3, 2))).shape == (3, 1)
try:
    compile_program(lambda x: [x[0]], {'x': 2}, backend='llvm')
except RuntimeError as error:
    assert 'llvmlite cannot be imported' in str(error), error
else:
    sys.exit('compiled without a compiler')
"""


def test_without_llvmlite_python_computes():
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)}
    environment.pop('ROBOT_DYNAMICS_WRAPPER', None)
    process = subprocess.run(
        [sys.executable, '-c', WITHOUT_LLVMLITE], env=environment, capture_output=True, check=False
    )
    assert process.returncode == 0, process.stderr.decode()


def test_an_old_llvmlite_is_not_used(monkeypatch):
    llvmlite = pytest.importorskip('llvmlite')
    monkeypatch.setattr(llvmlite, '__version__', '0.39.1')
    machine_code.why_not.cache_clear()
    try:
        assert 'older than 0.45' in machine_code.why_not()
        with pytest.raises(CompilerMissing, match='older than'):
            compile_program(lambda x: [x[0]], {'x': 1}, backend='llvm')
    finally:
        machine_code.why_not.cache_clear()


@pytest.mark.slow
@pytest.mark.usefixtures('machine')
def test_long_programs_compile_and_agree():
    def function(x):
        # A long chain of rotations: some 50,000 operations.
        a, b = x[0], x[1]
        for k in range(8_000):
            c, s = float(np.cos(0.1 * (k % 50))), float(np.sin(0.1 * (k % 50)))
            a, b = c * a - s * b, s * a + c * b
        return [a, b]

    compiled = compile_program(function, {'x': 2}, backend='llvm')
    angle = 0.1 * 160 * sum(range(50))
    expected = [np.cos(angle), np.sin(angle)]
    alone = compiled([1.0, 0.0])
    np.testing.assert_allclose(alone, expected, atol=1e-9)
    batch = compiled([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    assert np.array_equal(batch[1], alone)
    assert np.array_equal(batch[2], [0.0, 0.0])
