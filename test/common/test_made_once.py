# SPDX-License-Identifier: Apache-2.0
"""Properties that are made once hold no lock, also where a process is forked."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from robot_dynamics.common.made_once import made_once

CHECKOUT = Path(__file__).resolve().parents[2]


def test_a_slow_property_of_one_owner_does_not_block_another():
    entered, go_on = threading.Event(), threading.Event()

    class Owner:
        def __init__(self, waits):
            self.waits = waits
            self.made = 0

        @made_once
        def value(self):
            self.made += 1
            if self.waits:
                entered.set()
                go_on.wait()
            return [self.made]

    slow, fast, found = Owner(True), Owner(False), []
    making = threading.Thread(target=lambda: slow.value)
    making.start()
    entered.wait()
    looking = threading.Thread(target=lambda: found.append(fast.value), daemon=True)
    looking.start()
    looking.join(60)
    go_on.set()
    making.join()
    assert found == [[1]]
    assert fast.value is fast.value is found[0]


def test_two_threads_get_the_same_value():
    both = threading.Barrier(2)

    class Owner:
        @made_once
        def value(self):
            both.wait(60)
            return []

    owner, found = Owner(), []
    threads = [threading.Thread(target=lambda: found.append(owner.value)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] is found[1] is owner.value


def test_a_cached_property_of_functools_is_rejected_by_lint(tmp_path):
    for line in (
        'from functools import cached_property',
        'import functools\nfunctools.cached_property',
    ):
        (tmp_path / 'module.py').write_text(line + '\n')
        config = '--config', str(CHECKOUT / 'pyproject.toml'), '--select', 'TID251'
        done = subprocess.run(
            [sys.executable, '-m', 'ruff', 'check', *config, str(tmp_path / 'module.py')],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert 'use made_once' in done.stdout


FORKS = """
import os, signal, sys, threading, time
import numpy as np
from robot_dynamics import Dynamics
from robot_dynamics.core.model.robots import planar_2r, random_tree

other, small = random_tree(40, np.random.default_rng(0), branching=0.2), planar_2r()
Dynamics(other).gravity_torque, Dynamics(small).gravity_torque(np.zeros(2))
stop, hangs = threading.Event(), 0

def load():
    while not stop.is_set():
        Dynamics(other).gravity_torque

thread = threading.Thread(target=load)
thread.start()
for delay in np.random.default_rng(1).uniform(0, 0.01, int(sys.argv[1])):
    time.sleep(delay)
    child = os.fork()
    if child == 0:
        Dynamics(small).gravity_torque(np.zeros(2))
        os._exit(0)
    end, done = time.time() + 10, 0
    while not done and time.time() < end:
        done, _ = os.waitpid(child, os.WNOHANG)
        time.sleep(0.001)
    if not done:
        hangs += 1
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        break
stop.set()
thread.join()
sys.exit(hangs)
"""


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='no fork here')
@pytest.mark.slow
def test_children_forked_while_a_thread_loads_programs_load_theirs():
    run = [sys.executable, '-W', 'ignore', '-c', FORKS, '300']
    assert subprocess.run(run, check=False, timeout=600).returncode == 0
