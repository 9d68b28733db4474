"""Composite bodies in motion: everything from one joint outwards, and how it moves.

Seen as particles r of mass m relative to the origin of body i, what lies beyond has velocities

    rd = w x r + r',

where r' is how it moves as body i sees it: not at all, if it belongs to body i. Three moments of
r' tell all that first derivatives need:

    h' = sum m r',    Sigma' = sum m (r r'^T + r' r^T),    l = sum m r x r'.

The last two are the halves, symmetric and not, of sums that come with any vector v:

    sum m r x (v x r') = (I' v + v x l) / 2,    I' = tr(Sigma') 1 - Sigma'.

From a body to its parent, r' changes by the motion of the joint between them alone.
"""

from __future__ import annotations

from typing import NamedTuple

from robot_dynamics.algorithms.composite_bodies import (
    moments_in_parent,
    shifted,
    total_moments,
    unit_momentum,
)
from robot_dynamics.algorithms.joint_frame import JointFrame
from robot_dynamics.algorithms.tree_traversal import inward
from robot_dynamics.algorithms.vectors import (
    ZERO,
    ZERO_MATRIX,
    Matrix,
    Scalar,
    Vector,
    add,
    cross,
    mat_add,
    scaled,
    symmetric,
)
from robot_dynamics.model.canonical import CanonicalTree, MassMoments


class MovingBody(NamedTuple):
    """Moments of a subtree about its first origin, in its first frame, and as seen from it."""

    moments: MassMoments
    h_rate: Vector  # h', kg m/s
    Sigma_rate: Matrix  # Sigma', kg m^2/s, symmetric
    l: Vector  # kg m^2/s


def moving_composites(
    tree: CanonicalTree, frames: list[JointFrame], rates: Vector
) -> list[MovingBody]:
    """Return the moments of every body with all bodies beyond it, in its own frame."""
    return inward(
        tree,
        [MovingBody(body, ZERO, ZERO_MATRIX, ZERO) for body in tree.bodies],
        lambda i, body: _in_parent(frames[i], _moved_by_joint(frames[i], rates[i], body)),
        _total,
    )


def _total(a: MovingBody, b: MovingBody) -> MovingBody:
    return MovingBody(
        total_moments(a.moments, b.moments),
        add(a.h_rate, b.h_rate),
        mat_add(a.Sigma_rate, b.Sigma_rate),
        add(a.l, b.l),
    )


def _moved_by_joint(frame: JointFrame, qd: Scalar, body: MovingBody) -> MovingBody:
    """Return the moments as the parent sees them move: r' + (z x r) qd, on a slide r' + z qd."""
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


def _in_parent(frame: JointFrame, body: MovingBody) -> MovingBody:
    """Return the same moments about the parent's origin, in its frame: r + p."""
    h_rate = frame.up(body.h_rate)
    # sum m ((r + p) r'^T + r' (r + p)^T) = Sigma' + h' p^T + p h'^T
    Sigma_rate = shifted(frame.up_symmetric(body.Sigma_rate), h_rate, frame.p)
    # sum m (r + p) x r' = l + p x h'
    l = add(frame.up(body.l), cross(frame.p, h_rate))
    return MovingBody(moments_in_parent(frame, body.moments), h_rate, Sigma_rate, l)
