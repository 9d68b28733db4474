# SPDX-License-Identifier: Apache-2.0
"""Speed override: the path is the same, its speed is scaled, and nothing steps."""

import numpy as np
import pytest

from robot_dynamics.control import Trajectory
from robot_dynamics.control.joint_reading import JointReading
from robot_dynamics.control.limits import acceleration_limit
from robot_dynamics.control.reference_following import ReferenceFollower
from robot_dynamics.control.spline import Waypoint
from robot_dynamics.control.tolerances import Tolerances

S = 1_000_000_000
NAMES = ('shoulder', 'elbow')
STILL = [[0.0, 0.0]] * 3
MOVE = Trajectory(NAMES, [0.0, 1.0, 2.0], [[0.0, 0.0], [1.0, -0.6], [0.2, 0.5]], STILL)


class Run:
    """A perfect arm, sampled at 1 kHz."""

    def __init__(self, elbow):
        self.model = elbow.model
        self.follower = ReferenceFollower(self.model, np.full(2, 0.1), 0.1)
        self.k, self.rows = 0, []
        self.state(np.zeros(2))

    def state(self, q):
        reference, _ = self.follower.reference(
            JointReading(round(self.k * 1e6), q, np.zeros(2), None)
        )
        self.rows.append(np.stack(reference))
        self.k += 1

    def states(self, count):
        for _ in range(count):
            self.state(self.rows[-1][0])
        return np.array(self.rows[-count:])

    def check(self):
        """The velocity is that of the position, and the acceleration that of the velocity."""
        q, qd, qdd = np.array(self.rows).transpose(1, 0, 2)
        most = acceleration_limit(self.model)
        np.testing.assert_allclose(np.diff(q, axis=0) / 1e-3, (qd[1:] + qd[:-1]) / 2, atol=2e-4)
        assert (np.abs(np.diff(qd, axis=0)) <= 1.001e-3 * most).all()
        jumps = np.abs(np.diff(qd, axis=0) / 1e-3 - (qdd[1:] + qdd[:-1]) / 2)
        # The acceleration may step where a change begins or ends, and at the points of a cubic.
        assert np.median(jumps) < 1e-3


@pytest.fixture
def run(elbow):
    return Run(elbow)


@pytest.mark.parametrize('scale', [0.5, 0.1])
def test_a_motion_from_rest_has_the_scaled_speed_at_once(run, scale):
    run.follower.speed.target = scale
    run.follower.follow(MOVE, 0)
    rows = run.states(1200)
    q, qd, qdd = MOVE.sample(np.arange(1200) * 1e-3 * scale)
    np.testing.assert_allclose(rows[:, 0], q, atol=1e-6)
    np.testing.assert_allclose(rows[:, 1], qd * scale, atol=1e-5)
    np.testing.assert_allclose(rows[:, 2], qdd * scale**2, atol=1e-4)


@pytest.mark.parametrize('scale', [0.5, 0.05, 0.0])
def test_a_change_during_the_motion_is_a_ramp(run, scale):
    run.follower.follow(MOVE, 0)
    run.states(400)
    run.follower.speed.target = scale
    run.states(300)
    assert run.follower.speed.rate == scale
    slow = run.states(200)
    if scale == 0.0:
        np.testing.assert_array_equal(slow[:, 1], 0.0)
        np.testing.assert_array_equal(slow[:, 0], np.broadcast_to(slow[0, 0], (200, 2)))
    run.follower.speed.target = 1.0
    run.states(2000)
    run.check()
    np.testing.assert_allclose(run.rows[-1][0], MOVE.end.q, atol=1e-9)


def test_the_path_is_the_same_at_any_speed(run):
    run.follower.follow(MOVE, 0)
    for k in range(60):
        run.follower.speed.target = (0.2, 1.0, 0.5)[k % 3]
        run.states(70)
    dense = MOVE.sample(np.linspace(0.0, 2.0, 20001)).q
    for q in np.array(run.rows)[::50, 0]:
        assert np.abs(dense - q).max(axis=1).min() < 2e-4
    run.check()


