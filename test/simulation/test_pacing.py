# SPDX-License-Identifier: Apache-2.0
"""Wall times of the steps: real-time factor, late steps, clocks that jump."""

import numpy as np
import pytest

from robot_dynamics.simulation.scheduling import LONGEST_LAG, TIMER_PERIOD, Pace

DT = 1e-3


def run(pace, readings, steps=0):
    """Read the clock at these times; return the times at which steps began."""
    began = []
    for now in readings:
        pace.clock_jumped(now)
        while pace.is_due(now, steps):
            pace.begin_step(now, steps)
            began.append(now)
            steps += 1
            if len(began) > 100_000:
                raise AssertionError('there is no end of steps')
    return began


def test_a_timer_with_jitter_makes_one_step_per_period():
    wavering = DT * np.arange(1000) + np.random.default_rng(0).uniform(-0.3, 0.3, 1000) * DT
    pace = Pace(DT, 1.0)
    assert run(pace, wavering) == list(wavering)
    assert pace.late == 0


@pytest.mark.parametrize('factor', [0.1, 0.5, 1.0, 3.0, 20.0])
def test_steps_follow_the_factor(factor):
    pace = Pace(DT, factor)
    began = run(pace, np.arange(0, 1, pace.period))
    assert len(began) == pytest.approx(factor / DT, rel=0.02)
    assert pace.late == 0
    assert pace.period == pytest.approx(max(DT / factor, TIMER_PERIOD))


def test_late_steps_are_counted_and_caught_up():
    pace = Pace(DT, 1.0)
    began = run(pace, [0.0, 0.001, 0.051])
    assert len(began) == 52
    assert pace.late == pytest.approx(48, abs=1)
    assert pace.restarts == 0


def test_a_schedule_far_behind_is_restarted():
    pace = Pace(DT, 1.0)
    began = run(pace, [0.0, 0.001, 0.001 + 2 * LONGEST_LAG, 0.002 + 2 * LONGEST_LAG])
    assert len(began) == 4
    assert pace.restarts == 1


def test_a_clock_that_runs_backwards_is_counted_and_restarts_the_schedule():
    pace = Pace(DT, 1.0)
    assert len(run(pace, [1000.0, 1000.001, 5.0, 5.001, 5.002])) == 5
    assert pace.jumps == 1
    assert pace.late == pace.restarts == 0


def test_the_measured_factor():
    pace = Pace(DT, 1.0)
    assert pace.factor(1.0, 0) == 0
    assert pace.factor(1.5, 250) == pytest.approx(0.5)
    pace.clock_jumped(1.5)
    pace.clock_jumped(0.1)
    assert pace.factor(0.2, 300) == 0  # no factor is measured across a jump


def test_another_factor_restarts_the_schedule():
    pace = Pace(DT, 0.1)
    steps = len(run(pace, np.arange(0, 1, 0.01)))
    pace.set_factor(1.0)
    assert len(run(pace, np.arange(1, 1.1, 0.001), steps)) == pytest.approx(100, abs=1)
