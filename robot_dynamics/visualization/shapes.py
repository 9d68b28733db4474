"""The few shapes that drawings are made of, seen from the robot's base, in m."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics.spatial import Array


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


def quaternion(R: Array) -> Array:
    """Return the unit quaternion (x, y, z, w), w >= 0, of a rotation matrix (3, 3).

    It is the eigenvector to the largest eigenvalue of K, which has no case distinctions and is
    the nearest rotation where R is one only to rounding.

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


def principal_axes(A: Array) -> tuple[Array, Array]:
    """Return the eigenvalues (3,) of a symmetric matrix and the rotation (3, 3) to its axes."""
    values, R = np.linalg.eigh(A)
    # Eigenvectors have no sign; these make a right-handed frame.
    R[:, 2] = np.cross(R[:, 0], R[:, 1])
    return values, R
