# SPDX-License-Identifier: Apache-2.0
"""Sine, cosine and hyperbolic tangent in LLVM's language: any number of lanes, no branch.

==========  ===================================  =========================================
function    error                                argument
==========  ===================================  =========================================
sine        absolute, at most 2.5e-16            |x| <= 2^40 (about 1.1e12 rad)
cosine      absolute, at most 2.5e-16            |x| <= 2^40
tanh        relative, at most 1e-15              all
==========  ===================================  =========================================

Beyond 2^40, where neighbouring doubles are 1e-4 rad apart, sine and cosine are not a number; so
are all three of infinity (tanh: 1) and of not a number.

Reduction after W. J. Cody and W. Waite, Software Manual for the Elementary Functions (1980),
chapter 8, with fused multiply-add; the polynomials of sine and cosine on [-pi/4, pi/4] are those
of the freely distributable fdlibm (Sun Microsystems, 1993: k_sin.c, k_cos.c).
"""

import math

from robot_dynamics.codegen.backends.llvm_writer import Writer

LARGEST_ANGLE = 2.0**40

# Adding this to a small double rounds it to an integer, which the low bits of the sum contain.
ROUNDER = 1.5 * 2.0**52

# pi/2 = HALF_PI + HALF_PI_REST to 107 bits;  ln 2 likewise.
HALF_PI, HALF_PI_REST = math.pi / 2, 6.123233995736766e-17
LN2, LN2_REST = math.log(2.0), 2.3190468138462996e-17

# sin r = r + r^3 S(r^2),  cos r = 1 - r^2/2 + r^4 C(r^2)
SINE = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
COSINE = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)
# exp r = 1 + r + r^2 E(r), Taylor's series: |r| <= ln(2)/2 leaves less than 1e-17
EXPONENTIAL = tuple(1.0 / math.factorial(k) for k in range(2, 15))


def sincos(w: Writer, angle: str) -> tuple[str, str]:
    """Write the sine and the cosine of an angle."""
    inside = w.let(f'fcmp ole {w.type} {w.intrinsic("fabs", angle)}, {w.constant(LARGEST_ANGLE)}')
    # NaN outside. It enters by a constant, not by the angle, so that nothing waits for the check.
    rest = w.select(inside, w.constant(-HALF_PI_REST), w.constant(math.nan))

    # k = nearest integer to x / (pi/2),  r = x - k pi/2
    shifted = w.fma(angle, w.constant(2.0 / math.pi), w.constant(ROUNDER))
    quadrant = w.bits(shifted)
    k = w.sub(shifted, w.constant(ROUNDER))
    r = w.fma(k, w.constant(-HALF_PI), angle)
    r = w.fma(k, rest, r)

    # sin r = r + r^3 S(r^2)
    z = w.mul(r, r)
    s = w.fma(w.mul(z, r), polynomial(w, SINE, z), r)
    # cos r = h + ((1 - h) - r^2/2 + r^4 C(r^2)),  h = 1 - r^2/2 rounded
    half = w.mul(z, w.constant(0.5))
    h = w.sub(w.constant(1.0), half)
    lost = w.sub(w.sub(w.constant(1.0), h), half)
    c = w.add(h, w.fma(w.mul(z, z), polynomial(w, COSINE, z), lost))

    # Quadrants 0, 1, 2, 3:  sine is s, c, -s, -c;  cosine is c, -s, -c, s
    low_bit = w.let(f'and {w.integers} {quadrant}, {w.integer(1)}')
    odd = w.let(f'icmp ne {w.integers} {low_bit}, {w.integer(0)}')
    next_quadrant = w.let(f'add {w.integers} {quadrant}, {w.integer(1)}')
    return (
        _signed(w, w.select(odd, c, s), quadrant),
        _signed(w, w.select(odd, s, c), next_quadrant),
    )


def _signed(w: Writer, value: str, quadrant: str) -> str:
    """Write -value in quadrants 2 and 3: bit 1 of the quadrant moves to the sign."""
    second_bit = w.let(f'and {w.integers} {quadrant}, {w.integer(2)}')
    sign = w.let(f'shl {w.integers} {second_bit}, {w.integer(62)}')
    return w.from_bits(w.let(f'xor {w.integers} {w.bits(value)}, {sign}'))


def tanh(w: Writer, x: str) -> tuple[str]:
    """Write the hyperbolic tangent: e / (e + 2) with e = exp(2|x|) - 1, and the sign of x."""
    size = w.intrinsic('fabs', x)
    # tanh 22 is 1 to rounding; the comparison is false for not a number, which so stays.
    large = w.let(f'fcmp ogt {w.type} {size}, {w.constant(22.0)}')
    y = w.mul(w.select(large, w.constant(22.0), size), w.constant(2.0))

    # y = k ln 2 + r,  exp(y) - 1 = 2^k (exp(r) - 1) + (2^k - 1)
    shifted = w.fma(y, w.constant(1.0 / LN2), w.constant(ROUNDER))
    k = w.sub(shifted, w.constant(ROUNDER))
    r = w.fma(k, w.constant(-LN2), y)
    r = w.fma(k, w.constant(-LN2_REST), r)
    exponential = w.fma(w.mul(r, r), polynomial(w, EXPONENTIAL, r), r)
    biased = w.let(f'add {w.integers} {w.bits(shifted)}, {w.integer(1023)}')
    power = w.from_bits(w.let(f'shl {w.integers} {biased}, {w.integer(52)}'))
    e = w.fma(power, exponential, w.sub(power, w.constant(1.0)))

    return (w.intrinsic('copysign', w.div(e, w.add(e, w.constant(2.0))), x),)


def polynomial(w: Writer, coefficients: tuple[float, ...], x: str) -> str:
    """Write c_0 + c_1 x + c_2 x^2 + ..., by Estrin's scheme: (c_0 + c_1 x) + (c_2 + c_3 x) x^2.

    Horner's rule takes as many operations, each of which waits for the one before.
    """
    terms = [w.constant(coefficient) for coefficient in coefficients]
    while len(terms) > 1:
        pairs = zip(terms[::2], terms[1::2], strict=False)
        rest = terms[-1:] if len(terms) % 2 else []
        terms = [*(w.fma(b, x, a) for a, b in pairs), *rest]
        x = w.mul(x, x)
    return terms[0]
