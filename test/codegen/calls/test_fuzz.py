# SPDX-License-Identifier: Apache-2.0
"""No crash, ever: thousands of right and wrong calls, in a process that must end well."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tiers import soak


@pytest.mark.slow
@pytest.mark.parametrize('calls', [1000, *soak([4000])])
@pytest.mark.parametrize('seed', [1, *soak([2])])
def test_no_call_crashes(wrapper, seed, calls):
    program = Path(__file__).with_name('fuzz_calls.py')
    environment = {
        **os.environ,
        'PYTHONPATH': os.pathsep.join(sys.path),
        'ROBOT_DYNAMICS_THREADS': '3',
        'MALLOC_PERTURB_': '165',  # freed and fresh memory hold rubbish, not zeros
        'PYTHONMALLOC': 'debug',  # writing outside a block is noticed
        'PYTHONFAULTHANDLER': '1',
    }
    command = [sys.executable, '-W', 'ignore', str(program), str(seed), str(calls)]
    process = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert process.returncode == 0, process.stderr.decode()[-3000:]
