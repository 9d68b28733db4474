# SPDX-License-Identifier: Apache-2.0
"""Orderly end on SIGTERM: child processes first, as on Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from types import FrameType

AGAIN = 0.01  # s


@contextlib.contextmanager
def tidy_on_sigterm() -> Iterator[None]:
    """Make SIGTERM unwind the stack, so that context managers end their processes."""
    before = {number: signal.signal(number, _leave) for number in (signal.SIGTERM, signal.SIGALRM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(_number: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_code.co_name == '__del__':
            # Python discards exceptions raised in __del__: try again after it.
            signal.setitimer(signal.ITIMER_REAL, AGAIN)
            return
        frame = frame.f_back
    sys.exit(128 + signal.SIGTERM)  # exit code of a shell
