# SPDX-License-Identifier: Apache-2.0
"""Impulse of dry friction in a step, as a function of the velocity at its end.

A joint on which nothing else acts ends a step with

    m v + p = m s,    p = d z(v),

where s is its velocity without friction, m the inertia that it moves, and d = h L the largest
impulse: the level L of dry friction held over the step h. The direction z of sliding grows with v,
so that v is unique for any d and m:

    z = tanh(v / v_0)                                        without memory
    z = sgn v + (z_0 - sgn v) exp(-h |v| / delta)             with memory
    z = mean of sgn v over the step, |z| <= 1 at rest         sticking

The first two are an equation y + a f(y) = x of a bounded function f, solved by Halley's method
from the root for f = y - y^2/4, which is f to 4 %. The impulse is m (s - v), bounded by d: from
z(v) it would have no correct digit near breakaway, where a is large.

Source: Dahl, "A solid friction model", Aerospace Corporation TOR-0158 (1968), for the memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.common.scalars import Scalar, maximum, minimum, tanh
from robot_dynamics.core.friction.coulomb import COULOMB_SPEED

# Rounds of Halley's method: each leaves the cube of the error before it.
ROUNDS = 2

# Avoids 0/0 for a joint without velocity.
TINY = 1e-150


class Response(NamedTuple):
    """Response of one joint, or of several, elementwise."""

    v: Scalar  # velocity at the end of the step, rad/s or m/s
    p: Scalar  # impulse of friction, N m s or N s
    slope: Scalar  # dp/dv, N m s^2/rad or N s^2/m; huge or infinite where v is held


class DryFriction(NamedTuple):
    """Dry friction in a step, of one joint, or of n: by a law with memory or without."""

    level: Any  # largest torque, 0 or more, N m or N
    z: Any = None  # direction of sliding at the start, within [-1, 1]; None: without memory
    presliding: Any = None  # delta, rad or m

    def response(self, s: Scalar, m: Scalar, h: Scalar) -> Response:
        """Return the response of one joint, or of several, elementwise, in a step h [s]."""
        if self.z is None:
            return without_memory(s, m, h * self.level)
        return with_memory(s, m, h * self.level, self.z, h / self.presliding)

    def responses(self, s: Sequence[Scalar], m: Sequence[Scalar], h: Scalar) -> list[Response]:
        """Return the responses of n joints."""
        joints = map(DryFriction, *(x for x in self if x is not None))
        return [own.response(x, y, h) for own, x, y in zip(joints, s, m, strict=True)]


def without_memory(s: Scalar, m: Scalar, d: Scalar) -> Response:
    """Return the response to friction of direction tanh(v / v_0).

    Args:
        s: velocity without friction, rad/s or m/s.
        m: inertia of the joint, kg m^2 or kg.
        d: largest impulse, 0 or more, N m s or N s.
    """
    # y + a tanh y = x,   y = |v| / v_0,   a = d / (m v_0),   x = |s| / v_0
    a = d / (m * COULOMB_SPEED)
    x = maximum(abs(s) * (1 / COULOMB_SPEED), TINY)
    y = _start(a, x)
    for _ in range(ROUNDS):
        t = tanh(y)
        bend = a * (1.0 - t * t)
        y = _halley(y, y + a * t - x, 1.0 + bend, bend * t)
    t = tanh(y)
    unit = s / x
    return Response(unit * y, m * unit * minimum(x - y, a), m * a * (1.0 - t * t))


def with_memory(s: Scalar, m: Scalar, d: Scalar, z: Scalar, rate: Scalar) -> Response:
    """Return the response to friction that reverses over a length delta of travel.

    Args:
        s: velocity without friction, rad/s or m/s.
        m: inertia of the joint, kg m^2 or kg.
        d: largest impulse, 0 or more, N m s or N s.
        z: direction of sliding at the start, within [-1, 1].
        rate: h / delta, s/rad or s/m.
    """
    # r = s - d z / m:  beyond d z, friction exerts d (1 - z sgn r) (1 - exp(-y)) against r
    r = s - d * z / m
    x = maximum(abs(r) * rate, TINY)
    unit = r / x
    left = d * (1.0 - z * unit * rate)
    # y + a (1 - exp(-y)) = x,   y = |v| h / delta,   a = left h / (m delta),   x = |r| h / delta
    a = left * rate / m
    y = _start(a, x)
    for _ in range(ROUNDS):
        gone = _one_minus_exp(y)
        bend = a * (1.0 - gone)
        y = _halley(y, y + a * gone - x, 1.0 + bend, 0.5 * bend)
    slope = m * a * (1.0 - _one_minus_exp(y))
    return Response(unit * y, d * z + m * unit * minimum(x - y, a), slope)


def sticking(s: Scalar, m: Scalar, d: Scalar, v: Scalar) -> Response:
    """Return the response to Coulomb friction, exact in time; arguments are floats or arrays.

    A joint that slides at v slides on, or comes to rest within the step; there it stays, or moves
    off in the other direction if s - v still outweighs friction.

    Args:
        s: velocity without friction, rad/s or m/s.
        m: inertia of the joint, kg m^2 or kg.
        d: largest impulse, 0 or more, N m s or N s.
        v: velocity at the start of the step.
    """
    # In the direction of motion, at rest in that of s: u is s, friction takes w of it.
    unit, w = np.sign(np.where(v == 0, s, v)), d / m
    u = unit * s
    x = abs(v) - u
    # The joint slides on at u - w, or reverses: at rest after the share |v| / (w + x) of the step,
    # it ends at (u - w) (x - w) / (w + x).
    on, a, b = np.maximum(u - w, 0.0), np.maximum(w - u, 0.0), np.maximum(x - w, 0.0)
    c = np.maximum(w + x, TINY)
    back = a * b / c
    share = np.maximum((on > 0) + (back > 0) * (a + b - back) / c, TINY)
    end = unit * (on - back)
    p = np.minimum(np.maximum(m * (s - end), -d), d)
    return Response(end, p, m * (1.0 - share) / share)


def _start(a: Scalar, x: Scalar) -> Scalar:
    """Return y with y + a f(y) = x, for f = y - y^2/4 up to y = 2, and 1 beyond."""
    c = minimum(x, 2.0 + a)
    b = 1.0 + a
    return 2.0 * c / (b + (b * b - a * c) ** 0.5) + (x - c)


def _halley(y: Scalar, g: Scalar, slope: Scalar, half_bend: Scalar) -> Scalar:
    """Return a better root of g, with its slope g' and -g''/2."""
    return y - g * slope / (slope * slope + g * half_bend)


def _one_minus_exp(y: Scalar) -> Scalar:
    """Return 1 - exp(-y)."""
    # 2 t / (1 + t),   t = tanh(y / 2)
    t = tanh(0.5 * y)
    return 2.0 * t / (1.0 + t)
