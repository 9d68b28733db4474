# SPDX-License-Identifier: Apache-2.0
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

from robot_dynamics.common.spatial import Array
from robot_dynamics.recordings.noise import (
    FASTEST,
    motion_floor,
    motion_noise,
    motion_spectra,
)
from robot_dynamics.recordings.recording import (
    Recording,
    RecordingError,
    efforts_of,
)
from robot_dynamics.recordings.sampling import (
    EVEN,
    even_times,
    longest_gap,
    pieces,
    resampled,
)

ORDER = 4
LOWEST, HIGHEST = 2.5, FASTEST  # Hz, limits of the automatic cut-off frequency
OF_MOTION = 2.0  # the cut-off frequency of motion, relative to that of torques
ENOUGH = 2.5 * OF_MOTION  # samples per period of the cut-off frequency
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

    def sparse(self, per_period: int) -> SparseSamples:
        """Return at least so many samples per period of the cut-off frequency, if there are."""
        return SparseSamples(self, max(1, int(1 / (per_period * self.cutoff * self.step))))


@dataclass(frozen=True, eq=False)
class SparseSamples:
    """Every few samples of a stretch, with the first one after the transients of the filter.

    Attributes:
        stretch: all samples.
        stride: between the sparse ones.
    """

    stretch: Stretch
    stride: int

    @property
    def samples(self) -> slice:
        """The sparse samples, also at the ends."""
        return slice(self.stretch.inner.start % self.stride, None, self.stride)

    def inner(self, x: Array) -> Array:
        """Return those of sparse samples x (m, ...) that have no transients."""
        inner = self.stretch.inner
        first = inner.start // self.stride
        return x[first : first - (inner.start - inner.stop) // self.stride]

    def smooth(self, x: Array) -> Array:
        """Return the low-pass, without the ends, of sparse samples x (m, ...) without jumps."""
        return self.inner(low_pass(x, self.stretch.cutoff, self.stride * self.stretch.step))

    def sharp(self, x: Array) -> Array:
        """Return the same of all samples x (k, ...), which may jump."""
        return self.inner(low_pass(x, self.stretch.cutoff, self.stretch.step)[self.samples])


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
    f, of_q, of_qd = motion_spectra(recording)
    errors = []
    for P, power in ((of_q, 4), (of_qd, 2)):
        if P is not None:
            # rad/s^2, squared, for both sources
            weight = (2 * np.pi * f[:, None]) ** power
            error = (2 * motion_floor(f, P) - P) * weight
            errors.append(error.cumsum(axis=0) + (P * weight).sum(axis=0))
    least = np.argmin([error.min(axis=0) for error in errors], axis=0)
    total = np.array(errors)[least, :, np.arange(len(least))].T
    first = total[0]
    total = (total / np.where(first > 0, first, 1.0)).sum(axis=1)
    step = 0.5 / f[-1]
    highest = min(HIGHEST, 1 / (ENOUGH * step))
    return float(np.clip(f[np.argmin(total)], min(LOWEST, highest), highest))


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
    step, found = pieces(t, cutoff)
    if ENOUGH * cutoff * step > 1 + EVEN:
        raise RecordingError(
            f'{1 / step:.4g} samples per second are too few for a cut-off frequency of '
            f'{cutoff:g} Hz; expected at most {0.95 / ENOUGH / step:.2g} Hz'
        )
    long_enough = [p for p in found if t[p[-1]] - t[p[0]] > SHORTEST / cutoff]
    if not long_enough:
        longest = max(t[p[-1]] - t[p[0]] for p in found)
        raise RecordingError(
            f'the longest stretch without a gap of {1e3 * longest_gap(cutoff, step):.3g} ms lasts '
            f'{longest:.3g} s; at {cutoff:g} Hz it must be {SHORTEST / cutoff:.3g} s at least'
        )
    derived = motion_noise(recording).of_accelerations(OF_MOTION * cutoff) < 1
    stretches = [_stretch(recording, piece, step, cutoff, derived) for piece in long_enough]
    left_out = {
        'in stretches too short to be smoothed': len(t) - sum(map(len, long_enough)),
        'at the ends of stretches': sum(len(s.t) - len(s.t[s.inner]) for s in stretches),
    }
    return stretches, {reason: count for reason, count in left_out.items() if count}


def _stretch(
    recording: Recording, piece: Array, step: float, cutoff: float, derived: Array
) -> Stretch:
    t = recording.t[piece]
    even = even_times(t, step)
    step = even[1] - even[0]

    def at_even(x: Array) -> Array:
        return resampled(t, even, x[piece])

    q = low_pass(at_even(recording.q), OF_MOTION * cutoff, step)
    qd = derivative(q, even)
    if recording.qd is not None and not derived.all():
        measured = low_pass(at_even(recording.qd), OF_MOTION * cutoff, step)
        qd = np.where(derived, qd, measured)
    effort = at_even(efforts_of(recording))
    return Stretch(even, q, qd, derivative(qd, even), effort, cutoff)


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
