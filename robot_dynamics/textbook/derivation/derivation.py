# SPDX-License-Identifier: Apache-2.0
"""Equations of motion of small robots in the letters of a book, as SymPy, LaTeX and Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

from robot_dynamics.common.errors import ModelError, RobotDynamicsError
from robot_dynamics.common.extras import needed
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.textbook.derivation import writing
from robot_dynamics.textbook.derivation.linear_form import linear_form
from robot_dynamics.textbook.derivation.notations import NOTATIONS, Notation
from robot_dynamics.textbook.derivation.symbolic_terms import (
    Parameter,
    SymbolicTerms,
    exact,
    number_expression,
    symbolic_terms,
)
from robot_dynamics.textbook.derivation.trigonometric_sums import (
    Exponents,
    Number,
    TrigonometricSum,
    Wave,
    in_products,
)

LARGEST = 3  # joints of a robot with letters
LARGEST_WITH_NUMBERS = 4
MOST_BODIES = 4
WITHOUT_FACTORS = 2  # links, up to which a vector of Coriolis torques is written out


class SympyMissing(RobotDynamicsError, ImportError):  # noqa: N818  (names the condition)
    """SymPy cannot be imported."""


class Derivation:
    """M, C and g of a robot as SymPy expressions.

    Attributes:
        model: the robot.
        notation: the letters.
        q: n symbols of the positions, qd of the velocities.
        values: the parameters that occur, with their values in the model.
        h: the factors of the Coriolis matrix, symbols and their expressions: one for all
            Christoffel symbols that differ by a number.
        M: (n, n) SymPy matrix.
        C: (n, n) SymPy matrix of Christoffel symbols, with the symbols of `h`.
        g: (n, 1) SymPy matrix.
    """

    def __init__(self, model: RobotModel, notation: Notation, terms: SymbolicTerms):
        import sympy

        self.model, self.notation = model, notation
        self.parameters = _with_short_names(terms)
        name = notation.q[0]
        self.q = sympy.symbols([f'{name}{j + 1}' for j in range(model.n)])
        self.qd = sympy.symbols([f'{name}d{j + 1}' for j in range(model.n)])
        self.qdd = sympy.symbols([f'{name}dd{j + 1}' for j in range(model.n)])
        self.letters = [self._letter(p) for p in self.parameters]
        n = range(model.n)
        self.M = sympy.Matrix([[self.by_mass(terms.M[i][j]) for j in n] for i in n])
        self.g = sympy.Matrix([self._by_angle(terms.g[i]) for i in n])
        self.Gamma = [[[self.by_mass(terms.Gamma[i][j][k]) for k in n] for j in n] for i in n]
        self.h, self._factored = self._factors(terms)
        self.C = sympy.Matrix([[self._by_factor(row) for row in rows] for rows in self._factored])
        expressions = [self.M, self.C, self.g, *self.h.values()]
        used = set().union(*(x.free_symbols for x in expressions))
        self._terms = terms
        self.values = {
            symbol: p.value
            for symbol, p in zip(self.letters, self.parameters, strict=True)
            if symbol in used and p.kind != 'd'
        }

    def coriolis_torque(self) -> Any:
        """Return C qd (n, 1), sorted by products of velocities; with `h` beyond two links."""
        import sympy

        qd = self.qd
        symbols = self._factored if self.model.nb > WITHOUT_FACTORS else self.Gamma
        pairs = list(combinations_with_replacement(range(self.model.n), 2))
        return sympy.Matrix(
            [
                sum((1 if j == k else 2) * Gamma[j][k] * qd[j] * qd[k] for j, k in pairs)
                for Gamma in symbols
            ]
        )

    def latex(self) -> str:
        """Return M, C (or C qd) and g, entry by entry, as an align* environment."""
        return writing.latex(self)

    def regressor(self) -> tuple[Any, Any]:
        """Return Y (n, l) and Theta (l, 1) of tau = Y(q, qd, qdd) Theta.

        Theta has the combinations of parameters that occur in M and g, those alone that are no
        sums of multiples of others. Gravity is in Y.

        Raises:
            ModelError: the parameters are written as numbers.

        Source: Spong, Hutchinson and Vidyasagar, (6.122)-(6.133).
        """
        return linear_form(self, self._terms)

    def regressor_latex(self) -> str:
        """Return Y and Theta, entry by entry, as an align* environment."""
        return writing.regressor_latex(self)

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
        parts = [number_expression(exact(s)) * q for s, q in zip(row, self.q, strict=True) if s]
        return sum(parts) + number_expression(exact(float(self.model.s0[p.body - 1])))

    def wave(self, K: Iterable[Number], is_sine: bool) -> Any:
        """Return the cosine or sine of K q."""
        import sympy

        angle = sum(number_expression(k) * q for k, q in zip(K, self.q, strict=True))
        return sympy.sin(angle) if is_sine else sympy.cos(angle)

    def _products(self, terms: TrigonometricSum) -> Iterator[tuple[Exponents, Any, Any]]:
        """Yield exponents of parameters, coefficients, and products of cosines and sines."""
        by_monomial: defaultdict[Exponents, dict[Wave, Number]] = defaultdict(dict)
        for term, c in terms.items():
            by_monomial[term.exponents][term.K, term.sine] = c
        for exponents, waves in by_monomial.items():
            for c, (a, b) in in_products(waves):
                yield exponents, number_expression(c), self.wave(*a) * self.wave(*b)

    def monomial(self, exponents: Exponents, without: int | None = None) -> Any:
        """Return the product of powers of the parameters, without one of them."""
        import sympy

        powers = [
            letter**e
            for k, (letter, e) in enumerate(zip(self.letters, exponents, strict=True))
            if e and k != without
        ]
        return sympy.Mul(*powers)

    def by_mass(self, terms: TrigonometricSum) -> Any:
        """Return m1 (...) + m2 (...) + ..., as the books write inertia matrices."""
        import sympy

        masses = [k for k, p in enumerate(self.parameters) if p.kind == 'm']
        groups: defaultdict[int | None, list[Any]] = defaultdict(list)
        for exponents, c, wave in self._products(terms):
            owner = next((k for k in masses if exponents[k] == 1), None)
            groups[owner].append(c * self.monomial(exponents, owner) * wave)
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
        for exponents, c, wave in self._products(terms):
            groups[wave].append(c * self.monomial(exponents, gravity))
        factor = 1 if gravity is None else self.letters[gravity]
        return sympy.Add(*(sympy.Add(*parts) * factor * wave for wave, parts in groups.items()))

    def _by_factor(self, multiples: list[Any]) -> Any:
        """Return h1 (qd1 + qd2) + ..., a row of multiples of `h` times the velocities."""
        import sympy

        pairs = list(zip(multiples, self.qd, strict=True))
        return sympy.Add(*(h * sum(x.coeff(h) * v for x, v in pairs) for h in self.h))

    def _factors(self, terms: SymbolicTerms) -> tuple[dict[Any, Any], Any]:
        """Return `h`, and the Christoffel symbols as multiples of its symbols."""
        import sympy

        n = range(self.model.n)
        bases: list[tuple[TrigonometricSum, Any]] = []
        found = [[[(0, number_expression(Fraction(0))) for _ in n] for _ in n] for _ in n]
        for i, j, k in product(n, repeat=3):
            x = terms.Gamma[i][j][k]
            if not x:
                continue
            ratios = ((b, _ratio(x, base)) for b, (base, _) in enumerate(bases))
            match = next(((b, r) for b, r in ratios if r is not None), None)
            if match is None:
                match = len(bases), number_expression(Fraction(1))
                bases.append((x, self.Gamma[i][j][k]))
            found[i][j][k] = match
        names = [f'h{b + 1}' if len(bases) > 1 else 'h' for b in range(len(bases))]
        letters = sympy.symbols(names)
        h = {letter: base for letter, (_, base) in zip(letters, bases, strict=True)}
        return h, [[[r * letters[b] if r else r for b, r in row] for row in m] for m in found]


def derive(
    model: RobotModel,
    notation: str = 'spong',
    *,
    numbers: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Derivation:
    """Return M, C and g of a small robot as SymPy expressions.

    Terms are collected in sums of cosines and sines of single angles, a form that is unique, so
    that no term is left that cancels. They are written as products where these are shorter:
    1/2 + 1/2 cos(2 q1) as cos(q1)^2.

    Args:
        model: the robot; letters stand for the numbers of the model that are not zero. Two equal
            numbers of one kind have letters of their own.
        notation: 'spong', 'lynch-park', 'siciliano' or 'milicevic'.
        numbers: whether to write the parameters as numbers.
        progress: receives the name of each step before it begins.

    Raises:
        SympyMissing: SymPy is not installed.
        ModelError: the robot has too many joints, or the notation is unknown.

    Source: Spong, Hutchinson and Vidyasagar, section 6.3, (6.51)-(6.68).
    """
    with needed('derive', 'derivations need SymPy', SympyMissing):
        import sympy  # noqa: F401
    if notation not in NOTATIONS:
        raise ModelError(f'notation is {notation!r}; expected one of {", ".join(NOTATIONS)}')
    most = LARGEST_WITH_NUMBERS if numbers else LARGEST
    if not 1 <= model.n <= most or model.nb > MOST_BODIES:
        raise ModelError(
            f'robot {model.name!r} has {model.n} joints that move {model.nb} links; expected 1 to '
            f'{LARGEST} joints with letters, to {LARGEST_WITH_NUMBERS} with numbers, and at most '
            f'{MOST_BODIES} links'
        )
    terms = symbolic_terms(model, numbers=numbers, progress=progress)
    progress('expressions')
    return Derivation(model, NOTATIONS[notation], terms)


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


def _ratio(x: TrigonometricSum, base: TrigonometricSum) -> Any:
    """Return c of x = c base, None if there is none."""
    if not x:
        return number_expression(Fraction(0))
    if x.keys() != base.keys():
        return None
    ratios = [x[term] / base[term] for term in base]
    first = float(ratios[0])
    is_one = all(abs(float(r) - first) <= 1e-12 * abs(first) for r in ratios)
    return number_expression(ratios[0]) if is_one else None
