# SPDX-License-Identifier: Apache-2.0
"""Trajectories: rejected input and its messages, and the motion between the points."""

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline, PchipInterpolator

from robot_dynamics.common.errors import TrajectoryError
from robot_dynamics.control import Trajectory

NAMES = ('shoulder', 'elbow')
TIMES = [0.0, 1.0, 2.5]
Q = np.array([[0.0, 1.0], [0.5, -0.2], [1.0, 0.3]])
QD = np.array([[0.0, 0.0], [0.4, 0.1], [0.0, 0.0]])
QDD = np.array([[0.0, 0.0], [-0.3, 0.6], [0.0, 0.0]])


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ({'joint_names': []}, 'names no joint'),
        ({'joint_names': ['elbow', 'elbow']}, "'elbow' twice"),
        ({'times': [], 'positions': []}, 'no points'),
        ({'times': [0.0, 1.0]}, 'expected \\(3,\\), one per point'),
        ({'times': [-0.5, 1.0, 2.0]}, 'point 0 is -0.5 s; it must not be negative'),
        ({'times': [0.0, 2.0, 2.0]}, 'point 2 is 2.0 s, after 2.0 s of point 1'),
        ({'times': [0.0, 2.0, 1.0]}, 'must increase strictly'),
        ({'times': [0.0, np.nan, 1.0]}, 'time of point 1 is nan'),
        ({'times': [0.0, 1.0, np.inf]}, 'time of point 2 is inf'),
        ({'positions': [[0, 1], [0, np.nan], [1, 1]]}, "point 1, joint 'elbow', is nan"),
        ({'positions': [[0, 1], [0, 1, 2], [1, 1]]}, 'point 1 has 3 values for 2 joints'),
        ({'positions': [[0, 1], [], [1, 1]]}, 'point 1 has no positions'),
        ({'positions': [[0, 1], ['a', 'b'], [1, 1]]}, 'point 1 are not numbers'),
        ({'velocities': QD[:2]}, 'velocities has 2 rows for 3 points'),
        ({'velocities': [[0, 0], [0], [0, 0]]}, 'velocities of point 1 has 1 values'),
        ({'velocities': [[np.inf, 0], [], []]}, "point 0, joint 'shoulder', is inf"),
        ({'accelerations': QDD}, 'accelerations but no velocities'),
        ({'velocities': QD, 'accelerations': [[0, 0], [0, -np.inf], []]}, 'is -inf'),
        ({'interpolation': 'none'}, "interpolation is 'none'; expected smooth or linear"),
    ],
)
def test_what_is_wrong_is_named(arguments, message):
    with pytest.raises(TrajectoryError, match=message):
        Trajectory(**{'joint_names': NAMES, 'times': TIMES, 'positions': Q, **arguments})


def test_a_trajectory_cannot_be_changed():
    trajectory = Trajectory(NAMES, TIMES, Q)
    with pytest.raises(AttributeError):
        trajectory.times = TIMES
    for array in (trajectory.times, trajectory.waypoint(0).q):
        with pytest.raises(ValueError, match='read-only'):
            array[0] = 1.0


@pytest.mark.parametrize('given', [1, 2, 3])
def test_points_are_met_and_the_motion_is_continuous_to_the_order_given(given):
    trajectory = Trajectory(NAMES, TIMES, *(Q, QD, QDD)[:given], interpolation='linear')
    eps = 1e-9
    for rate, values in enumerate((Q, QD, QDD)[:given]):
        assert np.allclose(trajectory.sample(TIMES)[rate], values, rtol=0, atol=1e-13)
        before = trajectory.sample(TIMES[1] - eps)[rate]
        assert np.allclose(before, trajectory.sample(TIMES[1])[rate], rtol=0, atol=1e-7)


@pytest.mark.parametrize('given', [2, 3])
def test_velocity_and_acceleration_are_the_derivatives_of_position(given):
    trajectory = Trajectory(NAMES, TIMES, *(Q, QD, QDD)[:given])
    t, h = np.array([0.3, 0.99, 1.4, 2.2]), 1e-5
    at, ahead, behind = (trajectory.sample(t + d) for d in (0.0, h, -h))
    assert np.allclose((ahead.q - behind.q) / (2 * h), at.qd, rtol=0, atol=1e-8)
    assert np.allclose((ahead.qd - behind.qd) / (2 * h), at.qdd, rtol=0, atol=1e-8)


def test_the_arm_holds_still_before_the_first_and_after_the_last_point():
    trajectory = Trajectory(NAMES, [1.0, 2.0, 3.0], Q, QD + 0.1)
    for t, k in ((-5.0, 0), (0.999, 0), (3.001, -1), (1e9, -1)):
        q, qd, qdd = trajectory.sample(t)
        assert np.allclose(q, Q[k], rtol=0, atol=1e-15)
        assert not qd.any()
        assert not qdd.any()


def test_a_batch_of_times_equals_single_times():
    trajectory = Trajectory(NAMES, TIMES, Q, QD)
    t = np.linspace(-0.5, 3.0, 12).reshape(3, 4)
    together = trajectory.sample(t)
    for index in np.ndindex(t.shape):
        for rows, single in zip(together, trajectory.sample(t[index]), strict=True):
            assert rows.shape == (3, 4, 2)
            assert np.array_equal(rows[index], single)


