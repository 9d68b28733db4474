"""How the verbs say what they have to say."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


@contextmanager
def warnings_in_short() -> Iterator[None]:
    """Print warnings in a line each, on the standard error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        yield
    for warning in caught:
        print(f'warning: {warning.message}', file=sys.stderr)


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print columns of the width of what is in them, after an empty line."""
    lines = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    print()
    for line in lines:
        cells = (f'{cell:<{width}}' for cell, width in zip(line, widths, strict=True))
        print('  '.join(cells).rstrip())
