"""Smooth positions, velocities, accelerations and efforts of a recording, without lag.

Accelerations are derivatives of measurements, which amplify noise, so a low-pass precedes them. It
runs over the samples forwards and backwards, without lag: a Butterworth filter of fourth order
each way has no ripple and one parameter in Hz, and its transients decay within two periods at
either end. (A Savitzky-Golay filter passes much noise above a cut-off that depends on the sample
rate.)

The cut-off frequency of motion is twice that of torques, so that its attenuation does not affect
the comparison. Measured and computed torques pass the same filter, which rounds jumps, as of dry
friction, equally.

The filter needs evenly spaced samples. A recording is divided where samples are missing, and
within each stretch positions are interpolated at even times, by cubics without overshoot.

Source: Gautier, Dynamic identification of robots with power model, ICRA 1997 (a wider filter for
the motion, the same filter for both sides of the equation, none with a lag, and as many samples as
it leaves independent).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from robot_dynamics.identification.recordings.recording import Recording, RecordingError
from robot_dynamics.spatial import Array

ORDER = 4
LOWEST, HIGHEST = 2.5, 20.0  # Hz, limits of the automatic cut-off frequency
BANDS = 4  # of frequencies above the motion: noise is the largest of their medians
OF_MOTION = 2.0  # the cut-off frequency of motion, relative to that of torques
ENOUGH = 2.5 * OF_MOTION  # samples per period of the cut-off frequency
EVEN = 1e-3  # of the time between samples: deviation that needs no interpolation
ENDS = 2.0  # periods of the cut-off frequency at either end with transients of the filter
SHORTEST = 8.0  # periods, of a stretch
PADDING = 2.0  # periods by which the filter continues it at either end


@dataclass(frozen=True, eq=False)
class Stretch:
    """Evenly spaced samples without a gap; arrays (k, n) but for t.

    Attributes:
        t: (k,) s.
        q, qd, qdd: filtered.
        effort: as recorded.
        cutoff: Hz, of torques.
    """

    t: Array
    q: Array
    qd: Array
    qdd: Array
    effort: Array
    cutoff: float

    @property
    def step(self) -> float:
        """Time between samples, s."""
        return float(self.t[-1] - self.t[0]) / (len(self.t) - 1)

    @property
    def inner(self) -> slice:
        """The samples without transients of the filter."""
        ends = int(np.ceil(ENDS / self.cutoff / self.step))
        return slice(ends, len(self.t) - ends)

    def smoothed(self, x: Array) -> Array:
        """Return filtered torques (k, n), without the ends."""
        return low_pass(x, self.cutoff, self.step)[self.inner]


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


def motion_noise(recording: Recording) -> MotionNoise:
    """Return the noise of positions and velocities: their spectra far above the motion."""
    f, of_q, of_qd = _spectra(recording)
    # A white process has its variance spread evenly up to the highest frequency.
    q, qd = (None if P is None else np.sqrt(_white(f, P) * f[-1]) for P in (of_q, of_qd))
    assert q is not None
    return MotionNoise(q, qd)


def cutoff_of(recording: Recording) -> float:
    """Return the cut-off frequency of torques [Hz] between the motion and the noise.

    Noise of positions and velocities is white; accelerations amplify it with the square of
    frequency, or in proportion to it. The frequency f minimises the error of the accelerations,

        sum over f' > f of (P - N) w^2  +  sum over f' < f of N w^2,

    with P the power spectrum of the velocities, each joint relative to its own accelerations, and
    N the noise: the median of P above the motion; positions have w^4. Of measured velocities and
    derivatives of positions, each joint has those with the smaller error.

    Raises:
        RecordingError: too few samples.
    """
    f, of_q, of_qd = _spectra(recording)
    errors = []
    for P, power in ((of_q, 4), (of_qd, 2)):
        if P is not None:
            # rad/s^2, squared, for both sources
            weight = (2 * np.pi * f[:, None]) ** power
            error = (2 * _white(f, P) - P) * weight
            errors.append(error.cumsum(axis=0) + (P * weight).sum(axis=0))
    least = np.argmin([error.min(axis=0) for error in errors], axis=0)
    total = np.array(errors)[least, :, np.arange(len(least))].T
    first = total[0]
    total = (total / np.where(first > 0, first, 1.0)).sum(axis=1)
    step = 0.5 / f[-1]
    highest = min(HIGHEST, 1 / (ENOUGH * step))
    return float(np.clip(f[np.argmin(total)], min(LOWEST, highest), highest))


def _spectra(recording: Recording) -> tuple[Array, Array, Array | None]:
    """Return frequencies, and the power spectra of positions and of velocities, if measured."""
    from scipy.signal import periodogram

    step, pieces = _pieces(recording.t, HIGHEST)
    piece = max(pieces, key=len)
    t = recording.t[piece]
    even = np.linspace(t[0], t[-1], 1 + round((t[-1] - t[0]) / step))
    spectra: list[Array | None] = []
    for x in (recording.q, recording.qd):
        if x is None:
            spectra.append(None)
        else:
            f, P = periodogram(_resampled(t, even, x[piece]), 1 / step, 'hann', axis=0)
            spectra.append(P)
    of_q, of_qd = spectra
    if of_q is None or not (f > _above(f)).sum() >= BANDS:
        raise RecordingError(f'{len(t)} samples without a gap are too few')
    return f, of_q, of_qd


def _above(f: Array) -> float:
    """Return a frequency above the motion."""
    return min(OF_MOTION * HIGHEST, 0.5 * float(f[-1]))


def _white(f: Array, P: Array) -> Array:
    """Return the density of white noise (n,) in a power spectrum (F, n)."""
    bands = np.array_split(P[f > _above(f)], BANDS)
    # The median of a chi-squared distribution of two degrees of freedom is log(2) of its mean.
    return np.asarray(np.max([np.median(band, axis=0) for band in bands], axis=0) / np.log(2))


def smooth(recording: Recording, cutoff: float) -> tuple[list[Stretch], dict[str, int]]:
    """Return the stretches of a recording, and the number of omitted samples, by reason.

    Args:
        recording: the samples.
        cutoff: Hz, of the low-pass of torques, where an amplitude is halved.

    Raises:
        RecordingError: samples are too rare for the cut-off frequency, or no stretch is long
            enough.
    """
    if not (np.isfinite(cutoff) and cutoff > 0):
        raise RecordingError(f'the cut-off frequency is {cutoff} Hz; it must be positive')
    t = recording.t
    step, pieces = _pieces(t, cutoff)
    if ENOUGH * cutoff * step > 1 + EVEN:
        raise RecordingError(
            f'{1 / step:.4g} samples per second are too few for a cut-off frequency of '
            f'{cutoff:g} Hz; expected at most {0.95 / ENOUGH / step:.2g} Hz'
        )
    long_enough = [p for p in pieces if t[p[-1]] - t[p[0]] > SHORTEST / cutoff]
    if not long_enough:
        longest = max(t[p[-1]] - t[p[0]] for p in pieces)
        raise RecordingError(
            f'the longest stretch without a gap of {1e3 * _gap(cutoff, step):.3g} ms lasts '
            f'{longest:.3g} s; at {cutoff:g} Hz it must be {SHORTEST / cutoff:.3g} s at least'
        )
    derived = _derived(motion_noise(recording), cutoff)
    stretches = [_stretch(recording, piece, step, cutoff, derived) for piece in long_enough]
    left_out = {
        'in stretches too short to be smoothed': len(t) - sum(map(len, long_enough)),
        'at the ends of stretches': sum(len(s.t) - len(s.t[s.inner]) for s in stretches),
    }
    return stretches, {reason: count for reason, count in left_out.items() if count}


def _gap(cutoff: float, step: float) -> float:
    """Return the longest time between samples of a stretch, s."""
    return max(0.5 / cutoff, 2.5 * step)


def _pieces(t: Array, cutoff: float) -> tuple[float, list[Array]]:
    """Return the time between samples, s, and the indices of the samples of each stretch."""
    steps = np.diff(t)
    if not (steps > 0).any():
        raise RecordingError(f'{len(t)} samples are too few')
    step = float(np.median(steps[steps > 0]))
    cuts = np.flatnonzero((steps > _gap(cutoff, step)) | (steps <= 0)) + 1
    return step, np.split(np.arange(len(t)), cuts)


def _derived(noise: MotionNoise, cutoff: float) -> Array:
    """Return a mask (n,) of joints whose accelerations have less noise if positions are derived.

    Below the frequency f, noise of positions gives accelerations a variance in proportion to
    q^2 w^5 / 5, noise of velocities qd^2 w^3 / 3, with w = 2 pi f.
    """
    if noise.qd is None:
        return np.ones(len(noise.q), dtype=bool)
    w = 2 * np.pi * OF_MOTION * cutoff
    return np.asarray(noise.q * w / np.sqrt(5) < noise.qd / np.sqrt(3))


def _stretch(
    recording: Recording, piece: Array, step: float, cutoff: float, derived: Array
) -> Stretch:
    t = recording.t[piece]
    even = np.linspace(t[0], t[-1], 1 + round((t[-1] - t[0]) / step))
    step = even[1] - even[0]

    def resampled(x: Array) -> Array:
        return _resampled(t, even, x[piece])

    q = low_pass(resampled(recording.q), OF_MOTION * cutoff, step)
    qd = derivative(q, even)
    if recording.qd is not None and not derived.all():
        measured = low_pass(resampled(recording.qd), OF_MOTION * cutoff, step)
        qd = np.where(derived, qd, measured)
    effort = resampled(recording.effort)
    return Stretch(even, q, qd, derivative(qd, even), effort, cutoff)


def _resampled(t: Array, even: Array, x: Array) -> Array:
    """Return x (k, n) at even times, by cubics without overshoot."""
    if len(t) == len(even) and np.abs(t - even).max() < EVEN * (even[1] - even[0]):
        return x
    from scipy.interpolate import PchipInterpolator

    return np.asarray(PchipInterpolator(t, x)(even))


def low_pass(x: Array, cutoff: float, step: float) -> Array:
    """Return x (k, ...) after a low-pass without lag.

    Args:
        x: evenly spaced samples.
        cutoff: Hz, where an amplitude is halved.
        step: between samples, s.
    """
    from scipy.signal import butter, sosfiltfilt

    sections = butter(ORDER, cutoff, fs=1 / step, output='sos')
    padding = min(len(x) - 1, round(PADDING / cutoff / step))
    return np.asarray(sosfiltfilt(sections, x, axis=0, padlen=padding))


def derivative(x: Array, t: Array) -> Array:
    """Return dx/dt (k, ...) at the samples, to fourth order: of the cubic spline through them."""
    from scipy.interpolate import CubicSpline

    return np.asarray(CubicSpline(t, x)(t, 1))
