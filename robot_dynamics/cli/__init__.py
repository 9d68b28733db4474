# SPDX-License-Identifier: Apache-2.0
"""The command line: `robot-dynamics VERB ROBOT`.

Input: words and files. Output: tables, files and an exit code. Other wings use `main`. One
file per verb; `commands.GROUPS` lists the verbs.

Only `demo`, `send`, `record` and `view --live` need ROS 2. An error is one line, with exit code 2;
Ctrl-C ends with 130, but `record` with 0; a pipe whose reader ends, as in `... | head`, with 141.
"""

from __future__ import annotations

import os
import sys

INTERRUPTED = 130  # exit code after Ctrl-C, as shells have it
RETRY = 0.02  # s, until an interrupt during an import is raised

TYPE_CHECKING = False  # as in the package: nothing is imported before `main` handles interrupts
if TYPE_CHECKING:
    from types import FrameType


def main(arguments: list[str] | None = None) -> int:
    """Run one verb and return its exit code; without arguments those of the process are used."""
    try:
        import signal

        _on_interrupt(_exit)
        from robot_dynamics.cli.commands import run

        _on_interrupt(_raise_after_imports)
        try:
            code = run(arguments)
        finally:
            if sys.platform != 'win32':
                signal.setitimer(signal.ITIMER_REAL, 0)  # set by an interrupt during an import
            _on_interrupt(signal.default_int_handler)
    except KeyboardInterrupt:
        print('robot-dynamics: interrupted', file=sys.stderr)
        code = INTERRUPTED
    if arguments is None:
        # Only the shutdown of the interpreter is left, where an exception prints a traceback.
        _on_interrupt(_exit)
    return code


def _on_interrupt(handler: object) -> None:
    """Install a handler of SIGINT, unless the signal is ignored or the caller has its own."""
    import signal
    import threading

    in_main_thread = threading.current_thread() is threading.main_thread()
    ours = (signal.default_int_handler, _exit, _raise_after_imports)
    if in_main_thread and signal.getsignal(signal.SIGINT) in ours:
        signal.signal(signal.SIGINT, handler)  # type: ignore[arg-type]


def _raise_after_imports(_: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, but not inside an import, which may replace it by another error."""
    import signal

    while frame is not None and frame.f_code is not main.__code__:
        if frame.f_code.co_filename.startswith('<frozen importlib') and sys.platform != 'win32':
            signal.signal(signal.SIGALRM, _raise_after_imports)
            signal.setitimer(signal.ITIMER_REAL, RETRY)
            return
        frame = frame.f_back
    raise KeyboardInterrupt


def _exit(*_: object) -> None:
    os.write(2, b'robot-dynamics: interrupted\n')
    os._exit(INTERRUPTED)
