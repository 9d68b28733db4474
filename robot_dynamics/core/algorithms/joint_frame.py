# SPDX-License-Identifier: Apache-2.0
"""Frame of a body in its parent's frame, and the transformation of vectors and wrenches.

Rotating a vector takes 4 multiplications for the joint's rotation Rz(angle); the constant rotation
before it costs only as far as its entries differ from 0 and 1.
"""

from __future__ import annotations

from typing import NamedTuple

from robot_dynamics.common.scalars import Scalar, is_zero, sincos
from robot_dynamics.core.algorithms.vectors import (
    Matrix,
    Vector,
    add,
    cross,
    mat_vec,
    scaled,
    symmetric,
    transposed,
)
from robot_dynamics.core.model.canonical import CanonicalJoint, CanonicalTree
from robot_dynamics.core.model.coordinates import body_positions

YZX, ZXY = (1, 2, 0), (2, 0, 1)


class JointFrame(NamedTuple):
    """Pose of body i in its parent p: R_pi = R Rz, with (c, s) of the joint's angle; and p_pi."""

    revolute: bool
    R: Matrix
    c: Scalar
    s: Scalar
    p: Vector

    def down(self, v: Vector) -> Vector:
        """Return R_pi^T v: transform a vector from the parent's frame to frame i."""
        x, y, z = mat_vec(transposed(self.R), v)
        if not self.revolute:
            return [x, y, z]
        return [self.c * x + self.s * y, self.c * y - self.s * x, z]

    def up(self, v: Vector) -> Vector:
        """Return R_pi v: transform a vector from frame i to the parent's frame."""
        if not self.revolute:
            return mat_vec(self.R, v)
        x, y, z = v
        return mat_vec(self.R, [self.c * x - self.s * y, self.s * x + self.c * y, z])

    def up_matrix(self, A: Matrix) -> Matrix:
        """Return R_pi A R_pi^T."""
        columns = [self.up(column) for column in transposed(A)]
        return [self.up(row) for row in transposed(columns)]

    def up_symmetric(self, A: Matrix) -> Matrix:
        """Return R_pi A R_pi^T of a symmetric matrix."""
        B = turned(A, self.c, self.s) if self.revolute else A
        if is_x(self.R[0]):
            # Rx(alpha) B Rx(alpha)^T, a turn about the first axis of (y, z, x)
            return relabelled(turned(relabelled(B, YZX), self.R[1][1], self.R[2][1]), ZXY)
        # A symmetric matrix: its rows are its columns.
        rows = transposed([mat_vec(self.R, row) for row in B])
        x, y, z = (mat_vec(self.R, row) for row in rows)
        return symmetric([x, y[1:], z[2:]])


def is_x(v: Vector) -> bool:
    """Return whether a vector is the constant x axis."""
    return all(is_zero(a - b) for a, b in zip(v, (1.0, 0.0, 0.0), strict=True))


def turned(A: Matrix, c: Scalar, s: Scalar) -> Matrix:
    """Return Rz A Rz^T of a symmetric matrix, c and s those of the angle."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = A
    # Next to a right angle, c^2 = 1 - s^2 rounds to 0.
    sc, cc = s * c, 1.0 - s * s
    # c^2 xx - 2 s c xy + s^2 yy = yy + t,   c^2 - s^2 = 2 c^2 - 1
    d = xx - yy
    t = cc * d - 2.0 * (sc * xy)
    return symmetric(
        [
            [yy + t, sc * d + (2.0 * cc - 1.0) * xy, c * xz - s * yz],
            [xx - t, s * xz + c * yz],
            [zz],
        ]
    )


def relabelled(A: Matrix, axes: tuple[int, int, int]) -> Matrix:
    """Return a matrix with its axes in another order."""
    return [[A[i][j] for j in axes] for i in axes]


def joint_frames(tree: CanonicalTree, q: Vector) -> list[JointFrame]:
    """Return the frames of all bodies in their parents', (nb), at q (n)."""
    positions = body_positions(tree.S, tree.s0, q)
    return [joint_frame(joint, x) for joint, x in zip(tree.joints, positions, strict=True)]


def joint_frame(joint: CanonicalJoint, position: Scalar) -> JointFrame:
    """Return the frame of one body in its parent's, at its joint position."""
    if not joint.revolute:
        # p_pi = p + R z q
        z = [row[2] for row in joint.R]
        return JointFrame(False, joint.R, 1.0, 0.0, add(joint.p, scaled(position, z)))
    s, c = sincos(position if is_zero(joint.offset) else position + joint.offset)
    for _ in range(joint.quarter_turns):
        # sin(x + pi/2) = cos x,  cos(x + pi/2) = -sin x
        s, c = c, -s
    return JointFrame(True, joint.R, c, s, joint.p)


# -- wrenches -------------------------------------------------------------------------------------


class Wrench(NamedTuple):
    """Moment n [N m] about the origin of frame i and force f [N], in frame i; also momentum."""

    n: Vector
    f: Vector


def total_wrench(a: Wrench, b: Wrench) -> Wrench:
    """Return the sum of two wrenches of the same frame."""
    return Wrench(add(a.n, b.n), add(a.f, b.f))


def wrench_in_parent(frame: JointFrame, wrench: Wrench) -> Wrench:
    """Return the same wrench in the parent's frame, about its origin."""
    # f_p = R f,   n_p = R n + p x R f
    f = frame.up(wrench.f)
    return Wrench(add(frame.up(wrench.n), cross(frame.p, f)), f)


def along_joint(revolute: bool, wrench: Wrench) -> Scalar:
    """Return the component along the joint: z . n, or z . f if it is prismatic."""
    return wrench.n[2] if revolute else wrench.f[2]
