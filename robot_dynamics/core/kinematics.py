# SPDX-License-Identifier: Apache-2.0
"""Poses and Jacobians of frames, and their derivatives in time and in each joint position.

Plain NumPy, written for readability and as the reference of the compiled algorithms. All
quantities are in the base frame (world-aligned), six-vectors have the angular part first, and a
Jacobian belongs to the point it is named after: V = J qd is the angular velocity of the body and
the velocity of that point.

There are two layers. Functions of `model, q` use the robot's n coordinates and frames by name.
Below them, functions of `model, poses` work on the nb bodies, each with its own joint; a
formulation builds its equations from these and maps them to coordinates at the end, by
q_body = S q + s0. Indices i, j, k count bodies; joint j carries body j.

Complex and object arrays are supported, for complex steps and counting scalars.

Sources: lecture notes, Lagrangian formulation, (35); Spong, Hutchinson and Vidyasagar, section 6.2
(Jacobians of the centres of mass).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.common.errors import ShapeError
from robot_dynamics.common.spatial import Array, cross, pose
from robot_dynamics.core.model.robot_model import RobotModel, check_vector
from robot_dynamics.core.model.states import random_postures

AXIS_POSTURES = 8  # random ones: an axis that other joints turn has several directions in them
PARALLEL = 1e-9  # rad

# -- a frame of the robot, in its n coordinates -------------------------------------------------


def body_positions(model: RobotModel, q: Array) -> Array:
    """Return the joint position of every body, (nb,), rad or m.

    Raises:
        ShapeError: q is not (n,).
    """
    check_vector(model, q=q)
    # q_body = S q + s0
    return np.asarray(model.S @ q + model.s0)


def body_velocities(model: RobotModel, qd: Array) -> Array:
    """Return the joint velocity of every body, (nb,), rad/s or m/s; also maps accelerations.

    Raises:
        ShapeError: qd is not (n,).
    """
    check_vector(model, qd=qd)
    # qd_body = S qd,  qdd_body = S qdd
    return np.asarray(model.S @ qd)


def body_poses(model: RobotModel, q: Array) -> Array:
    """Return T_wi of every body, (nb, 4, 4), at the joint positions q (n,).

    Raises:
        ShapeError: q is not (n,).
    """
    position = body_positions(model, q)
    poses: list[Array] = []
    for i in range(model.nb):
        T_wp = poses[model.parent[i]] if model.parent[i] >= 0 else np.eye(4)
        # T_wi = T_wp T_pi(q_i)
        poses.append(T_wp @ pose(*model.joint_transform(i, position[i])))
    return np.stack(poses)


def frame_pose(model: RobotModel, q: Array, frame: str) -> Array:
    """Return T_wf, (4, 4), the pose of a frame in the base, at the joint positions q (n,).

    Raises:
        FrameNotFound: the model has no frame of that name.
        ShapeError: q is not (n,).
    """
    return _frame_in_base(model, body_poses(model, q), frame)


def jacobian(model: RobotModel, q: Array, frame: str) -> Array:
    """Return J (6, n) of a frame: V = J qd, world-aligned at its origin, angular part first.

    Raises:
        FrameNotFound: the model has no frame of that name.
        ShapeError: q is not (n,).
    """
    poses = body_poses(model, q)
    body, origin = _attachment(model, poses, frame)
    # V = J_body qd_body = J_body S qd
    return np.asarray(point_jacobian(model, poses, body, origin) @ model.S)


def jacobian_dot(model: RobotModel, q: Array, qd: Array, frame: str) -> Array:
    """Return dJ/dt (6, n) of a frame, so that dV/dt = J qdd + dJ/dt qd.

    Raises:
        FrameNotFound: the model has no frame of that name.
        ShapeError: q or qd is not (n,).
    """
    poses, rates = body_poses(model, q), body_velocities(model, qd)
    body, origin = _attachment(model, poses, frame)
    return np.asarray(point_jacobian_dot(model, poses, rates, body, origin) @ model.S)


def wrench_torque(model: RobotModel, q: Array, wrench: Array, frame: str) -> Array:
    """Return J^T F (n,), the joint torques equivalent to a wrench on a frame.

    Args:
        model: the robot.
        q: (n,) joint positions.
        wrench: (6,) moment [N m] and force [N] of the environment on the robot, world-aligned
            at the frame's origin.
        frame: name of the frame it acts on.

    Raises:
        FrameNotFound: the model has no frame of that name.
        ShapeError: q is not (n,), or the wrench not (6,).
    """
    check_wrench(wrench)
    return np.asarray(jacobian(model, q, frame).T @ wrench)


def wrench_in_base_axes(model: RobotModel, q: Array, wrench: Array, frame: str) -> Array:
    """Return the wrench (6,) of a frame's own axes in axes parallel to the base's.

    A sensor at the hand measures in its own axes, and Lynch and Park give F_tip in end-effector
    coordinates, as the wrench of the robot on the environment. `wrench_torque` and `tip_wrench=`
    take base axes and the wrench of the environment on the robot: minus what this returns for
    F_tip.

    Args:
        model: the robot.
        q: (n,) joint positions.
        wrench: (6,) moment [N m] and force [N], in the frame's axes, about its origin.
        frame: name of the frame.

    Raises:
        FrameNotFound: the model has no frame of that name.
        ShapeError: q is not (n,), or the wrench not (6,).
    """
    check_wrench(wrench)
    R = frame_pose(model, q, frame)[:3, :3]
    moment, force = np.split(np.asarray(wrench), 2)
    return np.concatenate([R @ moment, R @ force])


# -- points of bodies, in the nb joint positions ------------------------------------------------


def joint_axes(model: RobotModel, poses: Array) -> Array:
    """Return the unit axis z of every joint in the base frame, (nb, 3)."""
    # z_j = R_wj axis_j
    return np.stack([poses[j, :3, :3] @ model.axis[j] for j in range(model.nb)])


def unloaded_by_gravity(model: RobotModel) -> Array:
    """Return whether each coordinate (n,) has g = 0 in every posture, whatever the masses.

    It turns about axes parallel to gravity, or slides along perpendicular ones.
    """
    poses = np.array([body_poses(model, q) for q in random_postures(model, AXIS_POSTURES)])
    size = np.linalg.norm(model.gravity)
    axes = np.array([joint_axes(model, T) for T in poses])  # (k, nb, 3)
    turning, along = np.cross(axes, model.gravity), axes @ model.gravity
    # |z x g| of revolute joints, |z . g| of prismatic ones
    work = np.where(model.revolute, np.linalg.norm(turning, axis=-1), np.abs(along))
    loaded = (work > PARALLEL * size).any(axis=0)  # (nb,)
    return np.asarray(~(model.S[loaded] != 0).any(axis=0))


def com_positions(model: RobotModel, poses: Array) -> Array:
    """Return the centre of mass of every body in the base frame, (nb, 3), m."""
    # r_i = p_wi + R_wi c_i
    return np.stack([poses[i, :3, 3] + poses[i, :3, :3] @ model.com[i] for i in range(model.nb)])


def point_jacobian(model: RobotModel, poses: Array, body: int, point: Array) -> Array:
    """Return J (6, nb) of the point of a body at `point` (3,) in the base frame.

    Lecture notes, Lagrangian formulation, (35). Joints that do not carry the body have zero
    columns; body -1 is the base.
    """
    z, o = joint_axes(model, poses), poses[:, :3, 3]
    columns = [np.zeros(6)] * model.nb
    for j in model.support(body):
        # revolute: J_Oj = z_j, J_Pj = z_j x (p - o_j)      prismatic: J_Oj = 0, J_Pj = z_j
        columns[j] = _column(model, j, z[j], cross(z[j], point - o[j]))
    return np.stack(columns, axis=1)


def point_jacobian_dot(
    model: RobotModel, poses: Array, rates: Array, body: int, point: Array
) -> Array:
    """Return dJ/dt (6, nb) of `point_jacobian`, the point moving with its body.

    `rates` (nb,) are the joint velocities of the bodies.
    """
    z, o = joint_axes(model, poses), poses[:, :3, 3]
    p_dot = (point_jacobian(model, poses, body, point) @ rates)[3:]
    columns = [np.zeros(6)] * model.nb
    for j in model.support(body):
        w, o_dot = np.split(point_jacobian(model, poses, j, o[j]) @ rates, 2)
        # The axis turns with its body: zdot_j = w_j x z_j
        z_dot = cross(w, z[j])
        # d/dt (z_j x (p - o_j)) = zdot_j x (p - o_j) + z_j x (pdot - odot_j)
        lever_dot = cross(z_dot, point - o[j]) + cross(z[j], p_dot - o_dot)
        columns[j] = _column(model, j, z_dot, lever_dot)
    return np.stack(columns, axis=1)


def point_jacobian_partials(model: RobotModel, poses: Array, body: int, point: Array) -> Array:
    """Return dJ/dq_k of `point_jacobian` for every joint k, (nb, 6, nb): [k] is dJ/dq_k."""
    z, o = joint_axes(model, poses), poses[:, :3, 3]
    support = model.support(body)
    # dp/dq_k is column k of the Jacobian of the point p, and so for every o_j.
    dp = point_jacobian(model, poses, body, point)[3:].T
    do = {j: point_jacobian(model, poses, j, o[j])[3:].T for j in support}

    partials = [[np.zeros(6)] * model.nb for _ in range(model.nb)]
    for k in support:
        for j in support:
            # dz_j/dq_k = z_k x z_j, if joint k is revolute and carries joint j
            turns = model.revolute[k] and k < j
            dz = cross(z[k], z[j]) if turns else np.zeros(3)
            # d/dq_k (z_j x (p - o_j)) = dz_j x (p - o_j) + z_j x (dp - do_j)
            d_lever = cross(dz, point - o[j]) + cross(z[j], dp[k] - do[j][k])
            partials[k][j] = _column(model, j, dz, d_lever)
    return np.stack([np.stack(columns, axis=1) for columns in partials])


def com_jacobians(model: RobotModel, poses: Array) -> list[Array]:
    """Return J (6, nb) of every body's centre of mass, angular part first, base axes.

    Args:
        model: the robot.
        poses: (nb, 4, 4) of the bodies, from `body_poses`.
    """
    r = com_positions(model, poses)
    return [point_jacobian(model, poses, i, r[i]) for i in range(model.nb)]


def com_jacobian_dots(model: RobotModel, poses: Array, rates: Array) -> list[Array]:
    """Return dJ/dt (6, nb) of every body's centre of mass; `rates` (nb,) of `body_velocities`."""
    r = com_positions(model, poses)
    return [point_jacobian_dot(model, poses, rates, i, r[i]) for i in range(model.nb)]


