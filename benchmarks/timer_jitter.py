# SPDX-License-Identifier: Apache-2.0
"""Timer jitter of the machine: wake-ups of a process that only sleeps.

`python -m benchmarks.timer_jitter RATE` runs until SIGINT and then prints as JSON the number of
ticks, the number more than a period late, and percentiles of the lateness. Further lateness of a
node is caused by the node.
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
    """Ticks, and those more than a period late; set when the process has ended.

    Attributes:
        lateness: PERCENTILES of the lateness of the ticks, s.
    """

    ticks: int = 0
    late: int = 0
    lateness: list[float] = field(default_factory=list)

    @property
    def part(self) -> float:
        """Fraction of the ticks that were late."""
        return self.late / self.ticks if self.ticks else 0.0


@contextlib.contextmanager
def measured(rate: float) -> Iterator[Jitter]:
    """Measure the jitter within this context."""
    jitter = Jitter()
    process = subprocess.Popen(
        [sys.executable, '-m', 'benchmarks.timer_jitter', str(rate)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        process.stdout.readline()  # the handler of SIGINT is installed
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
