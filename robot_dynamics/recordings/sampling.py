# SPDX-License-Identifier: Apache-2.0
"""Evenly spaced samples of a recording, between its gaps."""

from __future__ import annotations

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.recordings.recording import RecordingError

EVEN = 1e-3  # of the time between samples: deviation that needs no interpolation


def longest_gap(cutoff: float, step: float) -> float:
    """Return the longest time between samples of a stretch, s."""
    return max(0.5 / cutoff, 2.5 * step)


def pieces(t: Array, cutoff: float) -> tuple[float, list[Array]]:
    """Return the time between samples, s, and the indices of the samples of each stretch."""
    steps = np.diff(t)
    if not (steps > 0).any():
        raise RecordingError(f'{len(t)} samples are too few')
    step = float(np.median(steps[steps > 0]))
    cuts = np.flatnonzero((steps > longest_gap(cutoff, step)) | (steps <= 0)) + 1
    return step, np.split(np.arange(len(t)), cuts)


def even_times(t: Array, step: float) -> Array:
    """Return evenly spaced times from the first to the last of t (k,), about a step [s] apart."""
    return np.linspace(t[0], t[-1], 1 + round((t[-1] - t[0]) / step))


def resampled(t: Array, even: Array, x: Array) -> Array:
    """Return x (k, n) at even times, by cubics without overshoot."""
    if len(t) == len(even) and np.abs(t - even).max() < EVEN * (even[1] - even[0]):
        return x
    from scipy.interpolate import PchipInterpolator

    return np.asarray(PchipInterpolator(t, x)(even))