def com_jacobian_partials(model: RobotModel, poses: Array) -> list[Array]:
    """Return dJ/dq_k (nb, 6, nb) of every body's centre of mass, k first."""
    r = com_positions(model, poses)
    return [point_jacobian_partials(model, poses, i, r[i]) for i in range(model.nb)]


# -- helpers ------------------------------------------------------------------------------------


def check_wrench(wrench: Any, name: str = 'wrench') -> None:
    """Raise ShapeError unless a wrench has the shape (6,)."""
    if np.shape(wrench) != (6,):
        raise ShapeError(
            f'{name} has shape {np.shape(wrench)}; it must be (6,): moment first, then force'
        )


def _frame_in_base(model: RobotModel, poses: Array, frame: str) -> Array:
    k = model.frame_index(frame)
    body = model.frame_body[k]
    # T_wf = T_wi T_if, or the placement itself for a frame of the base
    T_wf: Array = poses[body] @ model.frame_placement[k] if body >= 0 else model.frame_placement[k]
    return T_wf


def _attachment(model: RobotModel, poses: Array, frame: str) -> tuple[int, Array]:
    """Return the body that carries a frame, and the frame's origin in the base frame."""
    origin = _frame_in_base(model, poses, frame)[:3, 3]
    return int(model.frame_body[model.frame_index(frame)]), origin


def _column(model: RobotModel, j: int, axis: Array, lever: Array) -> Array:
    """Return column j of a Jacobian: (axis, lever) of a revolute joint, else (0, axis).

    `axis` and `lever` are z_j and z_j x (p - o_j), or the same derivative of both.
    """
    return np.concatenate([axis, lever] if model.revolute[j] else [np.zeros(3), axis])
