# SPDX-License-Identifier: Apache-2.0
"""Functions are timed only after their results agree."""

import numpy as np
import pytest

from benchmarks import single
from benchmarks.agreement import Disagreement
from benchmarks.clock import Effort
from benchmarks.contenders import NOTHING, Local
from benchmarks.contenders.ours import Ours, OursKept
from benchmarks.contenders.pinocchio import Pinocchio
from benchmarks.functions import random_state
from robot_dynamics.core.dynamics import Dynamics

SHORT = Effort(repeats=2, seconds=1e-4)
FUNCTIONS = ['inverse_dynamics', 'mass_matrix']


class WrongMassMatrix(Pinocchio):
    """Pinocchio, but for its mass matrix."""

    def results(self, function, returned):
        results = super().results(function, returned)
        return [1.001 * a for a in results] if function == 'mass_matrix' else results


def test_every_side_has_a_time_and_an_error(chain, monkeypatch):
    monkeypatch.setattr(single, 'OTHERS', {'mujoco': single.load})
    notes = []
    calls = single.measure(chain, FUNCTIONS, SHORT, notes)
    assert [call.function for call in calls] == FUNCTIONS
    for call in calls:
        assert set(call.ns) == {single.NEW, single.KEPT, single.OUT, single.REFERENCE, 'mujoco'}
        assert set(call.error) == set(call.ns) - {single.REFERENCE}
        assert max(call.error.values()) < 1e-12
        assert call.ratio(single.REFERENCE) == 1.0
    assert notes == []


def test_disagreement_with_pinocchio_ends_the_run_before_any_time_is_taken(chain, monkeypatch):
    monkeypatch.setattr(single, 'OTHERS', {})
    monkeypatch.setattr(single, 'Pinocchio', WrongMassMatrix)
    monkeypatch.setattr(single, 'least', pytest.fail)
    with pytest.raises(Disagreement, match='mass_matrix of new array differs by'):
        single.measure(chain, FUNCTIONS, SHORT, [])


def test_a_library_that_disagrees_is_excluded_by_name(chain, monkeypatch):
    monkeypatch.setattr(single, 'OTHERS', {'liar': lambda name, robot: WrongMassMatrix(robot)})
    notes = []
    inverse, mass = single.measure(chain, FUNCTIONS, SHORT, notes)
    assert 'liar' in inverse.ns
    assert 'liar' not in mass.ns
    assert len(notes) == 1
    assert 'mass_matrix of liar differs' in notes[0]


def test_an_empty_call_is_subtracted(chain, monkeypatch):
    rounds = iter(
        [
            {'inverse_dynamics': 1e-7, 'mass_matrix': 3e-7, NOTHING: 2e-8},
            # A disturbed empty call does not reduce the times.
            {'inverse_dynamics': 2e-7, 'mass_matrix': 2e-7, NOTHING: 9e-8},
        ]
    )

    def least(watches, _effort):
        of = next(rounds)
        return {(function, name): of[function] for function, name in watches}

    monkeypatch.setattr(single, 'OTHERS', {})
    monkeypatch.setattr(single, 'least', least)
    inverse, mass = single.measure(chain, FUNCTIONS, Effort(2, 1e-4, rounds=2), [])
    assert list(inverse.ns.values()) == pytest.approx([80.0] * 4)
    assert list(mass.ns.values()) == pytest.approx([180.0] * 4)


@pytest.mark.parametrize(('side', 'all_are_new'), [(Ours, False), (OursKept, True)])
def test_kept_results_are_not_recycled(chain, side, all_are_new):
    arm = Dynamics(chain.model)
    kept = side(arm, FUNCTIONS)
    kept.prepare(random_state(chain.model, np.random.default_rng(0)))
    call, seen = kept._calls['mass_matrix'], []

    def watched():
        result = call()
        seen.append(id(result))
        return result

    kept._calls = {**kept._calls, 'mass_matrix': watched}
    kept.stopwatch('mass_matrix')(50)
    assert (len(set(seen)) == 50) == all_are_new


def test_functions_are_timed_in_turns():
    log = []

    class Noting(Local):
        def stopwatch(self, function):
            return lambda number: log.append(function) or number * 1e-6

    side = Noting('side', [], [])
    single._seconds({'a': {'side': side}, 'b': {'side': side}}, Effort(3, 0.0))
    finding_out, turns = 6, ['a', NOTHING, 'b']
    assert log[finding_out:] == [each for each in turns for _ in range(2)] * 3


def test_a_ratio_above_one_is_faster_than_pinocchio():
    call = single.SingleCall('r', 6, 'f', {single.REFERENCE: 1000.0, single.NEW: 100.0}, {})
    assert np.isclose(call.ratio(single.NEW), 10.0)
