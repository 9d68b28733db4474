# SPDX-License-Identifier: Apache-2.0
import importlib.util

import numpy as np
import pytest

from benchmarks.agreement import TOLERANCE, relative_error
from benchmarks.contenders import NOTHING, load
from benchmarks.functions import random_state
from benchmarks.remote import Remote


@pytest.fixture
def state(fork):
    return random_state(fork.model, np.random.default_rng(5))


def test_results_from_another_process_are_equal(fork, state):
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
def test_pybullet_agrees_despite_its_output(fork, state):
    ours = load('ours', fork)
    ours.prepare(state)
    with Remote('pybullet', fork) as there:
        for function in there.prepare(state):
            assert relative_error(there.evaluate(function), ours.evaluate(function)) < TOLERANCE
