# SPDX-License-Identifier: Apache-2.0
"""Unit of recorded efforts: torque, current or unknown; from the words and units of a header.

Joint states carry no unit: that of a rosbag2 recording is unknown unless an option states it.
"""

from __future__ import annotations

from collections.abc import Mapping

from robot_dynamics.common.errors import RobotDynamicsError

TORQUE, CURRENT, UNKNOWN = EFFORT_UNITS = ('torque', 'current', 'unknown')  # torque: N m or N
UNSTATED = (
    'the efforts have no unit: they are used as N m or N; --efforts torques or currents states it'
)
# Words of a header; others, such as effort, state no unit.
_OF_WORD = {
    **dict.fromkeys(('torque', 'torques', 'tau', 'tau_j'), TORQUE),
    **dict.fromkeys(('current', 'currents'), CURRENT),
}
# Units in brackets
_OF_SYMBOL = {
    '': UNKNOWN,
    **dict.fromkeys(('nm', 'n m', 'n*m', 'n·m', 'n.m', 'n-m', 'n'), TORQUE),
    'a': CURRENT,
}
SYMBOLS = tuple(_OF_SYMBOL)


class EffortUnitError(RobotDynamicsError, ValueError):
    """Units of efforts contradict each other."""


def unit_of_column(word: str, symbol: str) -> str:
    """Return the unit of a column of efforts.

    Args:
        word: of its header, such as current.
        symbol: of the unit in brackets, of SYMBOLS.

    Raises:
        EffortUnitError: word and symbol contradict each other.
    """
    return common_unit(
        {word: _OF_WORD.get(word.lower(), UNKNOWN), f'[{symbol}]': _OF_SYMBOL[symbol]}
    )


def common_unit(units: Mapping[str, str]) -> str:
    """Return the unit of all efforts: that of those that state one.

    Args:
        units: by the name of what states it.

    Raises:
        EffortUnitError: torques and currents are mixed.
    """
    stated = {unit: name for name, unit in units.items() if unit != UNKNOWN}
    if len(stated) > 1:
        raise EffortUnitError(
            f'{stated[TORQUE]} is a torque, {stated[CURRENT]} a current; expected one of both'
        )
    return next(iter(stated), UNKNOWN)
