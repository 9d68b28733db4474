# SPDX-License-Identifier: Apache-2.0
"""Poses, arrows, ellipsoids and joint torques of a state, as plain data in the base frame.

The torques are the terms of the equation of motion, solved for the motors:

    tau = M(q) qdd + C(q, qd) qd + g(q) + friction(qd) - J(q)^T F
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.kinematics import body_poses, com_positions, jacobian, point_jacobian
from robot_dynamics.core.model.coordinates import driven_body
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.core.visualization.marker_shapes import (
    Ellipsoid,
    manipulability_ellipsoid,
    tip_inertia_ellipsoid,
)
from robot_dynamics.view.state import External, ViewState, frame_origins, reach

AROUND = 0.1  # of the reach: links around the joints
TERMS = ('gravity', 'Coriolis', 'inertia', 'friction', 'external')
EXTERNAL = ('estimated', 'true')  # external torques with arrows beside those of the terms
ARROWS = ('sum', *TERMS, *EXTERNAL)  # of a joint, from the axis outwards
FULL_ARC = 1.5 * np.pi  # rad, of a torque at the effort limit
LONGEST_ARC = 1.9 * np.pi
ARC_SEGMENTS = 24
ARROW_VERTICES = 4 * (ARC_SEGMENTS + 1) + 5
RING, RING_SPACING = 0.14, 0.02  # of the reach: radius of the first arc, and between arcs
THICKNESS, HEAD = 0.005, 0.014  # of the reach: half of the width of an arrow, and of its head
THICK = 1.8  # the arrow of the sum, to the others
FULL_LENGTH = 0.4  # of the reach: arrow of a force at the effort limit
VISIBLE = 0.02  # of the effort limit: smaller torques have no arrow; of the reach: shorter forces
MAGNIFIED = 3.0  # arrows of estimated and true forces, to that of the force set in the page
FROM = np.array([0.72, -0.62, 0.31])  # direction of the camera from a robot without a plane
STRAIGHT = 0.1  # extent of a robot across its line to that along it: below, it has no plane
TILT = 0.4  # of the camera from the normal of the plane towards FROM
ELEVATIONS = np.radians([18.0, 55.0])  # lowest and highest, of the camera
AT_STOP = 1e-6  # rad or m, from a position limit
POSTURES = 32  # random ones, for the size of torques without an effort limit
SMALLEST = 1e-9


class Torques(NamedTuple):
    """Terms of the equation of motion, (n,) each, N m or N."""

    gravity: Array
    coriolis: Array
    inertia: Array
    friction: Array
    external: Array  # J^T F

    @property
    def motor(self) -> Array:
        """Torques of the motors: the sum of the others, less J^T F."""
        return np.asarray(
            self.gravity + self.coriolis + self.inertia + self.friction - self.external
        )


class Bar(NamedTuple):
    """Torques of one joint."""

    joint: str
    unit: str
    limit: float  # infinite without an effort limit
    full: float  # torque that fills half the bar
    terms: tuple[float, ...]  # in the order of TERMS
    motor: float
    measured: float | None
    estimated: float | None = None  # external torque
    true: float | None = None
    at_stop: bool = False  # at a position limit


@dataclass(frozen=True, eq=False)
class Proportions:
    """Sizes of what is drawn, which suit one robot.

    Attributes:
        reach: distance of the farthest frame from the base, m.
        full: (n,) torque drawn as a full arc: the effort limit, or the largest gravity torque of
            random postures where there is none.
        box: (2, 3) corners around the joints, frames and centres of mass of the first posture, m.
        view: (3,) unit vector from the robot to the camera in the first picture.
    """

    reach: float
    full: Array
    box: Array
    view: Array

    @classmethod
    def of(cls, arm: Dynamics, q: Array) -> Proportions:
        """Return the proportions of a robot that is shown first at the positions q (n,)."""
        model, limit = arm.model, arm.model.effort_limit
        origins = frame_origins(model, q)
        points = np.concatenate([origins, com_positions(model, body_poses(model, q))])
        box = np.stack([points.min(axis=0), points.max(axis=0)])
        full = np.where(np.isfinite(limit), limit, _usual_torque(arm))
        return cls(reach(model, q), full, box, view_direction(origins))

    @property
    def radius(self) -> float:
        """Radius of a ball about the first posture, m."""
        return float(np.linalg.norm(self.box[1] - self.box[0]) / 2 + AROUND * self.reach)


def view_direction(points: Array) -> Array:
    """Return the unit vector (3,) from a robot to a camera that sees the plane of its points.

    The plane is that of best fit; an area in it keeps at least half of its size in the picture.

    Args:
        points: (k, 3) origins of the frames, m, z upwards.
    """
    # Principal axes: the last right singular vector is the normal of the plane of best fit.
    _, extent, axes = np.linalg.svd(points - points.mean(axis=0))
    normal = axes[2] if extent[1] > STRAIGHT * extent[0] else FROM
    # The side of the usual camera, and from above
    side = 1.0 if normal @ FROM + normal[2] >= 0 else -1.0
    x, y, z = side * normal + TILT * FROM
    azimuth, elevation = np.arctan2(y, x), np.clip(np.arctan2(z, np.hypot(x, y)), *ELEVATIONS)
    across = np.cos(elevation)
    return np.array([across * np.cos(azimuth), across * np.sin(azimuth), np.sin(elevation)])


def _usual_torque(arm: Dynamics) -> Array:
    """Return the largest gravity torques (n,) of random postures, and a fifth more."""
    q = np.random.default_rng(0).uniform(-np.pi, np.pi, (POSTURES, arm.model.n))
    largest = np.max([np.abs(arm.gravity_torque(posture)) for posture in q], axis=0)
    largest = np.maximum(largest, 0.05 * largest.max())
    return np.asarray(np.where(largest > SMALLEST, 1.2 * largest, 1.0))


@dataclass(frozen=True, eq=False)
class Scene:
    """All that is drawn for one state."""

    poses: Array  # (nb, 4, 4) of the bodies
    coms: Array  # (nb, 3) centres of mass, payload included
    skeleton: Array  # (k, 2, 3) lines between the joints, and to the tip
    tip: Array  # (4, 4) pose of the tip
    arrows: Array  # (n, ARROWS, k, 3) about or along the joint axes, see `torque_arrows`
    gravity: Array  # (2, 3) arrow
    force: Array  # (2, 3) arrow
    external: tuple[Array | None, ...]  # (2, 3) arrows of forces, in the order of EXTERNAL
    payload: Array  # (3,) position
    manipulability: Ellipsoid
    tip_inertia: Ellipsoid | None  # None if a joint moves no inertia
    torques: Torques
    bars: tuple[Bar, ...]


def torques(arm: Dynamics, state: ViewState) -> Torques:
    """Return the torques of a state; `arm` carries the state's load."""
    return _torques(arm, state, jacobian(arm.model, state.q, state.force_link))


