# SPDX-License-Identifier: Apache-2.0
"""Rotation vector of a rotation matrix, and the moment of a spring that follows it.

    e = log R,    U = 1/2 e^T K e

With R = R_f^T R_d of a frame f and a target d, e is the rotation from one to the other, in the
axes of both. A frame that turns at the angular velocity w, in the axes of the target, changes e at
the rate -J^-1 w with

    J^-T(e) = 1 - [e] / 2 + c [e]^2,    c = (1 - (a / 2) cot(a / 2)) / a^2,    a = |e|,

and the moment on the frame is J^-T K e, by virtual work. It is K e where K is isotropic. K e by
itself has no potential for an unequal K.

The angle follows from tangents of halved angles, without a branch and without division by the
sine: tan(a/2) = sin a / (1 + cos a), tan(x/2) = tan x / (1 + sqrt(1 + tan^2 x)). At a half turn,
where the axis has two signs, e is zero.

Sources: Lynch and Park, Modern Robotics (2017), section 3.2.3; Bullo and Murray, "Proportional
derivative (PD) control on the Euclidean group", ECC 1995.
"""

from __future__ import annotations

from robot_dynamics.common.scalars import Scalar, maximum
from robot_dynamics.core.algorithms.vectors import Matrix, Vector, add, cross, dot, scaled

# arctan(t) / t = 1 - t^2/3 + t^4/5 ...; t <= tan(pi / 16) leaves less than 1e-17
ARCTANGENT = tuple((-1.0) ** k / (2 * k + 1) for k in range(12))
HALVINGS = 3  # after the first
LEAST = 1e-30  # of 1 + cos a, and of a^2


def rotation_vector(R: Matrix) -> Vector:
    """Return e = log R (3), rad, of a rotation matrix (3, 3)."""
    return _logarithm(R)[0]


def spring_moment(R: Matrix, stiffness: Vector) -> tuple[Vector, Vector]:
    """Return e = log R, and the moment J^-T K e, (3) each.

    Args:
        R: (3, 3) R_frame^T R_target, a rotation.
        stiffness: (3) the diagonal of K, N m/rad.
    """
    e, c = _logarithm(R)
    moment = [k * x for k, x in zip(stiffness, e, strict=True)]
    turned = cross(e, moment)
    # m - e x m / 2 + c e x (e x m)
    return e, add(add(moment, scaled(-0.5, turned)), scaled(c, cross(e, turned)))


def _logarithm(R: Matrix) -> tuple[Vector, Scalar]:
    """Return e, and c of J^-T(e)."""
    # sin a times the axis
    s = [0.5 * (R[2][1] - R[1][2]), 0.5 * (R[0][2] - R[2][0]), 0.5 * (R[1][0] - R[0][1])]
    square, cosine = dot(s, s), 0.5 * (R[0][0] + R[1][1] + R[2][2] - 1.0)
    # Tangents divided by sin a; of a / 2 at first
    half = u = 1.0 / maximum(1.0 + cosine, LEAST)
    for _ in range(HALVINGS):
        u = u / (1.0 + (1.0 + square * u * u) ** 0.5)
    x, series = square * u * u, 0.0
    for coefficient in reversed(ARCTANGENT):
        series = series * x + coefficient
    ratio = 2.0 ** (HALVINGS + 1) * u * series  # a / sin a
    c = (1.0 - 0.5 * ratio / half) / (ratio * ratio * square + LEAST)
    return scaled(ratio, s), c
