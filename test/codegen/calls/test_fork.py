# SPDX-License-Identifier: Apache-2.0
"""Forks while another thread compiles: the child can compile and call."""

import os
import subprocess
import sys

import pytest
from tiers import soak

pytestmark = pytest.mark.skipif(not hasattr(os, 'fork'), reason='no forks here')

FORKS = 8

# What a child is given to answer, and the whole script; s. Both are bounds of a failure alone.
CHILD_TIMEOUT, TIMEOUT = 30.0, 300.0

FORK_DURING_COMPILATION = """
import os
import signal
import sys
import threading
import time

import numpy as np

from robot_dynamics.codegen.calls import compile_program
from robot_dynamics.codegen.backends import machine_code


def compiled(factor):
    return compile_program(lambda x: [factor * x[0]], {'x': 1}, name=f'times{factor}')


def slow(*arguments):
    target = target_machine(*arguments)
    if threading.current_thread() is not threading.main_thread():
        started.set()
        time.sleep(0.1)
    return target


target_machine, machine_code._target_machine = machine_code._target_machine, slow
failed = 0
for k in range(int(sys.argv[1])):
    function, rows, started = compiled(k), np.ones((20, 1)), threading.Event()
    other = threading.Thread(target=function, args=(rows,))
    other.start()
    started.wait()
    child = os.fork()
    if not child:
        signal.alarm(int(float(sys.argv[2])))
        right = (function(rows) == k).all() and (compiled(k + 100)(rows) == k + 100).all()
        os._exit(0 if right else 1)
    failed += os.waitpid(child, 0)[1] != 0
    other.join()
    assert (function(rows) == k).all()
    if failed:
        break
sys.exit(failed)
"""


FORK_DURING_OTHER_CALLS = """
import os
import signal
import sys
import threading

import numpy as np
from llvmlite import binding

from robot_dynamics.codegen.calls import compile_program


def compiled(factor):
    return compile_program(lambda x: [factor * x[0]], {'x': 1}, name=f'times{factor}')


def other_calls():
    while not ended.is_set():
        binding.get_host_cpu_name()


rows, ended = np.ones((20, 1)), threading.Event()
compiled(0)(rows)
other = threading.Thread(target=other_calls)
other.start()
failed = 0
for k in range(1, int(sys.argv[1])):
    child = os.fork()
    if not child:
        signal.alarm(int(float(sys.argv[2])))
        os._exit(0 if (compiled(k)(rows) == k).all() else 1)
    failed += os.waitpid(child, 0)[1] != 0
    if failed:
        break
ended.set()
other.join()
sys.exit(failed)
"""


@pytest.mark.slow
@pytest.mark.usefixtures('machine')
@pytest.mark.parametrize('script', [FORK_DURING_COMPILATION, *soak([FORK_DURING_OTHER_CALLS])])
def test_a_forked_child_compiles_while_the_parent_uses_llvm(tmp_path, script):
    environment = {
        **os.environ,
        'PYTHONPATH': os.pathsep.join(sys.path),
        'PYTHONWARNINGS': 'ignore::DeprecationWarning',
        'ROBOT_DYNAMICS_CACHE_DIR': str(tmp_path),
    }
    command = [sys.executable, '-c', script, str(FORKS), str(CHILD_TIMEOUT)]
    ended = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=TIMEOUT
    )
    assert ended.returncode == 0, ended.stderr[-3000:] or 'a child did not answer'
