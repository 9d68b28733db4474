# SPDX-License-Identifier: Apache-2.0
"""Recordings of commands and positions as runs: stretches between gaps, on an even grid of time.

The grid is that of the drive, which acts on commands a delay later: commands change at its steps,
as a torque limit makes the mean over a step that contains a change differ from that of the mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.common.made_once import made_once
from robot_dynamics.common.spatial import Array
from robot_dynamics.recordings.recording import Recording, RecordingError
from robot_dynamics.recordings.sampling import even_times, pieces, resampled
from robot_dynamics.recordings.smoothing import derivative, low_pass

LONGEST_STEP = 2e-3  # s, of simulated motion
WARM_UP = 0.5  # s, in which a simulation forgets its start
SHORTEST = 3.0  # s, of a run
DENSEST = 4e-3  # s between compared positions
MOTION_BAND = 6.0  # Hz, of smoothed motion,
OF_SAMPLES = 0.12  # and at most this share of the samples per second


@dataclass(frozen=True, eq=False)
class Motion:
    """Positions, velocities and accelerations (k, n) at times (k,)."""

    t: Array
    q: Array
    qd: Array
    qdd: Array


@dataclass(frozen=True, eq=False)
class Run:
    """Samples without a gap, of n joints; time starts at 0.

    Attributes:
        recording: index of the recording.
        t: (k,) s.
        command: (k, n) rad or m, each held until the next one.
        q: (k, n) measured.
        command_qd: (k, n) commanded velocities, or None.
        feedforward: (k, n) N m or N, or None.
    """

    recording: int
    t: Array
    command: Array
    q: Array
    command_qd: Array | None = None
    feedforward: Array | None = None

    @property
    def period(self) -> float:
        """Time between samples, s."""
        return float(np.median(np.diff(self.t)))

    @property
    def steps(self) -> int:
        """Steps of a simulation of the run."""
        return math.ceil(float(self.t[-1]) / self.step - 1e-6)

    @made_once
    def step(self) -> float:
        """Time step of a simulation, s: a whole part of the period of the samples, or several."""
        period = float(self.t[-1] - self.t[0]) / (len(self.t) - 1)
        if period < LONGEST_STEP:
            return period * int(LONGEST_STEP / period + 1e-9)
        return period / math.ceil(period / LONGEST_STEP - 1e-9)

    @property
    def middles(self) -> Array:
        """(steps,) s, the middle of each step."""
        return (np.arange(self.steps) + 0.5) * self.step

    @made_once
    def compared(self) -> Array:
        """Indices of the samples that are compared with simulated positions."""
        index = np.arange(0, len(self.t), max(1, round(DENSEST / self.period)))
        return np.asarray(index[self.t[index] >= WARM_UP])

    @made_once
    def smoothed(self) -> Motion:
        """Low-passed measured motion, evenly spaced."""
        return self._smoothed(self.q)

    @made_once
    def smoothed_command(self) -> Motion:
        """Low-passed commands, evenly spaced."""
        return self._smoothed(self.command)

    @property
    def band(self) -> float:
        """Cut-off frequency of smoothed motion, Hz."""
        return min(MOTION_BAND, OF_SAMPLES / self.period)

    def _smoothed(self, x: Array) -> Motion:
        even = even_times(self.t, self.period)
        q = low_pass(resampled(self.t, even, x), self.band, float(even[1] - even[0]))
        qd = derivative(q, even)
        return Motion(even, q, qd, derivative(qd, even))

    def mean_over_steps(self, held: Array, joint: int) -> Array:
        """Return the mean (steps,) over each step of a signal (k, n), held by samples."""
        return self.mean_between(held[:, joint], np.arange(self.steps + 1) * self.step)

    def mean_between(self, held: Array, times: Array) -> Array:
        """Return the mean of a signal (k,), each value held until the next, between times."""
        # The integral of a held signal is linear between samples; before them it has the first.
        t = np.concatenate([[-1e3], self.t, [self.t[-1] + 1e3]])
        values = np.concatenate([held[:1], held])
        integral = np.concatenate([[0.0], np.cumsum(values * np.diff(t))])
        return np.asarray(np.diff(np.interp(times, t, integral)) / np.diff(times))


def runs_of(recordings: Sequence[Recording]) -> list[Run]:
    """Return the runs of recordings, without those too short to simulate.

    Raises:
        RecordingError: a recording has no commands, or no run is long enough.
    """
    found = []
    for number, one in enumerate(recordings):
        if one.command is None:
            raise RecordingError(
                'the recording has no commanded positions; expected them beside the measured ones '
                '(--commands TOPIC, or --columns time command q)'
            )
        for rows in pieces(one.t, cutoff=5.0)[1]:
            if one.t[rows[-1]] - one.t[rows[0]] >= SHORTEST:
                found.append(_run(one, rows, number))
    if not found:
        raise RecordingError(
            f'no stretch without a gap lasts {SHORTEST:g} s; expected 20 s of motion or more'
        )
    return found


def _run(recording: Recording, rows: Array, number: int) -> Run:
    assert recording.command is not None
    qd, torque = recording.command_qd, recording.feedforward
    return Run(
        number,
        recording.t[rows] - recording.t[rows[0]],
        recording.command[rows],
        recording.q[rows],
        qd[rows] if qd is not None and np.ptp(qd, axis=0).any() else None,
        torque[rows] if torque is not None and np.any(torque) else None,
    )
