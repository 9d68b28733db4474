# SPDX-License-Identifier: Apache-2.0
"""Results of goals, without ROS: a handle is a string here."""

import numpy as np
import pytest

from robot_dynamics.common.errors import JointNamesError, TrajectoryError, TrajectoryOverError
from robot_dynamics.control import Trajectory
from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.control.reference_following import ReferenceFollower
from robot_dynamics.control.spline import Waypoint
from robot_dynamics.control.tolerances import Tolerances
from robot_dynamics.control.trajectory_goals import (
    Code,
    Ending,
    JointTolerance,
    TrajectoryGoals,
    code_of,
    goal_tolerances,
)

S = 1_000_000_000
NAMES = ('shoulder', 'elbow')
TOLERANCES = Tolerances(np.full(2, 0.05), np.full(2, 0.01), 0.0, 0.2)
DEFAULT = Tolerances(np.array([0.1, 0.2]), np.array([0.3, 0.4]), 0.01, 2.0)


def test_the_codes_are_those_of_the_action():
    """The constants of control_msgs/action/FollowJointTrajectory.action, commit 220a84b."""
    assert {code.name: code.value for code in Code} == {
        'SUCCESSFUL': 0,
        'INVALID_GOAL': -1,
        'INVALID_JOINTS': -2,
        'OLD_HEADER_TIMESTAMP': -3,
        'PATH_TOLERANCE_VIOLATED': -4,
        'GOAL_TOLERANCE_VIOLATED': -5,
    }


def trajectory(*rows):
    rows = rows or ((0.0, 0.0), (0.4, 0.2), (0.0, 0.5))
    return Trajectory(NAMES, np.arange(len(rows)), rows, np.zeros((len(rows), 2)))


class Run:
    """A follower with goals, and an arm that follows it."""

    def __init__(self, model):
        self.results = []
        self.goals = TrajectoryGoals(lambda handle, result: self.results.append((handle, result)))
        self.follower = ReferenceFollower(model, np.full(2, 0.1), 0.1, tolerances=TOLERANCES)
        self.model, self.time = model, 0.0
        self.q = np.zeros(2)
        self.turn(0.0)

    def accept(self, handle, *rows, stamp=0):
        self.follower.follow(trajectory(*rows), stamp)
        self.goals.accept(handle, self.follower)

    def turn(self, seconds, off=(0.0, 0.0), obstacle=''):
        """Let time pass, for an arm that is `off` its reference."""
        for _ in range(round(seconds / 0.01) or 1):
            self.time += 0.01
            state = JointReading(round(self.time * S), self.q + off, np.zeros(2), None)
            self.reference, _ = self.follower.reference(state)
            self.q = self.reference.q
        self.goals.update(obstacle)

    @property
    def result(self):
        """The only one."""
        ((handle, result),) = self.results
        assert handle == 'a'
        assert self.goals.present is None
        return result


@pytest.fixture
def run(elbow):
    return Run(elbow.model)


def test_a_goal_succeeds_once(run):
    run.accept('a')
    run.turn(1.9)
    assert not run.results
    run.turn(0.2)
    run.turn(1.0)
    assert run.result == (Ending.SUCCEEDED, Code.SUCCESSFUL, 'the goal is reached')


@pytest.mark.parametrize(
    ('begin', 'off', 'code', 'reason'),
    [
        (1.0, (0.0, -0.06), Code.PATH_TOLERANCE_VIOLATED, "joint 'elbow' is 0.06"),
        (2.0, (0.02, 0.0), Code.GOAL_TOLERANCE_VIOLATED, "joint 'shoulder' is 0.02"),
    ],
)
def test_a_violated_tolerance_aborts_with_joint_value_and_limit(run, begin, off, code, reason):
    run.accept('a')
    run.turn(begin)
    run.turn(0.3, off)
    ending, found, text = run.result
    assert (ending, found) == (Ending.ABORTED, code)
    assert text.startswith(reason)
    assert 'the tolerance is' in text


