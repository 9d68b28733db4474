# SPDX-License-Identifier: Apache-2.0
"""Canonical frames and base parameters: the same robot with shorter equations.

The motion is unchanged: q, tau and the named frames are those of the RobotModel. Internally,

* every joint turns about, or slides along, the z axis of its body's frame, and frames are placed
  so that most entries of rotations and offsets are 0, see below;
* mass that has no effect on a joint is moved to the body before it. Mass on the axis of a revolute
  joint is indistinguishable from mass of its parent; a prismatic joint is not affected by
  rotational inertia. The remaining numbers are base parameters: fewer parameters, equal torques.
  They need not be physically consistent (a mass may become 0, a moment negative) and are internal.

Bodies are represented by their mass moments m, h = sum m r and Sigma = sum m r r^T. Assembled in
the pseudo-inertia J = [[Sigma, h], [h^T, m]], they transform to another frame as J' = T J T^T.

Frames follow the modified Denavit-Hartenberg convention; its remaining freedom serves to obtain
zeros. z lies along the joint axis; x lies along the common normal of this axis and the next one
toward the tip, and the origin lies on that normal. In a branching body the child that carries the
most bodies decides. The pose of a frame in its parent's frame is then

    Rx(alpha), p = (a, -d sin(alpha), d cos(alpha)),   followed by the joint rotation about z,

and for the usual parallel or intersecting axes most of these numbers are 0 or 1.

Sources: Khalil and Dombre, Modeling, Identification and Control of Robots (2002), sections 3.2 and
9.4; Gautier and Khalil, "Direct calculation of minimum set of inertial parameters of serial
robots", IEEE Trans. Robotics and Automation 6(3), 1990.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from robot_dynamics.common.spatial import Array, inverse_pose, pose, skew
from robot_dynamics.core.model.canonical_tree import CanonicalJoint as CanonicalJoint
from robot_dynamics.core.model.canonical_tree import CanonicalTree as CanonicalTree
from robot_dynamics.core.model.canonical_tree import MassMoments as MassMoments
from robot_dynamics.core.model.canonical_tree import Placement as Placement
from robot_dynamics.core.model.inertia import pseudo_inertia
from robot_dynamics.core.model.robot_model import RobotModel

# Rounding error of an exact 0 or 1 after a few operations: such entries are always set to it.
ROUNDING = 1e-15

# Axes at an angle of smaller sine are treated as parallel: the foot of their common normal would
# lie far away, and sums over such long offsets would lose digits.
NEARLY_PARALLEL = 0.1

# Distance in metres up to which three consecutive axes are treated as intersecting in one point.
# The first two then share the origin; the pose of the third holds the remaining distance.
NEARLY_MEETING = 1e-9

Vector = Sequence[Any]
Matrix = Sequence[Sequence[Any]]


def canonical_tree(model: RobotModel, *, snap: float = ROUNDING) -> CanonicalTree:
    """Return the model in canonical frames and base parameters.

    Args:
        model: the robot.
        snap: numbers that lie within `snap` of 0 (rotations and lengths: also of 1 and -1;
            angles: of quarter turns) are set to it; moments, and lengths beyond 1 m, relative to
            their size. The default removes rounding errors only. 1e-11 treats the 11-digit pi/2
            of many descriptions as a right angle: the equations become shorter, and torques
            change by about 1e-11 of their size.
    """
    tolerance = max(snap, ROUNDING)
    T_bc = _canonical_frames(model, tolerance)
    placements = [
        inverse_pose(_of_parent(T_bc, int(p))) @ model.placement[i] @ T_bc[i]
        for i, p in enumerate(model.parent)
    ]
    distances = _pose_tolerance([*T_bc, *placements], tolerance)
    joints = tuple(
        _joint(int(model.parent[i]), bool(model.revolute[i]), T, distances)
        for i, T in enumerate(placements)
    )
    moments, base = _regrouped(model, T_bc, placements)
    return CanonicalTree(
        joints=joints,
        bodies=tuple(_moments(J, tolerance * size) for J, size in moments),
        gravity=_row(model.gravity),
        S=_rows(model.S),
        s0=_row(model.s0),
        reflected_inertia=_row(model.reflected_inertia),
        frames={
            name: _placement(int(i), inverse_pose(_of_parent(T_bc, int(i))) @ T, distances)
            for name, i, T in zip(
                model.frame_names, model.frame_body, model.frame_placement, strict=True
            )
        },
        body_frames=tuple(_placement(i, inverse_pose(T), distances) for i, T in enumerate(T_bc)),
        base_moment=_row(base[:3, 3]),
        base=_moments(base + pseudo_inertia(model.base), np.zeros((4, 4))),
        base_w=(0.0, 0.0, 0.0),
        base_wd=(0.0, 0.0, 0.0),
    )


# -- frames --------------------------------------------------------------------------------


def _of_parent(frames: Sequence[Array], p: int) -> Array:
    """Return the frame (4, 4) of body p, or of the base for -1."""
    return frames[p] if p >= 0 else np.eye(4)


def _canonical_frames(model: RobotModel, tolerance: float) -> list[Array]:
    """Return T_bc (4, 4) of every body: its canonical frame in the model's body frame.

    Axes count as parallel, and points as coincident, within `tolerance`.
    """
    frames: list[Array] = []
    for i, child in enumerate(_heaviest_children(model)):
        # The parent's canonical origin, in body i at joint position 0.
        T_ip = inverse_pose(model.placement[i]) @ _of_parent(frames, int(model.parent[i]))
        z = model.axis[i]
        x, origin = _axes_to_child(model, i, child, tolerance)
        if not model.revolute[i]:
            # The origin of a prismatic joint is arbitrary: take the parent's.
            origin = T_ip[:3, 3]
        else:
            # The point of the axis nearest to the parent's origin, unless the child's axis
            # determines another.
            nearest = z * (z @ T_ip[:3, 3])
            if origin is None or np.linalg.norm(origin - nearest) < NEARLY_MEETING:
                origin = nearest
        frames.append(pose(np.column_stack([x, np.cross(z, x), z]), origin))
    return frames


def _axes_to_child(
    model: RobotModel, i: int, child: int | None, tolerance: float
) -> tuple[Array, Array | None]:
    """Return the x axis (3,) of body i, and its origin if the child's axis determines it."""
    z = model.axis[i]
    if child is None:
        # At a tip: x points to the centre of mass, so that one component of h remains.
        return _normal_to(z, model.com[i], tolerance), None
    z_c = model.placement[child, :3, :3] @ model.axis[child]
    p_c = model.placement[child, :3, 3]
    normal = np.cross(z, z_c)
    sine = np.linalg.norm(normal)
    if sine <= tolerance:
        # Parallel axes: x points from one to the other.
        return _normal_to(z, p_c, tolerance), None
    # Of nearly parallel axes the product has rounding errors along z as large as itself.
    x = _normal_to(z, normal / sine, tolerance)
    if sine < NEARLY_PARALLEL or not model.revolute[child]:
        return x, None
    # Foot of the common normal:  p_c = s z + a x + t z_c
    s = np.linalg.solve(np.column_stack([z, x, z_c]), p_c)[0]
    return x, s * z


