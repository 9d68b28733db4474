# SPDX-License-Identifier: Apache-2.0
"""When joint states count as missing, by a clock of the test."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.ros import state_watch

TIMEOUT = 0.5  # s


def reading(stamp):
    return JointReading(stamp, np.zeros(2), np.zeros(2), None)


class Watched:
    def __init__(self, monkeypatch):
        self.now = 100.0
        monkeypatch.setattr(state_watch, 'time', SimpleNamespace(monotonic=lambda: self.now))
        self.watch = state_watch.StateWatch()

    def after(self, seconds, stamp):
        """Receive and answer a state after a time; return whether it was to be answered."""
        self.now += seconds
        found = self.watch.receive(reading(stamp))
        if found:
            self.watch.silent, self.watch.last = '', reading(stamp)
            self.watch.answered = stamp
        return found

    def silent_after(self, seconds):
        self.now += seconds
        begins = self.watch.begins_silence(self.now, TIMEOUT)
        return begins, self.watch.silent


@pytest.fixture
def watched(monkeypatch):
    return Watched(monkeypatch)


def test_silence_begins_once_after_the_timeout(watched):
    assert not watched.watch.receives
    assert watched.after(0.1, 1)
    assert watched.watch.receives
    assert watched.silent_after(0.49) == (False, '')
    assert watched.silent_after(0.01) == (True, 'no joint states')
    assert not watched.watch.receives
    assert watched.silent_after(1.0) == (False, 'no joint states')
    assert watched.after(0.1, 2)
    assert watched.watch.receives


def test_without_any_state_the_silence_counts_from_the_start(watched):
    assert watched.silent_after(0.5) == (True, 'no joint states')


def test_a_stamp_that_stands_still_is_a_silence_that_it_does_not_end(watched):
    assert watched.after(0.1, 2_500_000_000)
    assert watched.after(0.3, 2_500_000_000)
    assert watched.after(0.1, 2_500_000_000)
    text = 'the stamps of joint_states stand still at 2.500 s'
    assert watched.silent_after(0.2) == (True, text)
    assert not watched.after(0.1, 2_500_000_000)
    assert watched.after(0.1, 2_500_000_001)


def test_states_without_stamps_are_new_ones(watched):
    for _ in range(10):
        assert watched.after(0.3, 0)
        assert watched.silent_after(0.0) == (False, '')


def test_a_restart_forgets_the_states_before(watched):
    watched.after(0.1, 7)
    watched.silent_after(0.6)
    watched.watch.restart()
    assert (watched.watch.last, watched.watch.silent) == (None, '')
    assert watched.silent_after(0.4) == (False, '')
    assert watched.after(0.0, 7)
