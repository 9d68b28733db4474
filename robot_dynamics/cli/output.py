"""Robots, warnings and tables of the verbs."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from robot_dynamics.files import write_file
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.urdf.loading import load_urdf


def read_robot(path: Path, **options: Any) -> RobotModel:
    """Return the robot of a description; its warnings are printed. Options as `load_urdf`."""
    with concise_warnings():
        return load_urdf(path, **options)


@contextmanager
def concise_warnings() -> Iterator[None]:
    """Print each warning in one line on the standard error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        yield
    for warning in caught:
        print(f'warning: {warning.message}', file=sys.stderr)


def write_json(file: Path, content: dict[str, Any]) -> None:
    """Write figures as JSON; null where a number is not finite."""
    finite = json.loads(json.dumps(content), parse_constant=lambda _: None)
    write_file(file, json.dumps(finite, indent=2, allow_nan=False) + '\n')


def plural(count: int, noun: str, nouns: str = '') -> str:
    """Return a number of things, such as '1 joint' or '7 joints'."""
    return f'{count} {noun if count == 1 else nouns or noun + "s"}'


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print an empty line and a table with aligned columns."""
    lines = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    print()
    for line in lines:
        cells = (f'{cell:<{width}}' for cell, width in zip(line, widths, strict=True))
        print('  '.join(cells).rstrip())
