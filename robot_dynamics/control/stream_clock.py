# SPDX-License-Identifier: Apache-2.0
"""Times of the messages of a stream, without the jitter of their transport.

A reference that follows arrivals repeats their jitter as accelerations: at 100 Hz with 1 ms of
jitter, 115 to 640 rad/s^2 for a motion of 11.5. Two cases:

- With stamps of any clock, T_k = stamp_k + min (arrival - stamp) over the last messages. Where
  some in a row are too late by that, it begins anew: the delay of the transport has changed.
- Without stamps, each arrival corrects a prediction, T_k = T_(k-1) + m P + kappa e, with its
  error e and m periods P. This is a steady-state (alpha-beta) filter of the arrivals.

The lateness L is the largest arrival - T of the last seconds; a message that is played at T + L
has arrived by then, as a rule.

Source: Bar-Shalom, Li and Kirubarajan, Estimation with Applications to Tracking and Navigation
(2001), section 6.5, for the filter.
"""

from __future__ import annotations

from collections import deque
from statistics import median

from robot_dynamics.common.errors import TrajectoryError
from robot_dynamics.common.stamps import SECOND

USUAL_PERIOD = 1 / 30  # s, before there are two messages
SHORTEST, LONGEST = 0.001, 1.0  # s, of periods
GAPS = 15  # between messages, of which the period with stamps is the median
LEAST_GAIN = 0.05  # kappa of a long stream
OFFSETS = 50  # messages, of whose arrivals the least delay is taken
MEMORY = 3.0  # s, of the lateness
LARGEST_LATENESS = 0.05  # s
TOO_LATE = 3  # messages in a row that are later than that
IRREGULAR = 0.15  # P, mean error of a message's time above which gaps do not count lost messages
LARGEST_GAP = 8  # P, after which the prediction begins anew
SLOWER = 1.5  # P, mean gap of messages above which it begins anew as well


