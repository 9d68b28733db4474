# SPDX-License-Identifier: Apache-2.0
"""Contact as a level at the stamps of joint states: it is neither lost nor invented."""

import pytest

from robot_dynamics.control.contact_level import RISE, SETTLED, ContactLevel

MS = 1_000_000
TIMEOUT = 500 * MS


def states(level, first, last, step=1):
    """Advance by joint states, ms."""
    for k in range(first, last, step):
        level.advance(k * MS, TIMEOUT)


@pytest.fixture
def level():
    level = ContactLevel()
    states(level, 1, 100)
    return level


def test_a_collision_without_states_counts_at_the_next_one(level):
    level.receive('collision', 100 * MS, 3.0)
    states(level, 5000, 5001)
    assert level.trips


@pytest.mark.parametrize('kind', ['none', 'contact', 'payload'])
def test_a_collision_is_over_once_another_kind_has_been_published_for_a_tenth_of_a_second(
    level, kind
):
    level.receive('collision', 100 * MS)
    for since in (0, SETTLED // 2, SETTLED - 1):
        level.receive(kind, 200 * MS + since)
        assert level.trips
    level.receive(kind, 200 * MS + SETTLED)
    assert not level.collides


def test_a_collision_within_that_time_begins_it_anew(level):
    for k in range(10):  # flickers
        level.receive('collision', (100 + 100 * k) * MS)
        level.receive('none', (150 + 100 * k) * MS)
        assert level.trips


def test_unknown_is_neither_a_change_nor_a_message(level):
    level.receive('collision', 100 * MS)
    for k in range(100, 1000):
        level.receive('unknown', k * MS)
        level.advance(k * MS, TIMEOUT)
    assert level.trips
    assert level.silence > TIMEOUT
    level.acknowledge()
    level.receive('unknown', 1000 * MS)
    level.receive('collision', 1001 * MS)
    assert not level.trips


def test_an_acknowledged_collision_trips_after_a_change_and_back_each_time(level):
    for k in range(1, 4):
        level.receive('collision', k * 100 * MS, 3.0)
        assert level.trips
        assert level.acknowledge()
        level.receive('collision', (k * 100 + 10) * MS, 3.0)
        assert not level.trips
        level.receive('contact', (k * 100 + 20) * MS, 1.5)
        assert not level.trips  # the change alone


@pytest.mark.parametrize(('share', 'trips'), [(0.5, False), (0.99, False), (1.01, True)])
def test_an_acknowledged_collision_trips_if_its_excess_rises_by_half(level, share, trips):
    level.receive('collision', 100 * MS, 4.0)
    level.acknowledge()
    level.receive('collision', 200 * MS, 4.0 * RISE * share)
    assert level.trips == trips
    level.acknowledge()  # of the risen one
    level.receive('collision', 300 * MS, 4.0 * RISE * share)
    assert not level.trips


def test_without_a_collision_nothing_is_acknowledged(level):
    assert not level.acknowledge()
    level.receive('collision', 100 * MS)
    assert level.trips


def test_contacts_at_ten_hertz_are_no_silence_and_fewer_are(level):
    for k in range(100, 2000):
        if k % 100 == 0:
            level.receive('none', k * MS)
        level.advance(k * MS, TIMEOUT)
        assert level.silence == k % 100 * MS
    states(level, 2000, 2401)
    assert level.silence == TIMEOUT
    states(level, 2401, 2403)
    assert level.silence > TIMEOUT
    level.receive('none', 2401 * MS)
    states(level, 2403, 2404)
    assert level.silence == 2 * MS


def test_before_the_first_state_there_is_no_silence():
    level = ContactLevel()
    level.advance(10_000 * MS, TIMEOUT)
    assert level.silence == 0
    states(level, 10_001, 10_501)
    assert level.silence == TIMEOUT


@pytest.mark.parametrize('stamp', [1, 60_000])
def test_a_message_of_another_time_does_not_end_the_silence(level, stamp):
    states(level, 100, 2000)
    level.receive('none', stamp * MS)
    states(level, 2000, 2001)
    assert level.silence > TIMEOUT


def test_a_gap_of_states_is_no_silence_of_the_observer_and_gaps_alone_are(level):
    level.receive('none', 99 * MS)
    states(level, 99, 100)
    level.advance(60_000 * MS, TIMEOUT)
    assert level.silence == TIMEOUT // 2
    level.receive('none', 61_000 * MS)  # before the state that it is about
    states(level, 61_000, 61_001)
    assert level.silence == 0
    states(level, 62_000, 65_000, 1000)
    assert level.silence > TIMEOUT


def test_a_restart_drops_all_of_it(level):
    level.receive('collision', 100 * MS, 3.0)
    level.acknowledge()
    states(level, 100, 2000)
    level.restart()
    level.advance(0, TIMEOUT)
    assert (level.collides, level.trips, level.silence) == (False, False, 0)
    level.receive('collision', 0, 3.0)
    assert level.trips
