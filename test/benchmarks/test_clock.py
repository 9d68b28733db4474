# SPDX-License-Identifier: Apache-2.0
import itertools

import pytest

from benchmarks.clock import Effort, calls_within, least, least_of, stopwatch


class Side:
    """A side whose calls take given times, one after the other."""

    def __init__(self, name, times, log):
        self.name, self.times, self.log = name, iter(times), log

    def __call__(self, number):
        self.log.append((self.name, number))
        return number * next(self.times)


def test_sides_alternate_and_the_minimum_is_kept():
    log = []
    # The first two calls of each find out how many calls fill the time. Then each turn begins with
    # a call that is not timed.
    sides = {
        'a': Side('a', [9.0, 1.0, 0.1, 3.0, 0.1, 2.0, 0.1, 5.0], log),
        'b': Side('b', [0.5, 0.6, 0.1, 0.7, 0.1, 0.9, 0.1, 0.4], log),
    }
    assert least(sides, Effort(repeats=3, seconds=1.0)) == pytest.approx({'a': 2.0, 'b': 0.4})
    assert log[4:] == [('a', 1), ('a', 1), ('b', 1), ('b', 2)] * 3


def test_the_number_of_calls_fills_the_time():
    assert calls_within(lambda number: number * 1e-6, 0.02) == pytest.approx(20000)
    assert calls_within(lambda number: number * 10.0, 0.02) == 1


def test_a_stopwatch_makes_the_given_number_of_calls():
    count = itertools.count()
    assert stopwatch(lambda: next(count))(7) > 0
    assert next(count) == 7


def test_the_minimum_over_rounds():
    assert least_of([{'a': 2.0, 'b': 1.0}, {'a': 3.0, 'b': 0.5}]) == {'a': 2.0, 'b': 0.5}