class StreamClock:
    """Clock of one stream; times are s after an origin.

    Attributes:
        period: P, s.
        lateness: L, s, at most LARGEST_LATENESS; negative if the last points of messages are
            ahead of their arrival.
        received: how many messages.
        lost: how many, as gaps of regular messages show.
    """

    def __init__(self, origin: int, timeout: float):
        """Wait for the first message.

        Args:
            origin: time 0, ns, of the joint states' clock.
            timeout: s, by which stamps may be later or earlier than expected.
        """
        self._origin, self._timeout = origin, timeout
        self.period = USUAL_PERIOD
        self.received = self.lost = 0
        self._last: float | None = None  # T of the last message
        self._first_stamp = 0  # ns
        self._stamped = 0.0  # stamp of the last message, s after the first one
        self._offsets: deque[float] = deque(maxlen=OFFSETS)  # arrival - stamp
        self._too_late = 0  # messages in a row
        self._count = 0  # messages since the prediction began
        self._gaps: deque[float] = deque(maxlen=GAPS)
        self._arrival = 0.0  # of the last message, s
        self._error = 0.0  # s, mean size of the errors of the predictions
        self._periods = 1  # m of the last message
        self._slip = 0.0  # s, mean error of the last ones: a prediction may be a period off
        # Arrival and lateness of the messages that are the latest of those since then
        self._late: deque[tuple[float, float]] = deque()
        self._added = 0  # what the last message added to `lost`

    @property
    def lateness(self) -> float:
        """L, s."""
        return min(self._late[0][1] if self._late else 0.0, LARGEST_LATENESS)

    @property
    def irregular(self) -> bool:
        """Whether times of messages differ from multiples of the period by more than IRREGULAR."""
        return self._error > IRREGULAR * self.period

    def seconds(self, stamp: int) -> float:
        """Return the time [s] of a stamp [ns] of the joint states' clock."""
        return (stamp - self._origin) / SECOND

    def time_of(self, arrival: int, stamp: int | None, ahead: float = 0.0) -> float:
        """Return the time T of the next message, s.

        Args:
            arrival: ns, of the joint states' clock.
            stamp: ns, of any clock; None without one.
            ahead: time of the message's last point after its own, s.

        Raises:
            TrajectoryError: it is older than the one before it.
        """
        a = self.seconds(arrival)
        T = self._predicted(a) if stamp is None else self._of_stamp(a, stamp)
        self._last = T
        self.received += 1
        self._note_lateness(a, a - T - ahead)
        return T

    def absolute(self, arrival: int, stamp: int, ahead: float) -> float:
        """Return the time T of a message whose stamp [ns] is of the joint states' clock."""
        a, T = self.seconds(arrival), self.seconds(stamp)
        self._last = self._predicted(a)  # for the period alone
        self.received += 1
        self._note_lateness(a, a - T - ahead)
        return T

    def _note_lateness(self, a: float, late: float) -> None:
        while self._late and self._late[-1][1] <= late:
            self._late.pop()
        self._late.append((a, late))
        while self._late[0][0] < a - MEMORY:
            self._late.popleft()

    def _of_stamp(self, a: float, stamp: int) -> float:
        if not self._offsets:
            self._first_stamp = stamp
        s = (stamp - self._first_stamp) / SECOND
        offset, gap = a - s, s - self._stamped
        least = min(self._offsets, default=offset)
        self._too_late = self._too_late + 1 if offset - least > LARGEST_LATENESS else 0
        if abs(offset - least) > self._timeout or self._too_late >= TOO_LATE:
            self._offsets.clear()  # another clock, or another delay
            self._late.clear()
            self._too_late, self._last = 0, None
        if self._last is not None and gap <= 0:
            before = f'{-gap:.3f} s before that' if gap < 0 else 'that'
            raise TrajectoryError(f'its stamp is {before} of the last one; expected a later one')
        self._stamped = s
        self._offsets.append(offset)
        T = s + min(self._offsets)
        if self._last is None:
            return T
        self._gaps.append(gap)
        self.period = _clipped(median(self._gaps))
        m = max(1, round(gap / self.period))
        self._note_error(gap - m * self.period, m)
        return T

    def _predicted(self, a: float) -> float:
        if self._last is None:
            self._arrival = a
            return a
        self._gaps.append(a - self._arrival)
        self._arrival = a
        gap = a - self._last
        self._count += 1
        if self._count == 1:
            self.period = _clipped(self._mean_gap())
            return a
        P = self.period
        m, added = max(1, round(gap / P)), self._added
        self._note_error(gap - m * P, m)
        if self.irregular and gap < 3.5 * P:
            m = 1
        if self._periods > 1 and gap < P / 2:
            m = 0  # the last message was late, and none was lost before it
            self.lost -= added
        self._periods = m
        e = gap - m * P
        self._slip += 0.2 * (e - self._slip)
        is_slower = self._mean_gap() > SLOWER * P
        if is_slower or m > LARGEST_GAP or abs(e) > P or abs(self._slip) > P / 2:
            self._count, self._slip = 0, 0.0
            return a
        kappa = max(2 / (self._count + 1), LEAST_GAIN)
        self.period = _clipped(P + kappa**2 * e / (2 * max(m, 1)))
        return a - e + kappa * e

    def _mean_gap(self) -> float:
        """Return the mean of the last gaps but the largest one, which may be a silence."""
        gaps = self._gaps
        return (sum(gaps) - max(gaps)) / (len(gaps) - 1) if len(gaps) > 1 else gaps[0]

    def _note_error(self, e: float, m: int) -> None:
        gain = max(1 / (self.received + 1), LEAST_GAIN)
        self._error += gain * (min(abs(e), self.period) - self._error)
        self._added = m - 1 if not self.irregular and m <= LARGEST_GAP else 0
        self.lost += self._added


def _clipped(period: float) -> float:
    return min(max(period, SHORTEST), LONGEST)
