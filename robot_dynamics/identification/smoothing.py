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

from dataclasses import dataclass

import numpy as np

from robot_dynamics.identification.recording import Recording, RecordingError
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


def cutoff_of(recording: Recording) -> float:
    """Return the cut-off frequency of torques [Hz] between the motion and the noise.

    Noise of velocities is white; accelerations amplify it in proportion to frequency. Noise below
    the cut-off frequency biases every cause that follows velocity or acceleration. The frequency f
    minimises the error of the accelerations,

        sum over f' > f of (P - N) w^2  +  sum over f' < f of N w^2,

    with P the power spectrum of the velocities, each joint relative to its own accelerations, and
    N the noise: the median of P above the motion.

    Raises:
        RecordingError: too few samples.
    """
    from scipy.signal import periodogram

    step, pieces = _pieces(recording.t, HIGHEST)
    piece = max(pieces, key=len)
    t = recording.t[piece]
    even = np.linspace(t[0], t[-1], 1 + round((t[-1] - t[0]) / step))
    measured = recording.q if recording.qd is None else recording.qd
    f, P = periodogram(_resampled(t, even, measured[piece]), 1 / step, 'hann', axis=0)
    bands = np.array_split(P[f > min(OF_MOTION * HIGHEST, 0.5 * f[-1])], BANDS)
    if not len(bands[-1]):
        raise RecordingError(f'{len(t)} samples without a gap are too few')
    # The median of a chi-squared distribution of two degrees of freedom is log(2) of its mean.
    N = np.max([np.median(band, axis=0) for band in bands], axis=0) / np.log(2)
    weight = f[:, None] ** (4 if recording.qd is None else 2)
    total = (P * weight).sum(axis=0)
    error = ((2 * N - P) * weight / np.where(total > 0, total, 1.0)).sum(axis=1).cumsum()
    highest = min(HIGHEST, 1 / (ENOUGH * step))
    return float(np.clip(f[np.argmin(error)], min(LOWEST, highest), highest))


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
    stretches = [_stretch(recording, piece, step, cutoff) for piece in long_enough]
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


def _stretch(recording: Recording, piece: Array, step: float, cutoff: float) -> Stretch:
    t = recording.t[piece]
    even = np.linspace(t[0], t[-1], 1 + round((t[-1] - t[0]) / step))
    step = even[1] - even[0]

    def resampled(x: Array) -> Array:
        return _resampled(t, even, x[piece])

    q = low_pass(resampled(recording.q), OF_MOTION * cutoff, step)
    if recording.qd is None:
        qd = derivative(q, even)
    else:
        qd = low_pass(resampled(recording.qd), OF_MOTION * cutoff, step)
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
