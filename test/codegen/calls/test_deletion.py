# SPDX-License-Identifier: Apache-2.0
"""Functions come and go in circles of references, and nothing of them is used when it is gone."""

import os
import subprocess
import sys

import pytest

# Freed memory is filled with it, so that it reads as: flags of a method that belongs to a class.
RUBBISH = '2'

CIRCLES_COME_AND_GO = """
import gc

import numpy as np

from robot_dynamics.codegen.calls import compile_program


class Circle:
    '''Has functions, which are recorded from its methods.'''

    def __init__(self):
        self.calls = [
            compile_program(self.thrice, {'a': 2}, name=f'thrice{k}').call for k in range(8)
        ]

    def thrice(self, a):
        return [3.0 * x for x in a]


class WithLastWord(Circle):
    def __del__(self):
        said.extend(call(a) for call in self.calls)


a, said = np.array([0.5, -2.0]), []
for kind in [WithLastWord, Circle] * 10:
    assert all(np.array_equal(call(a), 3.0 * a) for call in kind().calls)
    gc.collect()
assert len(said) == 80
assert all(np.array_equal(result, 3.0 * a) for result in said)
"""


@pytest.mark.usefixtures('wrapper', 'machine')
def test_the_garbage_collector_deletes_functions_in_any_order():
    environment = {
        **os.environ,
        'PYTHONPATH': os.pathsep.join(sys.path),
        'PYTHONMALLOC': 'malloc',
        'MALLOC_PERTURB_': RUBBISH,
        'PYTHONFAULTHANDLER': '1',
    }
    command = [sys.executable, '-c', CIRCLES_COME_AND_GO]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
