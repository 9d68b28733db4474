# SPDX-License-Identifier: Apache-2.0
"""Composite bodies: the bodies from one joint outwards as one rigid body, at rest and in motion.

Mass moments about the same point add up, so that one backward pass gives the moments of every
subtree. Their momentum for unit velocity of one joint is a column of the mass matrix; their first
moment determines the gravity torque.

Relative to the origin of body i, the particles r of mass m of its subtree have velocities

    rd = w x r + r',

where r' is the velocity relative to body i, zero for particles of body i itself. First derivatives
need three moments of r':

    h' = sum m r',    Sigma' = sum m (r r'^T + r' r^T),    l = sum m r x r'.

The last two are the symmetric and the skew part of sums that appear with any vector v:

    sum m r x (v x r') = (I' v + v x l) / 2,    I' = tr(Sigma') 1 - Sigma'.

From a body to its parent, r' changes only by the velocity of the joint between them.

Source: Featherstone, Rigid Body Dynamics Algorithms (2008), section 6.2.
"""

from __future__ import annotations

from typing import NamedTuple

from robot_dynamics.common.scalars import Scalar
from robot_dynamics.core.algorithms.joint_frame import JointFrame, Wrench
from robot_dynamics.core.algorithms.vectors import (
    ZERO,
    ZERO_MATRIX,
    Matrix,
    Vector,
    add,
    cross,
    mat_add,
    scaled,
    symmetric,
)
from robot_dynamics.core.model.canonical import CanonicalTree, MassMoments


def composite_bodies(tree: CanonicalTree, frames: list[JointFrame]) -> list[MassMoments]:
    """Return the mass moments of every body with all bodies beyond it, in its own frame."""
    return tree.inward(
        tree.bodies, lambda i, body: moments_in_parent(frames[i], body), total_moments
    )


def total_moments(a: MassMoments, b: MassMoments) -> MassMoments:
    """Return the moments of two bodies together, given about the same point."""
    return MassMoments(a.m + b.m, add(a.h, b.h), mat_add(a.Sigma, b.Sigma))


def moments_in_parent(frame: JointFrame, body: MassMoments) -> MassMoments:
    """Return the same moments in the parent's frame, about its origin."""
    h = frame.up(body.h)
    mp = scaled(body.m, frame.p)
    # sum m (r + p) = h + m p
    # sum m (r + p)(r + p)^T = Sigma + h p^T + p h^T + m p p^T
    Sigma = shifted(frame.up_symmetric(body.Sigma), add(h, scaled(0.5, mp)), frame.p)
    return MassMoments(body.m, add(h, mp), Sigma)


def shifted(Sigma: Matrix, h: Vector, p: Vector) -> Matrix:
    """Return Sigma + h p^T + p h^T of a symmetric matrix Sigma."""
    return symmetric(
        [[Sigma[a][b] + (h[a] * p[b] + h[b] * p[a]) for b in range(a, 3)] for a in range(3)]
    )


def unit_momentum(revolute: bool, body: MassMoments) -> Wrench:
    """Return the momentum of a body that moves by its joint alone, at unit rate, in its frame."""
    m, (x, y, _), Sigma = body
    if revolute:
        # z x r:   p = z x h,   l = sum m r x (z x r) = (tr(Sigma) 1 - Sigma) z
        return Wrench(axial(Sigma), [-y, x, 0.0])
    # p = m z,   l = h x z
    return Wrench([y, -x, 0.0], [0.0, 0.0, m])


def axial(Sigma: Matrix) -> Vector:
    """Return I z = (tr(Sigma) 1 - Sigma) z."""
    return [-Sigma[0][2], -Sigma[1][2], Sigma[0][0] + Sigma[1][1]]


def rotational_inertia(Sigma: Matrix) -> Matrix:
    """Return I = sum m (r.r 1 - r r^T) = tr(Sigma) 1 - Sigma."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = Sigma
    return [[yy + zz, -xy, -xz], [-xy, xx + zz, -yz], [-xz, -yz, xx + yy]]


# -- in motion ------------------------------------------------------------------------------------


class MovingBody(NamedTuple):
    """Moments of a subtree about the origin of its first body, in that body's frame."""

    moments: MassMoments
    h_rate: Vector  # h', kg m/s
    Sigma_rate: Matrix  # Sigma', kg m^2/s, symmetric
    l: Vector  # kg m^2/s


def moving_composites(
    tree: CanonicalTree, frames: list[JointFrame], rates: Vector
) -> list[MovingBody]:
    """Return the moments of every body with all bodies beyond it, in its own frame."""
    return tree.inward(
        [MovingBody(body, ZERO, ZERO_MATRIX, ZERO) for body in tree.bodies],
        lambda i, body: _moving_in_parent(frames[i], _moved_by_joint(frames[i], rates[i], body)),
        _total_moving,
    )


def _total_moving(a: MovingBody, b: MovingBody) -> MovingBody:
    return MovingBody(
        total_moments(a.moments, b.moments),
        add(a.h_rate, b.h_rate),
        mat_add(a.Sigma_rate, b.Sigma_rate),
        add(a.l, b.l),
    )


def _moved_by_joint(frame: JointFrame, qd: Scalar, body: MovingBody) -> MovingBody:
    """Return the moments with r' relative to the parent: r' + (z x r) qd, or r' + z qd."""
    momentum = unit_momentum(frame.revolute, body.moments)
    h_rate = add(body.h_rate, scaled(qd, momentum.f))
    l = add(body.l, scaled(qd, momentum.n))
    if frame.revolute:
        (xx, xy, xz), (_, yy, yz), _ = body.moments.Sigma
        # sum m ((z x r) r^T + r (z x r)^T) = [z] Sigma + Sigma [z]^T
        turn = symmetric([[-2.0 * xy, xx - yy, -yz], [2.0 * xy, xz], [0.0]])
    else:
        # sum m (z r^T + r z^T) = z h^T + h z^T
        x, y, z = body.moments.h
        turn = symmetric([[0.0, 0.0, x], [0.0, y], [2.0 * z]])
    Sigma_rate = mat_add(body.Sigma_rate, [scaled(qd, row) for row in turn])
    return MovingBody(body.moments, h_rate, Sigma_rate, l)


def _moving_in_parent(frame: JointFrame, body: MovingBody) -> MovingBody:
    """Return the same moments about the parent's origin, in its frame: r + p."""
    h_rate = frame.up(body.h_rate)
    # sum m ((r + p) r'^T + r' (r + p)^T) = Sigma' + h' p^T + p h'^T
    Sigma_rate = shifted(frame.up_symmetric(body.Sigma_rate), h_rate, frame.p)
    # sum m (r + p) x r' = l + p x h'
    l = add(frame.up(body.l), cross(frame.p, h_rate))
    return MovingBody(moments_in_parent(frame, body.moments), h_rate, Sigma_rate, l)
