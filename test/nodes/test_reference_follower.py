import numpy as np
import pytest

from robot_dynamics.control import Reference, Trajectory
from robot_dynamics.errors import TrajectoryError
from robot_dynamics.nodes.joint_states import JointReading
from robot_dynamics.nodes.reference_follower import ReferenceFollower

S = 1_000_000_000
NAMES = ('shoulder', 'elbow')
TOLERANCE = 0.1


def state(seconds, q=(0.0, 0.0), restarted=False):
    return JointReading(round(seconds * S), np.array(q), np.zeros(2), None, restarted)


def trajectory(times=(0.0, 1.0, 2.0), rows=((0.0, 0.0), (0.4, 0.2), (0.0, 0.5))):
    return Trajectory(NAMES, times, rows, [(0.0, 0.0)] * len(times))


@pytest.fixture
def follower(elbow):
    return ReferenceFollower(elbow.model, np.full(2, TOLERANCE), input_timeout=0.1)


def sampled(follower, seconds, **where):
    reference, dropped = follower.reference(state(seconds, **where))
    return reference, dropped


def assert_holds(reference, q):
    np.testing.assert_array_equal(reference.q, q)
    np.testing.assert_array_equal(reference.qd, [0, 0])
    np.testing.assert_array_equal(reference.qdd, [0, 0])


def test_without_a_reference_the_arm_holds_where_it_was_first_seen(follower):
    assert_holds(sampled(follower, 5.0, q=(0.1, 0.2))[0], [0.1, 0.2])
    assert_holds(sampled(follower, 5.001, q=(0.3, 0.4))[0], [0.1, 0.2])
    assert follower.doing == 'holding'


def test_a_trajectory_without_stamp_starts_with_the_next_state(follower):
    sampled(follower, 7.0)
    follower.follow(trajectory(), 0)
    assert follower.doing == 'following a trajectory of 2 s'
    for t in (0.0, 0.3, 1.0, 1.7, 2.0):
        reference, dropped = sampled(follower, 7.5 + t, q=trajectory().sample(t).q)
        assert not dropped
        np.testing.assert_allclose(reference.q, trajectory().sample(t).q, atol=1e-9)
        np.testing.assert_allclose(reference.qd, trajectory().sample(t).qd, atol=1e-8)
    assert_holds(sampled(follower, 9.6)[0], [0.0, 0.5])
    assert follower.doing == 'holding'


def test_a_stamp_in_the_future_is_awaited(follower):
    sampled(follower, 7.0)
    follower.follow(trajectory(), 8 * S)
    assert_holds(sampled(follower, 7.99)[0], [0, 0])
    expected = trajectory().sample(0.05).q
    np.testing.assert_allclose(sampled(follower, 8.05)[0].q, expected, atol=1e-9)


def test_a_stamp_in_the_past_is_joined_if_the_arm_is_there(follower):
    sampled(follower, 7.0)
    follower.follow(trajectory(), round(6.9 * S))
    np.testing.assert_allclose(sampled(follower, 7.1)[0].q, trajectory().sample(0.2).q, atol=1e-9)
    with pytest.raises(TrajectoryError, match='begins at'):
        follower.follow(trajectory(), round(6.1 * S))


def test_a_first_point_at_a_later_time_is_reached_from_where_the_arm_is(follower):
    sampled(follower, 1.0, q=(0.5, -0.5))
    follower.follow(trajectory((1.0, 2.0), ((0.1, 0.2), (0.0, 0.0))), 0)
    start, _ = sampled(follower, 1.0, q=(0.5, -0.5))
    np.testing.assert_array_equal(start.q, [0.5, -0.5])
    np.testing.assert_array_equal(start.qd, [0, 0])
    reached, _ = sampled(follower, 2.0, q=(0.1, 0.2))
    np.testing.assert_allclose(reached.q, [0.1, 0.2], atol=1e-12)


def test_a_new_trajectory_leaves_the_present_one_without_a_jump(follower):
    sampled(follower, 0.0)
    follower.follow(trajectory(), 0)
    sampled(follower, 0.0)
    before, _ = sampled(follower, 0.5, q=(0.2, 0.1))
    follower.follow(trajectory((1.0,), ((0.0, 0.0),)), 0)
    after, _ = sampled(follower, 0.5, q=(0.2, 0.1))
    np.testing.assert_allclose(after.q, before.q, atol=1e-12)
    np.testing.assert_allclose(after.qd, before.qd, atol=1e-12)
    assert np.abs(before.qd).min() > 0.1