def _torques(arm: Dynamics, state: ViewState, J: Array) -> Torques:
    q, qd = state.q, state.qd
    return Torques(
        gravity=arm.gravity_torque(q),
        coriolis=arm.coriolis_torque(q, qd),
        inertia=arm.mass_matrix(q) @ state.qdd,
        friction=arm.friction_torque(qd),
        # tau = J_v^T f: the moment of the wrench at the link's origin is zero
        external=J[3:].T @ state.force,
    )


def scene_of(arm: Dynamics, state: ViewState, sizes: Proportions) -> Scene:
    """Return what is drawn for a state.

    Args:
        arm: the robot under the state's load.
        state: what to show.
        sizes: of this robot.
    """
    model, q = arm.model, state.q
    poses = body_poses(model, q)
    T_tip = frame_in_base(model, poses, state.tip)
    J, tip = _jacobian(model, poses, state.tip)
    found = _torques(arm, state, _jacobian(model, poses, state.force_link)[0])
    carrier = frame_in_base(model, poses, state.load.link)
    external = (state.estimated, state.true)
    also = [np.zeros(model.n) if one is None else one.torque for one in external]
    return Scene(
        poses=poses,
        coms=com_positions(model, poses),
        skeleton=_skeleton(model, poses, tip),
        tip=T_tip,
        arrows=torque_arrows(model, (found.motor, *found, *also), sizes),
        gravity=gravity_arrow(state, sizes),
        force=force_arrow(frame_in_base(model, poses, state.force_link), state, sizes),
        external=tuple(external_arrow(poses, one, state, sizes) for one in external),
        payload=carrier[:3, :3] @ np.array(state.load.com) + carrier[:3, 3],
        # At a tip speed of 1 m/s, and an apparent mass of 1 kg, a third of the reach
        manipulability=manipulability_ellipsoid(J, tip, 0.3 * sizes.reach),
        tip_inertia=None
        if arm.joint_without_inertia is not None
        else tip_inertia_ellipsoid(J, arm.mass_matrix(q), tip, 0.3 * sizes.reach),
        torques=found,
        bars=_bars(found, state, sizes),
    )


