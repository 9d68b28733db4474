"""Composite bodies: everything from one joint outwards, as if it were one rigid body.

Mass moments add up once they are about the same point, so one inward sweep gives the moments of
every subtree. Their reaction to one joint's unit rate is a column of the mass matrix; their first
moment is all that gravity sees.

Source: Featherstone, Rigid Body Dynamics Algorithms (2008), section 6.2.
"""

from __future__ import annotations

from robot_dynamics.algorithms.joint_frame import JointFrame
from robot_dynamics.algorithms.tree_traversal import inward
from robot_dynamics.algorithms.vectors import Matrix, Vector, add, mat_add, scaled, symmetric
from robot_dynamics.algorithms.wrench import Wrench
from robot_dynamics.model.canonical import CanonicalTree, MassMoments


def composite_bodies(tree: CanonicalTree, frames: list[JointFrame]) -> list[MassMoments]:
    """Return the mass moments of every body with all bodies beyond it, in its own frame."""
    return inward(
        tree, tree.bodies, lambda i, body: moments_in_parent(frames[i], body), total_moments
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
