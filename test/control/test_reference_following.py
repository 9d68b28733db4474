# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from robot_dynamics.common.errors import TrajectoryError
from robot_dynamics.control import Reference, Trajectory
from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.control.limits import acceleration_limit
from robot_dynamics.control.motions import NOT_FINITE, Outcome, Phase
from robot_dynamics.control.reference_following import ReferenceFollower
from robot_dynamics.control.spline import Waypoint
from robot_dynamics.control.tolerances import Tolerances, none
from robot_dynamics.control.transitions import SHORTEST_STOP

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


def stream(follower, point):
    """Send a reference without a stamp."""
    follower.follow_reference(point)


def sampled(follower, seconds, **where):
    reference, dropped = follower.reference(state(seconds, **where))
    return reference, dropped


def assert_holds(reference, q):
    np.testing.assert_array_equal(reference.q, q)
    np.testing.assert_array_equal(reference.qd, [0, 0])
    np.testing.assert_array_equal(reference.qdd, [0, 0])


def test_without_a_reference_the_arm_is_held_at_its_first_state(follower):
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


def test_the_acceleration_of_the_last_point_is_not_kept_at_rest(follower):
    given = Trajectory(NAMES, [0, 1], [(0, 0), (0.4, 0.2)], [(0, 0)] * 2, [(0, 0), (0.5, -0.5)])
    np.testing.assert_allclose(given.sample(1.0).qdd, [0.5, -0.5], rtol=1e-9)
    sampled(follower, 7.0)
    follower.follow(given, 0)
    run(follower, 7.0, 7.9)
    for t in (8.001, 8.1, 60.0):
        assert_holds(sampled(follower, t, q=(0.4, 0.2))[0], [0.4, 0.2])


def test_a_stamp_in_the_future_is_awaited(follower):
    sampled(follower, 7.0)
    follower.follow(trajectory(), 8 * S)
    assert follower.doing == 'holding, then a trajectory of 2 s'
    assert_holds(sampled(follower, 7.99)[0], [0, 0])
    sampled(follower, 8.0)
    assert follower.doing == 'following a trajectory of 2 s'
    expected = trajectory().sample(0.05).q
    np.testing.assert_allclose(sampled(follower, 8.05)[0].q, expected, atol=1e-9)


def run(follower, begin, end, arm=None, step=0.001):
    """Return times and references (m, 3, n) of a perfect arm, or of one that is elsewhere."""
    times = np.arange(round(begin / step), round(end / step) + 1) * step
    rows = []
    for t in times:
        q = follower.present.q if arm is None else arm
        rows.append(np.stack(sampled(follower, t, q=q)[0]))
    return times, np.array(rows)


def assert_continuous(times, rows, model):
    dt = np.diff(times)[:, None]
    assert (np.abs(np.diff(rows[:, 0], axis=0)) <= 1.001 * model.velocity_limit * dt).all()
    steps = np.abs(np.diff(rows[:, 1], axis=0))
    assert (steps <= 1.001 * acceleration_limit(model) * dt + 1e-9).all()


def test_a_motion_continues_until_the_next_one_begins(follower, elbow):
    sampled(follower, 0.0)
    follower.follow(trajectory(), 0)
    run(follower, 0.0, 1.5)
    follower.follow(trajectory((1.0,), ((0.3, 0.0),)), 2 * S)
    assert follower.doing == 'following a trajectory of 2 s, then a trajectory of 1 s'
    times, rows = run(follower, 1.501, 1.999)
    np.testing.assert_allclose(rows[:, 0], trajectory().sample(times).q, atol=1e-8)
    later, rest = run(follower, 2.0, 3.1)
    assert_continuous([*times, *later], np.concatenate([rows, rest]), elbow.model)
    assert_holds(sampled(follower, 3.2, q=(0.3, 0.0))[0], [0.3, 0.0])


def test_a_start_that_was_right_is_checked_again_when_it_comes(follower, elbow):
    sampled(follower, 0.0)
    follower.follow(trajectory(), 0)
    run(follower, 0.0, 1.0)
    # It begins where the motion ends; which is then stopped before its end.
    follower.follow(trajectory((0.0, 1.0), ((0.0, 0.5), (0.0, 0.0))), round(2.1 * S))
    _, rows = run(follower, 1.001, 1.3)
    wanted = Reference(rows[-1, 0], rows[-1, 1], np.zeros(2))
    stream(follower, wanted)
    dropped = []
    for k in range(1301, 2200):
        reference, why = sampled(follower, k / 1000, q=follower.present.q)
        dropped += [why] if why else []
    assert dropped[0] == 'the stream of references has stopped'
    assert dropped[1].startswith('trajectory rejected at its start: the trajectory begins at')
    assert_holds(reference, reference.q)
    assert not follower.moving


