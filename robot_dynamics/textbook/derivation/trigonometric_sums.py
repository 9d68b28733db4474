# SPDX-License-Identifier: Apache-2.0
"""Sums of cosines and sines of the joint angles, with polynomials as coefficients.

    f(q) = sum of  a_K cos(K q) + b_K sin(K q),      K q = sum of K_j q_j

Every function in the equation of motion of a tree of joints is such a sum, and has only one: equal
terms cancel by themselves, cos(q1) cos(q1 + q2) + sin(q1) sin(q1 + q2) is cos(q2), and no search
for a simplification is needed. A coefficient is a polynomial in lengths, masses, inertias and the
positions of prismatic joints, a sum of monomials c x_1^e_1 x_2^e_2 ....
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from itertools import product
from typing import NamedTuple

Number = Fraction | float
Exponents = tuple[int, ...]

ROUNDING = 1e-14  # coefficients of floating-point numbers, relative to the largest


class Term(NamedTuple):
    """A monomial times the cosine or sine of K q."""

    K: tuple[Number, ...]  # (n,), all zero for the constant 1
    sine: bool
    exponents: Exponents


TrigonometricSum = dict[Term, Number]


def added(*parts: tuple[Number, Mapping[Term, Number]]) -> TrigonometricSum:
    """Return the sum of factors times sums."""
    result: defaultdict[Term, Number] = defaultdict(Fraction)
    for factor, part in parts:
        for term, c in part.items():
            result[term] += factor * c
    return without_rounding(result)


def without_rounding(terms: Mapping[Term, Number]) -> TrigonometricSum:
    """Return the sum without terms that are zero, exactly or within rounding."""
    largest = max((abs(float(c)) for c in terms.values()), default=0.0)
    return {
        t: c
        for t, c in terms.items()
        if c != 0 and (isinstance(c, Fraction) or abs(float(c)) > ROUNDING * largest)
    }


def partial(
    terms: Mapping[Term, Number], j: int, slides: Mapping[int, Number]
) -> TrigonometricSum:
    """Return the derivative by coordinate j.

    Args:
        terms: the sum.
        j: the coordinate.
        slides: the rates, by q_j, of the positions of prismatic joints, by their exponent.
    """
    result: defaultdict[Term, Number] = defaultdict(Fraction)
    for term, c in terms.items():
        if term.K[j] != 0:
            # cos' = -sin, sin' = cos
            sign = 1 if term.sine else -1
            result[term._replace(sine=not term.sine)] += sign * term.K[j] * c
        for k, rate in slides.items():
            e = term.exponents[k]
            if e:
                lower = (*term.exponents[:k], e - 1, *term.exponents[k + 1 :])
                result[term._replace(exponents=lower)] += e * rate * c
    return without_rounding(result)


# -- to products, as books write them ------------------------------------------------------------

Wave = tuple[tuple[Number, ...], bool]  # K of K q, and whether it is a sine
Product = tuple[Wave, Wave]


def in_products(waves: Mapping[Wave, Number]) -> list[tuple[Number, Product]]:
    """Return a sum of cosines and sines with squares and products where they are shorter.

        d + c cos 2A = (d + c) cos^2 A + (d - c) sin^2 A        c sin 2A = 2 c sin A cos A
        cos (A + B) + cos (A - B) = 2 cos A cos B               and the like

    A and B are sums of joint angles; other terms stay.

    Args:
        waves: coefficients.

    Returns:
        Coefficients and two factors of each, of which one may be the constant 1, cos 0.
    """
    rest, products = dict(waves), []
    zero = tuple(Fraction(0) for _ in next(iter(rest))[0])
    constant = (zero, False)
    for wave in sorted(rest, key=lambda w: -sum(abs(float(k)) for k in w[0])):
        c = rest.pop(wave, None)
        if c is None or wave == constant:
            rest |= {} if c is None else {wave: c}
            continue
        half = _sums(wave[0], zero)
        if half is None:
            products += _of_pair(wave, c, rest) or [(c, (wave, constant))]
            continue
        cosine, sine = (half[0], False), (half[0], True)
        if wave[1]:
            products.append((2 * c, (sine, cosine)))
            continue
        d = rest.pop(constant, Fraction(0))
        # A larger constant is shared with other squares.
        share = d
        if abs(float(d)) > abs(float(c)):
            share = c if (c > 0) == (d > 0) else -c
        rest |= {constant: d - share} if d != share else {}
        squares = (share + c, (cosine, cosine)), (share - c, (sine, sine))
        products += [(x, p) for x, p in squares if abs(float(x)) > ROUNDING * abs(float(c))]
    return products + [(d, (constant, constant)) for d in rest.values()]


def _of_pair(wave: Wave, c: Number, rest: dict[Wave, Number]) -> list[tuple[Number, Product]]:
    """Return the product that a wave makes with another of the same size, and remove that one."""
    K, is_sine = wave
    for (L, other_sine), d in rest.items():
        for sign in (1, -1):
            angles = _sums(K, tuple(sign * x for x in L))
            # sin (-L q) = -sin (L q)
            e = sign * d if is_sine else d
            if angles is None or other_sine != is_sine or abs(abs(float(d / c)) - 1) > ROUNDING:
                continue
            del rest[L, other_sine]
            A, B = angles
            if is_sine:
                return [(2 * c, ((A, e / c > 0), (B, e / c < 0)))]
            same = e / c > 0
            return [(2 * c if same else -2 * c, ((A, not same), (B, not same)))]
    return []


def _sums(
    K: tuple[Number, ...], L: tuple[Number, ...]
) -> tuple[tuple[Number, ...], tuple[Number, ...]] | None:
    """Return A and B of K = A + B, L = A - B, None if they are not sums of joint angles."""
    A, B = (tuple((x + s * y) / 2 for x, y in zip(K, L, strict=True)) for s in (1, -1))
    return (A, B) if {*A, *B} <= {0, 1} else None


# -- from products of cosines and sines -----------------------------------------------------------


class Angle(NamedTuple):
    """The angle of a revolute joint, linear in the coordinates."""

    K: tuple[Number, ...]  # (n,)
    offset: float  # rad


def from_products(
    terms: Iterable[tuple[Exponents, Number]], angles: list[Angle], n: int
) -> TrigonometricSum:
    """Return a polynomial in cosines and sines as a sum.

    Args:
        terms: exponents and coefficients; the first 2 k exponents are those of the cosine and the
            sine of each of the k angles, the others stay.
        angles: of the revolute joints.
        n: number of coordinates.
    """
    result: defaultdict[Term, Number] = defaultdict(Fraction)
    count = 2 * len(angles)
    for exponents, c in terms:
        rest = tuple(exponents[count:])
        factors = [_powers(exponents[2 * i], exponents[2 * i + 1]) for i in range(len(angles))]
        for waves in product(*factors):
            for term, share in _real_part(waves, angles, n, rest):
                result[term] += c * share
    return without_rounding(result)


@cache
def _powers(a: int, b: int) -> tuple[tuple[int, Fraction, Fraction], ...]:
    """Return cos^a sin^b as waves (k, real, imaginary): the sum of (re + i im) exp(i k angle)."""
    waves: dict[int, Fraction] = {0: Fraction(1)}
    for sign, count in ((1, a), (-1, b)):
        for _ in range(count):
            # (z + 1/z) / 2 and (z - 1/z) / 2; the 1/i of the sine follows below
            after: defaultdict[int, Fraction] = defaultdict(Fraction)
            for k, c in waves.items():
                after[k + 1] += c / 2
                after[k - 1] += sign * c / 2
            waves = after
    # i^-b
    re, im = ((1, 0), (0, -1), (-1, 0), (0, 1))[b % 4]
    return tuple((k, re * c, im * c) for k, c in waves.items() if c)


def _real_part(
    waves: tuple[tuple[int, Fraction, Fraction], ...],
    angles: list[Angle],
    n: int,
    rest: Exponents,
) -> Iterator[tuple[Term, Number]]:
    """Yield the real part of a product of waves, in cosines and sines of the coordinates."""
    K: list[Number] = [Fraction(0)] * n
    re, im, phase = Fraction(1), Fraction(0), 0.0
    for (k, a, b), angle in zip(waves, angles, strict=True):
        re, im = re * a - im * b, re * b + im * a
        K = [x + k * y for x, y in zip(K, angle.K, strict=True)]
        phase += k * angle.offset
    x, y = _turned(re, im, phase)
    leading = next((v for v in K if v != 0), 0)
    if leading < 0:
        # cos(-x) = cos(x), sin(-x) = -sin(x)
        K, y = [-v for v in K], -y
    key = tuple(K)
    if x != 0:
        yield Term(key, False, rest), x
    if y != 0 and leading != 0:
        yield Term(key, True, rest), -y


def _turned(re: Fraction, im: Fraction, phase: float) -> tuple[Number, Number]:
    """Return (re + i im) exp(i phase), exactly for quarter turns."""
    quarters = phase / (math.pi / 2)
    if abs(quarters - round(quarters)) < 1e-12:
        c, s = ((1, 0), (0, 1), (-1, 0), (0, -1))[round(quarters) % 4]
        return re * c - im * s, re * s + im * c
    c_, s_ = math.cos(phase), math.sin(phase)
    return float(re) * c_ - float(im) * s_, float(re) * s_ + float(im) * c_
