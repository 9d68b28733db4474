"""The ruler itself: order, accuracy and scaling."""

import numpy as np
import pytest

from robot_dynamics.validation.differences import STEP, derivative, scaled


def test_derivative_of_joint_motion_is_right_to_rounding():
    # The fastest motion there is: sine of twice an angle that moves at the stated speed.
    for speed in (0.1, 1.0, 30.0):
        slope = derivative(lambda t, w=speed: np.sin(2 * w * t + 0.3), speed)
        assert slope == pytest.approx(2 * speed * np.cos(0.3), rel=1e-13)


def test_derivative_is_of_eighth_order():
    # Exact for powers up to 8; at the ninth the error is h^8 9! / 630, with its sign.
    for power in range(9):
        assert derivative(lambda t, p=power: (1 + t) ** p, 1.0) == pytest.approx(power, rel=1e-12)
    error = derivative(lambda t: (t / STEP) ** 9, 1.0)
    assert error == pytest.approx(-576 / STEP, rel=1e-12)


def test_a_robot_at_rest_has_no_slope():
    assert derivative(lambda t: np.ones(3), 0.0) == pytest.approx(np.zeros(3))


def test_scaled():
    assert scaled(np.array([1.0, -2.0]), np.array([4.0]), 1.0) == 0.5
    assert scaled(np.zeros(2), np.zeros(2)) == 0.0
    assert scaled(np.zeros(0), np.ones(1)) == 0.0
    assert not scaled(np.array([np.nan]), 1.0) < 1.0
