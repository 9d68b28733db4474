# SPDX-License-Identifier: Apache-2.0
"""Rows of all recordings of an identification, and their division into fitted and held out.

What validates a fit is the test recording, if there is one; else the last third of each recording,
or, if they are short, each of BLOCKS blocks of time by a fit of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.identification.estimation.equations import Load, RecordingRows
from robot_dynamics.identification.estimation.excitation_check import Refusals, require_motion
from robot_dynamics.identification.estimation.inputs import Inputs, load_of
from robot_dynamics.identification.estimation.observations import BY_ROW, Observations
from robot_dynamics.recordings.recording import Recording
from robot_dynamics.recordings.velocities import Velocities, with_better_velocities

FITTED = 2 / 3  # of the recording; the rest validates
GAP = 1.0  # s between both, longer than the filter's memory
SHORT, BLOCKS = 15.0, 4  # s: a shorter recording is validated by so many blocks


class Fold(NamedTuple):
    """Rows that are fitted, and those that validate."""

    fitted: list[RecordingRows]
    held_out: list[RecordingRows]


@dataclass(frozen=True, eq=False)
class PreparedRows:
    """Rows of all recordings, by their use.

    Attributes:
        velocities: the recordings that are fitted, with the better velocities.
        whole: their rows.
        loaded: rows of the recording with a payload, if there is one.
        load: that payload.
        folds: divisions of `whole`.
        source: of a `Validation` by these folds.
    """

    velocities: Sequence[Velocities]
    whole: list[RecordingRows]
    loaded: list[RecordingRows]
    load: Load | None
    folds: list[Fold]
    source: str

    @property
    def number(self) -> int:
        """Number of recordings with offsets of their own."""
        return len(self.whole) + len(self.loaded)

    @property
    def first(self) -> list[RecordingRows]:
        """The rows by which delay and friction law are chosen: no row that is held out alone."""
        return self.whole if self.source == 'blocks' else self.folds[0].fitted

    def used(self) -> list[Recording]:
        """Return the recordings until the last of these rows."""
        ends = [one.rows.t[-1] for one in self.first]
        pairs = zip(self.velocities, ends, strict=True)
        return [until(one.recording, end) for one, end in pairs]


def prepared_rows(
    inputs: Inputs, refusals: Refusals, progress: Callable[[str], None]
) -> PreparedRows:
    """Return the rows of the recordings.

    Raises:
        RefusedError: a recording that is fitted, or tests, has too little motion.
        RecordingError: too few samples for the cut-off frequency.
        FrameNotFound, ModelError: the payload is on no moving link.
    """
    arm, preparation, recordings = inputs.arm, inputs.preparation, inputs.recordings
    progress(f'regressor, low-pass at {preparation.cutoff:.3g} Hz')
    better = [with_better_velocities(one, preparation.cutoff) for one in recordings.fitted]
    whole = [RecordingRows(preparation.rows(one.recording), k) for k, one in enumerate(better)]
    with refusals():
        require_motion(arm, together(whole), inputs.lockable)
    test = None if recordings.test is None else preparation.aligned_rows(recordings.test)
    if test is not None:
        with refusals('test recording: '):
            require_motion(arm, test, inputs.lockable)
    folds, source = folds_of(whole, test)
    load, loaded = None, []
    if recordings.payload is not None:
        progress('recording with the payload')
        load = load_of(arm.model, recordings.payload)
        rows = preparation.aligned_rows(recordings.payload.recording)
        loaded = [RecordingRows(rows, len(whole), loaded=True)]
    return PreparedRows(better, whole, loaded, load, folds, source)


def folds_of(whole: list[RecordingRows], test: Observations | None) -> tuple[list[Fold], str]:
    """Return what validates, and its name as the source of a Validation."""
    if test is not None:
        return [Fold(whole, [RecordingRows(test, -1)])], 'test'
    duration = sum(one.rows.t[-1] - one.rows.t[0] for one in whole)
    if duration >= SHORT:
        return [_held_out(whole, FITTED, 1.0, GAP)], 'last third'
    gap = min(GAP, duration / BLOCKS**2)
    return [_held_out(whole, k / BLOCKS, (k + 1) / BLOCKS, gap) for k in range(BLOCKS)], 'blocks'


def _held_out(whole: Sequence[RecordingRows], first: float, last: float, gap: float) -> Fold:
    """Hold out the rows between two shares of each recording, with a gap [s] at both ends."""
    parts = Fold([], [])
    for one in whole:
        t, duration = one.rows.t - one.rows.t[0], one.rows.t[-1] - one.rows.t[0]
        start, end = first * duration, last * duration
        out = (t >= start) & (t <= end)
        near = (t > start - gap) & (t < end + gap)
        parts.held_out.append(one.select(out))
        parts.fitted.append(one.select(~near))
    return parts


def together(rows: Sequence[RecordingRows]) -> Observations:
    """Return the rows of several recordings as of one, for checks."""
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(one.rows, name) for one in rows]) for name in BY_ROW
    }
    return replace(rows[0].rows, **columns)


def until(recording: Recording, end: float) -> Recording:
    """Return the samples of a recording until a time [s], that one included."""
    return recording.samples(recording.t <= end)
