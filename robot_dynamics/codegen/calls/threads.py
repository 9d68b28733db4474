# SPDX-License-Identifier: Apache-2.0
"""Large batches over several cores.

A batch is cut into as many parts as there are threads; the calling thread takes one, a pool the
others. Kernels run without Python's global lock, and a sample's result does not depend on its
neighbours: any number of threads gives the same bits.
"""

import functools
import os
from collections.abc import Callable
from typing import Any

from robot_dynamics.common.errors import RobotDynamicsError

# Fewest operations of a part, a fraction of a millisecond.
SMALLEST_PART = 10_000_000


class VariableError(RobotDynamicsError, ValueError):
    """An environment variable has a value that is not supported."""


def thread_count() -> int:
    """Return the number of threads: `ROBOT_DYNAMICS_THREADS`, else the number of cores.

    Raises:
        VariableError: the variable is no integer above 0.
    """
    chosen = os.environ.get('ROBOT_DYNAMICS_THREADS')
    if chosen:
        if not (chosen.isdecimal() and int(chosen)):
            raise VariableError(
                f'ROBOT_DYNAMICS_THREADS is {chosen!r}, expected an integer above 0'
            )
        return int(chosen)
    return (
        len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count() or 1
    )


def in_parts(work: Callable[[int, int], object], samples: int, operations: int) -> None:
    """Call work(begin, end) for parts of range(samples), each sample of so many operations."""
    parts = max(1, min(thread_count(), samples, samples * operations // SMALLEST_PART))
    cuts = [samples * part // parts for part in range(parts + 1)]
    others = range(1, parts)
    waiting = [_pool(os.getpid()).submit(work, *cuts[part : part + 2]) for part in others]
    try:
        work(cuts[0], cuts[1])
    finally:
        # None is left running: the caller may use its arrays again.
        for part in waiting:
            part.exception()
    for part in waiting:
        part.result()


@functools.cache
def _pool(process: int) -> Any:
    """Return the threads of a process: those of its parent do not survive a fork."""
    # Imported here because most processes never need it.
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix=f'robot_dynamics-{process}')
