# SPDX-License-Identifier: Apache-2.0
"""Robots and warnings of the verbs."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from robot_dynamics.core.model.robot_model import RobotModel
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
