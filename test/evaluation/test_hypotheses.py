# SPDX-License-Identifier: Apache-2.0
"""Limits of possible causes: friction, masses, centres of mass and gravity."""

import numpy as np
import pytest

from robot_dynamics.common.resources import share_file
from robot_dynamics.common.spatial import axis_rotation
from robot_dynamics.evaluation.cause_columns import OF_JOINTS
from robot_dynamics.evaluation.hypotheses import Hypothesis, possible, within_limits
from robot_dynamics.urdf.loading import load_urdf

MODEL = load_urdf(share_file('urdf/panda.urdf')).with_actuation(
    viscous=2.0, coulomb=3.0, rotor_inertia=0.2
)
G = MODEL.gravity
X = np.array([1.0, 0.0, 0.0])


OF_GRAVITY = slice(len(OF_JOINTS) * MODEL.n, len(OF_JOINTS) * MODEL.n + 3)


def hypothesis(kind, k=1, **place):
    directions = np.zeros((k, OF_GRAVITY.stop))
    if kind == 'gravity' and k == 3:
        directions[:, OF_GRAVITY] = axis_rotation([0.6, 0.0, 0.8], 0.7)
    return Hypothesis(kind, 'here', directions, np.ones(k), **place)


def of_gravity(change):
    """Return the unknowns of a change of gravity."""
    return hypothesis('gravity', 3).directions[:, OF_GRAVITY] @ change


def is_possible(h, value, error=1e-3):
    value = np.atleast_1d(np.asarray(value, dtype=float))
    return possible(MODEL, h, value, error**2 * np.eye(len(value)))


@pytest.mark.parametrize(
    ('kind', 'least'),
    [('dry friction', -3.0), ('viscous friction', -2.0), ('rotor inertia', -0.2)],
)
def test_friction_and_rotors_of_the_corrected_model_are_not_negative(kind, least):
    h = hypothesis(kind, joint=3)
    assert is_possible(h, [least + 0.01])
    assert is_possible(h, [least - 0.002])  # within its errors
    assert not is_possible(h, [least - 0.01])
    assert within_limits(MODEL, h, np.array([least - 0.002]), np.eye(1)) == pytest.approx(least)


def test_friction_at_low_speed_is_larger():
    assert is_possible(hypothesis('Stribeck friction', joint=0), [0.3])
    assert not is_possible(hypothesis('Stribeck friction', joint=0), [-0.3])


def test_the_mass_of_a_link_is_positive_and_its_centre_within_reach():
    body = 3
    m, c = MODEL.mass[body], MODEL.com[body]
    h = hypothesis('inertia', 10, body=body)
    assert is_possible(h, [0.2, *(0.2 * c), *np.zeros(6)])
    assert not is_possible(h, [-1.01 * m, *(-1.01 * m * c), *np.zeros(6)])
    assert not is_possible(h, [0.0, *(m * X), *np.zeros(6)])  # 1 m from where it was
    assert is_possible(hypothesis('inertia', body=body), [-0.9])
    assert not is_possible(hypothesis('inertia', body=body), [-1.1])


def test_a_scale_is_not_zero():
    assert is_possible(hypothesis('scale', joint=0), [-2.0])
    assert not is_possible(hypothesis('scale', joint=0), [-1.0])


@pytest.mark.parametrize('angle', [0.5, 3.0, 90.0, 180.0])
def test_gravity_may_be_turned(angle):
    turned = axis_rotation(X, np.deg2rad(angle)) @ G
    assert is_possible(hypothesis('gravity', 3), of_gravity(turned - G))
    assert is_possible(hypothesis('gravity', 3), of_gravity(9.9 / 9.81 * turned - G))
    assert not is_possible(hypothesis('gravity', 3), of_gravity(1.05 * turned - G))
    assert not is_possible(hypothesis('gravity', 3), of_gravity(0.95 * turned - G))


@pytest.mark.parametrize('size', [0.5, 0.98, 0.999, 1.001, 1.02])
def test_another_magnitude_alone_is_no_cause(size):
    assert not is_possible(hypothesis('gravity', 3), of_gravity((size - 1) * G))


def test_gravity_may_be_absent():
    assert is_possible(hypothesis('gravity'), [1.05])
    assert not is_possible(hypothesis('gravity'), [0.5])


@pytest.mark.parametrize(('size', 'allowed'), [(0.98, 9.7), (1.0, 9.81), (1.02, 9.9)])
def test_noise_does_not_change_the_magnitude_beyond_that_on_earth(size, allowed):
    turned = size * axis_rotation(X, 0.1) @ G
    C = np.diag([1.0, 4.0, 9.0])
    moved = within_limits(MODEL, hypothesis('gravity', 3), of_gravity(turned - G), C)
    gravity = moved @ hypothesis('gravity', 3).directions[:, OF_GRAVITY] + G
    assert np.linalg.norm(gravity) == pytest.approx(allowed, rel=1e-3)
