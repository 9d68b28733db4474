# SPDX-License-Identifier: Apache-2.0
"""Serial arms from Denavit–Hartenberg tables, in either of the two conventions.

Both describe a link by four numbers, with different meanings of the same letters:

    standard   T_{i-1,i} = Rz(theta_i) Tz(d_i) Tx(a_i) Rx(alpha_i)
    modified   T_{i-1,i} = Rx(alpha_{i-1}) Tx(a_{i-1}) Rz(theta_i) Tz(d_i)

Joint i moves along z_{i-1} in the standard convention, along z_i in the modified one.

Row i of a modified table holds a_{i-1} and alpha_{i-1}, as printed. A revolute joint adds q_i to
theta_i, a prismatic one adds q_i to d_i; theta_i and d_i of the table are then the offsets.

As a CSV file a table has a column per entry of a row, in any order, and the inertias:

    a,     alpha, d,   theta, type,     mass, com,       inertia
    0.35,  0,     0.4, 0,     revolute, 6,    -0.18 0 0, 0.002 0.06 0.06
    0.25,  pi,    0,   0,     revolute, 4,    -0.13 0 0, 0.001 0.02 0.02

Source: Milićević, Golubović and Slavković, (2.1), for the standard form; Craig, Introduction to
Robotics, 3rd ed. (2005), (3.6), for the modified form.
"""

from __future__ import annotations

import csv
import os
import re
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.common.errors import InertialWarning, ModelError
from robot_dynamics.common.spatial import Array, pose, rotation_x, rotation_z
from robot_dynamics.core.model.builder import build_tree
from robot_dynamics.core.model.inertia import (
    Inertial,
    inconsistency,
    malformation,
    symmetric,
    transformed,
)
from robot_dynamics.core.model.robot_model import STANDARD_GRAVITY, RobotModel

CONVENTIONS = ('standard', 'modified')
KINDS = ('revolute', 'prismatic')
COLUMNS = ('a', 'alpha', 'd', 'theta', 'type', 'mass', 'com', 'inertia')  # of a CSV file
EXPECTED = {  # of its cells: how many numbers
    'a': ((1,), 'a number, or a multiple of pi such as -pi/2'),
    'com': ((3,), '3 numbers'),
    'inertia': ((3, 6), '3 or 6 numbers'),
}
ANGLES = ('alpha', 'theta')
LARGEST_ANGLE = 2 * np.pi * (1 + 1e-5)  # rad; 6.2832 is a turn. Degrees are larger in most tables.
MULTIPLE_OF_PI = re.compile(r'(?P<factor>[-+]?[\d.]*)\*?pi(/(?P<divisor>[\d.]+))?')


class Row(NamedTuple):
    """One row of the table."""

    a: float  # m
    alpha: float  # rad
    d: float  # m
    theta: float  # rad
    kind: str  # 'revolute' or 'prismatic'


def from_dh(
    table: Sequence[Sequence[Any]],
    *,
    convention: str,
    inertias: Sequence[Inertial],
    gravity: ArrayLike = STANDARD_GRAVITY,
    name: str = 'dh',
) -> RobotModel:
    """Return the serial arm of a Denavit–Hartenberg table.

    Args:
        table: n rows (a [m], alpha [rad], d [m], theta [rad], kind), kind 'revolute' or
            'prismatic'. Angles are at most 2 pi in size.
        convention: 'standard' or 'modified'.
        inertias: n inertias, each in its row's link frame {i}.
        gravity: (3,) gravity vector in frame {0}, m/s^2.
        name: the robot's name.

    Returns:
        A model whose frames 'link1' ... 'linkn' are the table's frames {1} ... {n}.

    Raises:
        ModelError: a row or an inertia is wrong; the message names the row and the value.

    Warns:
        InertialWarning: an inertia is physically inconsistent, as in some published tables.
    """
    if convention not in CONVENTIONS:
        raise ModelError(f'convention is {convention!r}; it must be one of {CONVENTIONS}')
    rows = [_row(i, row) for i, row in enumerate(table)]
    if not rows:
        raise ModelError('the table has no rows; expected one per joint')
    if len(inertias) != len(rows):
        raise ModelError(f'{len(inertias)} inertias for {len(rows)} rows; expected one per row')
    for i, body in enumerate(inertias):
        if not isinstance(body, Inertial):
            raise ModelError(f'inertia of row {i} is {body!r}; it must be an Inertial')
        if reason := malformation(body):
            raise ModelError(f'inertia of row {i}: {reason}')
        if reason := inconsistency(body):
            message = f'robot {name!r}, row {i}: physically inconsistent inertia: {reason}'
            warnings.warn(message, InertialWarning, stacklevel=2)

    # A row is a constant pose, the joint along z, and a constant pose. Our body frame is the joint
    # frame; the second pose is that of the table's frame {i} in it.
    before, after = zip(*(_around_joint(row, convention) for row in rows), strict=True)
    n = len(rows)
    placement = [before[0], *(after[i - 1] @ before[i] for i in range(1, n))]
    return build_tree(
        name,
        parent=list(range(-1, n - 1)),
        revolute=[row.kind == 'revolute' for row in rows],
        axis=[np.array([0.0, 0.0, 1.0])] * n,
        placement=placement,
        inertials=[transformed(body, T) for body, T in zip(inertias, after, strict=True)],
        gravity=np.asarray(gravity, dtype=float),
        frame_placement=np.array([np.eye(4), *after]),
    )


