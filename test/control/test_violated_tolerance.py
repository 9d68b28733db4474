# SPDX-License-Identifier: Apache-2.0
"""After a violated tolerance the arm is held where it is, softly: at a wall, in free motion."""

import numpy as np
import pytest
from tiers import soak
from walled_arm import ARM, NAMES, WalledArm

from robot_dynamics.common.errors import TrajectoryError
from robot_dynamics.control import Reference, Trajectory
from robot_dynamics.control.limits import acceleration_limit
from robot_dynamics.control.motions import Outcome, Phase
from robot_dynamics.control.spline import Waypoint
from robot_dynamics.control.tolerances import Tolerances
from robot_dynamics.control.transitions import stopping_time

NONE = np.zeros(3)
PATH = Tolerances(path=np.full(3, 0.05), goal=NONE)
GOAL = Tolerances(path=NONE, goal=np.full(3, 0.02), goal_time=0.3)
mirrored = pytest.mark.parametrize('side', [1, -1], ids=['', 'mirrored'])


def trajectory(side, goal, seconds):
    return Trajectory(NAMES, [0.0, seconds], [NONE, side * np.array(goal)], np.zeros((2, 3)))


def begun(side, tolerances, goal=(0.8, 0.5, 0.0), seconds=5.0, distance=0.35):
    arm = WalledArm(tolerances, side, distance)
    row = arm.turn()
    arm.follower.follow(trajectory(side, goal, seconds), 0)
    return arm, row


def violation(arm, row):
    """Return the rows before and at the violation of a tolerance."""
    for _ in range(20_000):
        before, row = row, arm.turn()
        if arm.follower.violation:
            return before, row
    raise AssertionError('no tolerance was violated')


@mirrored
@pytest.mark.parametrize(
    'goal', [(0.8, 0.5, 0.0), *soak([(0.8, 0.0, 0.0), (0.0, 1.0, 0.0)])], ids=str
)
@pytest.mark.parametrize('tolerances', [PATH, GOAL], ids=['path', 'goal'])
def test_at_a_wall_the_torque_beyond_gravity_never_exceeds_that_at_detection(
    side, goal, tolerances
):
    arm, row = begun(side, tolerances, goal)
    before, row = violation(arm, row)
    assert np.abs(row[2]).max() < 0.3  # it is at the wall, nearly at rest
    most = np.abs(before[4])
    assert most[0] > 10
    _, _, qd, _, tau = arm.run(1.5)
    # What the friction of rest and the damping of rebounds add is small.
    assert (np.abs(tau) <= most + 0.02 * most.max()).all()
    assert np.abs(tau[-1]).max() < 0.1 * most.max()  # it does not press
    assert np.abs(qd[-200:]).max() < 1e-2
    assert arm.follower.phase is Phase.HOLDING
    assert arm.follower.violation


@mirrored
@pytest.mark.parametrize('seconds', [0.8, 1.5])
def test_an_arm_that_hits_the_wall_in_motion_comes_to_rest_there_without_pressing(side, seconds):
    arm, row = begun(side, PATH, seconds=seconds)
    _, row = violation(arm, row)
    assert np.abs(row[2]).max() > 1
    v0 = np.clip(row[2], -ARM.model.velocity_limit, ARM.model.velocity_limit)
    time = stopping_time(ARM, ARM.model.effort_limit, Reference(row[1], v0, NONE))
    _, q, qd, _, tau = arm.run(2.0)
    assert np.abs(qd[-200:]).max() < 1e-2
    assert np.abs(tau[-200:]).max() < 1.0
    # The joint that the wall throws back brakes from the velocity limit.
    assert (np.abs(q[-1] - row[1]) <= np.abs(v0) * time / 2 + 0.05).all()