def _normal_to(z: Array, direction: Array, tolerance: float) -> Array:
    """Return the unit vector along the part of `direction` that is normal to z."""
    part = direction - z * (z @ direction)
    length = np.linalg.norm(part)
    if length > tolerance * max(1.0, float(np.linalg.norm(direction))):
        return np.asarray(part / length)
    return _turn_of_z(z)[:, 0]


def _turn_of_z(axis: Array) -> Array:
    """Return the rotation (3, 3) by the smallest angle that takes z to the unit vector `axis`."""
    cosine = axis[2]
    if cosine < 0:
        # Via -z, near which the formula below is singular.
        return np.asarray(_turn_of_z(-axis) @ np.diag([1.0, -1.0, -1.0]))
    # R = 1 + [v] + [v]^2 / (1 + cos),  v = z x axis
    v = skew(np.cross([0.0, 0.0, 1.0], axis))
    return np.asarray(np.eye(3) + v + v @ v / (1 + cosine))


def _heaviest_children(model: RobotModel) -> list[int | None]:
    """Return for each body the child that carries the most bodies, None at a tip."""
    carried = [1] * model.nb
    children: list[list[int]] = [[] for _ in range(model.nb)]
    for i in reversed(range(model.nb)):
        p = int(model.parent[i])
        if p >= 0:
            carried[p] += carried[i]
            children[p].insert(0, i)
    return [max(mine, key=lambda k: carried[k], default=None) for mine in children]


# -- joints ---------------------------------------------------------------------------------


