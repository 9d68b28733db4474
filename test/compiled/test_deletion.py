"""Robots come and go, and nothing of them is used when it is gone."""

import os
import subprocess
import sys

import pytest

# Freed memory is filled with it, so that it reads as: flags of a method that belongs to a class.
RUBBISH = '2'

ROBOTS_COME_AND_GO = """
import gc
import sys

import numpy as np

from robot_dynamics.compiler import object_file
from robot_dynamics.dynamics import Dynamics
from robot_dynamics.model.urdf import load_urdf
from robot_dynamics.resources import share_file


class Controller:
    '''In a cycle, with a last word.'''

    def __init__(self, arm):
        self.arm, self.itself = arm, self

    def __del__(self):
        said.append(self.arm.gravity_torque(q))


if sys.argv[1] == 'engine':
    object_file.load = lambda code: None
model, q, said = load_urdf(share_file('urdf/panda.urdf')), np.linspace(-1.0, 1.0, 7), []
for has_controller in [True, False] * 10:
    arm = Dynamics(model)
    first = arm.gravity_torque(q), arm.mass_matrix(q), arm.terms(q, q)
    if has_controller:
        Controller(arm)
    del arm
    gc.collect()
assert len(said) == 10
assert all(np.array_equal(torque, first[0]) for torque in said)
"""


@pytest.mark.usefixtures('entry', 'machine')
@pytest.mark.parametrize('loader', ['image', 'engine'])
def test_the_garbage_collector_takes_robots_in_any_order(loader):
    environment = {
        **os.environ,
        'PYTHONPATH': os.pathsep.join(sys.path),
        'PYTHONMALLOC': 'malloc',
        'MALLOC_PERTURB_': RUBBISH,
        'PYTHONFAULTHANDLER': '1',
    }
    command = [sys.executable, '-c', ROBOTS_COME_AND_GO, loader]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
