import importlib.util
import os
import signal

import numpy as np
import pytest

from benchmarks.agreement import TOLERANCE, relative_error
from benchmarks.contenders import NOTHING, ContenderMissing, RobotRefused, load
from benchmarks.functions import random_state
from benchmarks.remote import Remote


@pytest.fixture
def state(fork):
    return random_state(fork.model, np.random.default_rng(5))


def test_the_same_answers_from_another_process(fork, state):
    here = load('mujoco', fork)
    with Remote('mujoco', fork) as there:
        assert there.title == here.title
        assert there.prepare(state) == here.prepare(state)
        for function in here.prepare(state):
            for a, b in zip(there.evaluate(function), here.evaluate(function), strict=True):
                np.testing.assert_array_equal(a, b)
        assert there.stopwatch(NOTHING)(1000) > 0


@pytest.mark.skipif(
    importlib.util.find_spec('pybullet') is None, reason='PyBullet is not installed'
)
def test_pybullet_agrees_although_it_prints(fork, state):
    ours = load('ours', fork)
    ours.prepare(state)
    with Remote('pybullet', fork) as there:
        for function in there.prepare(state):
            assert relative_error(there.evaluate(function), ours.evaluate(function)) < TOLERANCE


def test_a_library_that_is_not_installed(fork):
    with pytest.raises(ContenderMissing, match='no_such_library'):
        Remote('no_such_library', fork)


def test_a_process_that_dies_is_no_contender(fork, state):
    with Remote('mujoco', fork) as there:
        os.kill(there.pid, signal.SIGKILL)
        with pytest.raises(RobotRefused, match='died'):
            there.prepare(state)


def test_the_process_ends_with_the_context(fork):
    with Remote('mujoco', fork) as there:
        pid = there.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
