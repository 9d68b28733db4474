"""Rules of the gravity torques of a description, with its repairs applied."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robot_dynamics.kinematics import body_poses, com_positions, joint_axes
from robot_dynamics.model.robot_model import RobotModel
from robot_dynamics.spatial import Array
from robot_dynamics.urdf_check.description import Description
from robot_dynamics.urdf_check.findings import Finding

POSTURES = 12
MARGIN = 1.25  # springs may carry a part of the weight
NO_TORQUE = 1e-3  # of the weight times the lever of the geometry
NO_LEVER = 0.02  # of the reach of the robot: loads closer than this are on the axis


def gravity_findings(robot: Description, model: RobotModel) -> Iterator[Finding]:
    """Yield joints whose motor cannot hold the arm at rest, or whose load has no lever."""
    rest = np.clip(np.zeros(model.n), model.lower, model.upper)
    g = _gravity_torque(model, body_poses(model, rest))
    for name, torque, limit in zip(model.joint_names, g, model.effort_limit, strict=True):
        if abs(torque) > MARGIN * limit:
            message = f'holding the arm at rest takes {abs(torque):.4g}; the effort limit is '
            yield Finding(
                'warning', 'gravity-above-effort', name, f'{message}{limit:.4g}', tag='joint'
            )
    yield from _without_lever(robot, model)


def _without_lever(robot: Description, model: RobotModel) -> Iterator[Finding]:
    """Yield revolute joints that carry parts off their axis, and no weight in any posture."""
    rng = np.random.default_rng(0)
    low = np.where(np.isfinite(model.lower), model.lower, -np.pi)
    high = np.where(np.isfinite(model.upper), model.upper, np.pi)
    weight, centres = _shape(robot, model)
    torque, lever = np.zeros(model.n), np.zeros(model.nb)
    for q in rng.uniform(low, high, (POSTURES, model.n)):
        poses = body_poses(model, q)
        torque = np.maximum(torque, np.abs(_gravity_torque(model, poses)))
        at = poses[:, :3, 3] + np.einsum('bij,bj->bi', poses[:, :3, :3], centres)
        volumes, moments = _beyond(model, weight, weight[:, None] * at)
        arms = moments / np.maximum(volumes, 1e-300)[:, None] - poses[:, :3, 3]
        pull = np.cross(arms, model.gravity / max(float(np.linalg.norm(model.gravity)), 1e-300))
        along = np.einsum('bi,bi->b', joint_axes(model, poses), pull)
        lever = np.maximum(lever, np.where(volumes > 0, np.abs(along), 0.0))
    mass, _ = _beyond(model, model.mass, np.zeros((model.nb, 3)))
    reach = np.linalg.norm(model.placement[:, :3, 3], axis=1).sum()
    for k, name in enumerate(model.joint_names):
        (moved,) = np.nonzero(model.S[:, k])
        i = int(moved[0])
        expected = mass[i] * float(np.linalg.norm(model.gravity)) * lever[i]
        carries = model.revolute[i] and len(moved) == 1 and lever[i] > NO_LEVER * reach
        if carries and expected > 0 and torque[k] <= NO_TORQUE * expected:
            message = (
                f'its gravity torque is at most {torque[k]:.2g} N m in {POSTURES} postures, with '
                f'the parts beyond it {lever[i]:.3g} m off its axis; expected {expected:.2g} N m'
            )
            yield Finding('warning', 'gravity-zero', name, message, tag='joint')


def _shape(robot: Description, model: RobotModel) -> tuple[Array, Array]:
    """Return the volumes (nb,) and centroids (nb, 3) of the bodies' geometry, in their frames.

    A body without geometry is a point at the mean of the joints beyond it, of median volume.
    """
    volumes, moments = np.zeros(model.nb), np.zeros((model.nb, 3))
    places = zip(model.frame_names, model.frame_body, model.frame_placement, strict=True)
    for name, body, T in places:
        if body >= 0 and robot.links[name].geometry.solids:
            solid = robot.links[name].geometry.solids[-1]
            volumes[body] += solid.volume
            moments[body] += solid.volume * (T[:3, :3] @ solid.centroid + T[:3, 3])
    typical = float(np.median(volumes[volumes > 0])) if volumes.any() else 1.0
    centres = moments / np.maximum(volumes, 1e-300)[:, None]
    for body in np.flatnonzero(volumes == 0):
        ends = model.placement[model.parent == body, :3, 3]
        if len(ends):
            volumes[body], centres[body] = typical, ends.mean(axis=0)
    return volumes, centres


def _beyond(model: RobotModel, weight: Array, moment: Array) -> tuple[Array, Array]:
    """Return the sums of weights (nb,) and moments (nb, 3) of each body and those beyond it."""
    weight, moment = weight.copy(), moment.copy()
    for body in range(model.nb - 1, -1, -1):
        parent = model.parent[body]
        if parent >= 0:
            weight[parent] += weight[body]
            moment[parent] += moment[body]
    return weight, moment


def _gravity_torque(model: RobotModel, poses: Array) -> Array:
    """Return g (n,) = dU/dq: the moment of the weights beyond each joint about its axis."""
    axes, origins = joint_axes(model, poses), poses[:, :3, 3]
    mass, moment = _beyond(model, model.mass, model.mass[:, None] * com_positions(model, poses))
    # -z . (sum m_k (c_k - o)) x g of a revolute joint, -z . (sum m_k) g of a prismatic one
    turning = np.cross(moment - mass[:, None] * origins, model.gravity)
    loads = np.where(model.revolute[:, None], turning, mass[:, None] * model.gravity)
    return np.asarray(-model.S.T @ np.einsum('ij,ij->i', axes, loads))
