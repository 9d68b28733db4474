"""How punctual this machine is: a process that only sleeps until every tick.

`python -m benchmarks.timer_jitter RATE` goes on until SIGINT and then prints, as JSON, how many
ticks there were, how many came later than a period, and how late they were, as percentiles. What
a node misses beyond that is its own.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from benchmarks import ROOT

PERCENTILES = (50.0, 99.0, 99.9, 99.99, 100.0)


@dataclass
class Jitter:
    """Ticks, and those that came more than a period late; filled when the process has ended.

    Attributes:
        lateness: of the ticks, s: the PERCENTILES.
    """

    ticks: int = 0
    late: int = 0
    lateness: list[float] = field(default_factory=list)

    @property
    def part(self) -> float:
        """The part of the ticks that came late."""
        return self.late / self.ticks if self.ticks else 0.0


@contextlib.contextmanager
def measured(rate: float) -> Iterator[Jitter]:
    """Measure meanwhile."""
    jitter = Jitter()
    process = subprocess.Popen(
        [sys.executable, '-m', 'benchmarks.timer_jitter', str(rate)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        process.stdout.readline()  # it has begun, and SIGINT will find its handler
        yield jitter
    finally:
        process.send_signal(signal.SIGINT)
        last = process.communicate()[0]
    jitter.ticks, jitter.late, jitter.lateness = json.loads(last)


def main() -> None:
    """Sleep from tick to tick until SIGINT."""
    stop: list[int] = []
    signal.signal(signal.SIGINT, lambda caught, _frame: stop.append(caught))
    print('ready', flush=True)
    period = 1 / float(sys.argv[1])
    begin, lateness = time.perf_counter(), array('d')
    while not (stop and lateness):
        due = begin + (len(lateness) + 1) * period
        time.sleep(max(0.0, due - time.perf_counter()))
        lateness.append(time.perf_counter() - due)
    late = int((np.frombuffer(lateness) > period).sum())
    print(json.dumps([len(lateness), late, np.percentile(lateness, PERCENTILES).tolist()]))


if __name__ == '__main__':
    main()
