"""Robots, warnings and tables of the verbs."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from robot_dynamics.dynamics import Dynamics
from robot_dynamics.urdf.loading import load_urdf


def compiled_robot(path: Path) -> Dynamics:
    """Return the dynamics of a robot description; its warnings are printed."""
    with concise_warnings():
        model = load_urdf(path)
    return Dynamics(model)


@contextmanager
def concise_warnings() -> Iterator[None]:
    """Print each warning in one line on the standard error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        yield
    for warning in caught:
        print(f'warning: {warning.message}', file=sys.stderr)


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print an empty line and a table with aligned columns."""
    lines = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    print()
    for line in lines:
        cells = (f'{cell:<{width}}' for cell, width in zip(line, widths, strict=True))
        print('  '.join(cells).rstrip())