def _around_joint(row: Row, convention: str) -> tuple[Array, Array]:
    """Return the constant poses (4, 4) before and after the joint motion along z."""
    # Rz(theta) Tz(d): rotation and translation along z commute with the joint motion.
    along_z = pose(rotation_z(row.theta), np.array([0.0, 0.0, row.d]))
    # Tx(a) Rx(alpha) = Rx(alpha) Tx(a)
    along_x = pose(rotation_x(row.alpha), np.array([row.a, 0.0, 0.0]))
    if convention == 'standard':
        return along_z, along_x
    return along_x @ along_z, np.eye(4)


def _row(i: int, row: Any) -> Row:
    entries = tuple(row) if isinstance(row, Iterable) else (row,)
    if len(entries) != len(Row._fields):
        raise ModelError(f'row {i} is {row!r}; it must be (a, alpha, d, theta, kind)')
    *numbers, kind = entries
    if kind not in KINDS:
        raise ModelError(f'row {i}: kind is {kind!r}; it must be one of {KINDS}')
    values: list[float] = []
    for letter, value in zip(Row._fields, numbers, strict=False):
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise ModelError(f'row {i}: {letter} is {value!r}; it must be a number') from None
        if not np.isfinite(number):
            raise ModelError(f'row {i}: {letter} is {value!r}; it must be finite')
        if letter in ANGLES and abs(number) > LARGEST_ANGLE:
            raise ModelError(
                f'row {i}: {letter} is {number:g} rad; expected radians, at most 2 pi in size: '
                f'{number:g} degrees are {np.deg2rad(number):.5g}'
            )
        values.append(number)
    a, alpha, d, theta = values
    return Row(a, alpha, d, theta, kind)


# -- tables in files ------------------------------------------------------------------------


def load_dh(
    file: str | os.PathLike[str], *, convention: str, gravity: ArrayLike = STANDARD_GRAVITY
) -> RobotModel:
    """Return the serial arm of a Denavit-Hartenberg table in a CSV file; its name is the file's.

    The first line names the columns: a, d [m], alpha, theta [rad], also as multiples of pi such as
    -pi/2; type 'revolute' or 'prismatic'; mass [kg]; com, x y z [m], and inertia, ixx iyy izz or
    ixx ixy ixz iyy iyz izz about it [kg m^2], both in the row's link frame. Lines that begin with
    # are comments.

    Args:
        file: the table.
        convention: 'standard' or 'modified'.
        gravity: (3,) gravity vector in frame {0}, m/s^2.

    Raises:
        ModelError: the file cannot be read, or a value is wrong; the message names file, row and
            value.

    Warns:
        InertialWarning: an inertia is physically inconsistent.
    """
    path = Path(os.fsdecode(file))
    try:
        rows = _csv_rows(path.read_text(encoding='utf-8-sig'))
        return from_dh(
            [[row[name] for name in COLUMNS[:5]] for row in rows],
            convention=convention,
            inertias=[Inertial(*(row[name] for name in COLUMNS[5:])) for row in rows],
            gravity=gravity,
            name=path.stem,
        )
    except (ModelError, OSError, UnicodeError, csv.Error) as error:
        reason = getattr(error, 'strerror', None) or error
        raise ModelError(f'{path}: {reason}') from error


def _csv_rows(text: str) -> list[dict[str, Any]]:
    """Return the values of each row, by column."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith('#')]
    head, *rows = list(csv.reader(lines, skipinitialspace=True)) or [[]]
    names = [name.strip() for name in head]
    if sorted(names) != sorted(COLUMNS):
        raise ModelError(f'the columns are {", ".join(names)}; expected {", ".join(COLUMNS)}')
    for i, row in enumerate(rows):
        if len(row) != len(names):
            spaces = '; x y z of com, and the numbers of inertia, are separated by spaces'
            hint = spaces if len(row) > len(names) else ''
            raise ModelError(f'row {i} has {len(row)} values; expected {len(names)}{hint}')
    return [
        {name: _value(i, name, text.strip()) for name, text in zip(names, row, strict=True)}
        for i, row in enumerate(rows)
    ]


def _value(i: int, column: str, text: str) -> Any:
    """Return the value of a cell: a text, a number, a vector (3,) or a tensor (3, 3)."""
    if column == 'type':
        return text
    sizes, expected = EXPECTED.get(column, EXPECTED['a'])
    try:
        numbers = [_number(word) for word in text.split()]
    except (ValueError, ZeroDivisionError):
        numbers = []
    if len(numbers) not in sizes:
        raise ModelError(f'row {i}: {column} is {text!r}; it must be {expected}')
    if column == 'inertia':
        return np.diag(numbers) if len(numbers) == 3 else symmetric(numbers)
    return np.array(numbers) if column == 'com' else numbers[0]


def _number(text: str) -> float:
    """Return a number, or a multiple of pi. Raises ValueError, ZeroDivisionError."""
    match = MULTIPLE_OF_PI.fullmatch(text)
    if match is None:
        return float(text)
    factor = match['factor']
    return (
        float(f'{factor}1' if factor in ('', '+', '-') else factor)
        * np.pi
        / float(match['divisor'] or 1)
    )
