"""The single parameter of the linear form tau = Y Theta that is wrong in some entries of a term.

Where all wrong entries differ by the terms of one parameter, and by the same amount, the amount is
looked up among products of the system's masses, lengths and inertias: 'm11 lacks m2 l1^2'.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics.spatial import Array
from robot_dynamics.textbook.grading import references

if TYPE_CHECKING:
    from robot_dynamics.textbook.grading.causes import Comparison

NAMED = 3  # products of equal value that are named, at most


def wrong_parameter(seen: Comparison, reference: references.Reference) -> str | None:
    """Return the mistake in the terms of one parameter, None if it is another."""
    if not isinstance(reference, references.ClosedForm):
        return None
    Y = np.array(
        [_regressor(seen.term, reference, *state) for state in zip(seen.q, seen.qd, strict=True)]
    )
    wrong = np.abs(seen.difference).max(axis=0) > seen.rounding
    D, Y = seen.difference[:, wrong], Y[:, wrong]  # (k, w), (k, w, l)
    found: list[tuple[int, float]] = []
    for j in range(Y.shape[-1]):
        column = Y[..., j]
        # every wrong entry contains the parameter
        if not (np.abs(column).max(axis=0) > 0).all():
            continue
        amount = float((D * column).sum() / (column**2).sum())
        if np.abs(D - amount * column).max() <= seen.rounding:
            found.append((j, amount))
    if len(found) != 1:
        return None
    ((j, amount),) = found
    return _text(seen, reference, wrong, j, amount)


def _regressor(term: str, reference: references.Reference, q: Array, qd: Array) -> Array:
    """Return the regressor of M (n, n, l), of h (n, l) or of g (n, l)."""
    Y, zero = reference.regressor, np.zeros_like(q)
    rest = Y(q, zero, zero)
    if term == 'g':
        return rest
    if term == 'h':
        return Y(q, qd, zero) - rest
    return np.stack([Y(q, zero, e) - rest for e in np.eye(len(q))], axis=1)


def _text(
    seen: Comparison, reference: references.ClosedForm, wrong: Array, j: int, amount: float
) -> str:
    names = {'M': 'm', 'h': 'h', 'g': 'g'}[seen.term]
    entries = [names + ''.join(str(k + 1) for k in entry) for entry in np.argwhere(wrong).tolist()]
    where, many = ' and '.join(entries), len(entries) > 1
    verb = ('lack' if many else 'lacks') if amount < 0 else ('have' if many else 'has')
    extra = '' if amount < 0 else ' too much'
    matching = [
        text
        for text, value in _products(reference.values())
        if abs(abs(amount) - value) <= 1e-7 * abs(amount)
    ]
    if 1 <= len(matching) <= NAMED:
        return f'{where} {verb} {" or ".join(matching)}{extra}'
    right = float(reference.system.parameters()[j])
    wrong_value = f'{right + amount:.6g} instead of {right:.6g}'
    return f'{where}: as if parameter {j + 1} of Theta were {wrong_value}'


def _products(values: dict[str, float]) -> Iterator[tuple[str, float]]:
    """Yield products that occur in M and g, with their values."""
    lengths, masses, inertias = (
        references.of_kind(values, kind)
        for kind in (references.LENGTHS, references.MASSES, references.INERTIAS)
    )
    for name in (*inertias, *masses):
        yield name, values[name]
    for mass in masses:
        for length in lengths:
            yield f'{mass} {length}', values[mass] * values[length]
        for a, b in combinations_with_replacement(lengths, 2):
            product = values[mass] * values[a] * values[b]
            text = f'{mass} {a}^2' if a == b else f'{mass} {a} {b}'
            yield text, product
            yield f'2 {text}', 2 * product
    if 'r' in values and 'Jm' in values:
        yield 'r^2 Jm', values['r'] ** 2 * values['Jm']
