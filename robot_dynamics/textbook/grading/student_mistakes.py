# SPDX-License-Identifier: Apache-2.0
"""Typical mistakes, by name: in the angles, in the order of the joints, in the terms themselves.

A mistake is a text, and the terms that it makes of the right ones. Mistakes in the parameters of
one robot are in `references`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.textbook.grading.graded_terms import Terms, christoffel

ALL_ORDERS = 5  # joints, of which all orders are tried
DEGREE = np.pi / 180
# Other positions of a joint, with mistakes of the same effect.
OFFSETS = {
    '+ pi/2': (np.pi / 2, 'sine for cosine'),
    '- pi/2': (-np.pi / 2, 'sine for cosine'),
    # sin(q + pi) = -sin(q), cos(q + pi) = -cos(q)
    '+ pi': (np.pi, 'the opposite sign of terms with sin or cos of q{}'),
}

# In h = dM/dt qd - 1/2 d(qd^T M qd)/dq: the weights of the two terms, instead of 1 and -1.
DERIVATIVES = {
    'without the term -1/2 d(qd^T M qd)/dq': (1.0, 0.0),
    'd(qd^T M qd)/dq without the factor 1/2': (1.0, -2.0),
    'sign of 1/2 d(qd^T M qd)/dq': (1.0, 1.0),
    '1/2 dM/dt qd in place of C qd': (0.5, 0.0),
    'without the term dM/dt qd': (0.0, -1.0),
}
# In h: the weights of the terms with qd_j^2 and with qd_j qd_k, instead of 1 and 1.
PRODUCTS = {
    'without centrifugal terms, those with qd_j^2': (0.0, 1.0),
    'without Coriolis terms, those with qd_j qd_k': (1.0, 0.0),
    'products qd_j qd_k once instead of twice': (1.0, 0.5),
    'products qd_j qd_k four times instead of twice': (1.0, 2.0),
    'half the centrifugal terms, those with qd_j^2': (0.5, 1.0),
    'twice the centrifugal terms, those with qd_j^2': (2.0, 1.0),
}
# In M: what is made of it.
MATRICES: dict[str, Callable[[Array], Array]] = {
    'the inverse of M': np.linalg.inv,
    'the upper triangle of M alone': np.triu,
    'the lower triangle of M alone': np.tril,
}


class Mistake(NamedTuple):
    """A mistake, and the terms that it makes of the right ones."""

    text: str
    terms: Terms


def groups_of_mistakes(terms: Terms, term: str, n: int) -> list[Iterator[Mistake]]:
    """Return the mistakes that are made with every robot, the simplest first.

    Args:
        terms: the right ones.
        term: the one that is wrong, 'M', 'h' or 'g'.
        n: number of joints.
    """
    in_the_term = {'M': _in_the_matrix, 'h': _in_the_velocities}
    return [
        (Mistake(change.text, change.of(terms)) for change in changes)
        for changes in (_of_the_angles(n), _of_the_order(n, term))
    ] + [mistakes(terms) for key, mistakes in in_the_term.items() if key == term]


# -- in the arguments and in the order of joints --------------------------------------------------


class Change(NamedTuple):
    """Torques out tau(A q + b, rate qd, rate qdd) in place of tau(q, qd, qdd)."""

    text: str
    A: Array  # (n, n), as rate and out
    rate: Array
    out: Array
    b: Array | float = 0.0  # (n,) rad

    def of(self, terms: Terms) -> Terms:
        """Return the changed terms."""
        _, A, rate, out, b = self
        return Terms(
            lambda q: out @ terms.M(A @ q + b) @ rate,
            lambda q, qd: out @ terms.h(A @ q + b, rate @ qd),
            lambda q: out @ terms.g(A @ q + b),
            lambda q: terms.Lambda(A @ q + b),
            lambda q, qd: terms.eta(A @ q + b, rate @ qd),
        )


def _of_the_angles(n: int) -> Iterator[Change]:
    """Yield degrees, axes of the opposite direction, other zero positions, absolute angles."""
    one = np.eye(n)
    yield Change('q is taken for degrees', DEGREE * one, one, one)
    yield Change('q, qd and qdd are taken for degrees', DEGREE * one, DEGREE * one, one)
    yield Change('q is converted to degrees', one / DEGREE, one, one)
    for i in range(n):
        D = np.diag(np.where(np.arange(n) == i, -1.0, 1.0))
        yield Change(f'joint {i + 1} turns the other way', D, D, D)
        yield Change(f'sign of q{i + 1}', D, one, one)
    for i in range(n):
        for name, (angle, same) in OFFSETS.items():
            yield Change(
                f'q{i + 1} {name} in place of q{i + 1} ({same.format(i + 1)}, or another zero '
                'position?)',
                one,
                one,
                one,
                angle * one[i],
            )
    sums = np.tril(np.ones((n, n)))
    for text, T in (
        (
            'the angles are taken for absolute ones, not relative to the previous link',
            np.linalg.inv(sums),
        ),
        ('the angles are taken for relative to the previous link, not absolute', sums),
    ):
        if n > 1:
            yield Change(text, T, T, T.T)
            yield Change(text, T, one, one)


def _of_the_order(n: int, term: str) -> Iterator[Change]:
    """Yield other orders of the joints, in the arguments, in the result, and in both."""
    one = np.eye(n)
    result = 'rows' if term == 'M' else 'entries of the result'
    for order in _orders(n):
        P, names = one[list(order)], ', '.join(str(j + 1) for j in order)
        text = 'order of the joints:'
        yield Change(f'{text} {result} are those of joints {names}', one, one, P)
        if term == 'M':
            yield Change(f'{text} rows and columns are those of joints {names}', one, P.T, P)
        yield Change(f'{text} the arguments are taken in the order {names}', P, P, one)
        yield Change(f'{text} {names} in arguments and result', P, P, P.T)


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


# -- in one term ----------------------------------------------------------------------------------


def _in_the_matrix(terms: Terms) -> Iterator[Mistake]:
    def made_of(wrong: Callable[[Array], Array]) -> Callable[[Array], Array]:
        return lambda q: wrong(terms.M(q))

    for text, wrong in MATRICES.items():
        yield Mistake(text, terms._replace(M=made_of(wrong)))


def _in_the_velocities(terms: Terms) -> Iterator[Mistake]:
    def derivatives(q: Array, qd: Array) -> tuple[Array, Array]:
        Gamma = christoffel(terms.h, q)
        # dm_ij/dq_k = Gamma_ijk + Gamma_jik
        partials = Gamma + Gamma.swapaxes(0, 1)
        gradient = np.einsum('jki,j,k->i', partials, qd, qd) / 2
        return np.einsum('ijk,j,k->i', partials, qd, qd), gradient

    def products(q: Array, qd: Array) -> tuple[Array, Array]:
        squares = np.einsum('ijj,j->i', christoffel(terms.h, q), qd**2)
        return squares, terms.h(q, qd) - squares

    for parts, table in ((derivatives, DERIVATIVES), (products, PRODUCTS)):
        for text, weights in table.items():
            yield Mistake(text, terms._replace(h=_weighted(parts, weights)))


def _weighted(
    parts: Callable[[Array, Array], tuple[Array, Array]], weights: tuple[float, float]
) -> Callable[[Array, Array], Array]:
    """Return the sum of two parts of h with these weights."""
    return lambda q, qd: np.asarray(np.tensordot(weights, parts(q, qd), 1))
