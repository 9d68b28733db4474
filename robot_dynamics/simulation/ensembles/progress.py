# SPDX-License-Identifier: Apache-2.0
"""Progress of a long run: a bar, or lines without a terminal or rich."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PERIOD = 0.1  # s, between two updates
LINES = 10  # without a bar


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function progress(done, of all) that writes to standard error.

    with progress_bar('payloads') as progress:
        simulate_batch(..., progress=progress)
    """
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        yield _lines(title)
        return
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _lines(title)
        return
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task(title, total=None)
        shown = -PERIOD

        def show(done: int, total: int) -> None:
            nonlocal shown
            if done == total or time.monotonic() - shown > PERIOD:
                shown = time.monotonic()
                bar.update(task, completed=done, total=total)

        yield show


def _lines(title: str) -> Callable[[int, int], None]:
    shown = 0

    def show(done: int, total: int) -> None:
        nonlocal shown
        part = LINES * done // total
        if part > shown:
            shown = part
            print(f'{title}: {100 * done // total} %', file=sys.stderr, flush=True)

    return show
