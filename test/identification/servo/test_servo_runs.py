# SPDX-License-Identifier: Apache-2.0
"""Runs of recordings: their steps, and means of held commands."""

import numpy as np
import pytest

from robot_dynamics.identification.servo.servo_runs import LONGEST_STEP, runs_of
from robot_dynamics.recordings import Recording
from robot_dynamics.recordings.recording import RecordingError


def recording(t):
    u = np.sin(t)[:, None]
    return Recording(('j',), t, 0.9 * u, None, None, command=u)


def test_mean_of_a_held_command_is_linear_between_its_changes():
    t = np.arange(0, 5, 0.02)
    one = recording(t)
    (run,) = runs_of([one])
    u = one.command[:, 0]
    # Half of the old and half of the new value; before the first sample, that one.
    edges = np.array([-1.0, 0.0, 0.99, 1.01])
    assert run.mean_between(u, edges) == pytest.approx(
        [u[0], u[:49].sum() * 0.02 / 0.99 + u[49] * 0.01 / 0.99, (u[49] + u[50]) / 2]
    )


@pytest.mark.parametrize('period', [0.02, 0.0201, 1e-3, 0.25e-3, 0.0333])
def test_commands_change_at_steps(period):
    (run,) = runs_of([recording(np.arange(0, 4, period))])
    assert run.step <= LONGEST_STEP * (1 + 1e-9)
    whole = max(run.step, period) / min(run.step, period)
    assert whole == pytest.approx(round(whole), abs=1e-6)


def test_gaps_divide_a_recording_and_short_parts_are_left_out():
    t = np.concatenate([np.arange(0, 5, 0.02), np.arange(6, 7, 0.02), np.arange(9, 13, 0.02)])
    first, second = runs_of([recording(t)])
    assert first.t[-1] == pytest.approx(4.98)
    assert (second.t[0], second.recording) == (0.0, 0)
    with pytest.raises(RecordingError, match='no stretch without a gap lasts 3 s'):
        runs_of([recording(t[t < 2])])
