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

from robot_dynamics.identification.recording import Recording
from robot_dynamics.identification.smoothing import low_pass
from robot_dynamics.spatial import Array

COARSE = 25.0  # Hz, at which the period is searched
SHORTEST, LONGEST = 2.0, 120.0  # s
SAME = 0.02  # of the standard deviation of the positions: a motion repeats within it
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
    if len(t) < 10 or not (np.diff(t) > 0).all():
        return None
    even = np.arange(t[0], t[-1], 1 / COARSE)
    q = np.column_stack([np.interp(even, t, column) for column in recording.q.T])
    found = _repetition(q)
    if found is None:
        return None
    first, lag, number = found
    period = _refined(recording, even[first], lag / COARSE, number)
    step = float(np.median(np.diff(t)))
    return _average(recording, cutoff, even[first], period, number, step)


def _repetition(q: Array) -> tuple[int, int, int] | None:
    """Return the first sample, the lag and the number of the repeated periods of q (k, n)."""
    scale = q.std(axis=0)
    moving = scale > 1e-3
    if not moving.any():
        return None
    x = q[:, moving] / scale[moving]
    best = None
    for lag in range(round(SHORTEST * COARSE), min(len(x) // 2, round(LONGEST * COARSE)) + 1):
        if best is not None and lag > 1.5 * best[1]:
            break
        same = np.abs(x[lag:] - x[:-lag]).max(axis=1) < SAME
        if same.sum() < lag:  # one more period at least
            continue
        edges = np.flatnonzero(np.diff(np.concatenate([[0], same.astype(int), [0]])))
        starts, ends = edges[::2], edges[1::2]
        longest = int((ends - starts).argmax())
        number = (int(ends[longest] - starts[longest]) + lag) // lag
        moves = x[starts[longest] : ends[longest]].std(axis=0).max() > 10 * SAME
        better = best is None or _mismatch(x, lag, starts[longest]) < best[3]
        if number >= 2 and moves and better:
            best = int(starts[longest]), lag, number, _mismatch(x, lag, starts[longest])
    return None if best is None else best[:3]


def _mismatch(x: Array, lag: int, first: int) -> float:
    return float(((x[first + lag : first + 2 * lag] - x[first : first + lag]) ** 2).mean())


def _refined(recording: Recording, first: float, period: float, number: int) -> float:
    """Return the period that makes the last period equal the first best, within a coarse step."""
    grid = np.linspace(first, first + 0.9 * period, 2000)
    t, q = recording.t, recording.q
    at_first = np.column_stack([np.interp(grid, t, x) for x in q.T])
    slope = np.gradient(at_first, grid, axis=0)
    for _ in range(3):
        shift = (number - 1) * period
        last = np.column_stack([np.interp(grid + shift, t, x) for x in q.T])
        # last(t + shift + d) = last + d slope
        period += float(((at_first - last) * slope).sum() / (slope**2).sum()) / (number - 1)
    return period


def _average(
    recording: Recording,
    cutoff: float,
    first: float,
    period: float,
    number: int,
    step: float,
) -> Averaged | None:
    last = recording.t[-1]
    number = min(number, int((last - first) / period + 1e-6))
    if number < 2:
        return None
    samples = round(period / step)
    phase = np.arange(samples) * (period / samples)

    def periods(x: Array) -> Array:
        times = first + phase + period * np.arange(number)[:, None]
        return np.stack(
            [np.interp(times, recording.t, column) for column in x.T], axis=-1
        )  # (number, samples, n)

    extra = round(MARGIN / period * samples)
    index = np.arange(-extra, samples + extra) % samples
    effort = periods(recording.effort)
    one = replace(
        recording,
        t=np.arange(len(index)) * (period / samples),
        q=periods(recording.q).mean(axis=0)[index],
        qd=None if recording.qd is None else periods(recording.qd).mean(axis=0)[index],
        effort=effort.mean(axis=0)[index],
    )
    # The filter has its transients in a continuation at both ends.
    run = np.concatenate([effort[-1][len(effort[-1]) - extra :], *effort, effort[0][:extra]])
    smooth = low_pass(run, cutoff, period / samples)[extra : len(run) - extra]
    spread = np.sqrt(smooth.reshape(effort.shape).var(axis=0, ddof=1).mean(axis=0))
    return Averaged(one, period, number, spread)
