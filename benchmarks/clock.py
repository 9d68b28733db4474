"""How time is taken.

All sides of a comparison take turns, over and over, so that a disturbance hits all of them; of the
repeats the least is kept, as everything that disturbs makes a call slower and nothing faster. Each
turn begins with a call that is not timed, as the side before has filled the caches. What an empty
call costs in the same loop is subtracted.

In each of several rounds the sides are built anew, and their machine code and data come to lie
elsewhere in memory. Where cores are shared with other work, some places are slow: the same code in
other pages then takes a half or a third of the time.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

# What a side is: seconds for so many calls.
Stopwatch = Callable[[int], float]
Name = TypeVar('Name', bound=Hashable)


@dataclass(frozen=True)
class Effort:
    """How much time a figure is worth."""

    repeats: int  # in each round
    seconds: float  # of each repeat
    rounds: int = 1


# Many short repeats: what disturbs a virtual machine comes and goes within milliseconds.
FULL = Effort(repeats=20, seconds=0.005, rounds=3)
QUICK = Effort(repeats=5, seconds=0.002, rounds=3)


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
    """Return the seconds of one call of each side: the least of a round of turns."""
    numbers = {name: calls_within(watch, effort.seconds) for name, watch in sides.items()}
    best = dict.fromkeys(sides, float('inf'))
    for _ in range(effort.repeats):
        for name, watch in sides.items():
            watch(1)
            best[name] = min(best[name], watch(numbers[name]) / numbers[name])
    return best


def least_of(rounds: Sequence[Mapping[Name, float]]) -> dict[Name, float]:
    """Return the least of each side over rounds."""
    return {name: min(figures[name] for figures in rounds) for name in rounds[0]}
