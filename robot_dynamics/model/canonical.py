"""The same robot in the frames and parameters that make its equations short.

Nothing about the motion changes: q, tau and the named frames are those of the RobotModel. Inside,

* every joint turns about, or slides along, the z axis of its body's frame, and frames are placed
  so that most entries of rotations and offsets are 0: see `canonical_frames.py`;
* mass that a joint cannot feel is moved to the body before it. A revolute joint cannot tell mass
  on its axis from mass of its parent, a prismatic one cannot tell rotational inertia. What stays
  are base parameters: fewer numbers, the same torques. They need not be those of a possible body
  (a mass may become 0, a moment negative), and are never shown to a user.

Bodies are held by their mass moments m, h = sum m r and Sigma = sum m r r^T. Put together in the
pseudo-inertia J = [[Sigma, h], [h^T, m]], they move to another frame as J' = T J T^T.

Sources: Khalil and Dombre, Modeling, Identification and Control of Robots (2002), sections 3.2 and
9.4; Gautier and Khalil, "Direct calculation of minimum set of inertial parameters of serial
robots", IEEE Trans. Robotics and Automation 6(3), 1990.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.errors import FrameNotFound
from robot_dynamics.model.canonical_frames import canonical_frames, of_parent
from robot_dynamics.model.inertia import pseudo_inertia
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.spatial import Array, inverse_pose

# Always set to 0 or 1: what is left of an exact 0 or 1 after a few roundings.
ROUNDING = 1e-15

Vector = Sequence[Any]
Matrix = Sequence[Sequence[Any]]


class CanonicalJoint(NamedTuple):
    """Pose of frame i in its parent's: R Rz(q + angle), p if revolute; R, p + R z q if prismatic.

    The angle is offset + quarter_turns pi/2, kept apart because quarter turns cost nothing.
    """

    parent: int  # -1 for the base
    revolute: bool
    R: Matrix
    p: Vector  # m
    offset: float  # rad, in (-pi/4, pi/4]; 0 for prismatic joints
    quarter_turns: int


class MassMoments(NamedTuple):
    """Moments of a body's mass about the origin of its frame."""

    m: Any  # kg
    h: Vector  # sum m r, kg m
    Sigma: Matrix  # sum m r r^T, kg m^2, symmetric


class Placement(NamedTuple):
    """A frame that is fixed in a body's canonical frame."""

    body: int  # -1 for the base
    R: Matrix
    p: Vector


@dataclass(frozen=True)
class CanonicalTree:
    """The robot as plain numbers: what `robot_dynamics.algorithms` work on.

    Gravity and the moments of the bodies may be replaced by other scalars, for example run-time
    inputs of a compiled program: `dataclasses.replace(tree, gravity=[g0, g1, g2])`. A payload
    known only at run time is added by `algorithms.payload.with_payload`.
    """

    joints: tuple[CanonicalJoint, ...]  # nb
    bodies: tuple[MassMoments, ...]  # nb, regrouped
    gravity: Vector  # m/s^2, base frame, as things fall
    S: tuple[tuple[float, ...], ...]  # (nb, n): q_body = S q + s0
    s0: tuple[float, ...]  # nb
    reflected_inertia: tuple[float, ...]  # n
    frames: Mapping[str, Placement]
    body_frames: tuple[Placement, ...]  # nb: the model's body frames
    base_moment: Vector  # h of the mass that regrouping left on the base, kg m

    @property
    def n(self) -> int:
        """Number of independent coordinates."""
        return len(self.reflected_inertia)

    @property
    def nb(self) -> int:
        """Number of moving bodies."""
        return len(self.joints)

    def frame(self, name: str) -> Placement:
        """Return where a frame sits. Raises FrameNotFound, which lists the known."""
        try:
            return self.frames[name]
        except KeyError:
            raise FrameNotFound(name, self.frames) from None

    def support(self, i: int) -> list[int]:
        """Return the bodies that carry body i, from the base outwards, i last; [] for -1."""
        chain = []
        while i >= 0:
            chain.append(i)
            i = self.joints[i].parent
        return chain[::-1]


def canonical_tree(model: RobotModel, *, snap: float = ROUNDING) -> CanonicalTree:
    """Return the model in canonical frames and base parameters.

    Args:
        model: the robot.
        snap: numbers that lie within `snap` of 0 (rotations and lengths: also of 1 and -1;
            angles: of quarter turns) are set to it; moments, and lengths beyond 1 m, relative to
            their size. The default removes rounding errors only: the robot stays exactly the one
            described. 1e-11 treats the 11-digit pi/2 of many descriptions as a right angle. That
            makes the equations shorter and moves torques by about 1e-11 of their size.
    """
    tolerance = max(snap, ROUNDING)
    T_bc = canonical_frames(model, tolerance)
    placements = [
        inverse_pose(of_parent(T_bc, int(p))) @ model.placement[i] @ T_bc[i]
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
            name: _placement(int(i), inverse_pose(of_parent(T_bc, int(i))) @ T, distances)
            for name, i, T in zip(
                model.frame_names, model.frame_body, model.frame_placement, strict=True
            )
        },
        body_frames=tuple(_placement(i, inverse_pose(T), distances) for i, T in enumerate(T_bc)),
        base_moment=_row(base[:3, 3]),
    )


# -- joints ---------------------------------------------------------------------------------


def _joint(parent: int, revolute: bool, T: Array, tolerance: Array) -> CanonicalJoint:
    """Return the joint whose frame has the pose T in its parent's frame at joint position 0."""
    T = _snapped(T, tolerance)
    R, p = T[:3, :3], _row(T[:3, 3])
    if not revolute:
        # Slides start at their parent's origin: what T holds there are rounding errors.
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

    The sizes, taken before anything is moved, are what rounding errors are proportional to.
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
    """Return the part of J (4, 4) whose motion the joint of its body does not change."""
    part = np.zeros((4, 4))
    if revolute:
        # Mass on the axis of rotation: Sigma_zz, h_z, m
        part[2:, 2:] = J[2:, 2:]
    else:
        # A slide does not turn: Sigma
        part[:3, :3] = J[:3, :3]
    return part


# -- plain numbers --------------------------------------------------------------------------


def _pose_tolerance(poses: Sequence[Array], tolerance: float) -> Array:
    """Return the (4, 4) distances within which entries of a pose count as equal."""
    result = np.full((4, 4), tolerance)
    # Lengths carry rounding errors of the largest length they were computed from.
    result[:3, 3] *= max(1.0, *(float(np.abs(T[:3, 3]).max()) for T in poses))
    return result


def _snapped(array: Array, tolerance: Array) -> Array:
    """Return a copy with 0, 1 and -1 in the place of what lies within `tolerance` of them."""
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