def frame_in_base(model: RobotModel, poses: Array, frame: str) -> Array:
    """Return the pose (4, 4) of a frame, given the poses of the bodies."""
    k = model.frame_index(frame)
    body = model.frame_body[k]
    placement: Array = model.frame_placement[k]
    return np.asarray(poses[body] @ placement if body >= 0 else placement)


def _jacobian(model: RobotModel, poses: Array, frame: str) -> tuple[Array, Array]:
    """Return the Jacobian (6, n) of a frame, and its origin (3,)."""
    origin = frame_in_base(model, poses, frame)[:3, 3]
    body = int(model.frame_body[model.frame_index(frame)])
    return np.asarray(point_jacobian(model, poses, body, origin) @ model.S), origin


# -- arrows ------------------------------------------------------------------------------------


def newtons_per_metre(state: ViewState) -> float:
    """Return the force per length of its arrow: the robot's weight, at least 10 N, per metre."""
    weight = float(state.model.mass.sum() * np.linalg.norm(state.model.gravity))
    return max(weight, 10.0)


def force_arrow(link: Array, state: ViewState, sizes: Proportions) -> Array:
    """Return the arrow (2, 3) of the external force, from the origin of its link (4, 4)."""
    start = link[:3, 3]
    return np.stack([start, start + sizes.reach * state.force / newtons_per_metre(state)])


def external_arrow(
    poses: Array, external: External | None, state: ViewState, sizes: Proportions
) -> Array | None:
    """Return the arrow (2, 3) of a force from outside, from the origin of its frame.

    None if the force is unknown, or its arrow shorter than `VISIBLE` of the reach.
    """
    if external is None:
        return None
    T = frame_in_base(state.model, poses, external.frame)
    force = MAGNIFIED * T[:3, :3] @ external.wrench[3:]
    start, end = arrow = force_arrow(T, replace(state, force=force), sizes)
    return arrow if np.linalg.norm(end - start) > VISIBLE * sizes.reach else None


def force_of_arrow(start: Array, end: Array, state: ViewState, sizes: Proportions) -> Array:
    """Return the force (3,) [N] whose arrow has these ends."""
    return np.asarray((end - start) * newtons_per_metre(state) / sizes.reach)


def gravity_arrow(state: ViewState, sizes: Proportions) -> Array:
    """Return the arrow (2, 3) of gravity, left of the robot in the first picture."""
    left = np.cross(sizes.view, [0.0, 0.0, 1.0])
    place = 0.95 * left / np.linalg.norm(left) + np.array([0.0, 0.0, 0.45])
    start = sizes.box.mean(axis=0) + sizes.radius * place
    return np.stack([start, start + 0.5 * sizes.radius / 9.81 * np.array(state.load.gravity)])


def _skeleton(model: RobotModel, poses: Array, tip: Array) -> Array:
    origins = poses[:, :3, 3]
    parents = [origins[p] if p >= 0 else np.zeros(3) for p in model.parent]
    lines = [np.stack(pair) for pair in zip(parents, origins, strict=True)]
    return np.stack([*lines, np.stack([origins[-1], tip])])


def torque_arrows(model: RobotModel, found: Sequence[Array], sizes: Proportions) -> Array:
    """Return the vertices of the arrows of each joint, in the frame of the body it carries.

    Returns:
        (n, len(found), k, 3) vertices of the triangles `ARROW_FACES`, m. Torques are arcs about
        the axis, forces are straight. Those of terms below `VISIBLE` are all zero.
    """
    parts = np.stack(found, axis=1) / sizes.full[:, None]
    arrows = np.zeros((model.n, len(found), ARROW_VERTICES, 3))
    for j in range(model.n):
        i = driven_body(model, j)
        for order, part in enumerate(parts[j]):
            if abs(part) > VISIBLE:  # not for NaN
                radius = sizes.reach * (RING + RING_SPACING * order)
                thick = THICK if ARROWS[order] == 'sum' else 1.0
                arrows[j, order] = _arrow(model, i, float(part), radius, sizes.reach, thick)
    return arrows


