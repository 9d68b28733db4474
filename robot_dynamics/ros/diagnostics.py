"""What a node says about itself once a second on /diagnostics.

`Health` counts and times while the node works; `diagnostic` turns it into a message. An OK node
says how often it hears its input, how old the input is and how long its answers take; a WARN says
what it had to refuse since the last report. The conventions are those of diagnostic_updater: a
status is named `/namespace/node: task`, its hardware is the robot, and STALE has not begun.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

OK, WARN, ERROR, STALE = (
    DiagnosticStatus.OK,
    DiagnosticStatus.WARN,
    DiagnosticStatus.ERROR,
    DiagnosticStatus.STALE,
)
WINDOW = 1_000  # latencies remembered: a second at 1 kHz
PERCENTILES = (50, 99, 100)


class Health:
    """Counts, input rate and latencies since start, and since the last report."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.latencies: deque[float] = deque(maxlen=WINDOW)  # s
        self.input_age: float | None = None  # s, when heard, of the last one looked at
        self.inputs = 0  # since the last report
        self._heard: float | None = None  # s
        self._reported = Counter[str]()
        self._since: float | None = None

    def heard(self, age: float | None = None) -> None:
        """Count an input message; `age` is its age when it was heard, s, if somebody looked."""
        self.inputs += 1
        if age is not None:
            self.input_age = age
        self._heard = time.monotonic()

    def news(self) -> Counter[str]:
        """Return what was counted since the last report."""
        return self.counts - self._reported

    def report(self, now: float) -> dict[str, str]:
        """Return the figures as text, and begin the next period.

        Args:
            now: s, as time.monotonic().
        """
        figures = {name: str(count) for name, count in sorted(self.counts.items())}
        if self._since is not None and now > self._since:
            figures['input rate [Hz]'] = f'{self.inputs / (now - self._since):.1f}'
        if self.input_age is not None:
            figures['input age [ms]'] = f'{1e3 * self.input_age:.3f}'
        if self._heard is not None:
            figures['last input [s ago]'] = f'{max(0.0, now - self._heard):.3f}'
        if self.latencies:
            for percent, value in zip(PERCENTILES, self.latency_percentiles(), strict=True):
                figures[f'latency p{percent} [us]'] = f'{1e6 * value:.0f}'
        self.inputs, self._since, self._reported = 0, now, self.counts.copy()
        return figures

    def latency_percentiles(self) -> tuple[float, ...]:
        """Return the median, 99th percentile and maximum [s] of the last answers."""
        # Quicker than NumPy, while a joint state may be waiting.
        ordered = sorted(self.latencies)
        last = len(ordered) - 1
        return tuple(ordered[round(last * percent / 100)] for percent in PERCENTILES)


def diagnostic(
    stamp: Any, name: str, robot: str, level: bytes, message: str, figures: dict[str, str]
) -> DiagnosticArray:
    """Return the message for /diagnostics; `robot` is the hardware it speaks of."""
    status = DiagnosticStatus(
        level=level,
        name=name,
        message=message,
        hardware_id=robot,
        values=[KeyValue(key=key, value=value) for key, value in figures.items()],
    )
    array = DiagnosticArray(status=[status])
    array.header.stamp = stamp
    return array
