# SPDX-License-Identifier: Apache-2.0
"""The single parameter of the linear form tau = Y Theta that is wrong in some entries of a term.

Where all wrong entries differ by the terms of one parameter, and by the same amount, the amount is
looked up among products of the system's masses, lengths and inertias: 'm11 lacks m2 l1^2', or
'm12 lacks m2 l1 lc2 in a coefficient' where the product is the factor of a function of q.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.textbook.grading import references
from robot_dynamics.textbook.grading.graded_terms import Comparison

NAMED = 3  # products of equal value that are named, at most


def wrong_parameter(seen: Comparison, reference: references.Reference) -> str | None:
    """Return the mistake in the terms of one parameter, None if it is another."""
    if not isinstance(reference, references.ClosedForm):
        return None
    Y = np.array(
        [
            _regressor(seen.term, reference.system.regressor, *state)
            for state in zip(seen.q, seen.qd, strict=True)
        ]
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
    amounts = [amount for _, amount in found]
    # Parameters with the same effect, such as two masses on one joint, differ by the same amount.
    if not found or np.ptp(amounts) > 1e-7 * abs(amounts[0]):
        return None
    parameters = [j for j, _ in found]
    plain = bool((Y[..., parameters] == 1).all())
    return _text(seen, reference, wrong, parameters, amounts[0], plain)


def _regressor(term: str, Y: Callable[..., Array], q: Array, qd: Array) -> Array:
    """Return the regressor of M (n, n, l), of h (n, l) or of g (n, l)."""
    zero = np.zeros_like(q)
    rest = Y(q, zero, zero)
    if term == 'g':
        return rest
    if term == 'h':
        return Y(q, qd, zero) - rest
    return np.stack([Y(q, zero, e) - rest for e in np.eye(len(q))], axis=1)


def _text(
    seen: Comparison,
    reference: references.ClosedForm,
    wrong: Array,
    parameters: list[int],
    amount: float,
    plain: bool,
) -> str | None:
    names = {'M': 'm', 'h': 'h', 'g': 'g'}[seen.term]
    entries = [names + ''.join(str(k + 1) for k in entry) for entry in np.argwhere(wrong).tolist()]
    where, many = ' and '.join(entries), len(entries) > 1
    verb = ('lack' if many else 'lacks') if amount < 0 else ('have' if many else 'has')
    extra = ('' if amount < 0 else ' too much') + ('' if plain else ' in a coefficient')
    products = list(_products(reference.values()))
    right = [float(reference.system.parameters()[j]) for j in parameters]
    if len(right) == 1 and abs(amount + 2 * right[0]) <= 1e-7 * abs(amount):
        factors = _of_value(abs(right[0]), products)
        factor = f' {" or ".join(factors)}' if 1 <= len(factors) <= NAMED else ''
        factor = factor or f' parameter {parameters[0] + 1} of Theta'
        return f'{where}: the opposite sign of the term with{factor}'
    matching = _of_value(abs(amount), products)
    if 1 <= len(matching) <= NAMED:
        return f'{where} {verb} {" or ".join(matching)}{extra}'
    if len(parameters) > 1:
        return None
    (j,) = parameters
    same = _of_value(right[0], [*reference.values().items(), *products])
    name = same[0] if len(same) == 1 else f'parameter {j + 1} of Theta'
    wrong_value = f'{right[0] + amount:.6g} instead of {right[0]:.6g}'
    return f'{where}: as if {name} were {wrong_value}'


def _of_value(value: float, products: list[tuple[str, float]]) -> list[str]:
    found = [text for text, x in products if abs(value - x) <= 1e-7 * abs(value)]
    return list(dict.fromkeys(found))


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
            moment = values[mass] * values[length]
            yield f'{mass} {length}', moment
            yield f'2 {mass} {length}', 2 * moment
        for a, b in combinations_with_replacement(lengths, 2):
            product = values[mass] * values[a] * values[b]
            text = f'{mass} {a}^2' if a == b else f'{mass} {a} {b}'
            yield text, product
            yield f'2 {text}', 2 * product
    if 'r' in values and 'Jm' in values:
        yield 'r^2 Jm', values['r'] ** 2 * values['Jm']