@pytest.mark.parametrize('first', [0.0, 0.3])
def test_a_motion_begins_at_the_held_reference_not_at_the_arm_that_sags(follower, first):
    sampled(follower, 0.0)
    sag = np.array([0.05, -0.05])
    given = trajectory((first, 1.0), ((0.05, -0.05), (0.5, 0.2)))
    follower.follow(given, 0)
    times, rows = run(follower, 0.001, 1.0, arm=sag)
    assert np.abs(rows[0, 0]).max() < 1e-3
    assert np.abs(np.diff(rows[:, 0], axis=0)).max() < 2e-3
    np.testing.assert_allclose(rows[400:, 0], given.sample(times[400:] - 0.001).q, atol=1e-9)


def test_an_arm_far_from_the_reference_is_held_where_it_is_when_a_motion_begins(follower):
    sampled(follower, 0.0)
    led = np.array([0.5, -0.5])
    sampled(follower, 0.01, q=led)
    follower.follow(trajectory((0.0, 1.0), (led, (0.0, 0.0))), 0)
    reference, _ = sampled(follower, 0.02, q=led)
    assert follower.placed
    np.testing.assert_array_equal(reference.q, led)
    np.testing.assert_array_equal(reference.qd, [0, 0])
    sampled(follower, 0.03, q=led)
    assert not follower.placed


def test_a_stop_decelerates_and_then_holds(follower, elbow):
    sampled(follower, 0.0)
    follower.follow(trajectory(), 0)
    run(follower, 0.0, 0.5)
    before = follower.present
    assert np.abs(before.qd).min() > 0.1
    follower.stop()
    assert follower.doing == 'stopping'
    times, rows = run(follower, 0.501, 1.0)
    assert_continuous([0.5, *times], np.concatenate([[np.stack(before)], rows]), elbow.model)
    speeds = np.abs(rows[:, 1])
    assert (np.diff(speeds, axis=0) <= 0).all()
    assert_holds(follower.present, before.q + before.qd * SHORTEST_STOP / 2)
    assert follower.doing == 'holding'


def test_a_stop_takes_the_time_it_is_given(elbow):
    follower = ReferenceFollower(elbow.model, np.full(2, TOLERANCE), 0.1, lambda _: 0.8)
    sampled(follower, 0.0)
    follower.follow(trajectory(), 0)
    run(follower, 0.0, 0.5)
    follower.stop()
    run(follower, 0.501, 1.29)
    assert follower.doing == 'stopping'
    run(follower, 1.291, 1.31)
    assert follower.doing == 'holding'


def test_a_stamp_in_the_past_is_joined_if_the_arm_is_there(follower, elbow):
    sampled(follower, 7.0)
    follower.follow(trajectory(), round(6.9 * S))
    times, rows = run(follower, 7.0, 7.3)
    assert_continuous(times, rows, elbow.model)
    expected = trajectory().sample(times[100:] - 6.9).q
    np.testing.assert_allclose(rows[100:, 0], expected, atol=1e-9)
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
def test_a_rejected_trajectory_changes_nothing(follower, given, stamp, why):
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
        stream(follower, Reference(np.zeros(2), np.zeros(2), np.zeros(2)))


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


def test_after_a_gap_the_trajectory_continues_only_if_the_arm_is_on_it(follower):
    for there, goes_on in ((True, True), (False, False)):
        follower.release()
        sampled(follower, 0.0, restarted=True)
        follower.follow(trajectory(), 0)
        sampled(follower, 0.0)
        q = trajectory().sample(0.9).q if there else np.zeros(2)
        reference, dropped = sampled(follower, 0.9, q=q)
        assert bool(dropped) != goes_on
        assert follower.moving == goes_on
        if not goes_on:
            assert_holds(reference, q)
            assert 'no joint states for 0.900 s' in dropped


