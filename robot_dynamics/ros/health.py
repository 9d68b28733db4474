# SPDX-License-Identifier: Apache-2.0
"""Status, counts, input rate and latencies of a node."""

from __future__ import annotations

import time
from collections import Counter, deque

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

OK, WARN, ERROR, STALE = (
    DiagnosticStatus.OK,
    DiagnosticStatus.WARN,
    DiagnosticStatus.ERROR,
    DiagnosticStatus.STALE,
)
Status = tuple[bytes, str]  # level and message

WINDOW = 1_000  # latencies kept: a second at 1 kHz
PERCENTILES = (50, 99, 100)


def status_message(
    level: bytes, name: str, robot: str, message: str, figures: dict[str, str]
) -> DiagnosticStatus:
    """Return a status with figures by name; `robot` is the hardware it is about."""
    values = [KeyValue(key=key, value=value) for key, value in figures.items()]
    return DiagnosticStatus(
        level=level, name=name, hardware_id=robot, message=message, values=values
    )


class Health:
    """Counts, input rate and latencies since the start, and since the last report."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.latencies: deque[float] = deque(maxlen=WINDOW)  # s
        self.input_age: float | None = None  # s, when received; of the last one measured
        self.inputs = 0  # since the last report
        self._received: float | None = None  # s
        self._reported = Counter[str]()
        self._since: float | None = None

    def received(self, age: float | None = None) -> None:
        """Count an input message; `age` is its age when it was received, s, if measured."""
        self.inputs += 1
        if age is not None:
            self.input_age = age
        self._received = time.monotonic()

    def news(self) -> Counter[str]:
        """Return the counts since the last report."""
        return self.counts - self._reported

    def report(self, now: float) -> dict[str, str]:
        """Return the figures as text and begin the next period.

        Args:
            now: s, as time.monotonic().
        """
        figures = {name: str(count) for name, count in sorted(self.counts.items())}
        if self._since is not None and now > self._since:
            figures['input rate [Hz]'] = f'{self.inputs / (now - self._since):.1f}'
        if self.input_age is not None:
            figures['input age [ms]'] = f'{1e3 * self.input_age:.3f}'
        if self._received is not None:
            figures['last input [s ago]'] = f'{max(0.0, now - self._received):.3f}'
        if self.latencies:
            for percent, value in zip(PERCENTILES, self.latency_percentiles(), strict=True):
                figures[f'latency p{percent} [us]'] = f'{1e6 * value:.0f}'
        self.inputs, self._since, self._reported = 0, now, self.counts.copy()
        return figures

    def latency_percentiles(self) -> tuple[float, ...]:
        """Return the median, 99th percentile and maximum [s] of the last answers."""
        # Faster than NumPy for this size; a joint state may be waiting.
        ordered = sorted(self.latencies)
        last = len(ordered) - 1
        return tuple(ordered[round(last * percent / 100)] for percent in PERCENTILES)
