# SPDX-License-Identifier: Apache-2.0
"""Peak memory of this process."""

from __future__ import annotations

from pathlib import Path


def peak_mib() -> float | None:
    """Return the peak resident memory in MiB, None where the system does not provide it.

    `resource.getrusage` is unsuitable: the figure of a child includes its parent's.
    """
    status = Path('/proc/self/status')
    if not status.exists():
        return None
    for line in status.read_text().splitlines():
        if line.startswith('VmHWM:'):
            return int(line.split()[1]) / 1024
    return None
