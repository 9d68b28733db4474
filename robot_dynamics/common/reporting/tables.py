# SPDX-License-Identifier: Apache-2.0
"""Tables as plain text, and curves of joints as CSV files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from robot_dynamics.common.files import write_csv
from robot_dynamics.common.spatial import Array


def aligned(rows: Sequence[Sequence[str]], sides: str = '<') -> list[str]:
    """Return rows as lines with aligned columns.

    Args:
        rows: their cells, the head included.
        sides: '<' (left) or '>' (right) of each column; the last one is that of all others.
    """
    columns = list(zip(*rows, strict=True))
    formats = [
        f'{sides[min(k, len(sides) - 1)]}{max(map(len, column))}'
        for k, column in enumerate(columns)
    ]
    return ['  '.join(map(format, row, formats)).rstrip() for row in rows]


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print an empty line and a table with aligned columns."""
    print('', *aligned([head, *rows]), sep='\n')


def write_curves(
    file: Path, names: Sequence[str], t: Array, quantities: Mapping[str, Array]
) -> None:
    """Write curves of joints as CSV, a row per time.

    Args:
        file: the file.
        names: of n joints.
        t: (k,) times, s.
        quantities: (k, n) each; a column is named by its joint and its quantity.
    """
    head = ['t', *(f'{name} {quantity}'.rstrip() for quantity in quantities for name in names)]
    write_csv(file, head, np.column_stack([t, *quantities.values()]).tolist())
