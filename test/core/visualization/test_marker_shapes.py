# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.common.spatial import axis_rotation, rotation_x, rotation_y, rotation_z
from robot_dynamics.core.visualization import quaternion
from robot_dynamics.core.visualization.marker_shapes import principal_axes


@pytest.mark.parametrize('angle', [0.0, 1e-9, 0.3, 1.0, 3.0, np.pi])
def test_a_quaternion_is_axis_and_half_angle(angle):
    axis = np.array([2.0, -3.0, 6.0]) / 7
    x = quaternion(axis_rotation(axis, angle))
    expected = np.array([*(axis * np.sin(angle / 2)), np.cos(angle / 2)])
    # At half a turn both signs are the same rotation, and w = 0 decides for neither.
    assert abs(x @ expected) == pytest.approx(1, abs=1e-15)
    assert x[3] >= 0
    if angle < 3.1:
        np.testing.assert_allclose(x, expected, atol=1e-15)


def test_quaternions_turn_vectors_as_matrices_do():
    rng = np.random.default_rng(0)
    for roll, pitch, yaw in rng.uniform(-np.pi, np.pi, (50, 3)):
        R = rotation_z(yaw) @ rotation_y(pitch) @ rotation_x(roll)
        *v, w = quaternion(R)
        for u in np.eye(3):
            # u' = u + 2 w (v x u) + 2 v x (v x u)
            turned = u + 2 * w * np.cross(v, u) + 2 * np.cross(v, np.cross(v, u))
            np.testing.assert_allclose(turned, R @ u, atol=4e-15)


# About half of them have eigenvectors that come as a reflection.
@pytest.mark.parametrize('seed', range(20))
def test_principal_axes_are_a_rotation_that_diagonalizes(seed):
    A = np.random.default_rng(seed).normal(size=(3, 3))
    A = A + A.T
    values, R = principal_axes(A)
    np.testing.assert_allclose(R @ np.diag(values) @ R.T, A, atol=1e-14)
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-15)
    assert np.linalg.det(R) == pytest.approx(1)