def test_a_canceled_goal_ends_at_rest(run):
    run.accept('a')
    run.turn(0.6)
    assert run.goals.cancel('a')
    assert not run.goals.cancel('a')
    run.turn(0.02)
    assert np.abs(run.reference.qd).max() > 0
    assert not run.results
    run.turn(1.0)
    assert not run.reference.qd.any()
    assert run.result == (Ending.CANCELED, Code.SUCCESSFUL, 'canceled')
    assert not run.goals.cancel('a')


def test_a_goal_after_a_canceled_one_ends_for_its_own_reason(run):
    run.accept('a')
    run.turn(0.6)
    run.goals.cancel('a')
    run.turn(1.0)
    run.accept('b', run.q, run.q + 0.3)
    run.turn(0.1)
    run.accept('c', run.q)
    assert run.results[1:] == [
        ('b', (Ending.ABORTED, Code.INVALID_GOAL, 'replaced by another goal'))
    ]


def test_only_the_present_goal_can_be_canceled(run):
    run.accept('a')
    run.turn(0.1)
    assert not run.goals.cancel('b')
    run.turn(2.0)
    assert run.result.ending is Ending.SUCCEEDED


def test_a_goal_that_is_over_cannot_be_canceled_before_its_result_is_given(run):
    run.accept('a', (0.0, 0.0))
    state = JointReading(S, np.zeros(2), np.zeros(2), None)
    for stamp in (1, 2):
        run.follower.reference(state._replace(stamp=stamp * S))
    assert not run.results
    assert not run.goals.cancel('a')
    run.goals.update('')
    assert run.result.ending is Ending.SUCCEEDED


def test_another_goal_replaces_one_that_is_followed_and_one_that_is_canceled(run):
    run.accept('a')
    run.turn(0.5)
    run.accept('b', run.q)
    assert run.results == [('a', (Ending.ABORTED, Code.INVALID_GOAL, 'replaced by another goal'))]
    run.goals.cancel('b')
    run.accept('c', run.q)
    assert run.results[1] == ('b', (Ending.CANCELED, Code.SUCCESSFUL, 'canceled'))
    run.turn(2.0)
    assert run.results[2][0] == 'c'
    assert run.results[2][1].ending is Ending.SUCCEEDED


def test_a_goal_with_a_later_start_replaces_the_present_one_at_once(run):
    run.accept('a')
    run.turn(0.5)
    run.accept('b', (0.0, 0.5), stamp=60 * S)
    assert [handle for handle, _ in run.results] == ['a']
    run.turn(0.1, obstacle='disabled')
    assert run.results[1] == ('b', (Ending.ABORTED, Code.INVALID_GOAL, 'disabled'))


def test_a_trajectory_of_another_source_replaces_a_goal(run):
    run.accept('a')
    run.turn(0.5)
    run.follower.follow(trajectory(run.q), 0)
    run.turn(0.1)
    assert run.result.reason == 'replaced by a trajectory on the topic'
    assert run.follower.execution.outcome is None  # it goes on


def test_a_stream_of_references_replaces_a_goal(run):
    run.accept('a')
    run.turn(0.5)
    run.follower.follow_reference(Waypoint(*run.reference[:2]))
    run.turn(0.01)
    assert run.result.reason == 'replaced by a stream of references'


@pytest.mark.parametrize('event', ['stop', 'release'])
def test_the_reason_of_a_stop_is_that_of_the_result(run, event):
    run.accept('a')
    run.turn(0.5)
    getattr(run.follower, event)('disabled')
    run.goals.update('')
    assert run.result == (Ending.ABORTED, Code.INVALID_GOAL, 'disabled')


def test_an_obstacle_ends_the_goal_and_no_other_motion(run):
    run.accept('a')
    run.turn(0.5)
    run.goals.update('no joint states')
    assert run.result == (Ending.ABORTED, Code.INVALID_GOAL, 'no joint states')
    assert run.follower.doing == 'stopping'
    run.turn(1.0)
    run.follower.follow(trajectory(run.q), 0)
    run.goals.update('no joint states')
    assert run.follower.execution.outcome is None