def test_a_stream_is_followed_while_it_lasts(follower, elbow):
    sampled(follower, 1.0)
    goal = Waypoint(np.array([0.05, 0.0]))
    stream(follower, goal)
    assert follower.doing == 'following a stream of references'
    times, rows = [], []
    for k in range(20):
        later, more = run(follower, 1.001 + 0.05 * k, 1.05 + 0.05 * k)
        stream(follower, goal)
        times, rows = [*times, *later], [*rows, *more]
    assert_continuous(times, np.array(rows), elbow.model)
    assert_holds(follower.present, goal.q)
    assert follower.doing == 'following a stream of references'
    end = follower.motion.path.asked + 0.1 + 1.0
    _, dropped = sampled(follower, end - 0.002)
    assert not dropped
    _, dropped = sampled(follower, end + 0.002, q=(0.06, 0.02))
    assert dropped == 'the stream of references has stopped'
    run(follower, end + 0.003, end + 0.3)
    assert_holds(follower.present, goal.q)
    assert follower.doing == 'holding'


def test_a_reference_far_from_the_arm_is_rejected(follower):
    sampled(follower, 1.0)
    with pytest.raises(TrajectoryError, match=r"the reference is at 0\.11 for joint 'elbow'"):
        stream(follower, Waypoint(np.array([0.0, 0.11])))
    assert not follower.moving


def moving_to(q, qd=None):
    return Waypoint(np.array(q), None if qd is None else np.array(qd))


@pytest.mark.parametrize(
    ('reference', 'why'),
    [
        (moving_to((0.0, 0.0), (0.0, 51.0)), "velocity of joint 'elbow' is 51; .* at most 50"),
        (moving_to((0.0, 0.0), (-51.0, 0.0)), "velocity of joint 'shoulder' is -51"),
        (moving_to((0.0, np.nan)), 'not finite'),
        (moving_to((0.0, 0.0), (np.nan, 0.0)), "velocity of joint 'shoulder' is nan"),
        (moving_to((0.0, -0.11)), 'must be within 0.1'),
    ],
)
def test_a_reference_beyond_a_limit_is_rejected_and_changes_nothing(follower, reference, why):
    sampled(follower, 1.0)
    with pytest.raises(TrajectoryError, match=why):
        stream(follower, reference)
    assert not follower.moving
    assert_holds(sampled(follower, 1.001)[0], [0, 0])


def test_a_streamed_position_beyond_its_limit_is_rejected(follower):
    sampled(follower, 1.0, q=(2.99, 0.0))
    with pytest.raises(TrajectoryError, match=r"position of joint 'shoulder' is 3\.01; its limit"):
        stream(follower, moving_to((3.01, 0.0)))


def test_a_stream_continues_until_a_trajectory_begins(follower, elbow):
    sampled(follower, 1.0)
    wanted = moving_to((0.05, 0.0))
    times, rows = [], []
    for k in range(12):
        stream(follower, wanted)
        later, more = run(follower, 1.001 + 0.02 * k, 1.02 + 0.02 * k)
        times, rows = [*times, *later], [*rows, *more]
        if k == 3:  # the stream goes on, and the trajectory is still pending
            follower.follow(trajectory((0.5,), ((0.3, 0.1),)), round(1.241 * S))
    assert follower.doing.startswith('following a stream')
    np.testing.assert_array_equal(follower.present.q, wanted.q)
    later, more = run(follower, 1.241, 1.5)
    assert follower.doing == 'following a trajectory of 0.5 s'
    assert_continuous([*times, *later], np.array([*rows, *more]), elbow.model)
    run(follower, 1.501, 1.8)
    assert_holds(follower.present, [0.3, 0.1])


def test_a_trajectory_of_now_ends_a_stream_at_once(follower):
    sampled(follower, 1.0)
    stream(follower, moving_to((0.05, 0.0)))
    sampled(follower, 1.001)
    follower.follow(trajectory((0.5,), ((0.3, 0.1),)), 0)
    run(follower, 1.002, 1.6)
    assert_holds(follower.present, [0.3, 0.1])