@mirrored
@pytest.mark.parametrize('along', [1, -1], ids=['pushed on', 'held back'])
def test_a_moving_arm_brakes_from_its_measured_state_within_its_limits(side, along):
    arm, row = begun(side, PATH, (1.5, -1.5, 1.0), seconds=1.5, distance=np.inf)
    arm.run(0.5)
    arm.push = along * side * np.array([30.0, -10.0, 0.0])
    _, row = violation(arm, row)
    arm.push = np.zeros(3)
    q0, v0 = row[1:3]
    assert np.abs(v0).max() > 1
    time = stopping_time(ARM, ARM.model.effort_limit, Reference(q0, v0, NONE))
    t, q, qd, reference, _ = arm.run(1.2)
    assert np.abs(qd[-200:]).max() < 0.01
    since = (t - row[0])[:, None]
    # No faster than a constant deceleration from the measured velocity, and no way beyond its.
    allowed = np.abs(v0) * np.maximum(1 - since / time, 0.0)
    assert (np.abs(reference[:, 1]) <= allowed + 1e-9).all()
    assert (reference[:, 1] * np.sign(v0) >= 0).all()
    assert (np.abs(reference[:, 2]) <= acceleration_limit(ARM.model)).all()
    assert (np.abs(reference[:, 0] - q0) <= np.abs(v0) * time / 2 + 1e-9).all()
    # The arm follows: it is not let fall while it brakes.
    assert np.abs(reference[:, 0] - q).max() < 0.1


@mirrored
def test_without_a_measured_velocity_the_arm_is_held_at_its_measured_position(side):
    arm, row = begun(side, PATH, distance=0.35, seconds=1.0)
    arm.measures_velocity = False
    _, row = violation(arm, row)
    _, _, _, reference, _ = arm.run(0.5)
    np.testing.assert_array_equal(reference[:, 1:], 0.0)
    np.testing.assert_array_equal(reference[-1, 0], row[1])


@mirrored
def test_a_stop_after_a_violation_changes_nothing(side):
    """Nor does a second one: the reference is that of an arm that was not stopped."""
    rows = []
    for stops in (False, True):
        arm, row = begun(side, PATH, (1.5, -1.5, 1.0), seconds=1.5, distance=np.inf)
        arm.run(0.5)
        arm.push = side * np.array([30.0, -10.0, 0.0])
        violation(arm, row)
        for _ in range(4):
            if stops:
                arm.follower.stop('again')
            rows.append(arm.run(0.1)[3])
    np.testing.assert_array_equal(np.concatenate(rows[:4]), np.concatenate(rows[4:]))


@mirrored
def test_after_a_violation_motions_begin_where_the_arm_is(side):
    arm, row = begun(side, PATH)
    _, row = violation(arm, row)
    arm.run(1.0)
    reason, held = arm.follower.violation, arm.q
    assert arm.follower.execution.outcome is Outcome.PATH_VIOLATED
    ahead = held + side * 0.11
    with pytest.raises(TrajectoryError, match='the trajectory begins at'):
        arm.follower.follow(Trajectory(NAMES, [0.0, 1.0], [ahead, held], np.zeros((2, 3))), 0)
    with pytest.raises(TrajectoryError, match='the reference is at'):
        arm.follower.follow_reference(Waypoint(ahead, NONE))
    arm.turn()
    assert arm.follower.violation == reason
    arm.follower.follow(Trajectory(NAMES, [2.0], [NONE], [NONE]), 0)
    assert arm.follower.violation == reason  # until it begins
    arm.turn()
    assert not arm.follower.violation
    _, _, _, reference, _ = arm.run(2.2)
    np.testing.assert_allclose(reference[-1, 0], 0.0, atol=1e-12)
    assert (np.abs(np.diff(reference[:, 1], axis=0)) < 2e-3).all()


def test_a_stream_ends_the_report_of_a_violation():
    arm, row = begun(1, PATH)
    violation(arm, row)
    arm.run(1.0)
    arm.follower.follow_reference(Waypoint(arm.q, NONE))
    assert not arm.follower.violation
