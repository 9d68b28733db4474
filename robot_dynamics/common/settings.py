# SPDX-License-Identifier: Apache-2.0
"""Settings: name, unit, range, default and help of a number or choice, declared once.

    @dataclass(frozen=True)
    class Sensors:
        latency: float = setting(0.0, 'Age of the values', 's', (0.0, 1.0))
        effort_noise: ArrayLike = setting(0.0, 'Noise', 'N m or N', EFFORT, per_joint=True)

The fields are the declaration. Parameters of nodes, entries of YAML files, options of the command
line and tables of the documentation are derived from `settings_of(Sensors)`; `checked` gives the
values of an instance for one robot.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import SimpleNamespace
from typing import Any

import numpy as np

from robot_dynamics.common.errors import ModelError

# Bounds far beyond any robot, and far from overflow.
TIME = (0.0, 86400.0)  # s
RATE = (0.0, 1e6)  # Hz
LOWEST_RATE = 1e-3  # Hz, other than 0
POSITION = (-1000.0, 1000.0)  # rad or m, also per second
EFFORT = (0.0, 1e9)  # N m or N, also per second
GAIN = (0.0, 1e9)  # N m/rad, N/m, N m s/rad or N s/m


@dataclass(frozen=True)
class Setting:
    """Declaration of a setting.

    Attributes:
        default: inf where there is no limit by default.
        help: what it is, a noun phrase.
        unit: of its value.
        bounds: least and largest value; a limit may be inf.
        smallest: smallest limit, above zero.
        choices: values of a text.
        positive: whether it must be above zero, although parameters may be 0.
        per_joint: whether it is one number for all joints, or one for each.
        zero: what 0 means where there is no infinity, as in parameters.
        none: what a negative number means where there is no None, as in parameters.
        note: further sentences.
    """

    default: Any
    help: str
    unit: str = ''
    bounds: tuple[float, float] = (-math.inf, math.inf)
    smallest: float = 0.0
    choices: tuple[str, ...] = ()
    positive: bool = False
    per_joint: bool = False
    zero: str = ''
    none: str = ''
    note: str = ''

    @property
    def is_limit(self) -> bool:
        """Whether there is none by default: inf here, 0 where there is no infinity."""
        return bool(self.default == math.inf)

    @property
    def description(self) -> str:
        """Help with unit, number of values and the meaning of 0, as sentences."""
        parts = [self.help, self.unit, 'one value or one per joint' if self.per_joint else '']
        zero = f'; 0: {self.zero}' if self.zero else ''
        none = f'; negative: {self.none}' if self.none else ''
        return f'{", ".join(filter(None, parts))}{zero}{none}. {self.note}'.rstrip()

    def checked(self, name: str, value: Any, n: int) -> Any:
        """Return a value: (n,) numbers if it is per joint.

        Raises:
            ModelError: it is out of range, or neither a number nor (n,).
        """
        if self.choices:
            if value not in self.choices:
                raise ModelError(
                    f'{name} is {value!r}; it must be one of {", ".join(self.choices)}'
                )
            return value
        array, shown = np.asarray(value, dtype=float), f'{name} is {value!r}'
        if not self.per_joint:
            shown = f'{name} is {value} {self.unit}'
            signed = -math.inf < self.bounds[0] < 0
            least_sign = '' if signed else ' and not negative'
            if not math.isfinite(value) or (least_sign and value < 0):
                raise ModelError(f'{shown}; it must be finite{least_sign}')
        elif array.shape not in ((), (n,)):
            raise ModelError(
                f'{name} has shape {array.shape}; it must be one number or ({n},), one per joint'
            )
        low, high = self.bounds
        if low >= 0 and not (array >= 0).all():
            raise ModelError(f'{shown}; it must not be negative')
        if (low > 0 or self.positive or self.is_limit) and not (array > 0).all():
            raise ModelError(f'{shown}; it must be positive')
        limited = array[array < math.inf] if self.is_limit else array
        if not np.isfinite(limited).all():
            raise ModelError(f'{shown}; it must be finite')
        least = self.smallest or low
        if not ((least <= limited) & (limited <= high)).all():
            raise ModelError(f'{shown}; it must be in [{least:g}, {high:g}]')
        return np.array(np.broadcast_to(array, (n,))) if self.per_joint else value


def setting(
    default: Any,
    help: str,
    *description: Any,
    required: bool = False,
    **more: Any,
) -> Any:
    """Return a dataclass field of a setting; the arguments are those of `Setting`.

    Args:
        default: its default.
        help: what it is.
        description: unit and bounds.
        required: whether instances need a value; then the default is that of parameters alone.
        more: other attributes of `Setting`.
    """
    metadata = {'setting': Setting(default, help, *description, **more)}
    return field(metadata=metadata) if required else field(default=default, metadata=metadata)


def joint_setting(default: Any, help: str, *description: Any, **more: Any) -> Any:
    """Return a dataclass field of a setting with one value per joint, or one for all."""
    return setting(default, help, *description, per_joint=True, **more)


def settings_of(kind: Any) -> dict[str, Setting]:
    """Return the settings of a dataclass by name."""
    return {item.name: item.metadata['setting'] for item in fields(kind)}


def checked(settings: Any, n: int, of: str = '') -> Any:
    """Return the values of settings as attributes: those per joint as (n,).

    Args:
        settings: a dataclass of settings.
        n: number of joints.
        of: what the settings belong to, for the message.

    Raises:
        ModelError: a value is out of range, or neither a number nor (n,).
    """
    declared: Mapping[str, Setting] = settings_of(settings)
    return SimpleNamespace(
        **{
            name: one.checked(f'{name}{of}', getattr(settings, name), n)
            for name, one in declared.items()
        }
    )