def test_an_arm_beyond_a_limit_may_come_back_and_go_no_further(follower):
    out = (3.0001, 0.0)
    sampled(follower, 0.0, q=out)
    with pytest.raises(TrajectoryError, match=r"'shoulder' goes up to 3\.001"):
        follower.follow(trajectory((0.0, 1.0), (out, (3.001, 0.0))), 0)
    with pytest.raises(TrajectoryError, match=r"position of joint 'shoulder' is 3\.001"):
        stream(follower, moving_to((3.001, 0.0)))
    stream(follower, moving_to((3.0, 0.0)))
    follower.follow(trajectory((0.0, 1.0), (out, (2.5, 0.0))), 0)
    run(follower, 0.001, 1.1)
    assert_holds(follower.present, [2.5, 0.0])


def test_an_arm_that_fell_while_it_was_held_and_states_were_missing_is_held_there(follower):
    sampled(follower, 0.0)
    fallen = np.array([0.4, 0.4])
    reference, why = sampled(follower, 1.0, q=fallen)
    assert_holds(reference, fallen)
    assert follower.placed
    assert not why  # nothing was followed
    # By the clock of the caller alone: the stamps stood still meanwhile.
    reference, _ = follower.reference(state(1.001, (0.0, 0.0)), returned=True)
    assert_holds(reference, [0.0, 0.0])


def test_a_state_that_was_overtaken_does_not_turn_the_reference_back(follower):
    sampled(follower, 0.0)
    follower.follow(trajectory(), 0)
    run(follower, 0.0, 0.5)
    before = follower.present
    after, _ = sampled(follower, 0.499, q=before.q)
    np.testing.assert_array_equal(after.q, before.q)


def test_a_trajectory_of_positions_begins_and_ends_early_without_a_step_in_velocity(
    follower, elbow
):
    line = Trajectory(NAMES, [0.0, 2.0], [[0.0, 0.0], [1.0, 0.5]])
    sampled(follower, 0.0)
    follower.follow(line, 0)
    times, rows = run(follower, 0.001, 0.8)
    assert_continuous(times, rows, elbow.model)
    follower.follow(Trajectory(NAMES, [1.0], [[0.6, 0.3]]), 0)
    later, rest = run(follower, 0.801, 1.9)
    assert_continuous([*times, *later], np.concatenate([rows, rest]), elbow.model)
    assert_holds(follower.present, [0.6, 0.3])


@pytest.mark.parametrize('count', [1, 2])
def test_a_stream_that_begins_where_the_arm_was_led_begins_softly(follower, count):
    sampled(follower, 1.0)
    led = (0.5, -0.5)
    sampled(follower, 1.001, q=led)
    for _ in range(count):
        stream(follower, moving_to(led))
    reference, _ = sampled(follower, 1.002, q=led)
    assert_holds(reference, led)
    assert follower.placed
    sampled(follower, 1.003, q=led)
    assert not follower.placed


def test_joints_that_a_trajectory_lacks_end_the_motion_that_they_are_in(follower, elbow):
    sampled(follower, 0.0)
    follower.follow(trajectory(), 0)
    begun, first = run(follower, 0.0, 0.5)
    follower.follow(Trajectory(('elbow',), [0.5], [[0.4]]), 0)
    times, rows = run(follower, 0.501, 2.1)
    assert_continuous([*begun, *times], np.concatenate([first, rows]), elbow.model)
    shoulder = trajectory().sample(times).q[:, 0]
    np.testing.assert_allclose(rows[:, 0, 0], shoulder, atol=1e-9)
    np.testing.assert_allclose(rows[501:, 0, 1], 0.4, atol=1e-9)
    assert_holds(follower.present, [0.0, 0.4])


def test_joints_that_a_trajectory_in_progress_lacks_continue_at_their_time(follower):
    sampled(follower, 0.0)
    follower.follow(trajectory(), 0)
    _, first = run(follower, 0.0, 0.5)
    elbow = first[-1, 0, 1]
    given = Trajectory(('elbow',), [0.0, 0.5], [[elbow], [0.4]], [[0.0], [0.0]])
    follower.follow(given, round(0.45 * S))
    times, rows = run(follower, 0.501, 2.1)
    np.testing.assert_allclose(rows[:, 0, 0], trajectory().sample(times).q[:, 0], atol=1e-9)
    np.testing.assert_allclose(rows[501:, 0, 1], 0.4, atol=1e-9)


