# SPDX-License-Identifier: Apache-2.0
"""Arrows, ellipsoids and boxes that show the dynamics of a robot, in the base frame, in m.

- Arrows: the weight of each body and the torque of each joint. Bodies are the moving bodies of the
  model: links joined by fixed joints are one body, a payload belongs to the body that carries it.
- Inertia: the uniform ellipsoid or box with the mass and tensor of a body. One that extends far
  beyond the link indicates a wrong tensor.
- Ellipsoids at a tip: its velocities for joint velocities of unit norm, and its apparent inertia.

Plain NumPy: `ros` turns the shapes into markers, a notebook can draw the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.common.spatial import Array, pose
from robot_dynamics.core.kinematics import com_positions, joint_axes
from robot_dynamics.core.model.coordinates import driven_body
from robot_dynamics.core.model.inertia import Inertial, second_moment, transformed
from robot_dynamics.core.model.robot_model import RobotModel, check_vector


class Arrow(NamedTuple):
    """An arrow from one point (3,) to another."""

    start: Array
    end: Array


class Ellipsoid(NamedTuple):
    """A solid ellipsoid: the pose (4, 4) of its centre and its half-axes (3,) along x, y, z."""

    pose: Array
    half_axes: Array


class Box(NamedTuple):
    """A rectangular solid: the pose (4, 4) of its centre and its sides (3,) along x, y, z."""

    pose: Array
    sides: Array


# -- forces and torques --------------------------------------------------------------------


def weight_arrows(model: RobotModel, poses: Array, scale: float) -> dict[str, Arrow]:
    """Return the weight m g of every body that has a mass, at its centre of mass, by body name.

    Args:
        model: the robot.
        poses: (nb, 4, 4) of its bodies, from `kinematics.body_poses`.
        scale: length of the arrows, m per N.
    """
    return {
        name: Arrow(com, com + scale * mass * model.gravity)
        for name, com, mass in zip(
            model.body_names, com_positions(model, poses), model.mass, strict=True
        )
        if mass > 0
    }


def joint_torque_arrows(
    model: RobotModel, poses: Array, tau: Array, scale: float
) -> dict[str, Arrow]:
    """Return the torques tau (n,) along their joints' axes, by joint name.

    A positive torque points along the axis (right-hand rule), and so does a positive force of a
    prismatic joint.

    Args:
        model: the robot.
        poses: (nb, 4, 4) of its bodies, from `kinematics.body_poses`.
        tau: N m or N.
        scale: length of the arrows, m per N m or N.

    Raises:
        ShapeError: tau is not (n,).
    """
    check_vector(model, tau=tau)
    axes = joint_axes(model, poses)
    arrows = {}
    for k, name in enumerate(model.joint_names):
        i = driven_body(model, k)
        origin = poses[i, :3, 3]
        arrows[name] = Arrow(origin, origin + scale * tau[k] * axes[i])
    return arrows


# -- inertia and mobility ------------------------------------------------------------------


def inertia_ellipsoid(body: Inertial, T: Array) -> Ellipsoid | None:
    """Return the uniform ellipsoid with the mass and tensor of a body, None without mass.

    Args:
        body: its inertia in its own frame.
        T: (4, 4) pose of that frame in the base.
    """
    if body.mass == 0:
        return None
    # sigma = m a^2 / 5
    place, sigma = _principal(body, T)
    return Ellipsoid(place, np.sqrt(5 * sigma / body.mass))


def inertia_box(body: Inertial, T: Array) -> Box | None:
    """Return the uniform box with the mass and tensor of a body, None without mass.

    Args:
        body: its inertia in its own frame.
        T: (4, 4) pose of that frame in the base.
    """
    if body.mass == 0:
        return None
    # sigma = m l^2 / 12
    place, sigma = _principal(body, T)
    return Box(place, np.sqrt(12 * sigma / body.mass))


def manipulability_ellipsoid(J: Array, tip: Array, scale: float) -> Ellipsoid:
    """Return the ellipsoid of tip velocities for joint velocities of unit norm, |qd| = 1.

    Its half-axes are the singular values of the translational Jacobian J_v; a zero half-axis is a
    direction in which the tip cannot move. With revolute and prismatic joints, the norm of qd adds
    (rad/s)^2 and (m/s)^2.

    Args:
        J: (6, n) Jacobian of the tip, angular part first.
        tip: (3,) its position.
        scale: m per m/s.

    Source: Yoshikawa, "Manipulability of robotic mechanisms", Int. J. Robotics Research 4(2),
    1985.
    """
    # v^T (J_v J_v^T)^-1 v = 1
    return _ellipsoid(J[3:] @ J[3:].T, tip, scale)


def tip_inertia_ellipsoid(J: Array, M: Array, tip: Array, scale: float) -> Ellipsoid:
    """Return the ellipsoid of the apparent inertia at the tip.

    A half-axis is 1/sqrt(m), with the apparent mass m [kg] in that direction: long for a small
    mass, zero in the direction of a singularity.

    Args:
        J: (6, n) Jacobian of the tip, angular part first.
        M: (n, n) mass matrix, positive definite.
        tip: (3,) its position.
        scale: m per kg^(-1/2).

    Source: Asada, "A geometrical representation of manipulator dynamics and its application to
    arm design", J. Dynamic Systems, Measurement, and Control 105(3), 1983.
    """
    # v^T Lambda v = 1,   Lambda^-1 = J_v M^-1 J_v^T
    return _ellipsoid(J[3:] @ np.linalg.solve(M, J[3:].T), tip, scale)


def _principal(body: Inertial, T: Array) -> tuple[Array, Array]:
    """Return the pose of a body's principal axes, and its second moments (3,) along them."""
    seen = transformed(body, T)
    sigma, R = principal_axes(second_moment(seen.inertia_com))
    # Negative values of a physically inconsistent tensor are drawn as zero.
    return pose(R, seen.com), np.maximum(sigma, 0.0)


def _ellipsoid(A: Array, centre: Array, scale: float) -> Ellipsoid:
    """Return the ellipsoid v^T A^-1 v = 1 of a semidefinite matrix: half-axes sqrt(lambda)."""
    values, R = principal_axes(A)
    return Ellipsoid(pose(R, centre), scale * np.sqrt(np.maximum(values, 0.0)))


def principal_axes(A: Array) -> tuple[Array, Array]:
    """Return eigenvalues (3,) of a symmetric matrix, and a rotation (3, 3) of eigenvectors."""
    values, R = np.linalg.eigh(A)
    # The sign of eigenvectors is free; choose a right-handed frame.
    R[:, 2] = np.cross(R[:, 0], R[:, 1])
    return values, R
