# SPDX-License-Identifier: Apache-2.0
"""Equations of motion of small robots in the letters of a book, as SymPy, LaTeX and Python."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

from robot_dynamics.errors import ModelError, RobotDynamicsError
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.textbook.derivation import writing
from robot_dynamics.textbook.derivation.notations import NOTATIONS, Notation
from robot_dynamics.textbook.derivation.symbolic_terms import (
    Parameter,
    SymbolicTerms,
    exact,
    symbolic_terms,
)
from robot_dynamics.textbook.derivation.trigonometric_sums import Number, Term, TrigonometricSum

LARGEST = 3  # joints of a robot with letters
LARGEST_WITH_NUMBERS = 4
MOST_BODIES = 4


class SympyMissing(RobotDynamicsError, ImportError):  # noqa: N818  (names the condition)
    """SymPy cannot be imported."""


class Derivation:
    """M, C and g of a robot as SymPy expressions.

    Attributes:
        model: the robot.
        notation: the letters.
        q: n symbols of the positions, qd of the velocities.
        values: the parameters that occur, with their values in the model.
        h: the common factor of the Coriolis matrix, a symbol and its expression, None if the
            entries have none.
        M: (n, n) SymPy matrix.
        C: (n, n) SymPy matrix of Christoffel symbols, with the symbol of `h`.
        g: (n, 1) SymPy matrix.
    """

    def __init__(self, model: RobotModel, notation: Notation, terms: SymbolicTerms):
        import sympy

        self.model, self.notation = model, notation
        self.parameters = _with_short_names(terms)
        name = notation.q[0]
        self.q = sympy.symbols([f'{name}{j + 1}' for j in range(model.n)])
        self.qd = sympy.symbols([f'{name}d{j + 1}' for j in range(model.n)])
        self.letters = [self._letter(p) for p in self.parameters]
        n = range(model.n)
        self.M = sympy.Matrix([[self._by_mass(terms.M[i][j]) for j in n] for i in n])
        self.g = sympy.Matrix([self._by_angle(terms.g[i]) for i in n])
        self.Gamma = [[[self._by_mass(terms.Gamma[i][j][k]) for k in n] for j in n] for i in n]
        self.h, ratios = self._common_factor(terms)
        factor = self.Gamma if self.h is None else ratios
        unit = 1 if self.h is None else self.h[0]
        self.C = sympy.Matrix(
            [[unit * sum(factor[i][j][k] * self.qd[k] for k in n) for j in n] for i in n]
        )
        used = (self.M.free_symbols | self.C.free_symbols | self.g.free_symbols) | (
            self.h[1].free_symbols if self.h else set()
        )
        self.values = {
            symbol: p.value
            for symbol, p in zip(self.letters, self.parameters, strict=True)
            if symbol in used and p.kind != 'd'
        }

    def coriolis_torque(self) -> Any:
        """Return C qd (n, 1), sorted by products of velocities."""
        import sympy

        qd = self.qd
        pairs = list(combinations_with_replacement(range(self.model.n), 2))
        return sympy.Matrix(
            [
                sum((1 if j == k else 2) * Gamma[j][k] * qd[j] * qd[k] for j, k in pairs)
                for Gamma in self.Gamma
            ]
        )

    def latex(self) -> str:
        """Return M, C (or C qd) and g, entry by entry, as an align* environment."""
        return writing.latex(self)

    def python(self) -> str:
        """Return a Python module with the terms as functions of NumPy arrays.

        Its functions are mass_matrix, coriolis_matrix, gravity_torque and inverse_dynamics, its
        parameters those of the model.
        """
        return writing.python(self)

    # -- expressions --------------------------------------------------------------------------

    def _letter(self, p: Parameter) -> Any:
        """Return the symbol of a parameter; of a prismatic position, in the coordinates."""
        import sympy

        if p.kind != 'd':
            return sympy.Symbol(self.notation.name(p))
        row = self.model.S[p.body - 1].tolist()
        parts = [_number(exact(s)) * q for s, q in zip(row, self.q, strict=True) if s]
        return sum(parts) + _number(exact(float(self.model.s0[p.body - 1])))

    def _wave(self, term: Term) -> Any:
        """Return the cosine or sine of a term."""
        import sympy

        if not any(term.K):
            return sympy.Integer(1)
        angle = sum(_number(k) * q for k, q in zip(term.K, self.q, strict=True))
        return sympy.sin(angle) if term.sine else sympy.cos(angle)

    def _monomial(self, term: Term, without: int | None = None) -> Any:
        import sympy

        powers = [
            letter**e
            for k, (letter, e) in enumerate(zip(self.letters, term.exponents, strict=True))
            if e and k != without
        ]
        return sympy.Mul(*powers)

    def _by_mass(self, terms: TrigonometricSum) -> Any:
        """Return m1 (...) + m2 (...) + ..., as the books write inertia matrices."""
        import sympy

        masses = [k for k, p in enumerate(self.parameters) if p.kind == 'm']
        groups: defaultdict[int | None, list[Any]] = defaultdict(list)
        for term, c in terms.items():
            owner = next((k for k in masses if term.exponents[k] == 1), None)
            groups[owner].append(_number(c) * self._monomial(term, owner) * self._wave(term))
        return sympy.Add(
            *(
                sympy.Add(*parts) * (1 if owner is None else self.letters[owner])
                for owner, parts in groups.items()
            )
        )

    def _by_angle(self, terms: TrigonometricSum) -> Any:
        """Return (m1 lc1 + m2 l1) g cos(q1) + ..., as the books write gravity torques."""
        import sympy

        weights = [k for k, p in enumerate(self.parameters) if p.kind == 'g']
        gravity = weights[0] if weights else None
        groups: defaultdict[Any, list[Any]] = defaultdict(list)
        for term, c in terms.items():
            groups[self._wave(term)].append(_number(c) * self._monomial(term, gravity))
        factor = 1 if gravity is None else self.letters[gravity]
        return sympy.Add(*(sympy.Add(*parts) * factor * wave for wave, parts in groups.items()))

    def _common_factor(self, terms: SymbolicTerms) -> tuple[tuple[Any, Any] | None, Any]:
        """Return h and the ratios of the Christoffel symbols to it, None if there is none."""
        import sympy

        places = product(range(self.model.n), repeat=3)
        first = next(((i, j, k) for i, j, k in places if terms.Gamma[i][j][k]), None)
        if first is None:
            return None, None
        i, j, k = first
        base = terms.Gamma[i][j][k]
        ratios = [[[_ratio(x, base) for x in row] for row in rows] for rows in terms.Gamma]
        if any(r is None for rows in ratios for row in rows for r in row):
            return None, None
        return (sympy.Symbol('h'), self.Gamma[i][j][k]), ratios


def derive(model: RobotModel, notation: str = 'spong', *, numbers: bool = False) -> Derivation:
    """Return M, C and g of a small robot as SymPy expressions.

    Sums of cosines and sines are written with single angles: cos(q1) cos(q2) becomes
    1/2 cos(q1 + q2) + 1/2 cos(q1 - q2). This form is unique, so that no term is left that cancels.

    Args:
        model: the robot; letters stand for the numbers of the model that are not zero. Two equal
            numbers of one kind have letters of their own.
        notation: 'spong', 'lynch-park', 'siciliano' or 'milicevic'.
        numbers: whether to write the parameters as numbers.

    Raises:
        SympyMissing: SymPy is not installed.
        ModelError: the robot has too many joints, or the notation is unknown.

    Source: Spong, Hutchinson and Vidyasagar, section 6.3, (6.51)-(6.68).
    """
    try:
        import sympy  # noqa: F401
    except ImportError as error:
        raise SympyMissing(
            f'derivations need SymPy, which cannot be imported ({error}): pip install sympy'
        ) from error
    if notation not in NOTATIONS:
        raise ModelError(f'notation is {notation!r}; expected one of {", ".join(NOTATIONS)}')
    most = LARGEST_WITH_NUMBERS if numbers else LARGEST
    if not 1 <= model.n <= most or model.nb > MOST_BODIES:
        raise ModelError(
            f'robot {model.name!r} has {model.n} joints that move {model.nb} links; expected 1 to '
            f'{LARGEST} joints with letters, to {LARGEST_WITH_NUMBERS} with numbers, and at most '
            f'{MOST_BODIES} links'
        )
    return Derivation(model, NOTATIONS[notation], symbolic_terms(model, numbers=numbers))


def _with_short_names(terms: SymbolicTerms) -> list[Parameter]:
    """Return the parameters; without an axis where one entry alone has an effect.

    I_1 is the inertia of a link that turns about one axis, l_1 the length of a link along one.
    """
    sums = [entry for row in terms.M for entry in row] + terms.g
    used = {k for entry in sums for term in entry for k, e in enumerate(term.exponents) if e}
    entries: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    for k in sorted(used):
        entries[terms.parameters[k].kind, terms.parameters[k].body].append(k)
    short = {ks[0] for ks in entries.values() if len(ks) == 1}
    return [replace(p, place='') if k in short else p for k, p in enumerate(terms.parameters)]


def _number(x: Number) -> Any:
    import sympy

    if isinstance(x, Fraction):
        return sympy.Rational(x.numerator, x.denominator)
    return sympy.Float(x) if x != round(x) or abs(x) > 1e6 else sympy.Integer(round(x))


def _ratio(x: TrigonometricSum, base: TrigonometricSum) -> Any:
    """Return c of x = c base, None if there is none."""
    if not x:
        return _number(Fraction(0))
    if x.keys() != base.keys():
        return None
    ratios = [x[term] / base[term] for term in base]
    first = float(ratios[0])
    is_one = all(abs(float(r) - first) <= 1e-12 * abs(first) for r in ratios)
    return _number(ratios[0]) if is_one else None
