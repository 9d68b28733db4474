# SPDX-License-Identifier: Apache-2.0
"""Time measurement.

All sides of a comparison alternate, so that disturbances affect all of them. The minimum of the
repeats is kept, because disturbances only lengthen a call. Each turn begins with a call that is
not timed, because the previous side has filled the caches. The time of an empty call in the same
loop is subtracted.

In each of several rounds the sides are created again, with machine code and data at other
addresses. Where cores are shared with other work, code at some addresses is two to three times
slower.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

# Seconds for a number of calls of one side.
Stopwatch = Callable[[int], float]
Name = TypeVar('Name', bound=Hashable)


@dataclass(frozen=True)
class Effort:
    """Number and length of the repeats for one figure."""

    repeats: int  # in each round
    seconds: float  # of each repeat
    rounds: int = 1


# Many short repeats: disturbances of a virtual machine often last for milliseconds only.
FULL = Effort(repeats=20, seconds=0.005, rounds=3)
QUICK = Effort(repeats=5, seconds=0.002, rounds=3)


def stopwatch(call: Callable[[], Any]) -> Stopwatch:
    """Return the stopwatch of a call in this process; it disables the garbage collector."""
    return timeit.Timer(call).timeit


def calls_within(watch: Stopwatch, seconds: float) -> int:
    """Return the number of calls that take about this long, at least 1."""
    number = 1
    while True:
        # Twice, because the first call may warm up caches.
        taken = min(watch(number), watch(number))
        if taken >= seconds / 4:
            return max(1, round(number * seconds / taken))
        number *= 4


def least(sides: Mapping[Name, Stopwatch], effort: Effort) -> dict[Name, float]:
    """Return the seconds of one call of each side: the minimum of a round."""
    numbers = {name: calls_within(watch, effort.seconds) for name, watch in sides.items()}
    best = dict.fromkeys(sides, float('inf'))
    for _ in range(effort.repeats):
        for name, watch in sides.items():
            watch(1)
            best[name] = min(best[name], watch(numbers[name]) / numbers[name])
    return best


def least_of(rounds: Sequence[Mapping[Name, float]]) -> dict[Name, float]:
    """Return the minimum of each side over all rounds."""
    return {name: min(figures[name] for figures in rounds) for name in rounds[0]}
