# SPDX-License-Identifier: Apache-2.0
"""Results as JSON files."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.common.files import write_file


def write_json(file: Path, content: Mapping[str, Any]) -> None:
    """Write figures as JSON: arrays as lists, null where a number is not finite."""
    text = json.dumps(_plain(content), indent=2, allow_nan=False)
    write_file(file, text + '\n')


def _plain(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
