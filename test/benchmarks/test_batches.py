# SPDX-License-Identifier: Apache-2.0
import os

import numpy as np
import pytest

from benchmarks import batches
from benchmarks.agreement import Disagreement
from benchmarks.clock import Effort
from benchmarks.functions import FUNCTIONS, random_state
from robot_dynamics.core.dynamics import Dynamics

SHORT = Effort(repeats=2, seconds=1e-4)


@pytest.fixture(autouse=True)
def _few_samples(monkeypatch):
    monkeypatch.setattr(batches, 'SAMPLES', 37)
    monkeypatch.setattr(batches, 'FEW', 11)


@pytest.mark.slow
@pytest.mark.parametrize('name', ['chain', 'fork'])
def test_all_sides_agree_and_have_a_time(name, request):
    robot = request.getfixturevalue(name)
    results = batches.measure(robot, list(FUNCTIONS), SHORT)
    many, few = results[: len(FUNCTIONS)], results[len(FUNCTIONS) :]
    assert [batch.function for batch in many] == list(FUNCTIONS)
    assert {batch.function for batch in few} == set(batches.FEW_FUNCTIONS)
    assert {batch.samples for batch in many} == {37}
    assert {batch.samples for batch in few} == {11}
    for batch in results:
        assert batch.error < 1e-11
        pooled = batch.function in ('inverse_dynamics', 'forward_dynamics')
        assert (batches.POOL in batch.ns) == pooled
        assert set(batch.ns) >= {batches.OURS, batches.OURS_NEW, batches.OURS_TWO, batches.LOOP}


def test_one_wrong_sample_is_a_disagreement(chain, monkeypatch):
    right = Dynamics(chain.model).inverse_dynamics

    class Wrong(Dynamics):
        def inverse_dynamics(self, q, qd, qdd, out=None):
            result = np.empty_like(q) if out is None else out
            result[...] = [right(*rows) for rows in zip(q, qd, qdd, strict=True)]
            result[-1] += 1.0
            return result

    monkeypatch.setattr(batches, 'loaded_anew', lambda robot, _: [Wrong(robot.model)])
    monkeypatch.setattr(batches, 'least', pytest.fail)
    with pytest.raises(Disagreement, match='sample 36'):
        batches.measure(chain, ['inverse_dynamics'], SHORT)


def test_batches_of_long_chains_have_no_matrices(monkeypatch):
    from benchmarks.robots import find

    assert batches.functions_of(find('chain40')) == ['inverse_dynamics', 'forward_dynamics']
    assert batches.functions_of(find('chain4')) == list(FUNCTIONS)


def test_threads_are_set_for_the_call_only(chain, monkeypatch):
    monkeypatch.delenv(batches.THREADS_VARIABLE, raising=False)
    seen = []

    def call():
        seen.append(os.environ[batches.THREADS_VARIABLE])

    for name in (batches.OURS, batches.OURS_TWO):
        batches._watch(name, call)(1)
    assert seen == ['1', '2']
    assert batches.THREADS_VARIABLE not in os.environ


def test_states_are_within_the_limits(fork):
    states = random_state(fork.model, np.random.default_rng(0), 1000)
    turn, swing, slide = states.q.T
    assert np.abs(turn).max() <= np.pi
    assert np.abs(swing).max() <= 2.0
    assert slide.min() >= 0.0
    assert slide.max() <= 0.5
