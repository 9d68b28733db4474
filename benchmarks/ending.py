"""SIGTERM ends a benchmark as Ctrl-C does: first the processes that it started, then itself."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from types import FrameType

AGAIN = 0.01  # s


@contextlib.contextmanager
def tidy_on_sigterm() -> Iterator[None]:
    """Let SIGTERM unwind the stack meanwhile, so that whatever is to be ended is."""
    before = {number: signal.signal(number, _leave) for number in (signal.SIGTERM, signal.SIGALRM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(_number: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_code.co_name == '__del__':
            # Python drops what is raised while an object is deleted: try again behind that.
            signal.setitimer(signal.ITIMER_REAL, AGAIN)
            return
        frame = frame.f_back
    sys.exit(128 + signal.SIGTERM)  # as a shell has it