def test_an_arm_that_was_moved_while_states_were_missing_drops_the_goal(run):
    run.accept('a')
    run.turn(0.5)
    run.time += 0.4
    run.turn(0.0, off=(0.5, 0.0))
    assert run.result.code is Code.INVALID_GOAL
    assert 'the arm is off its path' in run.result.reason


def test_a_goal_that_no_longer_fits_at_its_start_is_aborted(run):
    run.accept('a', (0.0, 0.0), (0.1, 0.0), stamp=S)
    run.turn(0.5)
    run.follower.adjust(run.model, np.zeros(2), 0.1)
    run.turn(0.6, off=(0.02, 0.0))
    assert run.result.reason.startswith('rejected at its start: ')


def test_an_interruption_without_a_goal_does_nothing(run):
    run.goals.interrupt('inactive')
    assert not run.results


# -- tolerances and codes -----------------------------------------------------------------------


def test_a_goal_without_tolerances_has_those_of_the_parameters():
    found = goal_tolerances(DEFAULT, NAMES, [], [], 0.0)
    np.testing.assert_array_equal(found.path, DEFAULT.path)
    np.testing.assert_array_equal(found.goal, DEFAULT.goal)
    np.testing.assert_array_equal(found.stopped_velocity, [0.01, 0.01])
    assert found.goal_time == 2.0


def test_values_override_zero_keeps_and_minus_one_removes_a_limit():
    path = [JointTolerance('elbow', position=0.7, velocity=3.0), JointTolerance('shoulder', -1.0)]
    goal = [JointTolerance('elbow', position=0.0, velocity=-1.0, acceleration=-1.0)]
    found = goal_tolerances(DEFAULT, NAMES, path, goal, -1.0)
    np.testing.assert_array_equal(found.path, [0.0, 0.7])
    np.testing.assert_array_equal(found.path_velocity, [0.0, 3.0])
    np.testing.assert_array_equal(found.goal, DEFAULT.goal)
    np.testing.assert_array_equal(found.stopped_velocity, [0.01, 0.0])
    assert found.goal_time == 0.0
    assert goal_tolerances(DEFAULT, NAMES, [], [], 0.5).goal_time == 0.5


@pytest.mark.parametrize(
    ('wrong', 'words'),
    [
        (JointTolerance('elbow', -0.5), "joint 'elbow': position is -0.5; expected a positive"),
        (JointTolerance('elbow', 0.1, float('nan')), 'velocity is nan'),
        (JointTolerance('elbow', 0.1, 0.1, 1.0), 'joint states have no accelerations'),
    ],
)
def test_what_is_no_tolerance_is_rejected(wrong, words):
    for arguments in (([wrong], []), ([], [wrong])):
        with pytest.raises(TrajectoryError, match=words):
            goal_tolerances(DEFAULT, NAMES, *arguments, 0.0)


def test_an_unknown_joint_and_an_infinite_time_are_rejected():
    with pytest.raises(JointNamesError, match="path_tolerance names unknown joint 'wrist'"):
        goal_tolerances(DEFAULT, NAMES, [JointTolerance('wrist', 0.1)], [], 0.0)
    with pytest.raises(TrajectoryError, match='goal_time_tolerance is inf s'):
        goal_tolerances(DEFAULT, NAMES, [], [], float('inf'))


def test_each_reason_of_a_rejection_has_its_code(run):
    with pytest.raises(JointNamesError) as names:
        run.follower.follow(Trajectory(('wrist',), [1.0], [[0.0]]), 0)
    with pytest.raises(JointNamesError):
        Trajectory(('elbow', 'elbow'), [1.0], [[0.0, 0.0]])
    run.turn(5.0)
    with pytest.raises(TrajectoryOverError) as over:
        run.follower.follow(trajectory(), 1)
    with pytest.raises(TrajectoryError) as limit:
        run.follower.follow(trajectory((0.0, 0.0), (9.0, 0.0)), 0)
    codes = [code_of(error.value) for error in (names, over, limit)]
    assert codes == [Code.INVALID_JOINTS, Code.OLD_HEADER_TIMESTAMP, Code.INVALID_GOAL]
