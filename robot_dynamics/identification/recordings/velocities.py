"""Velocities of a recording: those of the driver, without their lag, or derivatives of positions.

Velocities that a driver filters are later than the positions; they are compared with the
derivative of the positions:

    qd(t) = dq/dt(t - lag)   =>   qd - dq/dt = -lag d^2q/dt^2

Velocities that were sampled without a filter against aliasing have more noise than the derivative
of fine encoders. With the densities N_q and N_v of white noise, accelerations below the bandwidth
B have the noise

    N_q (2 pi)^4 B^5 / 5   from positions,      N_v (2 pi)^2 B^3 / 3   from velocities;

the smaller one is used.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robot_dynamics.identification.recordings.recording import Recording, moves
from robot_dynamics.identification.recordings.smoothing import OF_MOTION, smooth
from robot_dynamics.spatial import Array

CERTAIN = 4.0  # standard deviations
LONGEST = 0.1  # s


class Velocities(NamedTuple):
    """A recording with the better velocities, and what was done."""

    recording: Recording  # without velocities if those of the positions are better
    lag: float  # s, removed from the recorded velocities
    derived: bool  # recorded velocities are not used


def with_better_velocities(recording: Recording, cutoff: float) -> Velocities:
    """Return a recording with velocities without lag, or without if positions tell more.

    Args:
        recording: the samples.
        cutoff: Hz, of the low-pass of the efforts.
    """
    if recording.qd is None:
        return Velocities(recording, 0.0, derived=False)
    bandwidth = OF_MOTION * cutoff
    of_q, of_v = (_noise_density(recording, x, bandwidth) for x in (recording.q, recording.qd))
    from_q = of_q * (2 * np.pi) ** 4 * bandwidth**5 / 5
    from_v = of_v * (2 * np.pi) ** 2 * bandwidth**3 / 3
    if np.log((from_q + 1e-300) / (from_v + 1e-300)).mean() < 0:
        return Velocities(replace(recording, qd=None), 0.0, derived=True)
    return Velocities(*_aligned(recording, cutoff), derived=False)


def _noise_density(recording: Recording, x: Array, bandwidth: float) -> Array:
    """Return the power density (n,) of x (k, n) above the motion."""
    from scipy.signal import periodogram

    cuts = np.flatnonzero(np.diff(recording.t) <= 0) + 1
    piece = max(np.split(np.arange(len(x)), cuts), key=len)
    step = float(np.median(np.diff(recording.t[piece])))
    # Second differences remove the motion; their gain is (2 sin(w h / 2))^4.
    f, P = periodogram(np.diff(x[piece], 2, axis=0), 1 / step, 'hann', axis=0)
    above = f > min(bandwidth, 0.4 / step)
    gain = (2 * np.sin(np.pi * f[above] * step)) ** 4
    # The median of a chi-squared distribution of two degrees of freedom is log(2) of its mean.
    return np.asarray(np.median(P[above] / gain[:, None], axis=0) / np.log(2))


def _aligned(recording: Recording, cutoff: float) -> tuple[Recording, float]:
    """Return a recording whose velocities have no lag behind its positions, and the lag [s].

    Args:
        recording: the samples.
        cutoff: Hz, of the low-pass of the efforts.
    """
    assert recording.qd is not None
    late, curved, size = [], [], []
    pairs = zip(
        smooth(recording, cutoff)[0], smooth(replace(recording, qd=None), cutoff)[0], strict=True
    )
    for measured, derived in pairs:
        rows = derived.inner
        moving = moves(derived.qd[rows])
        size.append(4 * cutoff * derived.step * np.ones_like(derived.qd[rows])[moving])
        scale = np.broadcast_to(derived.qdd[rows].std(axis=0) + 1e-300, moving.shape)[moving]
        late.append((derived.qd - measured.qd)[rows][moving] / scale)
        curved.append(derived.qdd[rows][moving] / scale)
    r, a, independent = (np.concatenate(part) for part in (late, curved, size))
    if not len(r):
        return recording, 0.0
    lag = float(a @ r) / float(a @ a)
    rest = r - lag * a
    # The low-pass of the motion leaves four independent samples per period of the cut-off.
    error = float(np.sqrt((rest @ rest) / (a @ a) / independent.sum()))
    if not CERTAIN * error < abs(lag) <= LONGEST:
        return recording, 0.0
    edges = np.flatnonzero(np.diff(recording.t) <= 0) + 1  # where the clock was set back
    parts = zip(np.split(recording.t, edges), np.split(recording.qd, edges), strict=True)
    earlier = [
        np.column_stack([np.interp(t + lag, t, column) for column in qd.T]) for t, qd in parts
    ]
    return replace(recording, qd=np.concatenate(earlier)), lag
