# SPDX-License-Identifier: Apache-2.0
"""Dual numbers: the derivative of an algorithm along one direction, computed beside its value.

    f(x + e dx) = f(x) + e f'(x) dx,    e^2 = 0

Algorithms over scalars take them as any other scalar. At a kink (|x| at 0, the smaller of two
equal numbers) the slope is the mean of both sides.

Source: Griewank and Walther, Evaluating Derivatives (2008), chapter 3 (forward mode).
"""

from __future__ import annotations

from typing import Any

from robot_dynamics.common.scalars import Scalar, is_zero, maximum, minimum, sincos, tanh
from robot_dynamics.core.algorithms.vectors import Vector

TINY = 1e-150  # a divisor at least, where 0 / 0 is to be 0
HUGE = 1e200  # the difference of two numbers times this is beyond 1 unless they are equal


class Dual:
    """A scalar and its derivative along a direction."""

    __slots__ = ('slope', 'value')

    def __init__(self, value: Scalar, slope: Scalar) -> None:
        self.value, self.slope = value, slope

    def __add__(self, other: Any) -> Dual:
        return Dual(self.value + value_of(other), self.slope + slope_of(other))

    __radd__ = __add__

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.slope)

    def __sub__(self, other: Any) -> Dual:
        return Dual(self.value - value_of(other), self.slope - slope_of(other))

    def __rsub__(self, other: Any) -> Dual:
        return (-self).__add__(other)

    def __mul__(self, other: Any) -> Dual:
        own = self.slope * value_of(other)
        if is_zero(slope_of(other)):
            return Dual(self.value * value_of(other), own)
        return Dual(self.value * value_of(other), own + self.value * slope_of(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Dual:
        if not isinstance(other, Dual):
            return Dual(self.value / other, self.slope / other)
        quotient = self.value / other.value
        return Dual(quotient, (self.slope - quotient * other.slope) / other.value)

    def __rtruediv__(self, other: Any) -> Dual:
        return Dual(other, 0.0) / self

    def __pow__(self, exponent: float) -> Dual:
        if exponent == 0.5:
            root = self.value**0.5
            return Dual(root, 0.5 * self.slope / maximum(root, TINY))
        slope = float(exponent) * self.value ** (exponent - 1) * self.slope
        return Dual(self.value**exponent, slope)

    def __abs__(self) -> Dual:
        size = abs(self.value)
        return Dual(size, self.value / maximum(size, TINY) * self.slope)

    def sin(self) -> Dual:
        """Return the sine."""
        sine, cosine = sincos(self.value)
        return Dual(sine, cosine * self.slope)

    def cos(self) -> Dual:
        """Return the cosine."""
        sine, cosine = sincos(self.value)
        return Dual(cosine, -sine * self.slope)

    def tanh(self) -> Dual:
        """Return the hyperbolic tangent."""
        t = tanh(self.value)
        return Dual(t, (1.0 - t * t) * self.slope)

    def minimum(self, other: Any) -> Dual:
        """Return the smaller of two scalars."""
        value = minimum(self.value, value_of(other))
        return Dual(value, self._slope_if(value_of(other) - self.value, other))

    def maximum(self, other: Any) -> Dual:
        """Return the larger of two scalars."""
        value = maximum(self.value, value_of(other))
        return Dual(value, self._slope_if(self.value - value_of(other), other))

    def _slope_if(self, above: Scalar, other: Any) -> Scalar:
        """Return the own slope where a number is above zero, else that of the other."""
        share = maximum(minimum(above * HUGE + 0.5, 1.0), 0.0)
        return share * self.slope + (1.0 - share) * slope_of(other)


def duals(values: Vector, slopes: Vector) -> list[Dual]:
    """Return the dual numbers of values and their slopes."""
    return [Dual(x, dx) for x, dx in zip(values, slopes, strict=True)]


def value_of(x: Scalar) -> Scalar:
    """Return the value of a scalar."""
    return x.value if isinstance(x, Dual) else x


def slope_of(x: Scalar) -> Scalar:
    """Return the derivative of a scalar, 0.0 of one that is no dual number."""
    return x.slope if isinstance(x, Dual) else 0.0


def total_slopes(*parts: Vector) -> list[Scalar]:
    """Return the derivatives of the sums of the entries of vectors (n)."""
    return [sum(map(slope_of, entries)) for entries in zip(*parts, strict=True)]
