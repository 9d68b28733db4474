# SPDX-License-Identifier: Apache-2.0
"""Causes of a difference between a term and the right one.

A mistake is named only where it gives the values of the function in every state, within rounding;
a difference that no mistake reproduces has no known cause. Mistakes are tried in groups, the
simplest first, and all of the first group that fit are named.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.textbook.grading.graded_terms import Comparison, Terms, evaluate
from robot_dynamics.textbook.grading.grading_parameters import wrong_parameter
from robot_dynamics.textbook.grading.references import Reference
from robot_dynamics.textbook.grading.student_mistakes import DEGREE, Mistake, groups_of_mistakes

LISTED = 3  # mistakes that are named, at most
DIGITS = 1e-3  # relative difference of rounded numbers
STANDARD = 9.81  # m/s^2, of the systems
GRAVITIES = (1.0, 9.8, 9.80665, 9.82, 10.0)  # m/s^2
# What entries of a term are called, unless by their joints.
ENTRIES = {'M': 'm', 'Lambda': 'Lambda', 'eta': 'direction '}
# Factors that tell the mistake; those without a text are written as numbers.
FACTORS = {
    0.0: 'it is zero',
    -1.0: 'the opposite sign',
    DEGREE: 'pi / 180 times the expected value: degrees?',
    1 / DEGREE: '180 / pi times the expected value: degrees?',
    0.5: '',
    2.0: '',
    -0.5: '',
    -2.0: '',
}

OF_TERM = {
    'M': {
        DEGREE: 'pi / 180 times the expected value: accelerations in degrees?',
        1 / DEGREE: '180 / pi times the expected value: accelerations in degrees?',
    },
    'h': {
        DEGREE**2: '(pi / 180)^2 times the expected value: velocities in degrees?',
        1 / DEGREE**2: '(180 / pi)^2 times the expected value: velocities in degrees?',
    },
}


def cause(seen: Comparison, terms: Terms, reference: Reference | None = None) -> str | None:
    """Return the mistake that makes the seen values of the right ones, None if none is known.

    Args:
        seen: the values.
        terms: the right terms.
        reference: the robot, for mistakes in its parameters.
    """
    factors = _factors(seen)
    if factors and all(_known_factor(c, seen.term) is not None for c in factors.values()):
        return _factor_texts(seen, factors)
    groups = groups_of_mistakes(terms, seen.term, seen.q.shape[1])
    if reference is not None:
        groups += reference.groups(seen.term)
    for group in groups:
        fitting = list(dict.fromkeys(m.text for m in group if _fits(m, seen)))
        if fitting:
            return _listed(fitting)
    if reference is not None:
        text = wrong_parameter(seen, reference)
        if text is not None:
            return text
    if np.abs(seen.difference).max() < DIGITS * np.abs(seen.expected).max():
        return 'agrees to three digits: rounded numbers, or a numerical derivative?'
    return _factor_texts(seen, factors) or None


def wrong_entries(seen: Comparison) -> str:
    """Return which entries are wrong, and by what where the difference is constant.

    '' if all are wrong, by differences that are not all constant.
    """
    size = np.abs(seen.difference).max(axis=0)
    texts, constant = [], True
    for entry in np.argwhere(size > seen.rounding).tolist():
        difference = np.moveaxis(seen.difference, 0, -1)[tuple(entry)]
        text = _entry(seen.term, entry)
        if np.ptp(difference) <= min(seen.rounding, DIGITS * np.abs(difference).max()):
            text += f' (by {difference.mean():+.6g} in every state)'
        else:
            constant = False
        texts.append(text)
    rest = '; the other entries are right' if len(texts) < size.size else ''
    return f'wrong: {", ".join(texts)}{rest}' if rest or constant else ''


def cause_in_factors(seen: Comparison) -> str | None:
    """Return the factors of wrong values as a cause, None if there are none."""
    return _factor_texts(seen, _factors(seen)) or None


def _listed(texts: list[str]) -> str:
    named = ', or '.join(texts[:LISTED])
    more = len(texts) - LISTED
    return named if more <= 0 else f'{named}, or {more} more mistakes of the same effect'


def _fits(mistake: Mistake, seen: Comparison) -> bool:
    with np.errstate(all='ignore'):
        for q, qd, value in zip(seen.q, seen.qd, seen.values, strict=True):
            predicted = evaluate(mistake.terms, seen.term, q, qd)
            # NaN fits nothing.
            if not np.abs(predicted - value).max() <= seen.rounding:
                return False
    return True


# -- factors --------------------------------------------------------------------------------------


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
            factors[_entry(seen.term, entry)] = c
    return factors


def _entry(term: str, entry: Sequence[int]) -> str:
    """Return the name of an entry of a term."""
    return ENTRIES.get(term, 'joint ') + ''.join(str(k + 1) for k in entry)


def _factor(values: Array, expected: Array, rounding: float) -> float | None:
    """Return c of values = c expected, 1 exactly if they are equal, None if there is none."""
    if np.abs(values - expected).max() <= rounding:
        return 1.0
    square = float((expected**2).sum())
    if square <= rounding**2:
        return None
    c = float((values * expected).sum()) / square
    return c if np.abs(values - c * expected).max() <= rounding else None


def _known_factor(c: float, term: str) -> str | None:
    """Return the text of a factor that tells the mistake, None if it does not."""
    texts = FACTORS | OF_TERM.get(term, {})
    if term == 'g':
        texts |= {
            g / STANDARD: f'{c:.6g} times the expected value: g = {g:g} m/s^2?' for g in GRAVITIES
        }
    return next(
        (text for k, text in texts.items() if abs(c - k) <= 1e-6 * max(abs(k), 1e-4)), None
    )


def _factor_texts(seen: Comparison, factors: dict[str, float]) -> str:
    return '; '.join(
        f'{name}{": " * bool(name)}'
        + (_known_factor(c, seen.term) or f'{c:.6g} times the expected value')
        for name, c in factors.items()
    )
