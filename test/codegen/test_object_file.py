"""Object files: loaded without LLVM they compute the same, and what takes LLVM is left to it."""

import ctypes
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.codegen.backends import machine_code, object_file
from robot_dynamics.codegen.calls import compile_program

pytestmark = [
    pytest.mark.usefixtures('machine'),
    pytest.mark.skipif(
        sys.platform != 'linux' or platform.machine() != 'x86_64', reason='LLVM loads all here'
    ),
]

# A constant by its distance, a call by its distance, and an entry of a table.
SIMPLE = """
@table = private constant [3 x double] [double 0.5, double 0.25, double 0.125]

define double @inner(double %x) noinline nounwind {
  %y = fmul double %x, 3.75
  ret double %y
}

define double @outer(double %x, i64 %k) nounwind {
  %place = getelementptr double, ptr @table, i64 %k
  %entry = load double, ptr %place
  %y = call double @inner(double %x)
  %z = fadd double %y, %entry
  ret double %z
}
"""

TAKES_LLVM = {
    'a function of the process': """
declare i64 @labs(i64)
define double @f(double %x) nounwind {
  %i = fptosi double %x to i64
  %j = call i64 @labs(i64 %i)
  %y = sitofp i64 %j to double
  ret double %y
}
""",
    'memory to write to': """
@memory = internal global [4 x double] zeroinitializer
define double @f(double %x) nounwind {
  store volatile double %x, ptr @memory
  %y = load volatile double, ptr @memory
  %z = call double @llvm.fabs.f64(double %y)
  ret double %z
}
declare double @llvm.fabs.f64(double)
""",
    'an address in memory': """
@number = internal constant double -1.0
@places = internal constant [1 x ptr] [ptr @number]
define double @f(double %x) nounwind {
  %place = load volatile ptr, ptr @places
  %y = load double, ptr %place
  %z = fmul double %x, %y
  ret double %z
}
""",
}


def function(code, name, *kinds):
    made = ctypes.CFUNCTYPE(ctypes.c_double, *kinds)(code.address(name))
    made.code = code
    return made


def test_distances_lead_where_they_should():
    code = machine_code.compile_module(SIMPLE)
    image = object_file.link(code)
    assert set(image.functions) == {'inner', 'outer'}
    outer = function(machine_code.LoadedCode(code), 'outer', ctypes.c_double, ctypes.c_int64)
    assert [outer(2.0, k) for k in range(3)] == [8.0, 7.75, 7.625]


@pytest.mark.parametrize('source', TAKES_LLVM.values(), ids=TAKES_LLVM)
def test_what_refers_to_anything_else_is_left_to_llvm(source):
    code = machine_code.compile_module(source)
    assert object_file.load(code) is None
    assert function(machine_code.LoadedCode(code), 'f', ctypes.c_double)(-7.0) == 7.0


def changed(code, place, value):
    return code[:place] + bytes([value]) + code[place + 1 :]


@pytest.mark.parametrize(('place', 'value'), [(0, 0), (4, 1), (5, 2), (16, 2), (18, 183)], ids=str)
def test_code_for_another_machine_is_left_to_llvm(place, value):
    code = machine_code.compile_module(SIMPLE)
    assert object_file.link(code)
    assert object_file.link(changed(code, place, value)) is None


def test_unknown_references_are_left_to_llvm():
    code = machine_code.compile_module(SIMPLE)
    *_, table, count = object_file.HEADER.unpack_from(code)
    entries = object_file.SECTION.iter_unpack(code[table:][: count * object_file.SECTION.size])
    sections = [object_file.Section(*fields) for fields in entries]
    (places,) = (part.offset for part in sections if part.kind == object_file.RELOCATIONS)
    kind = places + object_file.RELOCATION.fields['kind'][1]
    assert code[kind] in object_file.DISTANCES
    for other in (1, 10, 11):  # an address in 8 or 4 bytes
        assert object_file.link(changed(code, kind, other)) is None


def test_memory_is_never_writeable_and_executable():
    loaded = machine_code.LoadedCode(machine_code.compile_module(SIMPLE))
    address = loaded.address('outer')
    for line in Path('/proc/self/maps').read_text().splitlines():
        begin, end = (int(text, 16) for text in line.split()[0].split('-'))
        if begin <= address < end:
            assert line.split()[1] == 'r-xp'
            break
    else:
        pytest.fail('the function is nowhere')


@pytest.mark.parametrize('seed', range(4))
def test_programs_have_the_bits_that_they_have_by_llvm(seed, random_function, monkeypatch):
    rng = np.random.default_rng(seed)
    program = random_function(rng, 7, operations=300)
    values = rng.uniform(-3, 3, (2, 50, 5))

    def computed():
        compiled = compile_program(program, {'x': 5, 'y': 5}, backend='llvm')
        one_by_one = [compiled(*row) for row in values.swapaxes(0, 1)]
        return np.array([one_by_one, compiled(*values)])

    ours = computed()
    monkeypatch.setattr(object_file, 'load', lambda code: None)
    assert np.array_equal(ours, computed())


STARTED = """
import sys
from robot_dynamics.codegen.calls import compile_program
compiled = compile_program(lambda x: [x[0].sin() * 2.5], {'x': 1}, key='once')
assert abs(compiled([0.5])[0] - 2.5 * 0.479425538604203) < 1e-14
print('llvmlite.binding' in sys.modules)
"""


@pytest.mark.skipif(not machine_code.PROCESSOR.exists(), reason='LLVM describes the processor')
def test_what_is_found_in_the_cache_starts_without_llvm(tmp_path):
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)}
    environment.pop('ROBOT_DYNAMICS_ENTRY', None)
    environment['ROBOT_DYNAMICS_CACHE_DIR'] = str(tmp_path)
    command = [sys.executable, '-c', STARTED]
    told = [
        subprocess.run(command, env=environment, check=True, capture_output=True).stdout.strip()
        for _ in range(2)
    ]
    assert told == [b'True', b'False']


def test_the_processor_is_described_alike_where_linux_says_nothing(monkeypatch):
    found = machine_code.processor.__wrapped__()
    monkeypatch.setattr(machine_code, 'PROCESSOR', Path('/nowhere'))
    assert machine_code.processor.__wrapped__() == found
