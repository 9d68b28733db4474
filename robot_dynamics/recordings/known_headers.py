# SPDX-License-Identifier: Apache-2.0
"""CSV files of other programs: lines and headers in their own forms, and names for unknown ones.

libfranka writes `time` in ms beside `success_rate` (libfranka 5b7e8cf, src/log.cpp). A line of
`ros2 topic echo --csv` is a message without a header (rosidl_runtime_py, convert.py): of a
JointState the stamp, the frame, the names of the joints, and up to three numbers of each.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from itertools import takewhile

ECHOED = ('position', 'velocity', 'effort')
_SUCCESS = re.compile(r'success[ _]rate')
# Parts of words, and the names of columns that they suggest; of joints with their number.
_HINTS = (
    (r'time|stamp|clock', 'time'),
    (r'veloc|speed|rate|omega', 'qd'),
    (r'torq|moment', 'tau'),
    (r'curr|amp', 'current'),
    (r'effort', 'effort'),
    (r'pos|angle|theta', 'q'),
)
_OTHER_UNIT = re.compile(r'deg|rpm|mm|_ma\b|\[ma\]|_ms\b|_us\b|_ns\b|percent|%', re.IGNORECASE)


def in_seconds(heads: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns, with the unit of the time of libfranka's logs."""
    first, second = (*heads, '', '')[:2]
    if first in ('time', 'duration') and _SUCCESS.fullmatch(second):
        return ('time [ms]', *heads[1:])
    return tuple(heads)


def echoed_names(cells: Sequence[str], is_number: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the joints of an echoed JointState, () if the cells of a line are none."""
    if len(cells) < 4 or not all(map(str.isdecimal, cells[:2])) or is_number(cells[2]):
        return ()
    return tuple(takewhile(lambda cell: not is_number(cell), cells[3:]))


def echoed_heads(names: Sequence[str], cells: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the columns of an echoed JointState, () for two numbers per joint.

    Two may be positions with velocities or with efforts.
    """
    kinds, rest = divmod(len(cells) - 3 - len(names), len(names))
    if rest or kinds not in (1, 3):
        return ()
    return ('time', *(f'{kind} {name}' for kind in ECHOED[:kinds] for name in names))


def echoed_cells(names: Sequence[str], cells: Sequence[str]) -> list[str]:
    """Return the time [s] and the numbers of an echoed JointState."""
    return [f'{cells[0]}.{int(cells[1]):09d}', *cells[3 + len(names) :]]


def advice(heads: Sequence[str], known: Sequence[bool], joints: int) -> str:
    """Return the option `--columns` for a header, as the end of a sentence.

    Args:
        heads: names of the columns.
        known: which of them are read as they are.
        joints: number of joints of the model.
    """
    names = [head if one else _suggested(head) for head, one in zip(heads, known, strict=True)]
    counts = {name: names.count(name) for name in names}
    numbers = dict.fromkeys(counts, 0)
    for k, name in enumerate(names):
        if known[k] or name in ('-', 'time'):
            continue
        numbers[name] += 1
        # Another number of columns than joints is of something else.
        names[k] = f'{name}{numbers[name]}' if counts[name] == joints else '-'
    if '-' not in names:
        line = shlex.join(['--columns', *_short(names, joints)])
        return f'; if the columns are these: {line}'
    line = shlex.join(['--columns', *names])
    return f'; here {line}, with time, q1, effort1 and so on instead of - where a column is that'


def _short(names: list[str], joints: int) -> list[str]:
    """Return names with one word for neighbours that are numbered by all joints, in order."""
    short, k = [], 0
    while k < len(names):
        word = names[k].removesuffix('1')
        numbered = [f'{word}{j}' for j in range(1, joints + 1)]
        found = names[k : k + joints] == numbered
        short.append(word if found else names[k])
        k += joints if found else 1
    return short


def _suggested(head: str) -> str:
    """Return the name that a head suggests, '-' for none."""
    if _OTHER_UNIT.search(head):
        return '-'
    found = [name for hint, name in _HINTS if re.search(hint, head, re.IGNORECASE)]
    return found[0] if len(found) == 1 else '-'
