# SPDX-License-Identifier: Apache-2.0
"""Values per joint, their units, and the links that move."""

import numpy as np
import pytest

from robot_dynamics.common.errors import ModelError, ShapeError
from robot_dynamics.common.resources import bundled_robots
from robot_dynamics.core.model.joint_values import at_least_zero, per_joint, rms, unit_of, units_of
from robot_dynamics.urdf.loading import load_urdf

NAMES = ('a', 'b')


@pytest.mark.parametrize('value', [3.0, [3.0], [3, 3], np.array(3.0), (3.0, 3.0)])
def test_one_number_is_that_of_all_joints(value):
    np.testing.assert_array_equal(per_joint('x', value, NAMES), [3.0, 3.0])


@pytest.mark.parametrize(
    ('value', 'given'),
    [([1, 2, 3], '3 values'), ([], '0 values'), (np.eye(2), r'shape \(2, 2\)')],
)
def test_other_shapes_are_rejected_with_the_joints(value, given):
    with pytest.raises(ShapeError, match=rf'^x has {given}; expected one, or 2 for a, b$'):
        per_joint('x', value, NAMES)


@pytest.mark.parametrize('value', [-1.0, [0.0, -1e-9], np.nan, [np.inf, 1.0]])
def test_negative_and_infinite_numbers_are_rejected(value):
    with pytest.raises(ModelError, match=r'^x is .*; it must be finite and not negative$'):
        at_least_zero('x', value, NAMES)


def test_a_result_is_a_copy():
    given = np.array([1.0, 2.0])
    per_joint('x', given, NAMES)[0] = 5.0
    assert given[0] == 1.0


def test_units_of_translation_are_those_of_rotation_without_the_angle():
    # power = torque times rate: both in W; kinetic energy: inertia times rate squared
    assert units_of(np.array([True, False])) == ('N m', 'N')
    assert [unit_of(False, unit) for unit in ('rad', 'rad/s', 'kg m^2')] == ['m', 'm/s', 'kg']
    assert [unit_of(angular, 'N m s/rad') for angular in (True, False)] == ['N m s/rad', 'N s/m']


def test_the_root_mean_square_of_selected_rows_is_that_of_these_rows_alone():
    x = np.random.default_rng(0).normal(size=(50, 3))
    rows = x > 0
    expected = [np.sqrt((x[rows[:, j], j] ** 2).mean()) for j in range(3)]
    np.testing.assert_allclose(rms(x, rows), expected, rtol=1e-14)
    np.testing.assert_array_equal(rms(x, rows), rms(-x, rows))
    np.testing.assert_allclose(rms(x), np.sqrt((x**2).mean(axis=0)), rtol=1e-14)
    assert np.isnan(rms(x, np.zeros_like(rows))).all()


@pytest.mark.parametrize('name', bundled_robots())
def test_moving_links_are_those_that_a_joint_displaces(name):
    from robot_dynamics.core.kinematics import frame_pose

    model = load_urdf(name)
    q = np.linspace(0.1, 0.2, model.n)
    for link in model.link_names:
        moves = not np.allclose(frame_pose(model, q, link), frame_pose(model, 0 * q, link))
        assert moves == (link in model.moving_links)
