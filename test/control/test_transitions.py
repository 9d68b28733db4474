# SPDX-License-Identifier: Apache-2.0
"""Stops and joins: continuity, limits and duration."""

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.common.errors import TrajectoryError
from robot_dynamics.control import Reference, Trajectory
from robot_dynamics.control.limits import acceleration_limit
from robot_dynamics.control.transitions import (
    LONGEST_STOP,
    SHORTEST_STOP,
    Joined,
    YieldingStop,
    joined,
    stop,
    stopping_time,
)
from robot_dynamics.core.dynamics import Dynamics
from robot_dynamics.core.model.robots import planar_2r

NAMES = ('joint1', 'joint2')
STILL = np.zeros(2)


@pytest.fixture
def model():
    ones = np.ones(2)
    return replace(
        planar_2r(),
        lower=-ones,
        upper=ones,
        velocity_limit=np.array([2.0, 3.0]),
        effort_limit=np.array([100.0, 40.0]),
    )


def sampled(path, times):
    return np.array([path.sample(t) for t in times])


def test_a_stop_is_the_integral_of_constant_decelerations(model):
    start = Reference(np.array([0.1, -0.2]), np.array([1.0, -2.0]), np.array([9.0, 9.0]))
    path = stop(model, start, 0.4)
    assert path.duration == 0.4
    t = np.linspace(0, 0.4, 401)
    q, qd, qdd = sampled(path, t).transpose(1, 0, 2)
    np.testing.assert_allclose(qdd[:-1], np.tile([-2.5, 5.0], (400, 1)))
    np.testing.assert_allclose(qd, start.qd + np.outer(t, [-2.5, 5.0]), atol=1e-12)
    np.testing.assert_allclose(q, start.q + np.outer(t, start.qd) + np.outer(t**2, [-1.25, 2.5]))
    assert [row.tolist() for row in path.sample(9.0)[1:]] == [[0, 0], [0, 0]]


def test_a_joint_near_its_limit_stops_earlier(model):
    start = Reference(np.array([0.95, 0.0]), np.array([1.0, 0.5]), STILL)
    path = stop(model, start, 0.4)
    # |v| T / 2 is the room that is left.
    np.testing.assert_allclose(path.times, [0.1, 0.4])
    assert path.end.q[0] == pytest.approx(1.0)
    backwards = stop(model, Reference(-start.q, -start.qd, STILL), 0.4)
    np.testing.assert_allclose(backwards.times, path.times)


@pytest.mark.parametrize('side', [1, -1], ids=['', 'mirrored'])
def test_a_yielding_stop_is_a_stop_that_never_leads_the_arm(model, side):
    start = Reference(side * np.array([0.1, -0.2]), side * np.array([1.0, -2.0]), STILL)
    path = stop(model, start, 0.4)
    now = path.sample(0.1)

    def sampled_for(q, qd):
        return YieldingStop(path, start).at(Reference(q, qd, STILL)).sample(0.1)

    # An arm that brakes in the same way: the same stop.
    for row, expected in zip(sampled_for(now.q, now.qd), now, strict=True):
        np.testing.assert_allclose(row, expected)
    # One that is ahead, and faster, is braked.
    for row, expected in zip(sampled_for(now.q + start.qd, 2 * now.qd), now, strict=True):
        np.testing.assert_allclose(row, expected)
    # One that lags is not drawn: half of the way, a quarter of the velocity and of its change.
    behind = (start.q + now.q) / 2
    lagging = sampled_for(behind, now.qd / 4)
    np.testing.assert_allclose(lagging, [behind, now.qd / 4, now.qdd / 4])
    # One that is blocked, or thrown back, is held: there, or where the stop began.
    for qd in (STILL, -now.qd):
        np.testing.assert_array_equal(sampled_for(behind, qd), [behind, STILL, STILL])
    np.testing.assert_array_equal(
        sampled_for(start.q - start.qd, -now.qd), [start.q, STILL, STILL]
    )
    blocked = YieldingStop(path, Reference(behind, STILL, STILL))
    np.testing.assert_array_equal(blocked.end, [behind, STILL, STILL])
    assert blocked.duration == path.duration


def test_a_stop_respects_the_acceleration_limit(model):
    start = Reference(np.array([1.0, 5.0]), np.array([2.0, 3.0]), STILL)
    path = stop(model, start, 0.4)
    np.testing.assert_allclose(start.qd / path.times, acceleration_limit(model))


def test_the_stopping_time_uses_the_torque_available_for_braking(model):
    arm = Dynamics(model)
    q, qd = np.array([0.3, -0.4]), np.array([1.5, 2.0])
    bias = np.abs(arm.coriolis_torque(q, qd) + arm.gravity_torque(q))
    momentum = np.abs(arm.mass_matrix(q) @ qd)
    start = Reference(q, qd, STILL)
    for T in (0.3, 0.7):
        effort = bias + momentum / T
        assert stopping_time(arm, effort, start) == pytest.approx(T)
        # All of the torque that is left is used in the joint that needs it most.
        weaker = effort.copy()
        weaker[1] = bias[1] + (effort[1] - bias[1]) * 0.9
        assert stopping_time(arm, weaker, start) == pytest.approx(T / 0.9)
    assert stopping_time(arm, np.full(2, np.inf), start) == SHORTEST_STOP
    assert stopping_time(arm, np.zeros(2), start) == SHORTEST_STOP
    assert stopping_time(arm, bias / 100, start) == LONGEST_STOP


def test_a_trajectory_that_begins_at_the_reference_is_followed_as_it_is(model):
    given = Trajectory(NAMES, [0.0, 1.0], [[0.1, 0.2], [0.5, 0.5]], [STILL, STILL])
    assert joined(given, 0.0, Reference(np.array([0.1, 0.2]), STILL, STILL), model) is given


@pytest.mark.parametrize('given', [1, 2, 3])
@pytest.mark.parametrize('begin', [0.0, 0.3, 0.9])
def test_a_join_is_continuous_at_both_ends(model, given, begin):
    rows = ([[0.1, 0.2], [0.5, 0.5]], [STILL, STILL], [STILL, STILL])[:given]
    trajectory = Trajectory(NAMES, [0.0, 1.0], *rows)
    start = trajectory.sample(begin)
    off = np.array([[0.02, -0.03], [0.3, -0.4], [1.0, 2.0]])
    start = Reference(*(np.array(start) + off))
    path = joined(trajectory, begin, start, model)
    assert isinstance(path, Joined)
    np.testing.assert_allclose(path.sample(begin)[:2], start[:2], atol=1e-12)
    end = begin + path.entry.duration
    before, after = path.sample(end - 1e-9), path.sample(end + 1e-9)
    np.testing.assert_allclose(before.q, after.q, atol=1e-8)
    np.testing.assert_allclose(before.qd, after.qd, atol=1e-6)
    t = np.linspace(begin, end, 500)[:-1]
    assert (np.abs(sampled(path, t)[:, 2]) <= 1.001 * acceleration_limit(model)).all()
    np.testing.assert_allclose(path.sample(path.duration + 1).q, [0.5, 0.5], rtol=1e-14)


def test_a_join_that_no_limit_allows_is_rejected(model):
    trajectory = Trajectory(NAMES, [0.06, 1.0], [[0.5, 0.0], [0.6, 0.0]], [STILL, STILL])
    with pytest.raises(
        TrajectoryError, match=r"'joint1' reaches the velocity 12\.5; its limit is 2"
    ):
        joined(trajectory, 0.0, Reference(STILL, STILL, STILL), model)
