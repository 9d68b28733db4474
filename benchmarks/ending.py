"""SIGTERM ends a benchmark as Ctrl-C does: first the processes that it started, then itself."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from typing import NoReturn


@contextlib.contextmanager
def tidy_on_sigterm() -> Iterator[None]:
    """Let SIGTERM unwind the stack meanwhile, so that whatever is to be ended is."""
    before = signal.signal(signal.SIGTERM, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _leave(number: int, _frame: object) -> NoReturn:
    sys.exit(128 + number)  # as a shell has it
