# SPDX-License-Identifier: Apache-2.0
"""A trajectory against a robot's limits, between the points as well as at them."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.common.errors import TrajectoryError
from robot_dynamics.control import Reference, Trajectory, violations
from robot_dynamics.control.limits import (
    acceleration_limit,
    limit_violations,
    reference_violations,
)
from robot_dynamics.core.model.robots import planar_2r

NAMES = ('joint1', 'joint2')


@pytest.fixture
def model():
    ones = np.ones(2)
    return replace(planar_2r(), lower=-ones, upper=ones, velocity_limit=2 * ones)


def cubic(end, *, T=1.0, qd0=(0.0, 0.0), qd1=(0.0, 0.0)):
    return Trajectory(NAMES, [0.0, T], [[0.0, 0.0], end], [qd0, qd1])


def test_a_slow_motion_within_the_limits_passes(model):
    assert violations(cubic([0.9, -0.9]), model) == []


def test_a_point_outside_is_named_with_its_limit(model):
    (reason,) = violations(cubic([0.0, -1.2]), model)
    assert reason == "joint 'joint2' goes down to -1.2; its limit is -1"


def test_an_overshoot_between_points_within_limits_is_found(model):
    # q = 4 s (1 - s) * 1.1 returns to zero and peaks at 1.1; its speed at the ends is 4.4.
    trajectory = cubic([0.0, 0.0], qd0=(4.4, 0.0), qd1=(-4.4, 0.0))
    reasons = violations(trajectory, replace(model, velocity_limit=np.full(2, 5.0)))
    assert any("joint 'joint1' goes up to 1.1; its limit is 1" in reason for reason in reasons)


def test_the_highest_speed_is_that_of_the_cubic(model):
    # A cubic from rest to rest peaks at 1.5 times its mean velocity.
    (reason,) = violations(cubic([0.9, 0.0], T=0.5), model)
    assert reason == "joint 'joint1' reaches the velocity 2.7; its limit is 2"


def test_a_motion_backwards_is_as_fast(model):
    (reason,) = violations(cubic([0.0, -0.9], T=0.5), model)
    assert reason == "joint 'joint2' reaches the velocity 2.7; its limit is 2"


def test_a_motion_may_start_beyond_a_limit_and_go_no_further(model):
    out = np.array([1.2, -1.1])
    back = Trajectory(NAMES, [0.0, 1.0], [out, [0.5, 0.0]], np.zeros((2, 2)))
    assert violations(back, model, (out,)) == []
    further = Trajectory(NAMES, [0.0, 1.0], [out, [1.21, -1.1]], np.zeros((2, 2)))
    (reason,) = violations(further, model, (out,))
    assert reason == "joint 'joint1' goes up to 1.21; its limit is 1.2"
    other_side = Trajectory(NAMES, [0.0, 2.0], [out, [-1.1, 0.0]], np.zeros((2, 2)))
    (reason,) = violations(other_side, model, (out,))
    assert reason == "joint 'joint1' goes down to -1.1; its limit is -1"


def test_the_acceleration_limit_follows_from_the_velocity_limit(model):
    unlimited = replace(model, velocity_limit=np.array([2.0, np.inf]))
    assert acceleration_limit(unlimited).tolist() == [20, 30]
    # A cubic from rest to rest begins with 6 h / T^2.
    (reason,) = limit_violations(cubic([0.0, -0.3], T=0.25), model, acceleration=True)
    assert reason == "joint 'joint2' reaches the acceleration 28.8; its limit is 20"


@pytest.mark.parametrize('tighter', ['acceleration_limit', 'deceleration_limit'])
def test_the_acceleration_limit_is_the_described_one(model, tighter):
    """Of both signs; a joint without one keeps that of its velocity. It binds trajectories."""
    given = {'acceleration_limit': [8.0, np.inf], 'deceleration_limit': [9.0, np.inf]}
    described = replace(model, **{**given, tighter: np.array([5.0, np.inf])})
    assert acceleration_limit(described).tolist() == [5, 20]
    for sign in (1.0, -1.0):
        # A cubic from rest to rest begins and ends with 6 h / T^2; its jerk is 12 h / T^3.
        path = cubic([0.9 * sign, 0.9], T=1.0)
        (reason,) = violations(path, described)
        assert reason == "joint 'joint1' reaches the acceleration 5.4; its limit is 5"
        jerky = replace(model, jerk_limit=np.array([np.inf, 10.0]))
        (reason,) = violations(path, jerky)
        assert reason == "joint 'joint2' reaches the jerk 10.8; its limit is 10"
    assert violations(cubic([0.8, 0.8]), described) == []
    (reason,) = reference_violations(Reference(np.zeros(2), np.zeros(2), [6.0, 19.0]), described)
    assert reason == "the acceleration of joint 'joint1' is 6; its limit is 5"


@pytest.mark.parametrize(
    ('quantity', 'values', 'limit'),
    [('position', (1.1, -1.1), 1), ('velocity', (2.1, -2.1), 2), ('acceleration', (21, -21), 20)],
)
def test_a_single_reference_beyond_a_limit_is_named(model, quantity, values, limit):
    rows = {'position': 0, 'velocity': 1, 'acceleration': 2}
    reference = Reference(*np.zeros((3, 2)))
    assert reference_violations(reference, model) == []
    reference[rows[quantity]][:] = values
    upper, lower = reference_violations(reference, model)
    assert upper == f"the {quantity} of joint 'joint1' is {values[0]}; its limit is {limit}"
    assert lower == f"the {quantity} of joint 'joint2' is {values[1]}; its limit is -{limit}"


@pytest.mark.parametrize(('excess', 'is_found'), [(5e-7, False), (1e-5, True)])
def test_a_limit_may_be_missed_by_rounded_numbers_only(model, excess, is_found):
    # Of which 3/4 in 9/16 s have the highest speed 2.
    fast = cubic([0.75, 0.0], T=9 / 16 / (1 + excess))
    for trajectory, reason in (
        (cubic([1.0 + excess, 0.0]), 'goes up to 1.00001; its limit is 1'),
        (cubic([-1.0 - excess, 0.0]), 'goes down to -1.00001; its limit is -1'),
        (fast, 'reaches the velocity 2.00002; its limit is 2'),
    ):
        assert violations(trajectory, model) == [f"joint 'joint1' {reason}"] * is_found


@pytest.mark.parametrize('speed', [0.3, -0.3])
def test_an_end_in_motion_is_rejected(model, speed):
    (reason,) = violations(cubic([0.5, 0.5], qd1=(0.0, speed)), model)
    assert (
        reason == f"joint 'joint2' ends with the velocity {speed}; the last point must be at rest"
    )


def test_unspecified_limits_do_not_limit(model):
    free = replace(model, lower=np.full(2, -np.inf), upper=np.full(2, np.inf))
    assert violations(cubic([50.0, 50.0], T=100.0), free) == []


def test_other_joints_are_an_error(model):
    with pytest.raises(TrajectoryError, match='lacks joint'):
        violations(Trajectory(['a', 'b'], [0.0], [[0.0, 0.0]]), model)


@pytest.mark.parametrize('sign', [1, -1])
def test_a_robot_without_limits_has_those_of_what_may_be_measured(model, sign):
    """So that a reference that is accepted can be followed; sums of it stay finite."""
    none = np.full(2, np.inf)
    free = replace(model, lower=-none, upper=none, velocity_limit=none)
    zero = np.zeros(2)
    for q, qd, quantity in ((1.1e5, 0.0, 'position'), (0.0, 1.1e3, 'velocity'), (1e308, 0.0, '')):
        reference = Reference(sign * np.array([0.0, q]), sign * np.array([0.0, qd]), zero)
        (reason,) = reference_violations(reference, free)
        assert quantity in reason
    there = Trajectory(free.joint_names, [0.0, 500.0], [zero, [0.0, sign * 9e4]], [zero, zero])
    assert not violations(there, free)
    beyond = there.at_speed(10.0)
    assert any('velocity' in reason for reason in violations(beyond, free))
    far = Trajectory(free.joint_names, [0.0, 1e9], [zero, [0.0, sign * 1.1e5]], [zero, zero])
    assert any('its limit is' in reason for reason in violations(far, free))


@pytest.mark.filterwarnings('error')
@pytest.mark.parametrize(('q', 'T'), [(1e308, 0.1), (1.0, 1e-200)])
def test_a_path_that_is_not_finite_is_an_error(model, q, T):
    points = [[0.0, 0.0], [0.0, q]]
    path = Trajectory(model.joint_names, [0.0, T], points, np.zeros((2, 2)))
    with pytest.raises(TrajectoryError, match='from point 0 to the next one is not finite'):
        violations(path, model)