@pytest.mark.parametrize('scale', [0.3, 0.05])
def test_a_scaled_motion_is_stopped_and_replaced_without_a_step(run, scale):
    run.follower.speed.target = scale
    run.follower.follow(MOVE, 0)
    run.states(1500)
    q = run.rows[-1][0]
    run.follower.follow(Trajectory(NAMES, [0.8], [q + 0.2], [[0.0, 0.0]]), 0)
    run.states(round(500 / scale**0.5))
    run.follower.stop()
    run.states(100)
    end = run.rows[-1][0] + 0.05
    run.follower.follow(Trajectory(NAMES, [0.5], [end], [[0.0, 0.0]]), 0)
    run.states(round(1100 / scale))
    run.check()
    np.testing.assert_allclose(run.rows[-1][0], end, atol=1e-9)


@pytest.mark.parametrize('side', [1, -1], ids=['', 'mirrored'])
@pytest.mark.parametrize('names', [NAMES, NAMES[:1]], ids=['all joints', 'some joints'])
@pytest.mark.parametrize(('before', 'target'), [(1.0, 0.5), (1.0, 0.0), (0.3, 1.0), (0.5, 0.5)])
@pytest.mark.parametrize('at', [300, 500, 900])
def test_a_new_trajectory_while_the_scale_changes_begins_without_a_step(
    run, side, names, before, target, at
):
    """Its first point prescribes an acceleration, so that not even the acceleration steps."""
    move = Trajectory(NAMES, MOVE.times, side * MOVE.points[0], STILL)
    run.follower.speed.target = before
    run.follower.follow(move, 0)
    run.states(at)
    run.follower.speed.target = target
    run.states(60)
    rate = run.follower.speed.rate
    assert before == target or rate not in (before, target)
    q = run.rows[-1][0][: len(names)]
    still = [[0.0] * len(names)]
    run.follower.follow(Trajectory(names, [0.8], [q + side * 0.2], still, still), 0)
    run.states(30)
    qd, qdd = np.array(run.rows)[-40:, 1:].transpose(1, 0, 2)
    # The jerk of these motions at full speed is below 150 rad/s^3.
    assert np.abs(np.diff(qdd, axis=0)).max() < 0.15
    assert np.abs(np.diff(qd, axis=0) / 1e-3 - (qdd[1:] + qdd[:-1]) / 2).max() < 0.15 / 2
    run.states(100)
    run.check()


@pytest.mark.parametrize('end', ['stop', 'collision', 'violation', 'stream'])
def test_what_ends_a_motion_is_not_scaled_and_neither_is_what_follows(run, end):
    follower = run.follower
    follower.speed.target = 0.3
    follower.follow(
        MOVE, 0, Tolerances(np.full(2, 0.2), np.full(2, 0.2)) if end == 'violation' else None
    )
    run.states(700)
    follower.speed.target = 0.6
    run.states(30)
    assert 0.3 < follower.speed.rate < 0.6
    if end == 'stop':
        follower.stop()
    elif end == 'collision':
        follower.collide('a test')
    elif end == 'violation':
        run.state(run.rows[-1][0] + 0.3)
        assert follower.violation
    else:
        q, qd, _ = run.rows[-1]
        follower.follow_reference(Waypoint(q, qd), round(run.k * 1e6))
    assert (follower.speed.rate, follower.speed._slope) == (1.0, 0.0)


def test_a_paused_motion_stays_the_present_one(run):
    run.follower.follow(MOVE, 0)
    run.states(400)
    run.follower.speed.target = 0.0
    run.states(5000)
    assert run.follower.doing == 'following a trajectory of 2 s'
    assert run.follower.execution.outcome is None


def test_a_path_beyond_the_acceleration_limit_can_be_slowed_down(run):
    hard = Trajectory(
        NAMES, [0.0, 0.5, 1.0], [[0, 0], [0.4, 0.4], [0, 0]], STILL, [[0, 0], [-100, -100], [0, 0]]
    )
    run.follower.follow(hard, 0)
    run.states(450)
    run.follower.speed.target = 0.0
    run.states(300)
    assert run.follower.speed.rate == 0.0
