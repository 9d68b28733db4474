# SPDX-License-Identifier: Apache-2.0
"""Velocities of a recording: those of the driver, without their lag, or derivatives of positions.

Velocities that a driver filters are later than the positions; they are compared with the
derivative of the positions:

    qd(t) = dq/dt(t - lag)   =>   qd - dq/dt = -lag d^2q/dt^2

Velocities that were sampled without a filter against aliasing have more noise than the derivative
of fine encoders: those are used whose accelerations have less noise.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robot_dynamics.recordings.noise import motion_noise
from robot_dynamics.recordings.recording import Recording, earlier, moves
from robot_dynamics.recordings.smoothing import OF_MOTION, smooth

CERTAIN = 4.0  # standard deviations
LONGEST = 0.1  # s


class Velocities(NamedTuple):
    """A recording with the better velocities, and what was done."""

    recording: Recording  # without velocities if those of the positions are better
    lag: float  # s, of the recorded velocities; removed, unless they are not used
    derived: bool  # recorded velocities are not used


def with_better_velocities(recording: Recording, cutoff: float) -> Velocities:
    """Return a recording with velocities without lag, or without if positions tell more.

    Args:
        recording: the samples.
        cutoff: Hz, of the low-pass of the efforts.
    """
    if recording.qd is None:
        return Velocities(recording, 0.0, derived=False)
    # Geometric mean over the joints.
    if np.log(motion_noise(recording).of_accelerations(OF_MOTION * cutoff)).mean() < 0:
        return Velocities(replace(recording, qd=None), _lag(recording, cutoff), derived=True)
    lag = _lag(recording, cutoff)
    return Velocities(with_earlier_velocities(recording, lag), lag, derived=False)


def with_earlier_velocities(recording: Recording, lag: float) -> Recording:
    """Return a recording whose velocities are earlier by a lag [s], as it is without any."""
    if recording.qd is None or not lag:
        return recording
    return replace(recording, qd=earlier(recording.t, recording.qd, lag))


def _lag(recording: Recording, cutoff: float) -> float:
    """Return the lag of the velocities behind the positions [s]; 0 if it is not certain.

    Args:
        recording: the samples.
        cutoff: Hz, of the low-pass of the efforts.
    """
    assert recording.qd is not None
    late, curved, size = [], [], []
    # As positions, velocities pass the same low-pass, and no joint has derivatives instead.
    of_positions, of_velocities = (
        smooth(replace(recording, q=x, qd=None), cutoff)[0] for x in (recording.q, recording.qd)
    )
    for derived, measured in zip(of_positions, of_velocities, strict=True):
        rows = derived.inner
        moving = moves(derived.qd[rows])
        size.append(4 * cutoff * derived.step * np.ones_like(derived.qd[rows])[moving])
        scale = np.broadcast_to(derived.qdd[rows].std(axis=0) + 1e-300, moving.shape)[moving]
        late.append((derived.qd - measured.q)[rows][moving] / scale)
        curved.append(derived.qdd[rows][moving] / scale)
    r, a, independent = (np.concatenate(part) for part in (late, curved, size))
    if not len(r):
        return 0.0
    lag = float(a @ r) / float(a @ a)
    rest = r - lag * a
    # The low-pass of the motion leaves four independent samples per period of the cut-off.
    error = float(np.sqrt((rest @ rest) / (a @ a) / independent.sum()))
    if not CERTAIN * error < abs(lag) <= LONGEST:
        return 0.0
    return lag
