# SPDX-License-Identifier: Apache-2.0
"""Reader of recordings: rosbag2 ones by `bag`, CSV files here.

A CSV file has time, positions, efforts and, optionally, velocities; or time, positions and
commands (`CsvFile.commanded`).

Columns are separated by commas, semicolons, tabs or spaces, and numbers have a decimal point. The
header names them: time, and for each joint q, qd and effort with the name of the joint or its
number, such as `t, q1, qd1, effort1` or `time; elbow position; elbow effort`. Commands are
command, command_qd and feedforward, such as `command_elbow` or `command1`. Other columns are
ignored, as are columns after the last name. Names after actual, measured or state mean the same,
as in the logs of UR and Franka arms: `actual_current_0`, `state.tau_J[0]`. Of several times, as in
files of PlotJuggler, the first without gaps is used. Lines of `ros2 topic echo --csv` of joint
states need no header. Units are s, rad or m; a time may be in ms, us or ns by its header. Efforts
are torques or currents by the word of their header (torque, tau, current) or its unit ([N m],
[A]); the word effort alone states no unit.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.reporting.numbers import plural
from robot_dynamics.common.spatial import Array
from robot_dynamics.common.stamps import SECOND
from robot_dynamics.recordings.bag import Bag, BagError, read_bag, regular
from robot_dynamics.recordings.effort_unit import (
    SYMBOLS,
    UNKNOWN,
    EffortUnitError,
    common_unit,
    unit_of_column,
)
from robot_dynamics.recordings.held_commands import commanded
from robot_dynamics.recordings.known_headers import (
    advice,
    echoed_cells,
    echoed_heads,
    echoed_names,
    in_seconds,
)
from robot_dynamics.recordings.recording import (
    KINDS,
    WITHOUT_EFFORTS,
    JointSample,
    Recording,
    by_joint,
)

SUFFIXES = ('.csv', '.txt', '.tsv', '.dat')
TIME = 'time'
WORDS = {
    TIME: ('time', 'timestamp', 'stamp', 't'),
    'position': ('position', 'positions', 'pos', 'q'),
    'velocity': ('velocity', 'velocities', 'vel', 'qdot', 'qd', 'dq'),
    'effort': ('effort', 'efforts', 'torque', 'torques', 'tau', 'tau_J', 'current', 'currents'),
    'command': (
        'command',
        'commands',
        'commanded',
        'cmd',
        'position_command',
        'q_cmd',
        'target_q',
        'u',
    ),
    'command_qd': ('command_qd', 'command_velocity', 'velocity_command', 'qd_cmd', 'target_qd'),
    'feedforward': ('feedforward', 'feed_forward', 'command_effort', 'effort_command', 'tau_ff'),
}
COMMANDS = ('command', 'command_qd', 'feedforward')  # position, velocity and torque of drives
KIND_OF = {word.lower(): kind for kind, words in WORDS.items() for word in words}
UNITS = {
    TIME: ('', 's', 'sec', 'ms', 'us', 'ns'),
    'position': ('', 'rad', 'm'),
    'velocity': ('', 'rad/s', 'm/s'),
    'effort': SYMBOLS,
    'command': ('', 'rad', 'm'),
    'command_qd': ('', 'rad/s', 'm/s'),
    'feedforward': ('', 'nm', 'n m', 'n*m', 'n·m', 'n'),
}
EXPECTED_UNITS = {
    TIME: 's, ms, us or ns',
    'position': 'rad or m',
    'velocity': 'rad/s or m/s',
    'effort': 'N m, N or A',
    'command': 'rad or m',
    'command_qd': 'rad/s or m/s',
    'feedforward': 'N m or N',
}
SECONDS = {'ms': 1e-3, 'us': 1e-6, 'ns': 1e-9}
LONGEST_STEP = 0.5  # s: longer ones are in another unit
EXPECTED = (
    'expected a header as time, q1, q2, effort1, effort2 with names or numbers of the joints, or '
    '--columns'
)
# A word, then a number or, after a separator, the name of a joint; or the two exchanged.
_ANY = '|'.join(sorted((word for word in KIND_OF), key=len, reverse=True))
_FIRST = re.compile(rf'({_ANY})(?:[ _.:]*(\d+)|[ _.:]+(.+))?', re.IGNORECASE)
_LAST = re.compile(rf'(.+?)[ _.:]+({_ANY})', re.IGNORECASE)
_UNIT = re.compile(r'(.*?)\s*[\[(]([^\])]*)[\])]')
_MEASURED = re.compile(r'(?:actual|measured|state)[ _.]+', re.IGNORECASE)
_INDEX = re.compile(r'\[(\d+)\]')  # q[0]


class Column(NamedTuple):
    """A column: its kind, and the joint; '' for every joint of the model in turn."""

    kind: str  # of WORDS, '' if it is not used
    joint: str = ''
    effort_unit: str = UNKNOWN
    head: str = ''
    seconds: float = 1.0  # of its unit, if it is a time


def read_recording(
    path: str | Path, topic: str = '', description: bool = True, columns: Sequence[str] = ()
) -> Bag | CsvFile:
    """Return a recording: a rosbag2 one, or a CSV file by its suffix.

    Args:
        path: a folder or a file.
        topic: of a bag, as `read_bag`.
        description: as `read_bag`.
        columns: names of the columns of a CSV file, as in a header; a word of `WORDS` alone
            stands for as many columns as the model has joints, in its order, '-' for a column
            that is not used.

    Raises:
        BagError: the recording cannot be read, or the options are those of the other kind.
    """
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        if columns:
            raise BagError(f'{path}: --columns is for files with suffix {", ".join(SUFFIXES)}')
        return read_bag(path, topic, description)
    if topic:
        raise BagError(f'{path}: --topic is for rosbag2 recordings')
    return read_csv(path, columns)


@dataclass(frozen=True, eq=False)
class CsvFile:
    """Numbers of a CSV file.

    Attributes:
        path: of the file.
        heads: names of the columns.
        lines: (k,) number of the line of each row, from 1.
        values: (k, columns) NaN where a cell is empty.
        description: always empty: a CSV file has no robot.
    """

    path: Path
    heads: tuple[str, ...]
    lines: Sequence[int]
    values: Array
    description: str = ''

    @property
    def topic(self) -> str:
        """What the columns hold."""
        kinds = [_column(self.path, head).kind for head in self.heads]
        return f'columns {", ".join(kind for kind in WORDS if kind in kinds)}'

    def recording(self, joint_names: Sequence[str]) -> Recording:
        """Return the samples by joint, as `by_joint`.

        Raises:
            BagError: columns are missing or ambiguous, efforts of different units, or time is not
                finite or not in seconds.
            RecordingError: as `by_joint`.
        """
        names = tuple(joint_names)
        listed = self._listed(names)
        found = self._columns(listed, names, (TIME, *KINDS[::2]))
        known = [name for name in names if all((kind, name) in found for kind in KINDS[::2])]
        samples = self._samples(listed, found, known, KINDS)
        units = {f'effort of {one}': listed[found['effort', one]].effort_unit for one in known}
        try:
            unit = common_unit(units)
        except EffortUnitError as error:
            raise BagError(f'{self.path}: {error}') from None
        recording = by_joint(samples, names, unit)
        return replace(recording, notes=(*recording.notes, *_notes(listed, found)))

    def commanded(self, joint_names: Sequence[str]) -> Recording:
        """Return positions and commands by joint, as `held_commands.commanded`.

        Raises as `recording`, of columns of commands instead of efforts.
        """
        names = tuple(joint_names)
        listed = self._listed(names, commands=True)
        found = self._columns(listed, names, (TIME, KINDS[0], COMMANDS[0]))
        states, commands = (
            self._samples(
                listed, found, [name for name in names if (kinds[0], name) in found], kinds
            )
            for kinds in (KINDS[:2], COMMANDS)
        )
        recording = commanded(states, commands, names)
        return replace(recording, notes=(*recording.notes, *_notes(listed, found)))

    def _samples(
        self,
        listed: list[Column],
        found: Mapping[tuple[str, str], int],
        known: list[str],
        kinds: Sequence[str],
    ) -> list[JointSample]:
        """Return the samples of some joints; of kinds without columns, they have no values."""
        t = self._time(found[TIME, ''], listed)
        # Without a stamp of 0, which means none.
        stamps = np.round((t - t.min() + 1.0) * SECOND).astype(np.int64)
        there = {kind for kind, _ in found}
        values = [
            np.stack([self._of(found.get((kind, name))) for name in known], axis=1)
            if known and kind in there
            else np.zeros((len(t), 0))
            for kind in (*kinds, '')[:3]
        ]
        # Rows are in the order of recording, also where their time goes back.
        later = np.maximum(np.diff(stamps), 1)
        logged = stamps[0] + np.concatenate([[0], np.cumsum(later)])
        rows = zip(stamps.tolist(), logged.tolist(), *values, strict=True)
        return [JointSample(s, own, tuple(known), *row) for s, own, *row in rows]

    def _of(self, column: int | None) -> Array:
        return np.full(len(self.values), np.nan) if column is None else self.values[:, column]

    def _listed(self, names: tuple[str, ...], commands: bool = False) -> list[Column]:
        """Return what each column holds; commands, if not wanted, are not used."""
        listed: list[Column] = []
        for head in self.heads:
            one = _column(self.path, head, commands)._replace(head=head)
            alone = one.kind in (*KINDS, *COMMANDS) and not one.joint
            listed += [one._replace(joint=name) for name in names] if alone else [one]
        extra = self.values.shape[1] - len(listed)
        if 0 < extra < len(listed):
            listed += [Column('')] * extra
        if len(listed) != self.values.shape[1]:
            raise BagError(
                f'{self.path}, line {self.lines[0]}: {self.values.shape[1]} columns; the names '
                f'are of {len(listed)}: {" ".join(self.heads)}'
            )
        return listed

    def _columns(
        self, listed: list[Column], names: tuple[str, ...], required: Sequence[str]
    ) -> dict[tuple[str, str], int]:
        """Return the column of each kind and joint; some kinds are required."""
        found: dict[tuple[str, str], int] = {}
        for kind in WORDS:
            own = [(k, one.joint) for k, one in enumerate(listed) if one.kind == kind]
            if kind == TIME:
                gapless = [one for one in own if np.isfinite(self.values[:, one[0]]).all()]
                own = (gapless or own)[:1]
            joints = self._named([joint for _, joint in own], names)
            for joint, (k, _) in zip(joints, own, strict=True):
                if (kind, joint) in found:
                    raise BagError(f'{self.path}: two columns of {kind} {joint}'.rstrip())
                found[kind, joint] = k
        kinds = {kind for kind, _ in found}
        for kind in required:
            if kind not in kinds:
                other = f'; {WITHOUT_EFFORTS}' if kind == KINDS[2] else ''
                raise BagError(
                    f'{self.path}: no column of {kind} among {", ".join(self.heads)}; {EXPECTED}'
                    f'{other}{self._advice(names)}'
                )
        return found

    def _advice(self, names: tuple[str, ...]) -> str:
        """Return `--columns` for a header with columns that are not recognized."""
        columns = [_column(self.path, head) for head in self.heads]
        placed = [not one.joint or one.joint.isdecimal() or one.joint in names for one in columns]
        known = [bool(one.kind) and own for one, own in zip(columns, placed, strict=True)]
        return '' if all(known) else advice(self.heads, known, len(names))

    def _named(self, joints: list[str], names: tuple[str, ...]) -> list[str]:
        """Return the names of joints that may be numbers, from 0 or 1."""
        if set(joints) & set(names):
            return joints
        numbers = sorted({int(joint) for joint in joints if joint.isdecimal()})
        if numbers and numbers != list(range(numbers[0], numbers[0] + len(names))):
            raise BagError(
                f'{self.path}: columns of joints {", ".join(map(str, numbers))}; the model has '
                f'{len(names)}: {", ".join(names)}'
            )
        return [names[int(joint) - numbers[0]] if joint.isdecimal() else joint for joint in joints]

    def _time(self, column: int, listed: list[Column]) -> Array:
        name = listed[column].head
        t = listed[column].seconds * self.values[:, column]
        if not np.isfinite(t).all():
            line = self.lines[int(np.flatnonzero(~np.isfinite(t))[0])]
            raise BagError(f'{self.path}, line {line}, column {name}: expected a finite time, s')
        if len(t) > 1 and (step := float(np.median(np.diff(t)))) > LONGEST_STEP:
            raise BagError(
                f'{self.path}, column {name}: the rows are {step:g} apart; expected seconds'
            )
        return t


def _notes(listed: list[Column], found: Mapping[tuple[str, str], int]) -> list[str]:
    """Return remarks on columns that are not used."""
    notes = []
    if extra := len(list(takewhile(lambda one: not one.head, reversed(listed)))):
        notes.append(f'{plural(extra, "column")} after the last name of the header: not used')
    times = [one.head for one in listed if one.kind == TIME]
    if times[1:]:
        used = listed[found[TIME, '']].head
        notes.append(f'columns of time: {", ".join(times)}; {used} is used')
    return notes


def read_csv(path: Path, columns: Sequence[str] = ()) -> CsvFile:
    """Return the numbers of a file.

    Args:
        path: the file.
        columns: instead of its header, as `read_recording`.

    Raises:
        BagError: it cannot be read; with file, line and column.
    """
    try:
        text = regular(path).read_text(encoding='utf-8-sig', errors='replace')
    except OSError as error:
        raise BagError(f'{path}: {error.strerror or error}') from error
    given = [(n, line.strip(' ')) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    separator = next((one for one in ';\t,' if given and one in given[-1][1]), ' ')
    heads, lines = tuple(columns), []
    rows: list[list[float]] = []
    for number, line in given:
        cells = _cells(path, number, line.removeprefix('#'), separator)
        if joints := echoed_names(cells, _is_number):
            heads = tuple(columns) or _echoed_heads(path, number, joints, cells)
            cells = echoed_cells(joints, cells)
        if not rows and (line.startswith('#') or not any(map(_is_number, cells))):
            heads = tuple(columns) or in_seconds(cells)  # the last line before the numbers
        elif not line.startswith('#'):
            rows.append(_numbers(path, number, cells, heads, len(rows[0]) if rows else len(cells)))
            lines.append(number)
    if not rows:
        raise BagError(f'{path}: no line of numbers')
    if not heads:
        raise BagError(f'{path}, line {lines[0]}: no header; {EXPECTED}')
    return CsvFile(path, heads, lines, np.array(rows))


def _echoed_heads(
    path: Path, number: int, joints: Sequence[str], cells: Sequence[str]
) -> tuple[str, ...]:
    if heads := echoed_heads(joints, cells):
        return heads
    raise BagError(
        f'{path}, line {number}: {len(cells) - 3 - len(joints)} numbers of '
        f'{plural(len(joints), "joint")}; expected position, velocity and effort of each, or '
        '--columns'
    )


def _cells(path: Path, number: int, line: str, separator: str) -> list[str]:
    try:
        (cells,) = csv.reader([line], delimiter=separator, skipinitialspace=True)
    except csv.Error as error:
        raise BagError(f'{path}, line {number}: {error}') from error
    return [cell.strip() for cell in cells]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _numbers(
    path: Path, number: int, cells: list[str], heads: Sequence[str], width: int
) -> list[float]:
    if len(cells) != width:
        raise BagError(f'{path}, line {number}: {len(cells)} columns; expected {width}')
    try:
        return [float(cell) if cell else math.nan for cell in cells]
    except ValueError:
        k = next(k for k, cell in enumerate(cells) if cell and not _is_number(cell))
        name = f' ({heads[k]})' if len(heads) == len(cells) else ''
        raise BagError(
            f'{path}, line {number}, column {k + 1}{name}: {cells[k]!r}; expected a number with a '
            'decimal point'
        ) from None


def _column(path: Path, head: str, commands: bool = False) -> Column:
    """Return what a column holds, of commands if they are wanted.

    Raises BagError for a unit that its kind does not have.
    """
    name, unit = head.strip(), ''
    if (match := _UNIT.fullmatch(name)) and not match[2].isdecimal():
        name, unit = match[1], match[2].strip().lower()
    name = _INDEX.sub(r'\1', name)
    parts = [part.strip('_ ') for part in name.split('/') if part]
    own = (' '.join(parts[-2:]), *parts[-1:])  # /joint_states/elbow/position
    measured = [_MEASURED.sub('', words, 1) for words in own if _MEASURED.match(words)]
    for words in (*own, *measured):
        if match := _FIRST.fullmatch(words):
            word, joint = match[1], match[2] or match[3] or ''
        elif match := _LAST.fullmatch(words):
            joint, word = match[1], match[2]
        else:
            continue
        kind = KIND_OF[word.lower()]
        if kind == TIME and joint:
            continue
        if kind in COMMANDS and not commands:
            return Column('')
        if unit not in UNITS[kind]:
            raise BagError(f'{path}, column {head}: unit {unit}; expected {EXPECTED_UNITS[kind]}')
        if kind != 'effort':
            return Column(kind, joint, seconds=SECONDS.get(unit, 1.0))
        try:
            return Column(kind, joint, unit_of_column(word, unit))
        except EffortUnitError as error:
            raise BagError(f'{path}, column {head}: {error}') from None
    return Column('')