def test_joints_that_a_trajectory_lacks_stop_if_a_stream_was_followed(follower, elbow):
    sampled(follower, 1.0)
    stream(follower, moving_to((0.0, 0.0), (0.5, 0.3)))
    _, first = run(follower, 1.0, 1.01)
    follower.follow(Trajectory(('elbow',), [0.5], [[0.4]]), 0)
    _, rows = run(follower, 1.011, 1.6)
    velocities = np.concatenate([first, rows])[:, 1]
    most = acceleration_limit(elbow.model) * 1e-3 * 1.001
    assert (np.abs(np.diff(velocities, axis=0)) <= most).all()
    way = rows[0, 1, 0] * SHORTEST_STOP / 2
    assert way > 1e-3
    np.testing.assert_allclose(follower.present.q, [rows[0, 0, 0] + way, 0.4], atol=1e-12)


def test_joints_that_a_trajectory_lacks_are_held_if_the_arm_was_held(follower):
    sampled(follower, 0.0)
    follower.follow(Trajectory(('elbow',), [0.5], [[0.4]]), round(0.2 * S))
    _, rows = run(follower, 0.0, 0.8, arm=np.array([0.01, 0.0]))
    np.testing.assert_array_equal(rows[:, 0, 0], 0.0)
    assert_holds(follower.present, [0.0, 0.4])


def test_trajectories_of_different_joints_between_two_states_are_both_followed(follower):
    sampled(follower, 0.0)
    follower.follow(Trajectory(('shoulder',), [0.0, 0.5], [[0.0], [0.3]]), 0)
    follower.follow(Trajectory(('elbow',), [0.0, 0.5], [[0.0], [0.4]]), 0)
    run(follower, 0.001, 0.6)
    assert_holds(follower.present, [0.3, 0.4])


# -- outcomes -----------------------------------------------------------------------------------


def tolerant(elbow, **values):
    zero = np.zeros(2)
    tolerances = Tolerances(**({'path': zero, 'goal': zero} | values))
    follower = ReferenceFollower(elbow.model, np.full(2, TOLERANCE), 0.1, tolerances=tolerances)
    sampled(follower, 0.0)
    follower.follow(trajectory(), 0)
    return follower


def test_the_outcome_of_a_trajectory_is_known_once_it_has_ended(follower):
    sampled(follower, 0.0)
    follower.follow(trajectory(), 0)
    run(follower, 0.0, 1.9)
    assert follower.execution.outcome is None
    assert follower.phase is Phase.FOLLOWING
    np.testing.assert_allclose(follower.progress, 0.95)
    run(follower, 1.901, 2.01)
    assert follower.execution.outcome is Outcome.SUCCEEDED
    assert follower.phase is Phase.HOLDING
    assert np.isnan(follower.progress)


@pytest.mark.parametrize('end', ['stop', 'release', 'stream'])
def test_a_trajectory_that_is_not_followed_to_its_end_is_cancelled(follower, end):
    sampled(follower, 0.0)
    follower.follow(trajectory(), 0)
    _, rows = run(follower, 0.0, 0.5)
    if end == 'stream':
        stream(follower, Reference(*rows[-1]))
    else:
        getattr(follower, end)()
    assert follower.execution.outcome is Outcome.CANCELLED


def test_a_trajectory_that_no_longer_fits_has_been_dropped(follower):
    sampled(follower, 0.0)
    follower.follow(trajectory(), 0)
    sampled(follower, 0.0)
    sampled(follower, 1.0, q=(1.0, 1.0))
    assert follower.execution.outcome is Outcome.DROPPED


def test_an_arm_at_rest_off_its_path_is_held_where_it_is(elbow):
    follower = tolerant(elbow, path=np.array([0.05, 0.0]))
    run(follower, 0.001, 0.5)
    q = follower.present.q - np.array([0.06, 0.5])  # the elbow has no tolerance
    reference, why = sampled(follower, 0.501, q=q)
    assert "joint 'shoulder' is 0.06" in why
    assert follower.violation == why
    assert follower.placed
    assert_holds(reference, q)
    assert follower.execution.outcome is Outcome.PATH_VIOLATED
    _, rows = run(follower, 0.502, 1.0)
    np.testing.assert_array_equal(rows, np.broadcast_to(np.stack(reference), rows.shape))
    assert follower.phase is Phase.HOLDING


