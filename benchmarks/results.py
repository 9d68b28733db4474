# SPDX-License-Identifier: Apache-2.0
"""All figures of a run, and the machine they were measured on."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.batches import Batch
from benchmarks.compiling import Compilation, GivenUp
from benchmarks.single import SingleCall
from benchmarks.starting import Start
from benchmarks.stepping import Stepping

PACKAGES = (
    'numpy',
    'llvmlite',
    'pin',
    'mujoco',
    'pybullet',
    'roboticstoolbox-python',
    'modern_robotics',
)


@dataclass
class Results:
    """Figures of a run, added robot by robot."""

    machine: dict[str, Any]
    compilations: list[Compilation] = field(default_factory=list)
    given_up: list[GivenUp] = field(default_factory=list)
    single: list[SingleCall] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    starts: list[Start] = field(default_factory=list)
    stepping: list[Stepping] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self)


def this_machine() -> dict[str, Any]:
    """Return the kind of the machine and the versions, without its name."""
    return {
        'processor': _processor(),
        'cores': len(os.sched_getaffinity(0))
        if hasattr(os, 'sched_getaffinity')
        else os.cpu_count(),
        'system': f'{platform.system()} {platform.machine()}',
        'python': platform.python_version(),
        'versions': {name: v for name in PACKAGES if (v := _version(name))},
        'load_before': round(os.getloadavg()[0], 1) if hasattr(os, 'getloadavg') else None,
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    """Return model, family and vector extension of the processor, as far as known."""
    try:
        lines = Path('/proc/cpuinfo').read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts: dict[str, str] = {}
    for line in lines:
        key, _, value = line.partition(':')
        facts.setdefault(key.strip(), value.strip())
    flags = facts.get('flags', '').split()
    vectors = next((name for name in ('avx512f', 'avx2') if name in flags), '')
    family = f'family {facts["cpu family"]}' if 'cpu family' in facts else ''
    words = (facts.get('model name', platform.machine()), family, vectors)
    return ', '.join(word for word in words if word)
