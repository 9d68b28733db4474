# SPDX-License-Identifier: Apache-2.0
"""Repeated periods of a motion, averaged.

Where a motion repeats, so do the efforts; what differs between the periods is noise. The average
of m periods has its noise reduced by sqrt(m), in the positions and velocities as well.

Source: Swevers, Ganseman, Tükel, De Schutter and Van Brussel, "Optimal robot excitation and
identification", IEEE Trans. Robotics and Automation 13(5), 1997.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.recordings.recording import Recording, efforts_of
from robot_dynamics.recordings.smoothing import Stretch, low_pass, smooth

COARSE = 25.0  # Hz, at which the period is searched
SHORTEST, LONGEST = 2.0, 120.0  # s
SAME = 0.02  # of the standard deviation of the positions: a motion repeats within it
WINDOW = 0.5  # s, over which accelerations are compared
MARGIN = 2.0  # s, by which the average period continues at both ends


class Averaged(NamedTuple):
    """The average of several periods."""

    recording: Recording  # one period, continued by MARGIN at both ends
    period: float  # s
    number: int  # of periods
    spread: Array  # (n,) standard deviation of the low-passed efforts between periods, as recorded


def averaged(recording: Recording, cutoff: float) -> Averaged | None:
    """Return the average period of a recording, or None if its motion does not repeat.

    Args:
        recording: the samples.
        cutoff: Hz, of the low-pass of the efforts for their spread.
    """
    t = recording.t
    stretches, _ = smooth(recording, cutoff)
    if len(stretches) > 1 or not (np.diff(t) > 0).all():
        return None
    motion = stretches[0]
    even = np.arange(t[0], t[-1], 1 / COARSE)
    q = np.column_stack([np.interp(even, motion.t, column) for column in motion.q.T])
    found = _repetition(q)
    if found is None:
        return None
    start, end, lag = found
    period = _refined(motion, float(even[start]), lag / COARSE, 1 + (end - start) // lag)
    first, number = _steady(motion, period, float(even[start]), float(even[end]))
    if number < 2:
        return None
    period = _refined(motion, first, period, number)
    return _average(recording, cutoff, first, period, number)


def _steady(motion: Stretch, period: float, begin: float, end: float) -> tuple[float, int]:
    """Return the beginning [s] and the number of whole periods without ramps.

    Ramps differ from the periods in their accelerations before they do in their positions.

    Args:
        motion: the smoothed samples.
        period: s.
        begin: s, from which the positions repeat one period later.
        end: s, until which they do; elsewhere accelerations of an arm at rest may repeat, too.
    """
    rows = motion.inner
    t, qdd = motion.t[rows], motion.qdd[rows]
    now = t < t[-1] - period
    later = np.column_stack([np.interp(t[now] + period, t, column) for column in qdd.T])
    size = qdd.std(axis=0)
    seen = size > 0
    differs = (((later - qdd[now])[:, seen] / size[seen]) ** 2).mean(axis=1)
    width = max(1, round(WINDOW / motion.step))
    if len(differs) < width:
        return float(t[0]), 0
    differs = np.sqrt(np.convolve(differs, np.ones(width) / width, 'same'))
    repeats = (begin <= t[now]) & (t[now] <= end)
    equal = _runs(repeats & (differs < max(2 * SAME, 3 * float(np.median(differs)))))
    if not equal:
        return float(t[0]), 0
    first, last = equal[0]
    # The average over the window blurs both ends.
    length = (last - first) * motion.step + period
    number = int((length + WINDOW) / period)
    return float(t[first] + (length - number * period) / 2), number


def _runs(mask: Array) -> list[tuple[int, int]]:
    """Return [beginning, end) of each run of true values, the longest first."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(int), [0]])))
    runs = [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]
    return sorted(runs, key=lambda run: run[0] - run[1])


def _repetition(q: Array) -> tuple[int, int, int] | None:
    """Return the samples [first, last) of q (k, n) that repeat one period later, and its lag."""
    scale = q.std(axis=0)
    moving = scale > 1e-3
    if not moving.any():
        return None
    x = q[:, moving] / scale[moving]
    # A period may lie by half a sample beside a lag.
    within = SAME + np.abs(np.gradient(x, axis=0)) / 2
    best = None
    for lag in range(round(SHORTEST * COARSE), min(len(x) // 2, round(LONGEST * COARSE)) + 1):
        if best is not None and lag > 1.5 * best[2]:
            break
        same = (np.abs(x[lag:] - x[:-lag]) < within[:-lag]).all(axis=1)
        # One more period at least, and an arm at rest repeats nothing.
        moving_runs = (
            (first, last)
            for first, last in _runs(same)
            if last - first >= lag and x[first:last].std(axis=0).max() > 10 * SAME
        )
        first, last = next(moving_runs, (0, 0))
        if last and (best is None or _mismatch(x, lag, first) < best[3]):
            best = first, last, lag, _mismatch(x, lag, first)
    return None if best is None else best[:3]


def _mismatch(x: Array, lag: int, first: int) -> float:
    return float(((x[first + lag : first + 2 * lag] - x[first : first + lag]) ** 2).mean())


def _refined(motion: Stretch, first: float, period: float, number: int) -> float:
    """Return the period that makes the last period equal the first best, within a coarse step."""
    grid = np.linspace(first, first + 0.9 * period, 2000)
    t, q = motion.t, motion.q
    at_first = np.column_stack([np.interp(grid, t, x) for x in q.T])
    slope = np.gradient(at_first, grid, axis=0)
    coarse = period
    for _ in range(3):
        shift = (number - 1) * period
        last = np.column_stack([np.interp(grid + shift, t, x) for x in q.T])
        # last(t + shift + d) = last + d slope
        period += float(((at_first - last) * slope).sum() / (slope**2).sum()) / (number - 1)
    return float(np.clip(period, coarse - 1 / COARSE, coarse + 1 / COARSE))


def _average(
    recording: Recording,
    cutoff: float,
    first: float,
    period: float,
    number: int,
) -> Averaged:
    step = float(np.median(np.diff(recording.t)))
    samples = round(period / step)
    phase = np.arange(samples) * (period / samples)

    def periods(x: Array) -> Array:
        times = first + phase + period * np.arange(number)[:, None]
        return np.stack(
            [np.interp(times, recording.t, column) for column in x.T], axis=-1
        )  # (number, samples, n)

    extra = round(MARGIN / period * samples)
    index = np.arange(-extra, samples + extra) % samples
    effort = periods(efforts_of(recording))
    one = replace(
        recording,
        t=np.arange(len(index)) * (period / samples),
        q=periods(recording.q).mean(axis=0)[index],
        qd=None if recording.qd is None else periods(recording.qd).mean(axis=0)[index],
        effort=effort.mean(axis=0)[index],
        command=None,
        command_qd=None,
        feedforward=None,
    )
    # The filter has its transients in a continuation at both ends.
    run = np.concatenate([effort[-1][len(effort[-1]) - extra :], *effort, effort[0][:extra]])
    smooth = low_pass(run, cutoff, period / samples)[extra : len(run) - extra]
    spread = np.sqrt(smooth.reshape(effort.shape).var(axis=0, ddof=1).mean(axis=0))
    return Averaged(one, period, number, spread)