def _joint(parent: int, revolute: bool, T: Array, tolerance: Array) -> CanonicalJoint:
    """Return the joint whose frame has the pose T in its parent's frame at joint position 0."""
    T = _snapped(T, tolerance)
    R, p = T[:3, :3], _row(T[:3, 3])
    if not revolute:
        # The origin of a prismatic joint is its parent's: p in T is a rounding error.
        return CanonicalJoint(parent, False, _rows(R), (0.0, 0.0, 0.0), 0.0, 0)
    # R = R' Rz(angle), R' = Rz(a) Rx(alpha): the x axis of R' is normal to both z axes.
    z = R[:, 2]
    sine = math.hypot(z[0], z[1])
    x = np.array([-z[1], z[0], 0.0]) / sine if sine > 0.0 else np.array([1.0, 0.0, 0.0])
    R_0 = _snapped(np.column_stack([x, np.cross(z, x), z]), tolerance[:3, :3])
    turn = R_0.T @ R
    angle = math.atan2(turn[1, 0], turn[0, 0])
    quarters = round(angle / (math.pi / 2))
    offset = angle - quarters * (math.pi / 2)
    if abs(offset) <= tolerance[0, 0]:
        offset = 0.0
    return CanonicalJoint(parent, True, _rows(R_0), p, offset, quarters % 4)


# -- base parameters ------------------------------------------------------------------------


def _regrouped(
    model: RobotModel, T_bc: list[Array], placements: list[Array]
) -> tuple[list[tuple[Array, Array]], Array]:
    """Return (J, size) of every body and J of the base, each (4, 4), after regrouping.

    Rounding errors are proportional to the sizes, which are taken before regrouping.
    """
    J = []
    for i, T in enumerate(T_bc):
        T_cb = inverse_pose(T)
        J.append(T_cb @ pseudo_inertia(model.inertial(i)) @ T_cb.T)
    base, sizes = np.zeros((4, 4)), [np.zeros((4, 4))] * model.nb
    for i in reversed(range(model.nb)):
        sizes[i] = _size(J[i])
        moved = _unfelt(J[i], bool(model.revolute[i]))
        J[i] = J[i] - moved
        carrier = base if model.parent[i] < 0 else J[model.parent[i]]
        carrier += placements[i] @ moved @ placements[i].T
    return list(zip(J, sizes, strict=True)), base


def _size(J: Array) -> Array:
    """Return the (4, 4) sizes of the entries of J, from those on its diagonal."""
    squares = np.abs(np.diag(J))
    root = np.sqrt([squares[:3].max()] * 3 + [squares[3]])
    return np.outer(root, root)


def _unfelt(J: Array, revolute: bool) -> Array:
    """Return the part of J (4, 4) that has no effect on the torque of the body's own joint."""
    part = np.zeros((4, 4))
    if revolute:
        # Mass on the axis of rotation: Sigma_zz, h_z, m
        part[2:, 2:] = J[2:, 2:]
    else:
        # A prismatic joint does not rotate its body: Sigma
        part[:3, :3] = J[:3, :3]
    return part


# -- plain numbers --------------------------------------------------------------------------


def _pose_tolerance(poses: Sequence[Array], tolerance: float) -> Array:
    """Return the (4, 4) distances within which entries of a pose count as equal."""
    result = np.full((4, 4), tolerance)
    # Rounding errors of lengths are proportional to the largest length involved.
    result[:3, 3] *= max(1.0, *(float(np.abs(T[:3, 3]).max()) for T in poses))
    return result


def _snapped(array: Array, tolerance: Array) -> Array:
    """Return a copy in which entries within `tolerance` of 0, 1 or -1 equal that number."""
    result = np.array(array)
    for value in (0.0, 1.0, -1.0):
        result[np.abs(result - value) <= tolerance] = value
    return result


def _row(v: Array) -> tuple[float, ...]:
    return tuple(v.tolist())


def _rows(m: Array) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, m.tolist()))


def _placement(body: int, T: Array, tolerance: Array) -> Placement:
    T = _snapped(T, tolerance)
    return Placement(body, _rows(T[:3, :3]), _row(T[:3, 3]))


def _moments(J: Array, tolerance: Array) -> MassMoments:
    J = np.where(np.abs(J) <= tolerance, 0.0, (J + J.T) / 2)
    return MassMoments(float(J[3, 3]), _row(J[:3, 3]), _rows(J[:3, :3]))
