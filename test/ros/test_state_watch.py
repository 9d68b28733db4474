# SPDX-License-Identifier: Apache-2.0
"""Joint states that stop, stand still, or continue from a clock that was set back."""

import time
from types import SimpleNamespace

import pytest

from robot_dynamics.common.stamps import SECOND
from robot_dynamics.ros.nodes.feedforward_parts.state_watch import StateWatch

TIMEOUT = 60.0  # s, longer than any pause of the test


@pytest.fixture
def silent():
    """A watch of states that have stood still at 5 s for longer than the timeout."""
    watch = StateWatch()
    watch.last = SimpleNamespace(stamp=5 * SECOND)
    assert watch.receive(watch.last)
    watch.answered = watch.last.stamp
    now = time.monotonic()
    assert not watch.begins_silence(now, TIMEOUT)
    assert watch.begins_silence(now + 2 * TIMEOUT, TIMEOUT)
    assert not watch.begins_silence(now + 3 * TIMEOUT, TIMEOUT)
    return watch


@pytest.mark.parametrize('seconds', [2, 4.999, 5.001, 9])
def test_a_state_of_another_time_is_answered_after_a_silence(silent, seconds):
    assert silent.receive(SimpleNamespace(stamp=round(seconds * SECOND)))


def test_a_state_without_a_stamp_is_answered_and_a_stamp_that_stands_still_is_not(silent):
    assert not silent.receive(silent.last)
    assert silent.receive(SimpleNamespace(stamp=0))


def test_after_a_restart_there_is_no_state_and_no_silence(silent):
    assert not silent.receives
    silent.restart()
    assert (silent.last, silent.silent) == (None, '')
    assert silent.receive(SimpleNamespace(stamp=5 * SECOND))
