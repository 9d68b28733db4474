"""How punctual this machine is: a process that only sleeps until every tick.

`python -m benchmarks.timer_jitter RATE` goes on until SIGINT and then prints, as JSON, how many
ticks there were and how many came later than a period. What a node misses beyond that is its own.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks import ROOT


@dataclass
class Jitter:
    """Ticks, and those that came more than a period late; filled when the process has ended."""

    ticks: int = 0
    late: int = 0

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
    jitter.ticks, jitter.late = json.loads(last)


def main() -> None:
    """Sleep from tick to tick until SIGINT."""
    stop: list[int] = []
    signal.signal(signal.SIGINT, lambda caught, _frame: stop.append(caught))
    print('ready', flush=True)
    period = 1 / float(sys.argv[1])
    begin, ticks, late = time.perf_counter(), 0, 0
    while not (stop and ticks):
        ticks += 1
        due = begin + ticks * period
        time.sleep(max(0.0, due - time.perf_counter()))
        late += time.perf_counter() - due > period
    print(json.dumps([ticks, late]))


if __name__ == '__main__':
    main()