def test_one_point_is_held():
    trajectory = Trajectory(NAMES, [0.0], Q[:1])
    assert trajectory.duration == 0.0
    assert np.array_equal(trajectory.sample(0.7).q, Q[0])
    assert trajectory.sample(np.zeros(3)).q.shape == (3, 2)
    at = trajectory.at_waypoints()
    assert np.array_equal(at.q, Q[:1])
    assert not at.qd.any()
    assert not at.qdd.any()


def test_points_may_have_different_derivatives():
    trajectory = Trajectory(NAMES, TIMES, Q, [QD[0], QD[1], None], [QDD[0], [], None])
    degree = [np.flatnonzero(c.any(axis=1)).max() for c in trajectory.polynomials[0]]
    assert degree == [3, 1]
    # A velocity left open is the mean of the last line's and what it arrives with, one-sided here.
    assert np.allclose(trajectory.at_waypoints().qd[-1], (Q[2] - Q[1]) / 1.5)


def test_a_derivative_that_is_not_prescribed_is_the_mean_of_both_sides():
    at = Trajectory(NAMES, TIMES, Q, interpolation='linear').at_waypoints()
    slopes = np.diff(Q, axis=0) / np.diff(TIMES)[:, None]
    assert np.allclose(at.qd, [slopes[0], slopes.mean(axis=0), slopes[1]])
    given = Trajectory(NAMES, TIMES, Q, QD, QDD).at_waypoints()
    assert np.array_equal(given.qd, QD)
    assert np.array_equal(given.qdd, QDD)


@pytest.mark.parametrize('side', [1, -1])
@pytest.mark.parametrize('given', [(), ([None, [], None],)])
def test_positions_alone_are_joined_smoothly_from_rest_to_rest(given, side):
    trajectory = Trajectory(NAMES, TIMES, side * Q, *given)
    cubics = PchipInterpolator(TIMES, side * Q)
    inner = cubics.derivative()(TIMES[1])
    slopes = np.array([np.zeros(2), inner, np.zeros(2)])
    expected = CubicHermiteSpline(TIMES, side * Q, slopes)
    t = np.linspace(0.0, TIMES[-1], 501)
    for rate, values in enumerate(trajectory.sample(t)[:2]):
        np.testing.assert_allclose(values, expected.derivative(rate)(t), rtol=0, atol=1e-12)
    assert not trajectory.sample([0.0, TIMES[-1]]).qd.any()
    for before, after, k in zip(Q[:-1], Q[1:], range(2), strict=True):
        inside = side * trajectory.sample(np.linspace(TIMES[k], TIMES[k + 1], 101)).q
        assert (inside >= np.minimum(before, after) - 1e-15).all()
        assert (inside <= np.maximum(before, after) + 1e-15).all()
    faster = trajectory.at_speed(2.0).sample(t / 2)
    np.testing.assert_allclose(faster.q, trajectory.sample(t).q, rtol=0, atol=1e-12)


def test_interpolation_has_no_effect_on_single_points_and_where_a_point_has_a_velocity():
    for arguments in (
        ([0.0], Q[:1]),
        (TIMES, Q, QD),
        (TIMES, Q, QD, QDD),
        (TIMES, Q, [None, QD[1], None]),
    ):
        smooth, linear = (
            Trajectory(NAMES, *arguments, interpolation=word) for word in ('smooth', 'linear')
        )
        assert np.array_equal(smooth.points, linear.points, equal_nan=True)
        assert np.array_equal(Trajectory(NAMES, *arguments).points, linear.points, equal_nan=True)


def test_joints_are_matched_by_name():
    trajectory = Trajectory(NAMES, TIMES, Q, QD).in_order(NAMES[::-1])
    assert trajectory.joint_names == NAMES[::-1]
    assert np.array_equal(trajectory.sample(1.0).q, Q[1, ::-1])
    # Three joints in a circle: there and back are two orders.
    circle = Trajectory(['a', 'b', 'c'], [0.0], [[1.0, 2.0, 3.0]]).in_order(['c', 'a', 'b'])
    assert np.array_equal(circle.sample(0.0).q, [3.0, 1.0, 2.0])
    with pytest.raises(TrajectoryError, match="lacks joint 'wrist'"):
        trajectory.in_order([*NAMES, 'wrist'])
    with pytest.raises(TrajectoryError, match="unknown joint 'elbow'"):
        trajectory.in_order(['shoulder'])


def test_joints_that_a_trajectory_lacks_stay_where_they_are():
    rows = ([0.1, 0.2], [0.3, 0.5])
    for rates in ((), (rows,), (rows, rows)):
        part = Trajectory(('c', 'a'), [0.5, 1.0], rows, *rates)
        whole = part.completed(('a', 'b', 'c'), np.array([7.0, 8.0, 9.0]))
        for t in (0.5, 0.7, 1.0):
            for whole_row, row, still in zip(
                whole.sample(t), part.sample(t), (8.0, 0.0, 0.0), strict=True
            ):
                np.testing.assert_array_equal(whole_row, [row[1], still, row[0]])
    # What is not prescribed stays so for all joints, also of a line.
    line = Trajectory(('c', 'a'), [0.5, 1.0], rows, interpolation='linear')
    whole = line.completed(('b', 'a', 'c'), np.zeros(3))
    assert whole.waypoint(0).qd is None
    assert np.isnan(whole.points[1:]).all()
    with pytest.raises(TrajectoryError, match="unknown joint 'c'; the robot has a, b"):
        part.completed(('a', 'b'), np.zeros(2))
