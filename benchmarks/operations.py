# SPDX-License-Identifier: Apache-2.0
"""Multiplications and additions of inverse dynamics, beside published counts.

Sines and cosines of the joint angles are not counted. The formulas hold for any robot of n
revolute joints; the right angles and zeros of a real robot shorten its own program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple


class Count(NamedTuple):
    """Multiplications (and divisions), additions (and subtractions)."""

    products: int
    sums: int


class Published(NamedTuple):
    """An operation count as a function of the number of joints."""

    title: str
    source: str
    of: Callable[[int], Count]


PUBLISHED = (
    Published(
        'Newton-Euler of Luh, Walker and Paul',
        'J. M. Hollerbach, A recursive Lagrangian formulation of manipulator dynamics and a '
        'comparative study of dynamics formulation complexity, IEEE Trans. SMC 10 (1980), table',
        lambda n: Count(150 * n - 48, 131 * n - 48),
    ),
    Published(
        'Newton-Euler, textbook',
        'K. S. Fu, R. C. Gonzalez, C. S. G. Lee, Robotics (1987), section 3.3, table of '
        'computational complexities',
        lambda n: Count(132 * n, 111 * n - 4),
    ),
    Published(
        'customised Newton-Euler with base parameters',
        'W. Khalil, J.-F. Kleinfinger, Minimum operations and minimum parameters of the dynamic '
        'models of tree structure robots, IEEE J. Robotics and Automation 3 (1987)',
        lambda n: Count(92 * n - 127, 81 * n - 117),
    ),
)


def counted(operations: Mapping[str, int]) -> Count:
    """Return the count of a program from the number of each operation in it."""
    return Count(
        operations.get('mul', 0) + operations.get('div', 0),
        operations.get('add', 0) + operations.get('sub', 0),
    )