def test_a_pending_trajectory_begins_after_a_violation_and_has_its_own_outcome(elbow):
    follower = tolerant(elbow, path=np.array([0.05, 0.0]))
    run(follower, 0.001, 0.5)
    follower.follow(trajectory((0.5,), ((0.2, 0.1),)), round(0.6 * S))
    sampled(follower, 0.501, q=follower.present.q + 0.06)
    assert follower.violation
    assert follower.execution.outcome is None
    run(follower, 0.502, 1.2)
    assert not follower.violation
    assert follower.execution.outcome is Outcome.SUCCEEDED


@pytest.mark.parametrize('side', [1, -1], ids=['', 'mirrored'])
def test_a_violation_is_reported_though_a_trajectory_begins_with_the_same_state(elbow, side):
    follower = tolerant(elbow, path=np.array([0.05, 0.0]))
    run(follower, 0.001, 0.5)
    q = follower.present.q + side * np.array([0.06, 0.0])
    follower.follow(trajectory((0.5,), ((0.2, 0.1),)), 0)
    reference, why = sampled(follower, 0.501, q=q)
    assert "joint 'shoulder' is 0.0" in why
    assert follower.violations == 1
    assert not follower.violation  # the next motion has begun,
    np.testing.assert_allclose(reference.q, q, atol=1e-12)  # where the arm is
    assert follower.execution.outcome is None


def test_the_time_is_that_of_the_trajectory_that_is_followed(elbow):
    follower = tolerant(elbow)
    run(follower, 0.001, 0.5)
    follower.follow(trajectory((0.5,), ((0.2, 0.1),)), S)
    assert follower.waits
    sampled(follower, 0.6, q=follower.present.q)
    assert follower.elapsed == pytest.approx(0.599, abs=2e-3)
    run(follower, 0.601, 1.2)
    assert not follower.waits
    assert follower.elapsed == pytest.approx(0.2, abs=2e-3)


@pytest.mark.parametrize('goal_time', [0.0, 0.3])
def test_a_goal_is_awaited_for_the_goal_time(elbow, goal_time):
    follower = tolerant(elbow, goal=np.full(2, 0.01), goal_time=goal_time)
    run(follower, 0.001, 2.0)
    end = np.array([0.0, 0.5])
    run(follower, 2.001, 2.29, arm=end + 0.02)
    assert follower.execution.outcome is None
    run(follower, 2.291, 2.4, arm=end + 0.02)
    assert follower.execution.outcome is (Outcome.GOAL_VIOLATED if goal_time else None)
    run(follower, 2.401, 2.41, arm=end)
    ended = Outcome.GOAL_VIOLATED if goal_time else Outcome.SUCCEEDED
    assert follower.execution.outcome is ended
    # Where it was violated, the arm is held where it was.
    assert_holds(follower.present, end + 0.02 if goal_time else end)


@pytest.mark.parametrize('streams', [False, True])
def test_a_reference_that_is_not_finite_is_placed_where_the_arm_is(follower, streams, monkeypatch):
    sampled(follower, 7.0)
    zero = np.zeros(2)
    if streams:
        stream(follower, Reference(zero, zero, zero))
    else:
        follower.follow(trajectory(), 0)
    sampled(follower, 7.001)
    monkeypatch.setattr(follower, '_sample', lambda _: Reference(zero, np.full(2, np.nan), zero))
    reference, why = sampled(follower, 7.002, q=(0.02, -0.01))
    monkeypatch.undo()
    assert why == NOT_FINITE
    assert follower.placed
    assert follower.execution.outcome is (Outcome.NONE if streams else Outcome.CANCELLED)
    assert_holds(reference, [0.02, -0.01])
    assert_holds(sampled(follower, 7.003)[0], [0.02, -0.01])


# -- trajectories that are accepted before they are known ----------------------------------------


def test_a_trajectory_that_is_expected_ends_the_motion_and_is_followed_once_it_comes(
    follower, elbow
):
    sampled(follower, 0.0)
    follower.follow(trajectory(), 0)
    first = follower.execution
    run(follower, 0.001, 0.3)
    rest = follower.rest_at(0)
    execution = follower.expect(0)
    assert first.outcome is Outcome.REPLACED
    assert follower.phase is Phase.STOPPING
    assert follower.waits
    times, rows = run(follower, 0.301, 1.4)
    np.testing.assert_array_equal(follower.present.q, rest.q)
    assert follower.phase is Phase.RETIMING
    assert follower.moving  # a stop is reported
    assert follower.doing == 'holding, retiming a trajectory'
    away = Trajectory(NAMES, [0.0, 1.0], [rest.q + 0.2, rest.q])
    with pytest.raises(TrajectoryError, match='the trajectory begins'):
        follower.fulfil(away, 0, none(2))
    assert follower.is_expecting
    assert follower.execution is execution
    follower.fulfil(Trajectory(NAMES, [0.0, 1.0], [rest.q, rest.q + 0.2]), 0, none(2))
    later, more = run(follower, 1.401, 2.6)
    assert_continuous([*times, *later], np.array([*rows, *more]), elbow.model)
    assert execution.outcome is Outcome.SUCCEEDED


