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

from robot_dynamics.identification.recordings.noise import motion_noise
from robot_dynamics.identification.recordings.recording import Recording, moves
from robot_dynamics.identification.recordings.smoothing import OF_MOTION, smooth

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
    # Geometric mean over the joints.
    if np.log(motion_noise(recording).of_accelerations(OF_MOTION * cutoff)).mean() < 0:
        return Velocities(replace(recording, qd=None), 0.0, derived=True)
    return Velocities(*_aligned(recording, cutoff), derived=False)


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
