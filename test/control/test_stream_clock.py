# SPDX-License-Identifier: Apache-2.0
"""Times of messages: of any clock, with jitter, losses and changes of the rate."""

import numpy as np
import pytest

from robot_dynamics.common.errors import TrajectoryError
from robot_dynamics.control.stream_clock import LARGEST_LATENESS, StreamClock

S, MS = 1_000_000_000, 1_000_000
ORIGIN = 7 * S


def ns(seconds):
    return round(seconds * S)


class Sender:
    """Messages with the period P, which arrive late by a part of the jitter."""

    def __init__(self, P, jitter=0.0, count=400, lost=0.0, seed=0):
        random = np.random.default_rng(seed)
        kept = random.random(count) >= lost
        self.sent = np.arange(count)[kept] * P
        late = jitter * np.abs(random.standard_normal(count))[kept]
        self.arrived = np.maximum.accumulate(self.sent + late)  # in order

    def times(self, clock, stamps=None):
        """Return T of every message; `stamps` is what the sender's clock adds, s."""
        return np.array(
            [
                clock.time_of(ORIGIN + ns(a), None if stamps is None else ns(s) + ns(stamps))
                for a, s in zip(self.arrived, self.sent, strict=True)
            ]
        )


@pytest.mark.parametrize('offset', [0.0, 1.7e9, -1e9], ids=lambda offset: f'{offset:g} s')
def test_stamps_of_any_clock_give_times_without_jitter(offset):
    clock, sender = StreamClock(ORIGIN, 0.1), Sender(0.01, jitter=0.003)
    T = sender.times(clock, offset)
    # From the first message that came at once on, the times are those of the stamps.
    late = T - sender.sent
    assert np.ptp(late[50:]) < 2e-3  # the least lateness rises by 10 us a message
    assert np.abs(np.diff(late[50:])).max() < 5e-4
    assert clock.period == pytest.approx(0.01, rel=1e-6)
    # Nearly every message has arrived at T + L.
    assert ((sender.arrived - T)[50:] <= clock.lateness).mean() > 0.97
    assert not clock.irregular


@pytest.mark.parametrize(('P', 'jitter'), [(0.01, 0.001), (0.033, 0.005), (0.004, 0.0005)])
def test_arrivals_are_predicted(P, jitter):
    clock, sender = StreamClock(ORIGIN, 0.1), Sender(P, jitter)
    error = (sender.times(clock) - sender.sent)[100:]
    assert error.std() < 0.25 * jitter
    assert clock.period == pytest.approx(P, rel=2e-3)
    assert not clock.irregular


@pytest.mark.parametrize('stamps', [None, 0.0], ids=['unstamped', 'stamped'])
def test_lost_messages_are_counted_and_leave_the_times_alone(stamps):
    sender = Sender(0.01, 0.001, count=1000, lost=0.05)
    clock = StreamClock(ORIGIN, 0.1)
    late = (sender.times(clock, stamps) - sender.sent)[20:]
    assert late.std() < 5e-4
    lost = 1000 - len(sender.sent)
    assert abs(clock.lost - lost) <= 0.1 * lost


def test_a_message_that_is_late_by_most_of_a_period_is_not_a_loss():
    sender = Sender(0.01, count=100)
    sender.arrived[50] += 0.008
    clock = StreamClock(ORIGIN, 0.1)
    T = sender.times(clock)
    assert np.abs(T - sender.sent)[51:].max() < 1e-3
    assert clock.lost == 0


@pytest.mark.parametrize('stamps', [None, 0.0], ids=['unstamped', 'stamped'])
@pytest.mark.parametrize(('before', 'after'), [(1 / 60, 1 / 15), (1 / 15, 1 / 60)])
def test_another_rate_is_found(stamps, before, after):
    clock = StreamClock(ORIGIN, 0.1)
    sent = np.cumsum([before] * 60 + [after] * 30)
    for t in sent:
        clock.time_of(ORIGIN + ns(t), None if stamps is None else ns(t))
    assert clock.period == pytest.approx(after, rel=0.05)


def test_irregular_messages_are_known():
    random = np.random.default_rng(1)
    for stamped in (True, False):
        clock = StreamClock(ORIGIN, 0.1)
        for t in np.cumsum(0.02 * np.clip(1 + 0.35 * random.standard_normal(300), 0.1, None)):
            clock.time_of(ORIGIN + ns(t), ns(t) if stamped else None)
        assert clock.irregular


@pytest.mark.parametrize('shift', [-0.08, -0.045, 0.045, 0.08], ids=lambda x: f'{x:g} s')
@pytest.mark.parametrize('once', [True, False], ids=['once', 'from then on'])
def test_another_delay_is_found(shift, once):
    """Of the transport, or of one message whose stamp is ahead, or of states that have stalled."""
    clock, late = StreamClock(ORIGIN, 0.1), []
    for k in range(300):
        t = k * 0.01
        stamp = t + (shift if k == 100 or (k > 100 and not once) else 0.0)
        try:
            T = clock.time_of(ORIGIN + ns(t + 0.003), ns(stamp))
        except TrajectoryError:
            late.append(k)
            continue
        late += [k] * (t + 0.003 - T > LARGEST_LATENESS)
    assert len(late) <= 10  # stamps that go back by less than the timeout are not followed
    assert t + 0.003 - T < 1e-3


def test_a_stamp_that_goes_back_is_rejected_alone():
    clock = StreamClock(ORIGIN, 0.1)
    for k in range(5):
        T = clock.time_of(ORIGIN + k * 10 * MS, k * 10 * MS)
    for back in (0, 5 * MS):
        with pytest.raises(TrajectoryError, match='that of the last one'):
            clock.time_of(ORIGIN + 41 * MS, 40 * MS - back)
    assert clock.time_of(ORIGIN + 50 * MS, 50 * MS) == pytest.approx(T + 0.01, abs=1e-4)


@pytest.mark.parametrize('step', [-3 * S, -101 * MS, 102 * MS, 10**18])
def test_a_clock_that_is_set_begins_anew(step):
    clock = StreamClock(ORIGIN, 0.1)
    for k in range(60):
        stamp = k * 10 * MS + (step if k >= 30 else 0)
        T = clock.time_of(ORIGIN + k * 10 * MS, stamp)
        assert pytest.approx(k * 0.01, abs=1e-3) == T
    assert clock.period == pytest.approx(0.01)


def test_lateness_is_bounded():
    clock = StreamClock(ORIGIN, 1.0)
    for k in range(20):
        clock.time_of(ORIGIN + ns(0.02 * k + (0.3 if k == 10 else 0)), ns(0.02 * k))
    assert clock.lateness == LARGEST_LATENESS


def test_windows_are_ahead_of_their_time():
    clock = StreamClock(ORIGIN, 0.1)
    for k in range(50):
        T = clock.absolute(ORIGIN + k * 20 * MS, ORIGIN + (k * 20 + 5) * MS, 0.1)
        assert pytest.approx(0.02 * k + 0.005, abs=1e-9) == T
    assert clock.lateness == pytest.approx(-0.105, abs=1e-6)
    assert clock.period == pytest.approx(0.02, rel=1e-3)
