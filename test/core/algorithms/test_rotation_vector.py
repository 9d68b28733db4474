# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.common.spatial import axis_rotation
from robot_dynamics.core.algorithms.rotation_vector import rotation_vector, spring_moment

AXES = np.random.default_rng(2).normal(size=(5, 3))
AXES /= np.linalg.norm(AXES, axis=1)[:, None]


@pytest.mark.parametrize('angle', [0.0, 1e-12, 1e-4, 0.5, 1.6, 3.0, 3.14])
@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_is_the_axis_times_the_angle(angle, sign):
    for axis in sign * AXES:
        found = rotation_vector(axis_rotation(axis, angle).tolist())
        # Entries are rounded to eps; near a half turn sin a is small.
        atol = 4e-16 / max(np.sin(angle), 1e-3) if angle > 1 else 4e-16
        np.testing.assert_allclose(found, angle * axis, rtol=0, atol=2 * atol)


def test_is_finite_at_a_half_turn():
    for R in (np.diag([1.0, -1.0, -1.0]), np.diag([-1.0, -1.0, 1.0])):
        assert np.isfinite(spring_moment(R.tolist(), [1.0, 2.0, 3.0])).all()


@pytest.mark.parametrize('angle', [0.0, 1e-7, 1e-2, 0.5, 2.0])
def test_the_moment_is_the_gradient_of_the_energy(angle):
    K, step = np.array([5.0, 30.0, 80.0]), 1e-6
    for axis in AXES:
        R = axis_rotation(axis, angle)

        def energy(turn, R=R):
            # The frame turns in the axes of the target: R = R_f^T R_d becomes R exp(-turn)
            size = np.linalg.norm(turn)
            e = rotation_vector((R @ axis_rotation(turn / size, -size)).tolist())
            return 0.5 * K @ np.square(e)

        gradient = [(energy(step * v) - energy(-step * v)) / (2 * step) for v in np.eye(3)]
        moment = spring_moment(R.tolist(), K)[1]
        np.testing.assert_allclose(moment, np.negative(gradient), atol=1e-7)
