# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.core.visualization.marker_shapes import principal_axes


# About half of them have eigenvectors that come as a reflection.
@pytest.mark.parametrize('seed', range(20))
def test_principal_axes_are_a_rotation_that_diagonalizes(seed):
    A = np.random.default_rng(seed).normal(size=(3, 3))
    A = A + A.T
    values, R = principal_axes(A)
    np.testing.assert_allclose(R @ np.diag(values) @ R.T, A, atol=1e-14)
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-15)
    assert np.linalg.det(R) == pytest.approx(1)