def _arrow(
    model: RobotModel, i: int, part: float, radius: float, reach: float, thick: float
) -> Array:
    """Return the vertices (k, 3) of one arrow; `part` is 1 at the effort limit.

    The head is never longer than the stem, so that a small torque has both.
    """
    axis = model.axis[i]
    if model.revolute[i]:
        angle = float(np.clip(part * FULL_ARC, -LONGEST_ARC, LONGEST_ARC))
        points, stem = arc(axis, radius, angle), radius * abs(angle)
        up = np.broadcast_to(axis, points.shape)
        sideways = points / radius
        forward = np.sign(part) * np.cross(axis, sideways[-1])
    else:
        stem = abs(part) * FULL_LENGTH * reach
        length = np.linspace(0.0, np.sign(part) * stem, ARC_SEGMENTS + 1)
        sideways = np.tile(_normal(axis), (len(length), 1))
        points = radius * sideways + length[:, None] * axis
        up = np.cross(axis, sideways)
        forward = np.sign(part) * axis
    square = [(1, 1), (1, -1), (-1, -1), (-1, 1)]
    corners = np.stack([a * up + b * sideways for a, b in square], axis=1)
    width = thick * THICKNESS * reach
    head = min(3 * thick * HEAD * reach, stem)
    tube = points[:, None] + width * corners
    base = points[-1] + max(head / 3, 1.5 * width) * corners[-1]
    tip = points[-1] + head * forward
    return np.concatenate([tube.reshape(-1, 3), base, tip[None]])


def _arrow_faces() -> Array:
    """Return the triangles (m, 3) between the vertices of an arrow."""
    faces = []
    sides = [(k, (k + 1) % 4) for k in range(4)]
    for row in range(0, 4 * ARC_SEGMENTS, 4):
        for a, b in sides:
            faces += [(row + a, row + b, row + 4 + b), (row + a, row + 4 + b, row + 4 + a)]
    base, tip = ARROW_VERTICES - 5, ARROW_VERTICES - 1
    faces += [(base + a, base + b, tip) for a, b in sides]
    for square in (0, base):
        faces += [(square, square + 2, square + 1), (square, square + 3, square + 2)]
    return np.array(faces)


def arc(axis: Array, radius: float, angle: float) -> Array:
    """Return points (k, 3) of an arc about an axis through the origin, right-handed."""
    a = np.linspace(0.0, angle, ARC_SEGMENTS + 1)[:, None]
    start = _normal(axis)
    return np.asarray(radius * (np.cos(a) * start + np.sin(a) * np.cross(axis, start)))


def ring(model: RobotModel, i: int, sizes: Proportions) -> Array:
    """Return the circle (k, 2, 3) of the first arc about the axis of body i, in its frame.

    A prismatic joint has a line along its axis.
    """
    axis, radius = model.axis[i], RING * sizes.reach
    if not model.revolute[i]:
        return np.asarray(radius * np.array([[-axis, axis]]))
    points = arc(axis, radius, 2 * np.pi)
    return np.stack([points[:-1], points[1:]], axis=1)


def _normal(axis: Array) -> Array:
    normal = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    return np.asarray(normal / np.linalg.norm(normal))


ARROW_FACES = _arrow_faces()


# -- bars --------------------------------------------------------------------------------------


def _bars(found: Torques, state: ViewState, sizes: Proportions) -> tuple[Bar, ...]:
    model, motor = state.model, found.motor
    measured, estimated, true = state.measured, state.estimated, state.true
    at_stop = (state.q <= model.lower + AT_STOP) | (state.q >= model.upper - AT_STOP)
    return tuple(
        Bar(
            joint=name,
            unit=model.effort_units[k],
            limit=float(model.effort_limit[k]),
            full=float(sizes.full[k]),
            terms=tuple(float(tau[k]) for tau in found),
            motor=float(motor[k]),
            measured=None if measured is None else float(measured[k]),
            estimated=None if estimated is None else float(estimated.torque[k]),
            true=None if true is None else float(true.torque[k]),
            at_stop=bool(at_stop[k]),
        )
        for k, name in enumerate(model.joint_names)
    )
