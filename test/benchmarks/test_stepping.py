# SPDX-License-Identifier: Apache-2.0
import pytest

from benchmarks import stepping
from benchmarks.agreement import Disagreement
from benchmarks.clock import Effort

SHORT = Effort(repeats=1, seconds=1e-4)


@pytest.mark.slow
def test_both_simulators_agree(fork):
    run = stepping.measure(fork, SHORT)
    assert run.error < 1e-10
    assert len(run.steps_per_s) == 6
    assert all(rate > 0 for rate in run.steps_per_s.values())


def test_another_integrator_is_a_disagreement(fork, monkeypatch):
    monkeypatch.setattr(stepping, 'INTEGRATOR', 'explicit_euler')
    with pytest.raises(Disagreement, match='500 steps'):
        stepping.measure(fork, SHORT)
