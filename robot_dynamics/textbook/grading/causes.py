"""Causes of a difference between a term and the right one.

A hypothesis is a term that a known mistake makes of the right one. It is named only where it gives
the values of the function in every state, within rounding; a difference that none of them
reproduces has no known cause. Hypotheses are tried in groups, the simplest first, and all of the
first group that fit are named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import NamedTuple

import numpy as np

from robot_dynamics.spatial import Array
from robot_dynamics.textbook.grading.parameters import wrong_parameter
from robot_dynamics.textbook.grading.references import Reference
from robot_dynamics.textbook.grading.terms import Terms, christoffel

LISTED = 3  # hypotheses that are named, at most
ALL_ORDERS = 5  # joints, of which all orders are tried
DIGITS = 1e-3  # relative difference of rounded numbers
DEGREE = np.pi / 180
STANDARD = 9.81  # m/s^2, of the systems


class Hypothesis(NamedTuple):
    """A mistake, and the terms that it makes of the right ones."""

    text: str
    terms: Terms


class Comparison(NamedTuple):
    """Values of one term in several states, beside the right ones."""

    term: str  # 'M', 'h' or 'g'
    q: Array  # (k, n)
    qd: Array  # (k, n)
    values: Array  # (k, n) or (k, n, n)
    expected: Array
    rounding: float  # what a hypothesis may leave of the difference

    @property
    def difference(self) -> Array:
        """Values less expected values."""
        return self.values - self.expected


def evaluate(terms: Terms, term: str, q: Array, qd: Array) -> Array:
    """Return the value of one of the terms."""
    return terms.h(q, qd) if term == 'h' else getattr(terms, term)(q)


def cause(seen: Comparison, terms: Terms, reference: Reference | None = None) -> str | None:
    """Return the mistake that makes the seen values of the right ones, None if none is known.

    Args:
        seen: the values.
        terms: the right terms.
        reference: the robot, for mistakes in its parameters.
    """
    factors = _factors(seen)
    typical = _factor_texts(seen, {k: c for k, c in factors.items() if is_typical(c, seen.term)})
    if typical is not None and all(is_typical(c, seen.term) for c in factors.values()):
        return typical
    groups: list[Iterator[Hypothesis]] = [_of_the_angles(terms, seen), _of_the_order(terms, seen)]
    if seen.term == 'h':
        groups.append(_of_the_velocities(terms))
    if seen.term == 'M':
        groups.append(_of_the_matrix(terms))
    if reference is not None:
        groups.append(Hypothesis(*variant) for variant in reference.variants())
    for group in groups:
        fitting = list(dict.fromkeys(h.text for h in group if _fits(h, seen)))
        if fitting:
            return _listed(fitting)
    if reference is not None:
        text = wrong_parameter(seen, reference)
        if text is not None:
            return text
    if np.abs(seen.difference).max() < DIGITS * np.abs(seen.expected).max():
        return 'agrees to three digits: rounded numbers, or a numerical derivative?'
    return _factor_texts(seen, factors)


def _listed(texts: list[str]) -> str:
    named = ', or '.join(texts[:LISTED])
    more = len(texts) - LISTED
    return named if more <= 0 else f'{named}, or {more} more mistakes of the same effect'


def _fits(hypothesis: Hypothesis, seen: Comparison) -> bool:
    with np.errstate(all='ignore'):
        for q, qd, value in zip(seen.q, seen.qd, seen.values, strict=True):
            predicted = evaluate(hypothesis.terms, seen.term, q, qd)
            # NaN fits nothing.
            if not np.abs(predicted - value).max() <= seen.rounding:
                return False
    return True


# -- factors --------------------------------------------------------------------------------------

DEGREES = {DEGREE: 'pi / 180', 1 / DEGREE: '180 / pi'}
GRAVITIES = (1.0, 9.8, 9.80665, 9.82, 10.0)  # m/s^2
TYPICAL = (-1.0, 0.0, 0.5, 2.0, -0.5, -2.0)


def _factors(seen: Comparison) -> dict[str, float]:
    """Return constant factors of the wrong values, by entry; '' if all have the same one.

    Empty if a wrong entry has no constant factor.
    """
    common = _factor(seen.values, seen.expected, seen.rounding)
    if common is not None:
        return {'': common}
    factors: dict[str, float] = {}
    for entry in np.ndindex(seen.values.shape[1:]):
        at = (slice(None), *entry)
        c = _factor(seen.values[at], seen.expected[at], seen.rounding)
        if c is None:
            return {}
        if c != 1:
            factors['m' + ''.join(str(k + 1) for k in entry)] = c
    if seen.term != 'M':
        return {f'joint {name[1:]}': c for name, c in factors.items()}
    return factors


def _factor(values: Array, expected: Array, rounding: float) -> float | None:
    """Return c of values = c expected, 1 exactly if they are equal, None if there is none."""
    if np.abs(values - expected).max() <= rounding:
        return 1.0
    square = float((expected**2).sum())
    if square <= rounding**2:
        return None
    c = float((values * expected).sum()) / square
    return c if np.abs(values - c * expected).max() <= rounding else None


def is_typical(c: float, term: str) -> bool:
    """Return whether a factor tells the mistake: a sign, a factor 2, degrees, the constant g."""
    known = [*TYPICAL, *DEGREES]
    if term == 'g':
        known += [g / STANDARD for g in GRAVITIES]
    return any(abs(c - k) <= 1e-6 * max(abs(k), 1e-3) for k in known)


def _factor_texts(seen: Comparison, factors: dict[str, float]) -> str | None:
    texts = [
        f'{name}{": " * bool(name)}{_factor_text(c, seen.term)}' for name, c in factors.items()
    ]
    return '; '.join(texts) if texts else None


def _factor_text(c: float, term: str) -> str:
    if abs(c) < 1e-9:
        return 'it is zero'
    if abs(c + 1) < 1e-7:
        return 'the opposite sign'
    for known, text in DEGREES.items():
        if abs(c / known - 1) < 1e-6:
            return f'{text} times the expected value: degrees?'
    sizes = [g for g in GRAVITIES if abs(c * STANDARD - g) < 1e-6 * g]
    guess = f': g = {sizes[0]:g} m/s^2?' if term == 'g' and sizes else ''
    return f'{c:.6g} times the expected value{guess}'


# -- in the arguments and in the order of joints --------------------------------------------------


def _changed(terms: Terms, position: Callable[[Array], Array], rate: Array, out: Array) -> Terms:
    """Return the terms of torques out tau(position(q), rate qd, rate qdd)."""
    return Terms(
        lambda q: out @ terms.M(position(q)) @ rate,
        lambda q, qd: out @ terms.h(position(q), rate @ qd),
        lambda q: out @ terms.g(position(q)),
    )


def _times(A: Array) -> Callable[[Array], Array]:
    return lambda q: np.asarray(A @ q)


def _shifted(shift: Array) -> Callable[[Array], Array]:
    return lambda q: q + shift


def _of_the_angles(terms: Terms, seen: Comparison) -> Iterator[Hypothesis]:
    """Yield degrees, axes of the opposite direction, other zero positions, absolute angles."""
    n = seen.q.shape[1]
    one = np.eye(n)
    for text, c in (('q is taken for degrees', DEGREE), ('q is converted to degrees', 1 / DEGREE)):
        yield Hypothesis(text, _changed(terms, _times(c * one), one, one))
    for i in range(n):
        D = np.diag(np.where(np.arange(n) == i, -1.0, 1.0))
        yield Hypothesis(f'joint {i + 1} turns the other way', _changed(terms, _times(D), D, D))
        yield Hypothesis(f'sign of q{i + 1}', _changed(terms, _times(D), one, one))
    for i in range(n):
        for name, angle in (('+ pi/2', np.pi / 2), ('- pi/2', -np.pi / 2), ('+ pi', np.pi)):
            yield Hypothesis(
                f'q{i + 1} {name} in place of q{i + 1} (sine for cosine, or another zero '
                'position?)',
                _changed(terms, _shifted(angle * one[i]), one, one),
            )
    if n > 1:
        yield from _absolute_angles(terms, n)


def _absolute_angles(terms: Terms, n: int) -> Iterator[Hypothesis]:
    sums = np.tril(np.ones((n, n)))
    differences = np.linalg.inv(sums)
    for text, T in (
        ('the angles are taken for absolute ones, not relative to the previous link', differences),
        ('the angles are taken for relative to the previous link, not absolute', sums),
    ):
        yield Hypothesis(text, _changed(terms, _times(T), T, T.T))
        yield Hypothesis(text, _changed(terms, _times(T), np.eye(n), np.eye(n)))


def _of_the_order(terms: Terms, seen: Comparison) -> Iterator[Hypothesis]:
    """Yield other orders of the joints, in the arguments, in the result, and in both."""
    n = seen.q.shape[1]
    one = np.eye(n)
    for order in _orders(n):
        P = one[list(order)]
        names = ', '.join(str(j + 1) for j in order)
        result = 'rows' if seen.term == 'M' else 'entries of the result'
        yield Hypothesis(
            f'order of the joints: {result} are those of joints {names}',
            _changed(terms, _times(one), one, P),
        )
        if seen.term == 'M':
            yield Hypothesis(
                f'order of the joints: rows and columns are those of joints {names}',
                _changed(terms, _times(one), P.T, P),
            )
        yield Hypothesis(
            f'order of the joints: the arguments are taken in the order {names}',
            _changed(terms, _times(P), P, one),
        )
        yield Hypothesis(
            f'order of the joints: {names} in arguments and result',
            _changed(terms, _times(P), P, P.T),
        )


def _orders(n: int) -> Iterator[tuple[int, ...]]:
    identity = tuple(range(n))
    if n <= ALL_ORDERS:
        yield from (order for order in permutations(identity) if order != identity)
        return
    yield identity[::-1]
    for k in (1, n - 1):
        yield (*identity[k:], *identity[:k])
    for i in range(n):
        for j in range(i):
            swapped = list(identity)
            swapped[i], swapped[j] = j, i
            yield tuple(swapped)


# -- in the terms of the velocities ---------------------------------------------------------------


def _of_the_velocities(terms: Terms) -> Iterator[Hypothesis]:
    """Yield mistakes in h = dM/dt qd - 1/2 d(qd^T M qd)/dq."""

    def combined(weights: Callable[[Array, Array], Array]) -> Terms:
        # weights(rate, gradient): of dM/dt qd and of 1/2 d(qd^T M qd)/dq
        def h(q: Array, qd: Array) -> Array:
            Gamma = christoffel(terms.h, q)
            # dm_ij/dq_k = Gamma_ijk + Gamma_jik
            partials = Gamma + Gamma.swapaxes(0, 1)
            rate = np.einsum('ijk,j,k->i', partials, qd, qd)
            return weights(rate, np.einsum('jki,j,k->i', partials, qd, qd) / 2)

        return terms._replace(h=h)

    def products(squares: float, cross: float) -> Terms:
        def h(q: Array, qd: Array) -> Array:
            Gamma = christoffel(terms.h, q)
            own = np.einsum('ijj,j->i', Gamma, qd**2)
            mixed = np.einsum('ijk,j,k->i', Gamma, qd, qd) - own
            return np.asarray(squares * own + cross * mixed)

        return terms._replace(h=h)

    yield Hypothesis('without the term -1/2 d(qd^T M qd)/dq', combined(lambda a, b: a))
    yield Hypothesis('d(qd^T M qd)/dq without the factor 1/2', combined(lambda a, b: a - 2 * b))
    yield Hypothesis('sign of 1/2 d(qd^T M qd)/dq', combined(lambda a, b: a + b))
    yield Hypothesis('1/2 dM/dt qd in place of C qd', combined(lambda a, b: a / 2))
    yield Hypothesis('without the term dM/dt qd', combined(lambda a, b: -b))
    yield Hypothesis('without centrifugal terms, those with qd_j^2', products(0.0, 1.0))
    yield Hypothesis('without Coriolis terms, those with qd_j qd_k', products(1.0, 0.0))
    yield Hypothesis('products qd_j qd_k once instead of twice', products(1.0, 0.5))
    yield Hypothesis('products qd_j qd_k four times instead of twice', products(1.0, 2.0))
    yield Hypothesis('half the centrifugal terms, those with qd_j^2', products(0.5, 1.0))
    yield Hypothesis('twice the centrifugal terms, those with qd_j^2', products(2.0, 1.0))


def _of_the_matrix(terms: Terms) -> Iterator[Hypothesis]:
    """Yield what is not M, but made of it."""
    yield Hypothesis('the inverse of M', terms._replace(M=lambda q: np.linalg.inv(terms.M(q))))
    yield Hypothesis(
        'the upper triangle of M alone', terms._replace(M=lambda q: np.triu(terms.M(q)))
    )
    yield Hypothesis(
        'the lower triangle of M alone', terms._replace(M=lambda q: np.tril(terms.M(q)))
    )
