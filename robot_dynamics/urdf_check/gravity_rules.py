"""Rules of the gravity torques of a description, with its repairs applied."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robot_dynamics.kinematics import body_poses, com_positions, joint_axes
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.spatial import Array
from robot_dynamics.urdf_check.findings import Finding

POSTURES = 12
MARGIN = 1.25  # springs may carry a part of the weight
NO_TORQUE = 1e-6  # of weight times reach
NO_LEVER = 1e-3  # of the reach of the robot: origins closer than this are on the axis


def gravity_findings(model: RobotModel) -> Iterator[Finding]:
    """Yield joints whose motor cannot hold the arm at rest, or whose load has no lever."""
    rest = np.clip(np.zeros(model.n), model.lower, model.upper)
    g = _gravity_torque(model, body_poses(model, rest))
    for name, torque, limit in zip(model.joint_names, g, model.effort_limit, strict=True):
        if abs(torque) > MARGIN * limit:
            message = f'holding the arm at rest takes {abs(torque):.4g}; the effort limit is '
            yield Finding(
                'warning', 'gravity-above-effort', name, f'{message}{limit:.4g}', tag='joint'
            )
    yield from _without_lever(model)


def _without_lever(model: RobotModel) -> Iterator[Finding]:
    """Yield revolute joints with joints beyond them that never carry a weight.

    The joint is not vertical, and a later joint is off its axis: the weight of a real link beyond
    has a lever in some posture.
    """
    rng = np.random.default_rng(0)
    low = np.where(np.isfinite(model.lower), model.lower, -np.pi)
    high = np.where(np.isfinite(model.upper), model.upper, np.pi)
    up = model.gravity / max(float(np.linalg.norm(model.gravity)), 1e-300)
    inner = model.parent >= 0
    largest, slope, offset = np.zeros(model.n), np.zeros(model.nb), np.zeros(model.nb)
    for q in rng.uniform(low, high, (POSTURES, model.n)):
        poses = body_poses(model, q)
        axes, origins = joint_axes(model, poses), poses[:, :3, 3]
        largest = np.maximum(largest, np.abs(_gravity_torque(model, poses)))
        slope = np.maximum(slope, np.linalg.norm(np.cross(axes, up), axis=1))
        parents = model.parent[inner]
        levers = np.cross(axes[parents], origins[inner] - origins[parents])
        np.maximum.at(offset, parents, np.linalg.norm(levers, axis=1))
    reach = np.linalg.norm(model.placement[:, :3, 3], axis=1).sum()
    for k, name in enumerate(model.joint_names):
        (moved,) = np.nonzero(model.S[:, k])
        i = int(moved[0])
        carries = offset[i] > NO_LEVER * reach and slope[i] > NO_LEVER and model.revolute[i]
        if len(moved) == 1 and carries and largest[k] <= NO_TORQUE * 9.81 * reach:
            message = (
                f'its gravity torque is at most {largest[k]:.2g} N m in {POSTURES} postures, with '
                f'the next joint {offset[i]:.3g} m off its axis; expected a load'
            )
            yield Finding('warning', 'gravity-zero', name, message, tag='joint')


def _gravity_torque(model: RobotModel, poses: Array) -> Array:
    """Return g (n,) = dU/dq: the moment of the weights beyond each joint about its axis."""
    axes, origins = joint_axes(model, poses), poses[:, :3, 3]
    mass, moment = model.mass.copy(), model.mass[:, None] * com_positions(model, poses)
    for body in range(model.nb - 1, -1, -1):
        parent = model.parent[body]
        if parent >= 0:
            mass[parent] += mass[body]
            moment[parent] += moment[body]
    # -z . (sum m_k (c_k - o)) x g of a revolute joint, -z . (sum m_k) g of a prismatic one
    turning = np.cross(moment - mass[:, None] * origins, model.gravity)
    loads = np.where(model.revolute[:, None], turning, mass[:, None] * model.gravity)
    return np.asarray(-model.S.T @ np.einsum('ij,ij->i', axes, loads))