@pytest.mark.parametrize(
    ('given', 'stamp', 'why'),
    [
        (trajectory(rows=((0.2, 0.0), (0.4, 0.2), (0.0, 0.5))), 0, "begins at 0.2 for joint 'sh"),
        (trajectory(rows=((0.0, 0.0), (3.1, 0.2), (0.0, 0.5))), 0, "'shoulder' goes up to 3.1"),
        (trajectory((0.0, 0.1, 0.2)), 0, "'shoulder' reaches the velocity"),
        (trajectory((0.1,), ((1.0, 0.0),)), 0, "'shoulder' reaches the velocity"),
        (trajectory(), 2 * S, 'the trajectory ended 1.000 s ago'),
        (trajectory(), 5000 * S, 'are these the same clock'),
    ],
)
def test_a_refused_trajectory_changes_nothing(follower, given, stamp, why):
    sampled(follower, 4.9)
    follower.follow(trajectory(), round(4.9 * S))
    sampled(follower, 4.9)
    expected = trajectory().sample(0.1).q
    np.testing.assert_allclose(sampled(follower, 5.0)[0].q, expected, atol=1e-9)
    with pytest.raises(TrajectoryError, match=why):
        follower.follow(given, stamp)
    expected = trajectory().sample(0.15).q
    np.testing.assert_allclose(sampled(follower, 5.05)[0].q, expected, atol=1e-9)


def test_nothing_is_followed_before_a_state_is_known(follower):
    with pytest.raises(TrajectoryError, match='no joint state'):
        follower.follow(trajectory(), 0)
    with pytest.raises(TrajectoryError, match='no joint state'):
        follower.follow_reference(Reference(np.zeros(2), np.zeros(2), np.zeros(2)))


def test_time_running_backwards_drops_the_trajectory(follower):
    sampled(follower, 0.0)
    follower.follow(trajectory(), 0)
    for k in range(6):
        sampled(follower, 0.1 * k)
    reference, dropped = sampled(follower, 0.2, q=(0.05, 0.06), restarted=True)
    assert 'went back from 0.500 s to 0.200 s' in dropped
    assert_holds(reference, [0.05, 0.06])
    assert not follower.moving


def test_a_hold_moves_to_where_the_arm_is_after_a_reset(follower):
    sampled(follower, 5.0, q=(0.5, 0.5))
    reference, dropped = sampled(follower, 0.0, q=(0.1, 0.2), restarted=True)
    assert_holds(reference, [0.1, 0.2])
    assert not dropped  # there was nothing to drop


def test_a_repeated_stamp_is_no_jump(follower):
    sampled(follower, 0.0)
    follower.follow(trajectory(), 0)
    sampled(follower, 0.0)
    first, _ = sampled(follower, 0.05)
    again, dropped = sampled(follower, 0.05)
    assert not dropped
    np.testing.assert_array_equal(first.q, again.q)


def test_after_a_silence_the_trajectory_goes_on_only_if_the_arm_is_on_it(follower):
    for there, goes_on in ((True, True), (False, False)):
        follower.hold()
        sampled(follower, 0.0)
        follower.follow(trajectory(), 0)
        sampled(follower, 0.0)
        q = trajectory().sample(0.9).q if there else np.zeros(2)
        reference, dropped = sampled(follower, 0.9, q=q)
        assert bool(dropped) != goes_on
        assert follower.moving == goes_on
        if not goes_on:
            assert_holds(reference, q)
            assert 'no joint states for 0.900 s' in dropped


def test_a_stream_is_followed_while_it_lasts(follower):
    sampled(follower, 1.0)
    wanted = Reference(np.array([0.05, 0.0]), np.array([0.5, 0.0]), np.array([1.0, 0.0]))
    follower.follow_reference(wanted)
    assert follower.doing == 'following a stream of references'
    for seconds in (1.001, 1.1):
        assert sampled(follower, seconds)[0] is wanted
    reference, dropped = sampled(follower, 1.101, q=(0.01, 0.02))
    assert 'silent' in dropped
    assert_holds(reference, [0.01, 0.02])


def test_a_reference_far_from_the_arm_is_refused(follower):
    sampled(follower, 1.0)
    far = Reference(np.array([0.0, 0.11]), np.zeros(2), np.zeros(2))
    with pytest.raises(TrajectoryError, match=r"the reference is at 0\.11 for joint 'elbow'"):
        follower.follow_reference(far)
    assert not follower.moving
