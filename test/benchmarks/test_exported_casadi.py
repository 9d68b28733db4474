# SPDX-License-Identifier: Apache-2.0
import shutil

import numpy as np
import pytest

from benchmarks import exported_casadi
from benchmarks.robots import find
from robot_dynamics import Dynamics

casadi_functions = pytest.importorskip(
    'benchmarks.contenders.casadi_functions', exc_type=ImportError
)


@pytest.mark.parametrize('robot', ['panda', 'talos_reduced'])
def test_expressions_are_the_functions_of_the_library(robot):
    model = find(robot).model
    arm, made = Dynamics(model), casadi_functions.functions(model, 'arm')
    states = np.random.default_rng(0).uniform(-1.0, 1.0, (3, model.n))
    for function, (name, count) in zip(made, exported_casadi.FUNCTIONS.items(), strict=True):
        expected = getattr(arm, name)(*states[:count])
        found = np.array(function(*states[:count])).reshape(expected.shape)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.skipif(shutil.which('gcc') is None, reason='needs gcc')
def test_both_sides_are_timed_and_agree(tmp_path):
    rows = exported_casadi.measure('gcc', '-O1', exported_casadi.write(tmp_path, find('chain2')))
    assert [row.function for row in rows] == list(exported_casadi.FUNCTIONS)
    for row in rows:
        assert row.ours > 0.0
        assert row.casadi > 0.0
        assert row.error < exported_casadi.AGREEMENT
