# SPDX-License-Identifier: Apache-2.0
"""Rotations, poses, twists and wrenches in plain NumPy: so(3), SE(3) and their adjoints.

Conventions of the package: six-vectors carry the angular part first, V = (w, v) and F = (m, f);
`T_wi` is the pose of frame i in frame w, so adjacent letters match in a product, T_wi = T_wp T_pi;
SI units and radians. Nothing here calls `abs` or `norm` on joint values, so complex arguments pass
through.

Sources: Lynch and Park, draft sections 9.2 and 9.3; Lynch and Park, Modern Robotics (2017),
chapter 3.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def skew(v: Array) -> Array:
    """Return the (3, 3) matrix [v] with [v] u = v x u."""
    x, y, z = v
    return np.array([[0 * x, -z, y], [z, 0 * x, -x], [-y, x, 0 * x]])


def cross(a: Array, b: Array) -> Array:
    """Return a x b of vectors (3,) of any numbers; NumPy's own fails for objects before 2.3."""
    (ax, ay, az), (bx, by, bz) = a, b
    return np.array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])


def unskew(m: Array) -> Array:
    """Return the (3,) vector v whose [v] is the skew-symmetric part of the (3, 3) matrix m."""
    return np.array([m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]]) / 2


def rotation_x(angle: Any) -> Array:
    """Return the rotation by `angle` [rad] about x."""
    return axis_rotation(np.array([1.0, 0.0, 0.0]), angle)


def rotation_y(angle: Any) -> Array:
    """Return the rotation by `angle` [rad] about y."""
    return axis_rotation(np.array([0.0, 1.0, 0.0]), angle)


def rotation_z(angle: Any) -> Array:
    """Return the rotation by `angle` [rad] about z."""
    return axis_rotation(np.array([0.0, 0.0, 1.0]), angle)


def rotation_rpy(roll: Any, pitch: Any, yaw: Any) -> Array:
    """Return Rz(yaw) Ry(pitch) Rx(roll), the URDF's fixed-axis roll, pitch, yaw [rad]."""
    return rotation_z(yaw) @ rotation_y(pitch) @ rotation_x(roll)


def quaternion(R: Array) -> Array:
    """Return the unit quaternion (x, y, z, w), w >= 0, of a rotation matrix (3, 3).

    It is the eigenvector of the largest eigenvalue of K: no case distinctions, and the nearest
    rotation if R is one only to rounding.

    Source: Bar-Itzhack, "New method for extracting the quaternion from a rotation matrix",
    J. Guidance, Control, and Dynamics 23(6), 2000.
    """
    # K = [[R + R^T - tr(R) 1, z], [z^T, tr(R)]] / 3,   z = (R32 - R23, R13 - R31, R21 - R12)
    K = np.empty((4, 4))
    K[:3, :3] = R + R.T - np.trace(R) * np.eye(3)
    K[3, :3] = K[:3, 3] = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    K[3, 3] = np.trace(R)
    x = np.linalg.eigh(K).eigenvectors[:, -1]
    return np.asarray(x if x[3] >= 0 else -x)


def quaternion_rotation(x: Array) -> Array:
    """Return the rotation matrix (3, 3) of a quaternion (x, y, z, w) of any size but zero."""
    *v, w = np.asarray(x, dtype=float) / np.linalg.norm(x)
    across = skew(np.array(v))
    # R = 1 + 2 w [v] + 2 [v]^2
    return np.asarray(np.eye(3) + 2 * w * across + 2 * across @ across)


def rpy(R: Array) -> Array:
    """Return roll, pitch, yaw (3,) [rad] of a rotation matrix: the inverse of `rotation_rpy`.

    Exact to rounding also at a pitch of a right angle, where roll and yaw are about one axis.
    """
    yaw = np.arctan2(R[1, 0], R[0, 0])
    # Ry(pitch) Rx(roll) = Rz(yaw)^T R
    B = rotation_z(yaw).T @ R
    # + 0: no negative zeros
    return np.array([np.arctan2(-B[1, 2], B[1, 1]), np.arctan2(-B[2, 0], B[0, 0]), yaw]) + 0.0


def axis_rotation(axis: Array, angle: Any) -> Array:
    """Return the rotation by `angle` [rad] about the unit vector `axis`. Rodrigues' formula."""
    # R = 1 + sin(t) [a] + (1 - cos(t)) [a]^2
    a = skew(axis)
    R: Array = np.eye(3) + np.sin(angle) * a + (1 - np.cos(angle)) * (a @ a)
    return R


def pose(R: Array, p: Array) -> Array:
    """Return the (4, 4) homogeneous transform of rotation R and translation p."""
    T = np.zeros((4, 4), dtype=np.result_type(R, p, float))
    T[:3, :3], T[:3, 3], T[3, 3] = R, p, 1.0
    return T


def inverse_pose(T: Array) -> Array:
    """Return T^-1 of a homogeneous transform."""
    # (R, p)^-1 = (R^T, -R^T p)
    R, p = T[:3, :3], T[:3, 3]
    return pose(R.T, -R.T @ p)


def adjoint(T: Array) -> Array:
    """Return Ad_T (6, 6): V_a = Ad(T_ab) V_b for twists. Lynch and Park, draft section 9.3."""
    # Ad_T = [[R, 0], [[p] R, R]]
    R, p = T[:3, :3], T[:3, 3]
    zero = np.zeros((3, 3))
    return np.block([[R, zero], [skew(p) @ R, R]])


def lie_bracket(V: Array) -> Array:
    """Return ad_V (6, 6), so that ad_V W is the Lie bracket [V, W]. Draft, (9.29)."""
    # ad_V = [[[w], 0], [[v], [w]]]
    w, v = skew(V[:3]), skew(V[3:])
    return np.block([[w, np.zeros((3, 3))], [v, w]])


def spatial_inertia(mass: Any, com: Array, inertia_com: Array) -> Array:
    """Return the (6, 6) inertia G about the frame's origin, angular part first. Draft, (9.23)."""
    # G = [[I_com - m [c][c], m [c]], [-m [c], m 1]]
    c = skew(com)
    return np.block(
        [
            [inertia_com - mass * (c @ c), mass * c],
            [-mass * c, mass * np.eye(3)],
        ]
    )
