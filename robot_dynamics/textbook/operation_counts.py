# SPDX-License-Identifier: Apache-2.0
"""Multiplications and additions of each formulation, and of the published algorithms.

The formulations are run with numbers that count their operations. The arm is that of the published
table: n revolute joints, Denavit–Hartenberg links with general lengths and twists, full inertia
tensors. Counted are

- each product, quotient, sum and difference with a number that depends on the state;
- not operations on model constants alone, which can be done in advance;
- not a product with exactly 0, 1 or -1, a sum with exactly 0, or a change of sign, which would not
  be written down.

Sines and cosines are not part of the table and not counted.

Source: Milićević, Golubović and Slavković, table 3, which quotes Fu, Gonzalez and Lee, Robotics
(1987).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.codegen.tracing.trace import trace
from robot_dynamics.common.reporting.tables import aligned
from robot_dynamics.core.algorithms.rnea import rnea
from robot_dynamics.core.model.canonical import canonical_tree
from robot_dynamics.core.model.dh import from_dh
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.core.model.robots import random_inertial
from robot_dynamics.formulations import FORMULATIONS, generalized_dalembert, lagrange_euler_4x4
from robot_dynamics.formulations import newton_euler_link_frame as newton_euler


class Operations(NamedTuple):
    """Numbers of operations."""

    products: int  # multiplications and divisions
    sums: int  # additions and subtractions


# Coefficients of n^4, n^3, n^2, n and 1.
Polynomial = tuple[Fraction, ...]


def _polynomial(*coefficients: str) -> Polynomial:
    return tuple(map(Fraction, coefficients))


# Table 3: products and sums of inverse dynamics, per formulation
PUBLISHED: dict[ModuleType, tuple[Polynomial, Polynomial]] = {
    lagrange_euler_4x4: (
        _polynomial('128/3', '512/3', '739/3', '160/3', '0'),
        _polynomial('98/3', '781/6', '559/3', '245/6', '0'),
    ),
    newton_euler: (
        _polynomial('0', '0', '0', '132', '0'),
        _polynomial('0', '0', '0', '111', '-4'),
    ),
    generalized_dalembert: (
        _polynomial('0', '13/6', '105/2', '268/3', '69'),
        _polynomial('0', '4/3', '44', '146/3', '45'),
    ),
}


def published_operations(formulation: ModuleType, n: int) -> Operations | None:
    """Return the operations that table 3 states for n joints, None for other formulations.

    Source: Milićević, Golubović and Slavković, table 3.
    """
    if formulation not in PUBLISHED:
        return None
    # A whole number for every n, despite the fractions.
    products, sums = (
        sum(c * n**k for k, c in enumerate(reversed(polynomial)))
        for polynomial in PUBLISHED[formulation]
    )
    return Operations(int(products), int(sums))


def counted_operations(formulation: ModuleType, model: RobotModel) -> Operations:
    """Return the operations of a formulation's inverse dynamics."""
    tally = Tally()
    q, qd, qdd = (
        np.array([Counting(x, tally) for x in row], dtype=object)
        for row in np.random.default_rng(0).uniform(0.5, 1.5, (3, model.n))
    )
    formulation.inverse_dynamics(model, q, qd, qdd)
    return Operations(tally.products, tally.sums)


def compiled_operations(model: RobotModel) -> Operations:
    """Return the operations of the program of `Dynamics.inverse_dynamics`."""
    tree = canonical_tree(model)
    inputs = dict.fromkeys(('q', 'qd', 'qdd'), model.n)
    program = trace(lambda q, qd, qdd: rnea(tree, q, qd, qdd), inputs)
    counts = Counter(program.operation_counts())
    return Operations(counts['mul'] + counts['div'], counts['add'] + counts['sub'])


def general_arm(n: int) -> RobotModel:
    """Return an arm for counting operations: n revolute joints, no length or angle zero."""
    rng = np.random.default_rng(n)
    rows = [(*rng.uniform(0.1, 0.5, 4), 'revolute') for _ in range(n)]
    bodies = [random_inertial(rng) for _ in range(n)]
    return from_dh(rows, convention='standard', inertias=bodies, name=f'general_arm_{n}')


def operation_table(joints: Iterable[int] = range(1, 13)) -> str:
    """Return the counts of all formulations and the published ones as text."""
    rows = [['n', *map(_name, FORMULATIONS), 'compiled']]
    for n in joints:
        model = general_arm(n)
        cells = [
            _cell(counted_operations(f, model), published_operations(f, n)) for f in FORMULATIONS
        ]
        rows.append([str(n), *cells, _shown(compiled_operations(model))])
    title = 'products + sums of inverse dynamics, n revolute joints; in brackets: published'
    return '\n'.join([title, *aligned(rows, '>')])


def _name(formulation: ModuleType) -> str:
    return formulation.__name__.rsplit('.', maxsplit=1)[-1]


def _shown(operations: Operations) -> str:
    return f'{operations.products}+{operations.sums}'


def _cell(ours: Operations, theirs: Operations | None) -> str:
    return _shown(ours) + ('' if theirs is None else f' ({_shown(theirs)})')


# -- numbers that count -------------------------------------------------------------------------


class Tally:
    """Operations of the numbers that share this tally."""

    def __init__(self) -> None:
        self.products = 0
        self.sums = 0


class Counting:
    """A number that depends on the state: its value, and the tally of its operations."""

    __slots__ = ('tally', 'value')

    def __init__(self, value: float, tally: Tally):
        self.value, self.tally = float(value), tally

    def __add__(self, other: Any) -> Any:
        return self._sum(other, lambda x, y: x + y)

    def __sub__(self, other: Any) -> Any:
        return self._sum(other, lambda x, y: x - y)

    def __rsub__(self, other: Any) -> Any:
        return (-self).__add__(other)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            # The array multiplies its entries one by one.
            return NotImplemented
        if not isinstance(other, Counting):
            if other == 0:
                return 0.0
            if other in (1, -1):
                return self if other == 1 else -self
        self.tally.products += 1
        return Counting(self.value * float(other), self.tally)

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        self.tally.products += 1
        return Counting(self.value / float(other), self.tally)

    def __neg__(self) -> Counting:
        return Counting(-self.value, self.tally)

    def __float__(self) -> float:
        return self.value

    def sin(self) -> Counting:
        """Return the sine; np.sin of an object array calls this."""
        return Counting(math.sin(self.value), self.tally)

    def cos(self) -> Counting:
        """Return the cosine; np.cos calls this."""
        return Counting(math.cos(self.value), self.tally)

    def _sum(self, other: Any, operation: Callable[[float, float], float]) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        if not isinstance(other, Counting) and other == 0:
            return self
        self.tally.sums += 1
        return Counting(operation(self.value, float(other)), self.tally)

    __radd__, __rmul__ = __add__, __mul__
