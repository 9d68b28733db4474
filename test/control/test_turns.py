# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import numpy as np
import pytest
import urdf_text

from robot_dynamics.control import Trajectory
from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.control.motion_start import TURN, WholeTurns
from robot_dynamics.control.reference_following import ReferenceFollower
from robot_dynamics.control.spline import Waypoint
from robot_dynamics.urdf.loading import parse_urdf

NAMES = ('shoulder', 'elbow')
S = 1_000_000_000


@pytest.fixture
def continuous(elbow):
    """The elbow turns without limits, the shoulder has them."""
    return replace(elbow.model, lower=np.array([-3, -np.inf]), upper=np.array([3, np.inf]))


def test_continuous_joints_alone_change_their_turn(elbow, continuous):
    assert not WholeTurns(elbow.model).any
    turns = WholeTurns(continuous)
    assert turns.any
    for present in (-20.0, 0.0, 3.0, 100.0):
        q = turns.nearest(np.array([0.5, 0.5]), np.array([present, present]))
        assert q[0] == 0.5
        assert abs(q[1] - present) <= np.pi
        np.testing.assert_allclose(np.sin(q[1] - 0.5), 0.0, atol=1e-12)


def test_a_joint_that_moves_two_bodies_or_turns_half_as_far_is_not_continuous(continuous):
    for column in ([0.5, 0.0], [1.0, 1.0]):
        S = continuous.S.copy()
        S[:, 1] = np.roll(column, 1)
        assert not WholeTurns(replace(continuous, S=S)).any


def changed(model):
    """Return which joints change their turn."""
    return (WholeTurns(model).nearest(np.zeros(model.n), np.full(model.n, 10.0)) != 0).tolist()


@pytest.mark.parametrize(('lower', 'upper'), [(-np.inf, 2.0), (-2.0, np.inf)])
def test_a_joint_with_one_limit_keeps_its_turn(continuous, lower, upper):
    model = replace(continuous, lower=np.array([-3, lower]), upper=np.array([3, upper]))
    assert not WholeTurns(model).any


@pytest.mark.parametrize('sliding', [0, 1])
def test_a_sliding_joint_without_limits_has_no_turns(continuous, sliding):
    endless = replace(continuous, lower=np.full(2, -np.inf), upper=np.full(2, np.inf))
    assert changed(endless) == [True, True]
    revolute = np.arange(2) != sliding
    assert changed(replace(endless, revolute=revolute)) == revolute.tolist()


def test_each_joint_is_looked_at_by_itself():
    """Of three joints one moves the next one's body as well, and one turns the other way."""
    chain = parse_urdf(urdf_text.chain(*['<axis xyz="0 1 0"/>' + urdf_text.LIMIT] * 3))
    S = np.array([[1.0, 0.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, -1.0]])
    model = replace(chain, S=S, lower=np.full(3, -np.inf), upper=np.full(3, np.inf))
    assert changed(model) == [False, True, True]


def test_a_trajectory_goes_the_short_way(continuous):
    follower = ReferenceFollower(continuous, np.full(2, 0.1), 10.0)
    at = np.array([0.0, 3.0])
    follower.reference(JointReading(0, at, np.zeros(2), None))
    follower.follow(Trajectory(NAMES, [1.0], [[0.0, -3.0]], [[0.0, 0.0]]), 0)
    rows = []
    for k in range(1, 1200, 10):
        rows.append(follower.reference(JointReading(k * S // 1000, at, np.zeros(2), None))[0].q)
    assert (np.diff(np.array(rows)[:, 1]) >= -1e-12).all()
    np.testing.assert_allclose(rows[-1], [0.0, TURN - 3.0])


def test_whole_turns_within_a_trajectory_are_kept(continuous):
    rows = [[0.0, 7.0], [0.0, 7.0 + 2 * TURN]]
    given = Trajectory(NAMES, [0.0, 9.0], rows)
    moved = WholeTurns(continuous).trajectory(given, np.zeros(2))
    np.testing.assert_allclose(moved.waypoint(0).q, [0.0, 7.0 - TURN])
    np.testing.assert_allclose(moved.waypoint(1).q, [0.0, 7.0 + TURN])


def test_a_position_that_wraps_is_near_the_reference(continuous):
    follower = ReferenceFollower(continuous, np.full(2, 0.1), 10.0)
    state = JointReading(0, np.array([0.0, 3.14]), np.zeros(2), None)
    follower.reference(follower.nearest(state))
    wrapped = state._replace(stamp=S, q=np.array([0.0, 3.15 - TURN]))
    np.testing.assert_allclose(follower.nearest(wrapped).q, [0.0, 3.15])
    for k in range(20):  # it goes there, and does not turn back by 2 pi
        moved = wrapped._replace(stamp=S + k * S // 50)
        reference, _ = follower.reference(follower.nearest(moved))
        follower.follow_reference(Waypoint(wrapped.q), moved.stamp)
        assert 3.13 < reference.q[1] < 3.16
    np.testing.assert_allclose(reference.q, [0.0, 3.15])
