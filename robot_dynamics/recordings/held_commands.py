# SPDX-License-Identifier: Apache-2.0
"""Commands of drives, held at the times of measured positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.recordings.recording import (
    KINDS,
    LIMITS,
    JointSample,
    Recording,
    RecordingError,
    cleaned,
    require_names,
)

CLOCKS = ('stamp', 'logged')
NO_COMMAND = 'before the first command'
ONE_CLOCK = 0.1  # s, between stamps and recording: where they differ by more, clocks do
OTHER_CLOCK = (
    "commands are ordered by the recorder's time: not all have stamps in order, of one clock"
)


def commanded(
    samples: Sequence[JointSample], commands: Sequence[JointSample], joint_names: Sequence[str]
) -> Recording:
    """Return measured samples with the commands that were held at their times.

    Each joint has the last command recorded at or before the sample, by the stamps if those of
    both are in order and of one clock, or else by the recorder's time. Samples before that are
    omitted. Efforts are not needed, and omitted.

    Args:
        samples: measured; as of `by_joint`.
        commands: position, velocity if there is one, and feed-forward torque as effort.
        joint_names: n names.

    Raises:
        RecordingError: a joint or its command is missing, a command out of range, or no sample is
            complete and later than the first commands.
    """
    names = tuple(joint_names)
    require_names('commands', commands, names)
    recording, stamps, logged = cleaned(samples, names, efforts=False)
    given, own = (np.array([getattr(one, clock) for one in commands]) for clock in CLOCKS)
    notes = recording.notes
    in_order = all(x.all() and (np.diff(x) >= 0).all() for x in (stamps, given))
    if in_order and abs(np.median(logged - stamps) - np.median(own - given)) < ONE_CLOCK * SECOND:
        last = np.searchsorted(given, stamps, 'right') - 1
    else:
        last = np.searchsorted(np.maximum.accumulate(own), logged, 'right') - 1
        notes = (*notes, OTHER_CLOCK)
    held = _filled(_table(commands, names))
    q, qd, feedforward = np.where((last >= 0)[:, None, None], held[last], np.nan).swapaxes(0, 1)
    began = np.isfinite(q).all(axis=1)
    unknown = [name for name, row in zip(names, held[-1, 0], strict=True) if np.isnan(row)]
    if unknown:
        raise RecordingError(
            f'no position command of {", ".join(unknown)} is finite, of {len(commands)}'
        )
    if not began.any():
        raise RecordingError(f'none of {len(began)} samples is later than the first commands')
    left_out = dict(recording.left_out)
    if not began.all():
        left_out[NO_COMMAND] = int((~began).sum())
    found = replace(
        recording,
        command=q,
        command_qd=_if_any(qd),
        feedforward=_if_any(feedforward),
        left_out=left_out,
        notes=notes,
    )
    return found.samples(began)


def _table(commands: Sequence[JointSample], names: tuple[str, ...]) -> Array:
    """Return commands (m, 3, n), NaN of joints that one does not have; absent velocities are 0."""
    table = np.full((len(commands), 3, len(names)), np.nan)
    columns: dict[tuple[str, ...], tuple[list[int], list[int]]] = {}
    for row, one in zip(table, commands, strict=True):
        if one.names not in columns:
            found = [(j, one.names.index(x)) for j, x in enumerate(names) if x in one.names]
            columns[one.names] = [j for j, _ in found], [i for _, i in found]
        to, of = columns[one.names]
        for part, values in zip(row, one[3:], strict=True):
            if len(values) == len(one.names):
                part[to] = np.asarray(values)[of]
        row[1:, to] = np.where(np.isfinite(row[1:, to]), row[1:, to], 0.0)
        row[:, ~np.isfinite(row[0])] = np.nan
    beyond = np.abs(table) > LIMITS
    if beyond.any():
        row, kind, joint = np.argwhere(beyond)[0]
        raise RecordingError(
            f'{names[joint]}: {KINDS[kind]} command {table[row, kind, joint]:.3g}; expected at '
            f'most {LIMITS[kind, 0]:g}'
        )
    return table


def _filled(table: Array) -> Array:
    """Return (m, 3, n) with the last finite row of each joint so far."""
    present = np.isfinite(table[:, :1])
    rows = np.arange(len(table))[:, None, None]
    last = np.maximum.accumulate(np.where(present, rows, 0), axis=0)
    return np.take_along_axis(table, np.broadcast_to(last, table.shape), axis=0)


def _if_any(values: Array) -> Array | None:
    """Return values (k, n), None if all are 0 or there are none."""
    return values if np.nan_to_num(values).any() else None
