"""How time is taken.

All sides of a comparison take turns, over and over, so that a disturbance hits all of them; of the
repeats the least is kept, as everything that disturbs makes a call slower and nothing faster. Each
turn begins with a call that is not timed, as the side before has filled the caches. What an empty
call costs in the same loop is subtracted.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

# What a side is: seconds for so many calls.
Stopwatch = Callable[[int], float]
Name = TypeVar('Name', bound=Hashable)


@dataclass(frozen=True)
class Effort:
    """How much time a figure is worth."""

    repeats: int
    seconds: float  # of each repeat


# Many short repeats: what disturbs a virtual machine comes and goes within milliseconds.
FULL = Effort(repeats=60, seconds=0.005)
QUICK = Effort(repeats=15, seconds=0.002)


def stopwatch(call: Callable[[], Any]) -> Stopwatch:
    """Return the stopwatch of a call in this process; the garbage collector is off meanwhile."""
    return timeit.Timer(call).timeit


def calls_within(watch: Stopwatch, seconds: float) -> int:
    """Return how many calls take so long, at least 1."""
    number = 1
    while True:
        # Twice, as a first call may have to warm up.
        taken = min(watch(number), watch(number))
        if taken >= seconds / 4:
            return max(1, round(number * seconds / taken))
        number *= 4


def least(sides: Mapping[Name, Stopwatch], effort: Effort) -> dict[Name, float]:
    """Return the seconds of one call of each side: the least of interleaved repeats."""
    numbers = {name: calls_within(watch, effort.seconds) for name, watch in sides.items()}
    best = dict.fromkeys(sides, float('inf'))
    for _ in range(effort.repeats):
        for name, watch in sides.items():
            watch(1)
            best[name] = min(best[name], watch(numbers[name]) / numbers[name])
    return best