def test_where_a_trajectory_will_begin_at_rest(follower):
    sampled(follower, 0.0)
    np.testing.assert_array_equal(follower.rest_at(0).q, [0, 0])
    sampled(follower, 0.01, q=(0.0, 0.3))  # the arm has fallen
    np.testing.assert_array_equal(follower.rest_at(0).q, [0, 0.3])
    follower.release()
    sampled(follower, 0.0)
    follower.follow(trajectory(), 0)
    sampled(follower, 0.1)
    end, now = round(S * (0.1 + trajectory().duration)), trajectory().sample(0.0).q
    np.testing.assert_array_equal(follower.rest_at(end).q, trajectory().end.q)
    assert follower.rest_at(end - 1) is None
    assert (follower.rest_at(0).q == now).all()  # it has just begun
    sampled(follower, 0.4)
    stops = follower.rest_at(0).q
    assert (stops != follower.present.q).all()
    follower.speed.target = 0.5
    assert follower.rest_at(end) is None  # it takes longer
    np.testing.assert_array_equal(follower.rest_at(0).q, stops)
    follower.speed.target = 1.0
    follower.stop()
    np.testing.assert_array_equal(follower.rest_at(0).q, stops)
    follower.release()
    sampled(follower, 0.5)
    stream(follower, Waypoint(np.array([0.05, 0.0])))
    assert follower.rest_at(round(0.6 * S)) is None


def test_a_motion_that_ends_before_an_expected_one_begins_is_not_its_end(follower):
    sampled(follower, 0.0)
    follower.follow(trajectory(), 0)
    sampled(follower, 0.1)
    end = 0.1 + trajectory().duration
    execution = follower.expect(round((end + 0.5) * S))
    assert follower.phase is Phase.FOLLOWING
    run(follower, 0.101, end + 0.2)
    assert follower.phase is Phase.RETIMING
    assert execution.outcome is None
    np.testing.assert_array_equal(follower.present.q, trajectory().end.q)


def test_the_path_of_a_trajectory_is_checked_from_where_it_begins_whatever_its_speed(follower):
    sampled(follower, 5.0)
    begun = 5 * S
    fast = trajectory(times=(0.0, 1e-3, 2e-3))
    rest = follower.rest_at(0)
    assert follower.path_from(rest, fast, 0).points is not None
    with pytest.raises(TrajectoryError, match='velocity'):
        follower.check(fast, 0)
    part = Trajectory(NAMES[1:], [0.0, 1.0], [[0.0], [0.2]])
    other = rest._replace(q=np.array([0.3, 0.05]))
    np.testing.assert_array_equal(
        follower.path_from(other, part, 0).points[0], [[0.3, 0.0], [0.3, 0.2]]
    )
    later = Trajectory(NAMES, [1.0, 2.0], [[0.5, 0.5], [0.0, 0.0]])
    follower.path_from(rest, later, 0)  # there is time for the way
    for path, stamp, why in (
        (part, 0, r"the trajectory begins at 0 for joint 'elbow'"),
        (trajectory(rows=((0.0, 0.0), (0.0, 2.6), (0.0, 0.0))), 0, 'its limit is 2.5'),
        (fast, begun - 10**7, 'the trajectory ended'),
        (fast, begun + 10**13, 'same clock'),
        (Trajectory(NAMES, [0.0, 1.0], [[0.0, 0.0]] * 2, [[0.0, 0.0], [0.0, 0.1]]), 0, 'at rest'),
    ):
        away = other._replace(q=np.array([0.3, 0.11])) if path is part else rest
        with pytest.raises(TrajectoryError, match=why):
            follower.path_from(away, path, stamp)
    assert not follower.moving
