# SPDX-License-Identifier: Apache-2.0
"""Noise of a recording, from spectra far above the motion.

White noise has the same density at all frequencies, the motion ends somewhere. The density is the
median of the periodogram, which peaks of single frequencies (a vibration, the mains) do not move.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.recordings.recording import Recording, RecordingError
from robot_dynamics.recordings.sampling import even_times, pieces, resampled

FASTEST = 20.0  # Hz: no motion has torques above
BANDS = 4  # of frequencies above the motion: noise is the largest of their medians


class MotionNoise(NamedTuple):
    """White noise of the measured motion, standard deviations (n,)."""

    q: Array  # rad or m
    qd: Array | None  # rad/s or m/s; None if velocities are not measured

    def added(self, recording: Recording, rng: np.random.Generator, sign: float) -> Recording:
        """Return the recording with noise of this size, times the sign."""
        q = recording.q + sign * self.q * rng.normal(size=recording.q.shape)
        qd = recording.qd
        if qd is not None and self.qd is not None:
            qd = qd + sign * self.qd * rng.normal(size=qd.shape)
        return replace(recording, q=q, qd=qd)

    def of_accelerations(self, bandwidth: float) -> Array:
        """Return the noise of accelerations from positions, relative to that from velocities.

        Below the bandwidth [Hz], noise of positions gives accelerations a variance in proportion
        to q^2 w^5 / 5, noise of velocities qd^2 w^3 / 3, with w = 2 pi times the bandwidth.

        Returns:
            (n,): positions are better below 1; 0 if velocities are not measured.
        """
        if self.qd is None:
            return np.zeros_like(self.q)
        w = 2 * np.pi * bandwidth
        tiny = np.finfo(float).tiny
        return np.asarray((self.q * w / np.sqrt(5) + tiny) / (self.qd / np.sqrt(3) + tiny))


def motion_noise(recording: Recording) -> MotionNoise:
    """Return the noise of positions and velocities: their spectra far above the motion.

    Raises:
        RecordingError: too few samples.
    """
    f, of_q, of_qd = motion_spectra(recording)
    # A white process has its variance spread evenly up to the highest frequency.
    q, qd = (None if P is None else np.sqrt(motion_floor(f, P) * f[-1]) for P in (of_q, of_qd))
    assert q is not None
    return MotionNoise(q, qd)


def motion_spectra(recording: Recording) -> tuple[Array, Array, Array | None]:
    """Return frequencies, and the power spectra of positions and of velocities, if measured.

    Raises:
        RecordingError: too few samples.
    """
    step, stretches = pieces(recording.t, FASTEST)
    piece = max(stretches, key=len)
    t = recording.t[piece]
    even = even_times(t, step)

    def spectrum(x: Array) -> tuple[Array, Array]:
        return _periodogram(resampled(t, even, x[piece]), step)

    f, of_q = spectrum(recording.q)
    if not (f > _above(f)).sum() >= BANDS:
        raise RecordingError(f'{len(t)} samples without a gap are too few')
    return f, of_q, None if recording.qd is None else spectrum(recording.qd)[1]


def _above(f: Array) -> float:
    """Return a frequency above the motion, which has twice the frequencies of its torques."""
    return min(2 * FASTEST, 0.5 * float(f[-1]))


def motion_floor(f: Array, P: Array) -> Array:
    """Return the density (n,) of the noise in a power spectrum (F, n) of a motion."""
    bands = np.array_split(P[f > _above(f)], BANDS)
    return np.asarray(np.max([_density(band) for band in bands], axis=0))


def effort_noise(effort: Array, step: float, cutoff: float) -> Array:
    """Return the standard deviation (n,) of the noise of efforts that passes a low-pass.

    Its power density is the median between two and four times the cut-off frequency.

    Args:
        effort: (k, n) evenly spaced samples.
        step: between samples, s.
        cutoff: Hz, of the low-pass.
    """
    f, P = _periodogram(effort, step)
    above = (f > min(2 * cutoff, 0.5 * f[-1])) & (f < 4 * cutoff)
    return np.asarray(np.sqrt(_density(P[above]) * cutoff))


def _periodogram(x: Array, step: float) -> tuple[Array, Array]:
    from scipy.signal import periodogram

    f, P = periodogram(x, 1 / step, 'hann', axis=0)
    return f, P


def _density(P: Array) -> Array:
    """Return the power density (n,) of white noise from its periodogram (F, n)."""
    # The median of a chi-squared distribution of two degrees of freedom is log(2) of its mean.
    return np.asarray(np.median(P, axis=0) / np.log(2))
