# SPDX-License-Identifier: Apache-2.0
"""Reader of LeRobot data sets: commands and positions of episodes in Parquet files.

A data set is a folder with `meta/info.json` and `data/**/*.parquet` (versions 2 and 3), or one of
these files. `action` are the commands, `observation.state` the positions, at `timestamp`. The
names of the joints are those of `meta/info.json`, without the ending `.pos`.

The files do not state the unit. LeRobot writes degrees with `use_degrees`, and otherwise shares of
the calibrated range (-100 to 100; grippers 0 to 100), which no unit turns into angles.

Source: huggingface/lerobot, `datasets`, formats v2.1 and v3.0; pyarrow reads Parquet.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.common.extras import needed
from robot_dynamics.common.spatial import Array
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.recordings.bag import BagError
from robot_dynamics.recordings.recording import JointSample

SUFFIX, INFO = '.parquet', 'meta/info.json'
ACTION, STATE = 'action', 'observation.state'
TIME, EPISODE = 'timestamp', 'episode_index'
ENDING = '.pos'
UNITS = {'degrees': np.pi / 180, 'radians': 1.0}
EMPTY = np.zeros(0)


class Episode(NamedTuple):
    """Measured positions and commands of an episode."""

    samples: list[JointSample]
    commands: list[JointSample]


def is_dataset(path: Path) -> bool:
    """Return whether a path is a LeRobot data set, or a Parquet file."""
    return path.suffix.lower() == SUFFIX or (path / INFO).is_file()


def read_episodes(path: Path, joints: Sequence[str], units: str) -> list[Episode]:
    """Return the episodes of a data set, in their order.

    Args:
        path: a folder or a file.
        joints: names of the values of a row, '-' for one that is not used; empty: those of the
            data set.
        units: of UNITS.

    Raises:
        BagError: pyarrow is missing, the unit is not stated, or the files do not have this form.
    """
    if units not in UNITS:
        raise BagError(
            f'{path}: the unit of the positions is {units!r}; a LeRobot data set does not state '
            'it: expected --units degrees or radians. Shares of the calibrated range, as LeRobot '
            'writes without use_degrees, are neither'
        )
    names = tuple(joints) or _names(path)
    files = [path] if path.is_file() else sorted(path.glob(f'data/**/*{SUFFIX}'))
    if not files:
        raise BagError(f'{path}: no data/**/*{SUFFIX}')
    parts = [_columns(file, len(names)) for file in files]
    time, number, state, action = (np.concatenate(rows) for rows in zip(*parts, strict=True))
    used = [j for j, name in enumerate(names) if name != '-']
    kept = tuple(names[j] for j in used)
    episodes = []
    for episode in np.unique(number):
        rows = np.flatnonzero(number == episode)
        # Without a stamp of 0, which means none.
        stamps = np.round((time[rows] - time[rows].min() + 1.0) * SECOND).astype(np.int64).tolist()
        pair = (
            [
                JointSample(t, t, kept, UNITS[units] * values, EMPTY, EMPTY)
                for t, values in zip(stamps, table[rows][:, used], strict=True)
            ]
            for table in (state, action)
        )
        episodes.append(Episode(*pair))
    return episodes


def _names(path: Path) -> tuple[str, ...]:
    """Return the joints of the actions of a data set. Raises BagError."""
    file = next((one / INFO for one in (path, *path.parents) if (one / INFO).is_file()), None)
    try:
        if file is None:
            raise KeyError(INFO)
        listed = [
            json.loads(file.read_text())['features'][name]['names'] for name in (ACTION, STATE)
        ]
        # Version 2.0 has {"motors": [...]}.
        action, state = (
            next(iter(one.values())) if isinstance(one, dict) else one for one in listed
        )
    except (OSError, ValueError, KeyError, TypeError, StopIteration) as error:
        raise BagError(
            f'{path}: no names of joints in {INFO} ({error}); expected --columns JOINT ..., one '
            "for each value of a row, '-' where it is not used"
        ) from error
    if action != state:
        raise BagError(f'{path}: {ACTION} has {action}, {STATE} {state}; expected the same names')
    return tuple(str(name).removesuffix(ENDING) for name in action)


def _columns(file: Path, width: int) -> tuple[Array, Array, Array, Array]:
    """Return time (k,), episode (k,), state and action (k, width) of a file. Raises BagError."""
    with needed('lerobot', 'LeRobot data sets are read by pyarrow', BagError):
        from pyarrow import ArrowException
        from pyarrow.parquet import read_table
    try:
        table: Any = read_table(file, columns=[TIME, EPISODE, STATE, ACTION])
        time, episode, state, action = (
            np.array(table[name].to_pylist(), dtype=float)
            for name in (TIME, EPISODE, STATE, ACTION)
        )
    except (ArrowException, OSError, KeyError, ValueError, TypeError) as error:
        raise BagError(
            f'{file}: cannot be read ({error}); expected columns {TIME}, {EPISODE}, {STATE} and '
            f'{ACTION}'
        ) from error
    for name, rows in ((STATE, state), (ACTION, action)):
        if rows.shape != (len(time), width):
            raise BagError(
                f'{file}: {name} has shape {rows.shape}; expected ({len(time)}, {width}), a value '
                'for each joint'
            )
    return time, episode, state, action
