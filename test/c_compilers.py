# SPDX-License-Identifier: Apache-2.0
"""C and C++ compilers of this machine, for tests of exported code."""

import ctypes
import shutil
import subprocess

import pytest

# C and C++ compilers of one kind. Debian's clang has its version in its name.
KINDS = {'gcc': 'g++', 'clang': 'clang++', 'clang-14': 'clang++-14'}
FOUND = [kind for kind in KINDS if shutil.which(kind)]
if 'clang' in FOUND:
    FOUND = FOUND[: FOUND.index('clang') + 1]

WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Wconversion', '-Wshadow', '-Werror']
NATIVE = ['-march=native', '-ffp-contract=off']

needs_compiler = pytest.mark.skipif(not FOUND, reason='needs gcc or clang')
each_compiler = pytest.mark.parametrize(
    'kind', FOUND or [pytest.param('gcc', marks=needs_compiler)]
)


def compile_c(kind, source, target, *flags):
    """Compile a file of C, or .cpp of C++; a warning is an error. Return the compiler's run."""
    plus = source.suffix == '.cpp'
    compiler, standard = (KINDS[kind], 'c++17') if plus else (kind, 'c99')
    command = [compiler, f'-std={standard}', *WARNINGS, *flags, str(source), '-o', str(target)]
    return subprocess.run([*command, '-lm'], capture_output=True, text=True)


def run_c(kind, source, target, *flags):
    """Compile a file and return what its program prints; its exit code must be 0."""
    compiled = compile_c(kind, source, target, *flags)
    assert compiled.returncode == 0, compiled.stderr
    done = subprocess.run([target], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def load_c(kind, source, target, *flags):
    """Compile a file as a shared library and load it."""
    compiled = compile_c(kind, source, target, '-shared', '-fPIC', *flags)
    assert compiled.returncode == 0, compiled.stderr
    return ctypes.CDLL(str(target))


def has_fma(kind):
    """Tell whether a compiler finds fused multiply-add in this processor."""
    command = [kind, '-march=native', '-dM', '-E', '-x', 'c', '/dev/null']
    macros = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return '__FMA__' in macros or '__ARM_FEATURE_FMA' in macros
