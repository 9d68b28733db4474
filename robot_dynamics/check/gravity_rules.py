# SPDX-License-Identifier: Apache-2.0
"""Rules of the gravity torques of a description, with its repairs applied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from robot_dynamics.check.description import Description
from robot_dynamics.check.findings import Fault
from robot_dynamics.common.spatial import Array
from robot_dynamics.core.kinematics import body_poses, com_positions, joint_axes
from robot_dynamics.core.model.inertia import Inertial, combined, transformed
from robot_dynamics.core.model.robot_model import RobotModel
from robot_dynamics.core.model.states import position_range

POSTURES = 12
MARGIN = 1.25  # springs may carry a part of the weight
NO_TORQUE = 1e-3  # of the weight times the lever of the geometry
NO_LEVER = 0.02  # of the reach of the robot: loads closer than this are on the axis


def gravity_findings(robot: Description, model: RobotModel) -> Iterator[Fault]:
    """Yield joints whose motor cannot hold the arm at rest, or whose load has no lever."""
    rest = np.clip(np.zeros(model.n), model.lower, model.upper)
    g = _gravity_torque(model, body_poses(model, rest))
    for name, torque, limit in zip(model.joint_names, g, model.effort_limit, strict=True):
        if abs(torque) > MARGIN * limit:
            message = f'holding the arm at rest takes {abs(torque):.4g}; the effort limit is '
            yield Fault(
                'warning', 'gravity-above-effort', name, f'{message}{limit:.4g}', tag='joint'
            )
    yield from _without_lever(robot, model)


def gravity_torques(model: RobotModel, shares: Sequence[float]) -> Array:
    """Return the gravity torques (k, n), N m or N, at k shares of all position ranges."""
    lower, upper = position_range(model)
    postures = (lower + share * (upper - lower) for share in shares)
    return np.array([_gravity_torque(model, body_poses(model, q)) for q in postures])


def _without_lever(robot: Description, model: RobotModel) -> Iterator[Fault]:
    """Yield revolute joints that carry parts off their axis, and no weight in any posture."""
    rng = np.random.default_rng(0)
    drawn = _drawn(robot, model)
    g = float(np.linalg.norm(model.gravity))
    torque, drawn_torque = np.zeros((2, model.n))
    for q in rng.uniform(*position_range(model), (POSTURES, model.n)):
        poses = body_poses(model, q)
        torque = np.maximum(torque, np.abs(_gravity_torque(model, poses)))
        drawn_torque = np.maximum(drawn_torque, np.abs(_gravity_torque(drawn, poses)))
    mass, volume = (_beyond(model, x) for x in (model.mass, drawn.mass))
    reach = np.linalg.norm(model.placement[:, :3, 3], axis=1).sum()
    for k, name in enumerate(model.joint_names):
        (moved,) = np.nonzero(model.S[:, k])
        i = int(moved[0])
        lever = drawn_torque[k] / max(g * volume[i], 1e-300)
        carries = model.revolute[i] and len(moved) == 1 and lever > NO_LEVER * reach
        expected = g * mass[i] * lever
        if carries and expected > 0 and torque[k] <= NO_TORQUE * expected:
            message = (
                f'its gravity torque is at most {torque[k]:.2g} N m in {POSTURES} postures, with '
                f'the parts beyond it {lever:.3g} m off its axis; expected {expected:.2g} N m'
            )
            yield Fault('warning', 'gravity-zero', name, message, tag='joint')


def _drawn(robot: Description, model: RobotModel) -> RobotModel:
    """Return the model with the volumes and centroids of the bodies' geometry as masses.

    A body without geometry is a point at the mean of the joints beyond it, of median volume.
    """
    parts: dict[int, list[Inertial]] = {body: [] for body in range(model.nb)}
    places = zip(model.frame_names, model.frame_body, model.frame_placement, strict=True)
    for name, body, T in places:
        if body >= 0 and robot.links[name].geometry.solids:
            solid = robot.links[name].geometry.solids[-1]
            parts[body].append(transformed(Inertial(solid.volume, solid.centroid), T))
    bodies = [combined(parts[body]) for body in range(model.nb)]
    volumes, centres = np.array([b.mass for b in bodies]), np.array([b.com for b in bodies])
    typical = float(np.median(volumes[volumes > 0])) if volumes.any() else 1.0
    for body in np.flatnonzero(volumes == 0):
        ends = model.placement[model.parent == body, :3, 3]
        if len(ends):
            volumes[body], centres[body] = typical, ends.mean(axis=0)
    return replace(model, mass=volumes, com=centres)


def _beyond(model: RobotModel, values: Array) -> Array:
    """Return the sums (nb, ...) of the values of each body and those beyond it."""
    sums = values.copy()
    for body in range(model.nb - 1, -1, -1):
        if model.parent[body] >= 0:
            sums[model.parent[body]] += sums[body]
    return sums


def _gravity_torque(model: RobotModel, poses: Array) -> Array:
    """Return g (n,) = dU/dq: the moment of the weights beyond each joint about its axis."""
    axes, origins = joint_axes(model, poses), poses[:, :3, 3]
    mass = _beyond(model, model.mass)
    moment = _beyond(model, model.mass[:, None] * com_positions(model, poses))
    # -z . (sum m_k (c_k - o)) x g of a revolute joint, -z . (sum m_k) g of a prismatic one
    turning = np.cross(moment - mass[:, None] * origins, model.gravity)
    loads = np.where(model.revolute[:, None], turning, mass[:, None] * model.gravity)
    return np.asarray(-model.S.T @ np.einsum('ij,ij->i', axes, loads))
