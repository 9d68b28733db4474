# SPDX-License-Identifier: Apache-2.0
"""The equation of motion as Y(q, qd, qdd) Theta, linear in combinations of the parameters.

Each coefficient of a cosine or sine in M and in g is a combination of products of parameters,
such as m1 lc1^2 + m2 l1^2. Theta has those that are linearly independent, in their order; all
others, and those of the Christoffel symbols, are sums of multiples of them.

Source: Spong, Hutchinson and Vidyasagar, (6.122)-(6.133).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np

from robot_dynamics.common.errors import ModelError
from robot_dynamics.textbook.derivation.symbolic_terms import (
    Parameter,
    SymbolicTerms,
    exact,
    number_expression,
)
from robot_dynamics.textbook.derivation.trigonometric_sums import (
    Exponents,
    Number,
    Term,
    TrigonometricSum,
    Wave,
)

INDEPENDENT = 1e-9  # part of a combination that others leave


class Letters(Protocol):
    """Symbols of a derivation; attributes as those of `Derivation`."""

    qd: Any
    qdd: Any
    parameters: list[Parameter]

    def wave(self, K: Any, is_sine: bool) -> Any:
        """Return the cosine or sine of K q."""

    def monomial(self, exponents: Exponents) -> Any:
        """Return the product of powers of the parameters."""

    def by_mass(self, terms: TrigonometricSum) -> Any:
        """Return m1 (...) + m2 (...) + ...."""


class Function(NamedTuple):
    """A function of the posture: a cosine or sine, gravity, positions of prismatic joints."""

    wave: Wave
    known: Exponents  # of gravity and of positions


Combination = dict[Exponents, Number]  # coefficients of products of parameters
Part = dict[Function, Combination]  # the combination that multiplies each function


def linear_form(letters: Letters, terms: SymbolicTerms) -> tuple[Any, Any]:
    """Return Y (n, l) and Theta (l, 1) as SymPy matrices.

    Raises:
        ModelError: there are no parameters with letters.
    """
    import sympy

    n = range(len(terms.g))
    known = tuple(p.kind in 'gd' for p in terms.parameters)
    if all(known):
        raise ModelError('Y and Theta need parameters with letters; they are written as numbers')
    parts = _parts(terms, known)
    basis = _basis(parts)
    rows = [_row(letters, parts, basis, i) for i in n]
    count = range(len(basis.combinations))
    Y = [
        [sum(value * x for (m, value), x in row.items() if m == k) for k in count] for row in rows
    ]
    one = (Fraction(0),) * len(terms.g)
    Theta = [
        letters.by_mass({Term(one, False, e): c for e, c in combination.items()})
        for combination in basis.combinations
    ]
    return sympy.Matrix(Y), sympy.Matrix(Theta)


class _Parts(NamedTuple):
    """The terms of the equation of motion by functions of the posture."""

    inertia: list[list[Part]]  # (n, n)
    Gamma: list[list[list[Part]]]  # (n, n, n)
    gravity: list[Part]  # (n,)


def _parts(terms: SymbolicTerms, known: tuple[bool, ...]) -> _Parts:
    return _Parts(
        [[_by_function(m_ij, known) for m_ij in row] for row in terms.M],
        [[[_by_function(x, known) for x in row] for row in matrix] for matrix in terms.Gamma],
        [_by_function(g_i, known) for g_i in terms.g],
    )


def _basis(parts: _Parts) -> _Basis:
    """Return the combinations of parameters in M and in g, those of constants first in each."""
    basis = _Basis()
    upper = [m_ij for i, row in enumerate(parts.inertia) for m_ij in row[i:]]
    for part in [*upper, *parts.gravity]:
        # Constants first, as in the books.
        for function in sorted(part, key=lambda f: sum(abs(float(k)) for k in f.wave[0])):
            basis.coordinates(part[function])
    return basis


def _row(letters: Letters, parts: _Parts, basis: _Basis, i: int) -> dict[tuple[int, Any], Any]:
    """Return the factors of row i of Y, by column and function of the posture."""
    import sympy

    n = range(len(parts.gravity))
    row: defaultdict[tuple[int, Any], Any] = defaultdict(int)

    def add(part: Part, rate: Any) -> None:
        for k, value, c in _summands(letters, part, basis):
            row[k, value] += c * rate

    # tau_i = g_i + sum_j m_ij qdd_j + sum_j sum_k Gamma_ijk qd_j qd_k
    add(parts.gravity[i], sympy.Integer(1))
    for j in n:
        add(parts.inertia[i][j], letters.qdd[j])
        for k in n:
            add(parts.Gamma[i][j][k], letters.qd[j] * letters.qd[k])
    return row


def _summands(letters: Letters, part: Part, basis: _Basis) -> Iterator[tuple[int, Any, Any]]:
    """Yield the column of Y, the function of the posture and the factor of each summand."""
    for function, combination in part.items():
        value = letters.wave(*function.wave) * letters.monomial(function.known)
        for k, c in enumerate(basis.coordinates(combination)):
            if c:
                yield k, value, number_expression(c)


def _by_function(terms: TrigonometricSum, known: tuple[bool, ...]) -> Part:
    """Return the combination of parameters that multiplies each function."""
    parts: defaultdict[Function, Combination] = defaultdict(dict)
    for (K, is_sine, exponents), c in terms.items():
        of_posture = tuple(e * k for e, k in zip(exponents, known, strict=True))
        rest = tuple(e * (not k) for e, k in zip(exponents, known, strict=True))
        parts[Function((K, is_sine), of_posture)][rest] = c
    return dict(parts)


class _Basis:
    """Linearly independent combinations, in the order in which they were given."""

    def __init__(self) -> None:
        self.combinations: list[Combination] = []

    def coordinates(self, combination: Combination) -> list[Number]:
        """Return a combination as a sum of multiples; it is added if it is independent."""
        columns = sorted({e for part in (*self.combinations, combination) for e in part})
        rows = np.array(
            [[float(p.get(e, 0)) for e in columns] for p in (*self.combinations, combination)]
        )
        A, b = rows[:-1].T, rows[-1]
        x = np.linalg.lstsq(A, b, rcond=None)[0]
        if np.abs(A @ x - b).max() <= INDEPENDENT * np.abs(b).max():
            return [exact(float(c)) for c in x]
        smallest = min(abs(float(c)) for c in combination.values())
        self.combinations.append({e: exact(float(c) / smallest) for e, c in combination.items()})
        return self.coordinates(combination)
